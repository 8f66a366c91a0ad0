package serve

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/ingress/catalog/catalogtest"
	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/demo"
	"adnet/internal/money"
	"adnet/internal/testenv/cputime"
	"adnet/internal/traffic"
)

// BenchmarkAdRequest measures an ad request through the engine, without sockets, over 100,000
// campaigns, next to a bare gin handler that reads the same body and writes the same bytes.
func BenchmarkAdRequest(b *testing.B) {
	bodies := benchBodies(b)
	server, key, _ := benchServer(b, catalogtest.Many(b, ingresstest.AdvertiserID, 100_000))
	answer := ingresstest.NewWriter()
	server.ServeHTTP(answer, post(bodies[0], key))
	require.Equal(b, http.StatusOK, answer.Status)
	var last reply
	require.NoError(b, json.Unmarshal(answer.Body, &last))
	require.NotNil(b, last.Ad)

	gin.SetMode(gin.ReleaseMode)
	bare := gin.New()
	same := append([]byte(nil), answer.Body...)
	bare.POST("/v1/ad-request", func(c *gin.Context) {
		if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
			panic(err)
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", same)
	})
	for _, h := range []struct {
		name    string
		handler http.Handler
	}{{"adnet", server}, {"bare-gin", bare}} {
		b.Run(h.name, func(b *testing.B) {
			b.ReportAllocs()
			w := ingresstest.NewWriter()
			i := 0
			used := cputime.Start(b)
			for b.Loop() {
				clear(w.Fields)
				h.handler.ServeHTTP(w, post(bodies[i%len(bodies)], key))
				if w.Status != http.StatusOK {
					b.Fatal(w.Status)
				}
				i++
			}
			used.Report()
		})
	}
}

func benchBodies(b *testing.B) []string {
	b.Helper()
	contexts, err := demo.Requests()
	require.NoError(b, err)
	bodies := make([]string, len(contexts))
	for i := range contexts {
		bodies[i] = body(
			b,
			map[string]any{
				"context": contexts[i].Context, "platform": "discord", "user_language": "en", "session_id": "s1",
			},
		)
	}
	return bodies
}

// BenchmarkKeys measures an ad request of a server, and of a page whose key, origin and unseen ads
// are checked as well.
func BenchmarkKeys(b *testing.B) {
	bodies := benchBodies(b)
	server, secret, browser := benchServer(b, catalogtest.Many(b, ingresstest.AdvertiserID, 100_000))
	filled := []byte(`{"ad":{`)
	bodies = slices.DeleteFunc(bodies, func(body string) bool {
		w := ingresstest.NewWriter()
		server.ServeHTTP(w, post(body, secret))
		return !bytes.HasPrefix(w.Body, filled)
	})
	for _, kind := range []struct{ name, key string }{{"server", secret}, {"page", browser}} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			w := ingresstest.NewWriter()
			used := cputime.Start(b)
			for i := range b.N {
				clear(w.Fields)
				r := post(bodies[i%len(bodies)], kind.key)
				r.RemoteAddr, r.Header["Origin"] = "192.0.2.1:1", []string{page}
				server.ServeHTTP(w, r)
				if w.Status != http.StatusOK || !bytes.HasPrefix(w.Body, filled) {
					b.Fatalf("%d %s", w.Status, w.Body)
				}
			}
			used.Report()
		})
	}
}

// seenAtOnce shows every ad at once: few are left unseen.
type seenAtOnce struct{ *limits.Limits }

func (l seenAtOnce) Hold(u *traffic.Unseen, daily money.Micros, now time.Time) bool {
	held := l.Limits.Hold(u, daily, now)
	if held {
		l.Seen(u, now)
	}
	return held
}

func post(body, key string) *http.Request {
	return &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v1/ad-request"}, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}},
	}
}

// benchServer is the endpoint over a running catalog, with a log that acknowledges at once, and
// keys for servers and for pages.
func benchServer(b *testing.B, source catalogtest.Projection) (server *httpapi.Server, secret, browser string) {
	b.Helper()
	w := ingresstest.New(b, ingresstest.Options{Clock: time.Now})
	rate, err := limits.New(limits.Config{PerMinute: 1 << 30, Browser: 1 << 30, BrowserNetwork: 1 << 30}, limits.Deps{})
	require.NoError(b, err)
	selling := w.Selling()
	selling.Catalog, selling.Limiter, selling.Producer = catalogtest.Running(b, source), seenAtOnce{rate},
		ingresstest.Acked{}
	New(Deps{Auth: w.Auth, Ads: ingresstest.Seller(selling)}).Mount(w.HTTP)
	return w.HTTP, w.Key(account.KindPublisher), w.PageKey(page)
}
