package rtb

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/ingress/catalog/catalogtest"
	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest"
	"adnet/internal/demo"
)

// BenchmarkRTB100k is a bid request over 100,000 campaigns beside a bare gin handler that reads the
// same body and answers the same bytes: in process, and over kept-alive loopback connections.
func BenchmarkRTB100k(b *testing.B) {
	contexts, err := demo.Requests()
	require.NoError(b, err)
	bodies := make([]string, len(contexts))
	for i := range contexts {
		body, err := json.Marshal(map[string]any{
			"id": "quay-2026-00031-0c9f2a6b41d84f6e8a", "at": 1, "cur": []string{"USD"}, "tmax": 200,
			"bcat": []string{"IAB25", "IAB7-39", "IAB8-18"},
			"badv": []string{"rival-goods.example", "loud.example", "tin.example"},
			"imp": []any{map[string]any{
				"id": "1", "bidfloor": 0.03, "secure": 1, "tagid": "harbourpost/article/side/upper/300x250",
				"banner": map[string]any{"w": 300, "h": 250, "pos": 0, "battr": []int{13}, "expdir": []int{2, 4}},
				"ext":    map[string]any{"mcp_context": map[string]any{"intent": contexts[i].Context}},
			}},
			"site": map[string]any{
				"id": "site-41", "cat": []string{"IAB12"}, "domain": "harbourpost.example",
				"page": "https://harbourpost.example/1234",
				"publisher": map[string]any{
					"id": "pub-7", "name": "Harbour Media", "cat": []string{"IAB12"}, "domain": "harbourmedia.example",
				},
			},
			"device": map[string]any{
				"ua": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "language": "en",
				"geo": map[string]any{"country": "USA"},
			},
			"user": map[string]any{"id": "u-5b1f0c9f2a6b41d84f6e8a17c3d2e5f60718293a"},
		})
		require.NoError(b, err)
		bodies[i] = string(body)
	}
	server, key := benchServer(b, catalogtest.Many(b, advertiserID, 100_000))
	answer := ingresstest.NewWriter()
	server.ServeHTTP(answer, post(bodies[0], key))
	require.Equal(b, http.StatusOK, answer.Status)
	require.NotEmpty(b, strict(b, answer.Body).SeatBid)
	b.Logf("request of %d bytes, reply of %d", len(bodies[0]), len(answer.Body))

	gin.SetMode(gin.ReleaseMode)
	bare := gin.New()
	same := append([]byte(nil), answer.Body...)
	bare.POST("/api/rtb", func(c *gin.Context) {
		if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
			panic(err)
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", same)
	})
	for _, h := range []struct {
		name    string
		handler http.Handler
	}{{"adnet", server}, {"bare-gin", bare}} {
		b.Run("in-process/"+h.name, func(b *testing.B) {
			b.ReportAllocs()
			w := ingresstest.NewWriter()
			for i := 0; b.Loop(); i++ {
				clear(w.Fields)
				h.handler.ServeHTTP(w, post(bodies[i%len(bodies)], key))
				if w.Status != http.StatusOK && w.Status != http.StatusNoContent {
					b.Fatal(w.Status)
				}
			}
		})
		b.Run("loopback/"+h.name, func(b *testing.B) {
			s := httptest.NewServer(h.handler)
			defer s.Close()
			at, err := url.Parse(s.URL)
			require.NoError(b, err)
			b.RunParallel(func(pb *testing.PB) { exchange(b, pb, at.Host, bodies, key) })
		})
	}
}

// exchange sends requests over one connection without a client's own cost.
func exchange(b *testing.B, pb *testing.PB, host string, bodies []string, key string) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Error(err)
		return
	}
	defer conn.Close()
	raw := make([][]byte, len(bodies))
	for i, body := range bodies {
		r := post(body, key)
		r.Host, r.ContentLength, r.URL.Host = host, int64(len(body)), host
		var text strings.Builder
		if err := r.Write(&text); err != nil {
			b.Error(err)
			return
		}
		raw[i] = []byte(text.String())
	}
	in := newReplies(conn)
	for i := 0; pb.Next(); i++ {
		if _, err := conn.Write(raw[i%len(raw)]); err != nil {
			b.Error(err)
			return
		}
		if err := in.next(); err != nil {
			b.Error(err)
			return
		}
	}
}

func post(body, key string) *http.Request {
	return &http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Path: "/api/rtb"},
		Body:   io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}},
	}
}

// benchServer is the endpoint over a running catalog, with a log that acknowledges at once.
func benchServer(b *testing.B, source catalogtest.Projection) (server *httpapi.Server, key string) {
	b.Helper()
	f := unmounted(b, defaults(), ingresstest.Options{Clock: time.Now})
	selling := f.Selling()
	selling.Catalog, selling.Producer = catalogtest.Running(b, source), ingresstest.Acked{}
	deps := f.deps(1 << 20)
	deps.Producer, deps.Seller = ingresstest.Acked{}, ingresstest.Seller(selling)
	f.mount(deps)
	return f.HTTP, f.key
}

// replies reads HTTP replies off a connection.
type replies struct{ in *bufio.Reader }

func newReplies(conn net.Conn) *replies { return &replies{bufio.NewReader(conn)} }

func (r *replies) next() error {
	reply, err := http.ReadResponse(r.in, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return err
	}
	return reply.Body.Close()
}
