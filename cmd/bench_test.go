package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/demo"
	"adnet/internal/money"
	"adnet/internal/testenv"
	"adnet/internal/token"
)

// Benchmarks of the whole binary over loopback, on the real stack. adnet runs as its own processes,
// this process generates the load, and all of them share the cores. Each benchmark has a bare gin
// handler beside it that receives and sends the same bytes.
//
//	eval "$(make -s stack-env)"
//	go test ./cmd -run '^$' -bench . -benchtime 20000x -count 5

const benchConnections = 256 // enough that beacons waiting for Kafka do not leave the cores idle

// connection speaks just enough HTTP/1.1 to keep the client's share of the cores small.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func dial(b *testing.B, base string) *connection {
	b.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(b, err)
	return &connection{Conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
}

// roundTrip sends a whole request and gives the status and the body, which is valid until the next
// call.
func (c *connection) roundTrip(request []byte, body []byte) (status int, answer []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		switch {
		case first:
			if _, err := fmt.Sscanf(string(line[9:12]), "%d", &status); err != nil {
				return 0, nil, err
			}
		case len(line) == 2:
			answer = append(body[:0], make([]byte, length)...)
			_, err := io.ReadFull(c.in, answer)
			return status, answer, err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			if _, err := fmt.Sscanf(string(line), "Content-Length: %d", &length); err != nil {
				return 0, nil, err
			}
		}
	}
}

// hammer sends requests over benchConnections until b.N are answered and reports requests per
// second.
func hammer(b *testing.B, base string, request func(n int64, buffer []byte) []byte) {
	b.Helper()
	var sent atomic.Int64
	b.SetParallelism(benchConnections / 2)
	b.ResetTimer()
	started := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		conn := dial(b, base)
		defer conn.Close()
		var out, in []byte
		for pb.Next() {
			out = request(sent.Add(1)-1, out[:0])
			status, answer, err := conn.roundTrip(out, in)
			if err != nil || status != http.StatusOK {
				b.Errorf("status %d, error %v: %s", status, err, answer)
				return
			}
			in = answer
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "req/s")
}

func appendPost(buffer []byte, path, key, body string) []byte {
	return fmt.Appendf(
		buffer,
		"POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: "+
			"application/json\r\nContent-Length: %d\r\n\r\n%s", path, key, len(body), body,
	)
}

// campaigns fills the installation with n active campaigns that target one to four words of the
// demo's.
func (i *installation) campaigns(b *testing.B, owner string, n int) {
	words, err := demo.Words()
	require.NoError(b, err)
	testenv.Exec(b, i.setting("ADNET_POSTGRES_URL"), fmt.Sprintf(`
WITH words AS (SELECT string_to_array('%s', ' ') AS w), made AS (
  INSERT INTO campaign SELECT gen_random_uuid(), '%s', 'bench', 'active', 'image', 'Bench campaign ' || i, 'A campaign of the benchmark', '', '', 'Learn more',
    'https://bench.example.com/' || i, 3, 'cpm', 1000000 + (i * 7919) %% 20000000, 1000000000000, 10000000000000, 0, NULL, 'manual', false,
    ARRAY(SELECT w[1 + (i * 31 + k * 977) %% array_length(w, 1)] FROM generate_series(1, 1 + i %% 4) k), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '[]', NULL,
    (SELECT version FROM config_head) + i, now(), now()
  FROM generate_series(1, %d) i, words)
UPDATE config_head SET version = version + %d`, strings.Join(words, " "), owner, n, n))
}

func (i *installation) setting(name string) string {
	for k := len(i.env) - 1; k >= 0; k-- {
		if value, ok := strings.CutPrefix(i.env[k], name+"="); ok {
			return value
		}
	}
	return ""
}

func bareGin(b *testing.B, mount func(*gin.Engine)) string {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	mount(engine)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := &http.Server{Handler: engine}
	go server.Serve(listener)
	b.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

func BenchmarkAdRequest100k(b *testing.B) {
	const n = 100_000
	i := install(b)
	i.env = append(i.env, "ADNET_RATE_PER_MINUTE=0")
	_, err := i.run("migrate")
	require.NoError(b, err)
	i.serve("consumers")
	ingress := i.serve("ingress")
	api := client{b, ingress.Base}
	owner, publisher := api.register("owner@bench.example"), api.register("pub@bench.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bench"}`, 201)["key"].(string)
	i.campaigns(b, owner.id, n)
	contexts, err := demo.Requests()
	require.NoError(b, err)
	requests := make([][]byte, len(contexts))
	for k, c := range contexts {
		requests[k] = appendPost(nil, "/v1/ad-request", key, `{"context":`+quote(c.Context)+`}`)
	}
	require.Eventually(
		b, func() bool { return metric(b, ingress.Admin, "adnet_catalog_deliverable") == n }, time.Minute,
		200*time.Millisecond,
	)
	pick := func(k int64, buffer []byte) []byte { return append(buffer, requests[k%int64(len(requests))]...) }

	conn := dial(b, ingress.Base)
	_, answer, err := conn.roundTrip(requests[0], nil)
	require.NoError(b, err)
	answer = bytes.Clone(answer)
	conn.Close()
	bare := bareGin(b, func(e *gin.Engine) {
		e.POST("/v1/ad-request", func(c *gin.Context) {
			if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
				c.Status(http.StatusBadRequest)
				return
			}
			c.Data(http.StatusOK, "application/json; charset=utf-8", answer)
		})
	})
	b.Run("adnet", func(b *testing.B) { hammer(b, ingress.Base, pick) })
	b.Run("bare_gin", func(b *testing.B) { hammer(b, bare, pick) })
}

func BenchmarkBeaconAcked(b *testing.B) {
	i := install(b)
	_, err := i.run("migrate")
	require.NoError(b, err)
	i.serve("consumers")
	ingress := i.serve("ingress")
	keys, err := token.ParseKeys(i.setting("ADNET_TOKEN_KEYS"))
	require.NoError(b, err)
	ring, err := token.NewKeyring(keys)
	require.NoError(b, err)
	signed := token.Auction{
		CampaignID: uuid.New(), AdvertiserID: uuid.New(), DeveloperID: uuid.New(), Price: 5 * money.USD / 1000,
		BillingModel: "cpm", Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "US", Language: "en",
		HostApp: "discord",
	}
	unique := func(_ int64, buffer []byte) []byte {
		a := signed
		a.AuctionID = uuid.Must(uuid.NewV7())
		return fmt.Appendf(buffer,
			"GET /api/track?event=impression&campaign_id=%s&auction_id=%s&session=s1&dev=%s&format=image "+
				"HTTP/1.1\r\nHost: bench\r\nUser-Agent: Mozilla/5.0\r\n\r\n",
			a.CampaignID, ring.Sign(token.PurposeImpression, a), a.DeveloperID)
	}
	pixel, err := base64.StdEncoding.DecodeString("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==")
	require.NoError(b, err)
	bare := bareGin(b, func(e *gin.Engine) {
		e.GET("/api/track", func(c *gin.Context) { c.Data(http.StatusOK, "image/gif", pixel) })
	})
	b.Run("adnet", func(b *testing.B) { hammer(b, ingress.Base, unique) })
	b.Run("bare_gin", func(b *testing.B) { hammer(b, bare, unique) })
}
