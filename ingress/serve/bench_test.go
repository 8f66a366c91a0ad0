package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"adnet/ingress/catalog"
	"adnet/ingress/catalog/catalogtest"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits"
	"adnet/ingress/offer"
	"adnet/internal/demo"
	"adnet/internal/obs"
	"adnet/internal/token"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

type acked struct{}

func (acked) Produce(_ string, _, _ []byte, done func(error)) { done(nil) }

// BenchmarkAdRequest is an ad request through the engine, without sockets, over 100,000 campaigns, beside a
// bare gin handler that reads the same body and answers the same bytes.
func BenchmarkAdRequest(b *testing.B) {
	contexts, err := demo.Requests()
	require.NoError(b, err)
	bodies := make([]string, len(contexts))
	for i := range contexts {
		bodies[i] = body(b, map[string]any{"context": contexts[i].Context, "platform": "discord", "user_language": "en", "session_id": "s1"})
	}
	server, key := benchServer(b, catalogtest.Many(b, advertiserID, 100_000))
	answer := &writer{header: http.Header{}}
	server.ServeHTTP(answer, post(bodies[0], key))
	require.Equal(b, http.StatusOK, answer.status)
	var last reply
	require.NoError(b, json.Unmarshal(answer.body, &last))
	require.NotNil(b, last.Ad)

	gin.SetMode(gin.ReleaseMode)
	bare := gin.New()
	same := append([]byte(nil), answer.body...)
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
			w := &writer{header: http.Header{}}
			i := 0
			for b.Loop() {
				clear(w.header)
				h.handler.ServeHTTP(w, post(bodies[i%len(bodies)], key))
				if w.status != http.StatusOK {
					b.Fatal(w.status)
				}
				i++
			}
		})
	}
}

func post(body, key string) *http.Request {
	return &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v1/ad-request"}, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}},
	}
}

func benchServer(b *testing.B, source catalogtest.Projection) (server *httpapi.Server, key string) {
	b.Helper()
	f := newFixture(b, 0)
	quiet, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	shelf := catalog.New(catalog.Deps{Log: quiet, Metrics: metrics, Source: source, Feed: source, Node: "n", Now: time.Now})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- shelf.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-ended })
	<-shelf.Ready()
	for !shelf.Fresh(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	master, err := token.NewKey("k1")
	require.NoError(b, err)
	ring, err := token.NewKeyring([]token.Key{master})
	require.NoError(b, err)
	rate, err := limits.New(limits.Config{PerMinute: 1 << 30, Burst: 1 << 30}, limits.Deps{})
	require.NoError(b, err)
	server, err = httpapi.New(httpapi.Config{BaseURL: "https://ads.example"}, httpapi.Deps{Log: quiet, Metrics: metrics, Readiness: obs.NewReadiness()})
	require.NoError(b, err)
	New(Deps{
		Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: f.store, Keys: f.store, Now: time.Now}),
		Ads: offer.New(offer.Config{Disclosure: "Sponsored"}, offer.Deps{
			Metrics: metrics, Catalog: shelf, Limiter: rate, Keyring: ring, Producer: acked{}, Recording: &f.recording,
			BaseURL: server.BaseURL, Now: time.Now,
		}),
	}).Mount(server)
	return server, f.key
}

// writer is a response writer that costs nothing.
type writer struct {
	header http.Header
	status int
	body   []byte
}

func (w *writer) Header() http.Header { return w.header }
func (w *writer) WriteHeader(s int)   { w.status = s }
func (w *writer) Write(b []byte) (int, error) {
	w.body = append(w.body[:0], b...)
	return len(b), nil
}
