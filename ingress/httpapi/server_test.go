package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/schemas/openapi"
)

type setup struct {
	cfg  httpapi.Config
	logs bytes.Buffer
	*httpapi.Server
	readiness *obs.Readiness
	metrics   *prometheus.Registry
}

func server(t *testing.T, cfg httpapi.Config, auth ...*httpapi.Auth) *setup {
	t.Helper()
	s := &setup{cfg: cfg, readiness: obs.NewReadiness(), metrics: prometheus.NewRegistry()}
	log, err := obs.NewLogger(&s.logs, "json", "info")
	require.NoError(t, err)
	deps := httpapi.Deps{Log: log, Metrics: s.metrics, Readiness: s.readiness}
	if len(auth) > 0 {
		deps.Auth = auth[0]
	}
	s.Server, err = httpapi.New(cfg, deps)
	require.NoError(t, err)
	return s
}

// Policies of routes that are none of the product.
var (
	open   = httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone}
	change = httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
)

func (s *setup) counter(t *testing.T, name string) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

func (s *setup) get(path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func envelope(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var body map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	return body
}

func TestUnknownPathAndMethod(t *testing.T) {
	s := server(t, httpapi.Config{})
	s.Handle(http.MethodGet, "/thing", ok, open)
	s.Handle(http.MethodPatch, "/thing", ok, change)

	w := s.get("/nothing")
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Equal(t, "not_found", envelope(t, w)["code"])

	require.Equal(t, http.StatusNotFound, s.get("/thing/").Code, "no redirect to another path")

	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/thing", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "method_not_allowed", envelope(t, w)["code"])
	for _, method := range []string{"GET", "PATCH"} {
		require.Contains(t, w.Header().Get("Allow"), method)
		require.Contains(t, envelope(t, w)["error"], method, "the body names the allowed methods")
	}
}

var ok = httpapi.Plain(fine)

func fine(c *gin.Context) error { return httpapi.JSON(c, http.StatusOK, map[string]any{"ok": true}) }

func TestEnvelope(t *testing.T) {
	secret := errors.New("dial postgres://root:hunter2@db")
	for name, tc := range map[string]struct {
		err        error
		status     int
		body       string
		retryAfter string
		logged     bool
	}{
		"plain": {
			errs.New(errs.Forbidden, "not yours"), 403, `{"code":"forbidden","error":"not yours"}`, "", false,
		},
		"extra": {
			errs.New(errs.InsufficientCredit, "too few").With("available", 3).With("requested", 5), 400,
			`{"available":3,"code":"insufficient_credit","error":"too few","requested":5}`, "", false,
		},
		"extra keeps": {
			errs.New(errs.Conflict, "real").With("error", "fake").With("code", "fake"), 409,
			`{"code":"conflict","error":"real"}`, "", false,
		},
		"retry": {
			httpapi.RetryAfter(errs.New(errs.RateLimited, "slow down"), 7), 429,
			`{"code":"rate_limited","error":"slow down","retry_after":7}`, "7", false,
		},
		"wrapped": {
			fmt.Errorf("outer: %w", errs.Wrap(secret, errs.Unavailable, "try later")), 503,
			`{"code":"unavailable","error":"try later"}`, "", true,
		},
		"internal": {secret, 500, `{"code":"internal","error":"internal error"}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, httpapi.Config{})
			s.Handle(http.MethodGet, "/x", httpapi.Plain(func(*gin.Context) error { return tc.err }), open)
			w := s.get("/x")
			require.Equal(t, tc.status, w.Code)
			require.JSONEq(t, tc.body, w.Body.String())
			require.Equal(t, tc.retryAfter, w.Header().Get("Retry-After"))
			require.Equal(
				t, tc.logged, strings.Contains(s.logs.String(), "hunter2"),
				"the cause is in the log, and only for server errors",
			)
		})
	}
}

func TestClientThatLeftIsNoFailure(t *testing.T) {
	s := server(t, httpapi.Config{})
	s.Handle(http.MethodGet, "/x", httpapi.Plain(func(c *gin.Context) error { return c.Request.Context().Err() }), open)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", nil))
	require.Empty(t, s.logs.String())
}

func TestPanicIsAnEnvelope(t *testing.T) {
	s := server(t, httpapi.Config{})
	s.Handle(http.MethodGet, "/x", httpapi.Plain(func(*gin.Context) error { panic("secret place") }), open)
	w := s.get("/x")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.JSONEq(t, `{"code":"internal","error":"internal error"}`, w.Body.String())
	require.Contains(t, s.logs.String(), "secret place")
	require.Contains(t, s.logs.String(), "server_test.go", "the stack is in the log")
	require.Equal(t, http.StatusOK, s.get("/healthz").Code)
}

func TestRequestID(t *testing.T) {
	s := server(t, httpapi.Config{})
	for id, echoed := range map[string]bool{
		"abc-123_X.y": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\r\nSet-Cookie: x": false, "<script>": false,
		"ä": false,
	} {
		got := s.get("/healthz", "X-Request-Id", id).Header().Get("X-Request-Id")
		require.NotEmpty(t, got)
		require.Equal(t, echoed, got == id, "%q gave %q", id, got)
	}
	require.NotEqual(t, s.get("/healthz").Header().Get("X-Request-Id"), s.get("/healthz").Header().Get("X-Request-Id"))
}

// A valid traceparent gives the request its id, in the reply and in log lines.
func TestTraceparentIsTheRequestID(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	s := server(t, httpapi.Config{})
	s.Handle(http.MethodGet, "/x", httpapi.Plain(func(*gin.Context) error { panic("secret place") }), open)
	w := s.get("/x", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01", "X-Request-Id", "mine")
	require.Equal(t, trace, w.Header().Get("X-Request-Id"))
	require.Contains(t, s.logs.String(), trace, "the log line has it")

	w = s.get("/x", "traceparent", "00-"+trace+"-00f067aa0ba902b7-zz", "X-Request-Id", "mine")
	require.Equal(t, "mine", w.Header().Get("X-Request-Id"), "a malformed one is ignored")
}

func TestSafetyHeaders(t *testing.T) {
	header := server(t, httpapi.Config{}).get("/healthz").Header()
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	require.NotEmpty(t, header.Get("Referrer-Policy"))
}

func TestForwardedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		proxies []string
		want    string
	}{
		"nobody is trusted by default": {nil, "192.0.2.1"},
		"an empty list trusts nobody":  {[]string{}, "192.0.2.1"},
		"a trusted proxy is believed":  {[]string{"192.0.2.0/24"}, "198.51.100.9"},
		"another proxy is not":         {[]string{"203.0.113.0/24"}, "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, httpapi.Config{TrustedProxies: tc.proxies})
			s.Handle(
				http.MethodGet, "/ip", httpapi.Plain(func(c *gin.Context) error { return httpapi.JSON(c, 200, c.ClientIP()) }), open,
			)
			require.Equal(t, `"`+tc.want+`"`, s.get("/ip", "X-Forwarded-For", "198.51.100.9").Body.String())
		})
	}
}

// A proxy that the settings do not name is told of: behind it all people look like one.
func TestUnnamedProxy(t *testing.T) {
	s := server(t, httpapi.Config{TrustedProxies: []string{"10.0.0.0/24"}})
	for peer, known := range map[string]bool{
		"10.0.0.9:1": false, "192.0.2.1:1": false, // named; a stranger who says what it likes
		"10.0.1.9:1": true, "192.168.0.1:1": true, "127.0.0.1:1": true, "[fd00::1]:1": true,
	} {
		s.logs.Reset()
		before := s.counter(t, "adnet_http_unnamed_proxy_total")
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.RemoteAddr = peer
		s.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, before, s.counter(t, "adnet_http_unnamed_proxy_total"), "%s without the header", peer)
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		s.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, known, s.counter(t, "adnet_http_unnamed_proxy_total") > before, peer)
	}
}

func TestOperations(t *testing.T) {
	contract := apitest.Load(t)
	s := server(t, httpapi.Config{})
	check := func(path string, status int) string {
		w := s.get(path)
		require.Equal(t, status, w.Code, path)
		contract.Check(t, httptest.NewRequest(http.MethodGet, path, nil), w)
		return w.Body.String()
	}
	check("/healthz", 200)
	check("/readyz", 200)
	check("/readyz?for=ads", 200)
	check("/readyz?for=", 400)
	require.Contains(t, check("/readyz?for=money", 400), `"field":"for"`)
	s.readiness.Add("budget", obs.Ads, func() error { return errors.New("redis-3.internal is down") })
	require.Contains(t, check("/readyz", 200), `"degraded":["budget"]`, "without ads a node still takes beacons")
	require.Contains(t, check("/readyz?for=ads", 503), `"degraded":["budget"]`)
	s.readiness.Add("store", obs.Traffic, func() error { return errors.New("db-17.internal is down") })
	require.NotContains(t, check("/readyz", 503), "internal")
	require.Equal(t, string(openapi.Document), check("/openapi.json", 200))
}

func TestSettings(t *testing.T) {
	for setting, cfg := range map[string]httpapi.Config{
		"ADNET_BASE_URL":        {BaseURL: "ftp://x"},
		"ADNET_TRUSTED_PROXIES": {TrustedProxies: []string{"anybody"}},

		"ADNET_PROXY_PROTOCOL_FROM": {ProxyFrom: []string{"anybody"}},
		"ADNET_TLS_KEY":             {TLSCert: "tls.pem"},
		"ADNET_TLS_CERT":            {TLSCert: "/does/not/exist", TLSKey: "/does/not/exist"},
	} {
		_, err := httpapi.New(
			cfg,
			httpapi.Deps{
				Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
			},
		)
		require.ErrorContains(t, err, setting)
	}
	require.Equal(
		t, "https://ads.example.com/a", server(t, httpapi.Config{BaseURL: "https://ads.example.com/a/"}).BaseURL(),
	)
}

// listening starts s on a free port; stop cancels it and gives Run's result.
func listening(t *testing.T, s *setup) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	require.Error(t, s.Listening(), "balancers would send requests to a closed port")
	go func() { done <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-done:
		require.NoError(t, err)
	}
	require.NoError(t, s.Listening())
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}

func local(drain time.Duration) httpapi.Config {
	return httpapi.Config{Addr: "127.0.0.1:0", DrainTimeout: drain}
}

func TestListener(t *testing.T) {
	t.Parallel()
	s := server(t, local(time.Second))
	require.Empty(t, s.BaseURL())
	listening(t, s)
	require.Equal(t, "http://"+s.Addr(), s.BaseURL())

	t.Run("header limit", func(t *testing.T) {
		for size, status := range map[int]int{8 << 10: 200, 17 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL()+"/healthz", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+strings.Repeat(".", size))
			reply, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, reply.Body.Close())
			require.Equal(t, status, reply.StatusCode)
		}
	})
	t.Run("stalled header", func(t *testing.T) {
		conn, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		require.NoError(t, err)
		// The server ends it after 4 s; by its other limits it would last 15 s, and this read to
		// its deadline.
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err = io.ReadAll(conn)
		var timeout net.Error
		require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the server keeps a stalled connection")
	})
	t.Run("port taken", func(t *testing.T) {
		err := server(t, httpapi.Config{Addr: s.Addr()}).Run(t.Context())
		require.ErrorContains(t, err, s.Addr())
		require.ErrorContains(t, err, "ADNET_HTTP_ADDR")
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	t.Run("a running request is finished", func(t *testing.T) {
		s := server(t, local(time.Minute))
		entered, release := make(chan struct{}), make(chan struct{})
		s.Handle(http.MethodGet, "/slow", httpapi.Plain(func(c *gin.Context) error {
			close(entered)
			<-release
			if err := c.Request.Context().Err(); err != nil {
				return err // a stop must not cancel running requests
			}
			return fine(c)
		}), open)
		stop := listening(t, s)
		replied := make(chan string, 1)
		go func() { replied <- raw(s.Addr(), "/slow") }()
		<-entered
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		require.Eventually(
			t, func() bool { return raw(s.Addr(), "/healthz") == "" }, time.Minute, time.Millisecond,
			"new connections are refused",
		)
		select {
		case err := <-stopped:
			t.Fatalf("stopped before the request was answered: %v", err)
		default:
		}
		close(release)
		require.Contains(t, <-replied, "200 OK")
		require.NoError(t, <-stopped)
	})
	t.Run("a request that does not end is cut", func(t *testing.T) {
		s := server(t, local(time.Millisecond))
		entered, release := make(chan struct{}), make(chan struct{})
		s.Handle(http.MethodGet, "/stuck", httpapi.Plain(func(c *gin.Context) error {
			close(entered)
			<-release
			return nil
		}), open)
		defer close(release)
		stop := listening(t, s)
		replied := make(chan string, 1)
		go func() { replied <- raw(s.Addr(), "/stuck") }()
		<-entered
		require.NoError(t, stop())
		require.Empty(t, <-replied)
	})
}

// A node that stops still serves, and every reply sends its client to another node.
func TestLeave(t *testing.T) {
	t.Parallel()
	cfg := local(time.Second)
	cfg.LameDuck = time.Hour
	s := server(t, cfg)
	listening(t, s)
	kept, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer kept.Close()
	ask := func(conn net.Conn) *http.Response {
		_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, reply.Body)
		require.NoError(t, err)
		return reply
	}
	require.False(t, ask(kept).Close)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.Leave(ctx)
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err, "new connections are served")
		defer conn.Close()
		reply := ask(conn)
		return reply.StatusCode == http.StatusOK && reply.Close
	}, time.Minute, time.Millisecond)
	require.True(t, ask(kept).Close, "an older connection stays until its next reply")
	select {
	case <-left:
		t.Fatal("left before its time")
	default:
	}
	cancel()
	<-left
}

func TestLameDuck(t *testing.T) {
	for addr, want := range map[string]time.Duration{
		"127.0.0.1:8080": 0, "[::1]:8080": 0, "localhost:8080": 0,
		"0.0.0.0:8080": 5 * time.Second, ":8080": 5 * time.Second, "10.0.0.1:443": 5 * time.Second,
	} {
		require.Equal(t, want, httpapi.Config{Addr: addr, LameDuck: -time.Second}.Lame(), addr)
		require.Equal(t, time.Minute, httpapi.Config{Addr: addr, LameDuck: time.Minute}.Lame(), addr)
		require.Zero(t, httpapi.Config{Addr: addr}.Lame(), addr)
	}
}

// raw returns the status line of a GET, empty if there was no reply.
func raw(addr, path string) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}

// A failure of a handler shows the key in its path to nobody: not in the answer, and not in the
// log, which has the error and the stack.
func TestFailuresDoNotShowKeysInPaths(t *testing.T) {
	const key = "seatpath_live_canaryCanaryCanaryCanary"
	for name, fail := range map[string]func(*gin.Context) error{
		"panic": func(*gin.Context) error { panic("broken") },
		"error": func(*gin.Context) error { return errors.New("broken") },
		"store": func(*gin.Context) error { return errs.Wrap(errors.New("broken"), errs.Internal, "no") },
	} {
		s := server(t, httpapi.Config{})
		s.Handle(http.MethodPost, "/api/rtb/:key", httpapi.Plain(fail), change)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/rtb/"+key+"?x="+key, strings.NewReader("{}")))
		require.Equal(t, http.StatusInternalServerError, w.Code, "%s %s", name, w.Body)
		require.Contains(t, s.logs.String(), "broken", name)
		require.NotContains(t, s.logs.String(), "canary", name)
		require.NotContains(t, fmt.Sprint(w.Header(), w.Body), "canary", name)
	}
}
