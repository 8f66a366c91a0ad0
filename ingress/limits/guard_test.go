package limits

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
)

// front is a server with the routes that are limited by address. Each request selects its own
// reply.
type front struct {
	http   *httpapi.Server
	limits *Limits
	*clock
}

func newFront(t *testing.T, cfg Config, proxies ...string) *front {
	t.Helper()
	f := &front{clock: &clock{now: start}}
	var err error
	f.limits, err = New(cfg, Deps{Now: f.Now, KnownKey: func(c *gin.Context) (known, formed bool) {
		return c.GetHeader("X-Key") == "known", c.GetHeader("X-Key") == "formed"
	}})
	require.NoError(t, err)
	f.http, err = httpapi.New(httpapi.Config{TrustedProxies: proxies}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
		Guard: f.limits,
	})
	require.NoError(t, err)
	answer := httpapi.Plain(func(c *gin.Context) error {
		if code := errs.Code(c.GetHeader("X-Answer")); code != "" {
			return errs.New(code, "as asked")
		}
		return httpapi.JSON(c, http.StatusOK, "fine")
	})
	for path, limit := range map[string]httpapi.Limit{
		"/api/benna": httpapi.LimitRanking, "/v1/ad-request": httpapi.LimitRefused, "/api/track": httpapi.LimitNone,
		"/api/mcp": httpapi.LimitKeyless, "/api/rtb": httpapi.LimitKeyless,
	} {
		f.http.Handle(http.MethodPost, path, answer, limitedBy(limit))
	}
	f.http.HandleActions(http.MethodPost, "/api/auth", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: answer}, "login": {Do: answer},
		"register": {Do: answer, Policy: limitedBy(httpapi.LimitRegistrations)},
	}}, limitedBy(httpapi.LimitLogins))
	for path, limit := range map[string]httpapi.Limit{
		"/api/track": httpapi.LimitNone, "/s/:token": httpapi.LimitNone, "/r/:token": httpapi.LimitOpen,
		"/api/campaigns": httpapi.LimitRefused, "/api/rtb": httpapi.LimitKeyless,
	} {
		f.http.Handle(http.MethodGet, path, answer, limitedBy(limit))
	}
	return f
}

func limitedBy(l httpapi.Limit) httpapi.Policy {
	return httpapi.Policy{Limit: l, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No}
}

func (f *front) from(ip, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = ip + ":4711"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	return w
}

func requireLimited(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, w.Code, w.Body)
	require.Regexp(t, `^[1-9]\d*$`, w.Header().Get("Retry-After"))
	var body struct {
		Error, Code string
		RetryAfter  int `json:"retry_after"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, "rate_limited", body.Code)
	require.Positive(t, body.RetryAfter)
}

const wrong = string(errs.InvalidCredentials)

func TestTenBadLogins(t *testing.T) {
	f := newFront(t, defaults())
	bad := func(ip string, more ...string) *httptest.ResponseRecorder {
		return f.from(ip, "POST", "/api/auth?action=login", append(more, "X-Answer", wrong)...)
	}
	for range 50 { // good ones do not count, nor malformed ones
		require.Equal(t, 200, f.from("192.0.2.1", "POST", "/api/auth").Code)
		require.Equal(t, 400, f.from("192.0.2.1", "POST", "/api/auth", "X-Answer", "invalid_request").Code)
	}
	for range 10 {
		require.Equal(t, 401, bad("192.0.2.1").Code)
	}
	requireLimited(t, bad("192.0.2.1"))
	requireLimited(t, f.from("192.0.2.1", "POST", "/api/auth"))
	// No header of the client changes its address.
	for _, header := range []string{
		"X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "X-Appengine-Remote-Addr", "Fly-Client-IP",
		"True-Client-IP",
	} {
		requireLimited(t, bad("192.0.2.1", header, "198.51.100.7"))
	}
	require.Equal(t, 401, bad("192.0.2.2").Code, "another address")
	require.Equal(t, 200, f.from("192.0.2.1", "POST", "/v1/ad-request").Code, "other routes are open")
	f.pass(11 * time.Minute)
	require.Equal(t, 401, bad("192.0.2.1").Code)
}

func TestManyBadLoginsAtOnceAreNotMoreTries(t *testing.T) {
	f := newFront(t, defaults())
	var mu sync.Mutex
	tried, inside := 0, make(chan struct{})
	f.http.Handle(http.MethodPut, "/api/auth", httpapi.Plain(func(*gin.Context) error {
		mu.Lock()
		tried++
		mu.Unlock()
		<-inside
		return errs.New(errs.InvalidCredentials, "no")
	}), limitedBy(httpapi.LimitLogins))
	var all sync.WaitGroup
	refused := make(chan int, 100)
	for range 100 {
		all.Go(func() {
			if code := f.from("192.0.2.1", "PUT", "/api/auth").Code; code == http.StatusTooManyRequests {
				refused <- code
			}
		})
	}
	var release sync.Once
	stop := func() { release.Do(func() { close(inside) }) }
	bound := time.AfterFunc(20*time.Second, stop) // only ends a test that fails
	defer bound.Stop()
	require.Eventually(t, func() bool { return len(refused) == 90 }, 15*time.Second, time.Millisecond)
	stop()
	all.Wait()
	require.Equal(t, 10, tried)
}

func TestTrustedProxiesNameTheClient(t *testing.T) {
	f := newFront(t, Config{BadLogins: 1}, "10.0.0.0/8")
	via := func(proxy, client string) int {
		return f.from(proxy, "POST", "/api/auth", "X-Answer", wrong, "X-Forwarded-For", client).Code
	}
	require.Equal(t, 401, via("10.0.0.1", "192.0.2.1"))
	require.Equal(t, 429, via("10.0.0.2", "192.0.2.1"))
	require.Equal(t, 401, via("10.0.0.1", "192.0.2.2"))
	require.Equal(
		t, 429, via("10.0.0.1", "198.51.100.1, 192.0.2.2"),
		"what the client put before the proxy's own word is not believed",
	)
	require.Equal(t, 401, via("203.0.113.5", "192.0.2.9"))
	require.Equal(t, 429, via("203.0.113.5", "192.0.2.10"), "an address that is no proxy is the client")
}

// One IPv6 line has as many registrations as an address.
func TestRegistrationsOfAnIPv6Line(t *testing.T) {
	f := newFront(t, Config{Register: 3})
	for n := range 5 {
		code := f.from(fmt.Sprintf("[2001:db8:1:%x::1]", n), "POST", "/api/auth?action=register").Code
		require.Equal(t, n >= 3, code == 429, n)
	}
	require.NotEqual(t, 429, f.from("[2001:db8:1:100::1]", "POST", "/api/auth?action=register").Code, "another line")
}

func TestLimitsByAddress(t *testing.T) {
	cfg := Config{Register: 3, Benna: 4, Open: 5, Refused: 6, BadLogins: 10, Keyless: 7}
	for _, c := range []struct {
		method, path, answer string
		passes               int
	}{
		{"POST", "/api/auth?action=register", "", 3},
		{"POST", "/api/benna", "", 4},
		{"GET", "/r/token", "", 5},
		{"GET", "/openapi.json", "", 5},
		{"GET", "/no/such/path", "", 5},
		{"DELETE", "/api/campaigns", "", 5}, // no such method: like a path that is not there
		{"POST", "/v1/ad-request", "invalid_token", 6},
		{"GET", "/api/campaigns", "invalid_token", 6},
		{"POST", "/api/mcp", "missing_authorization", 7},
		{"POST", "/api/rtb", "invalid_token", 7},
		{"GET", "/api/rtb?op=win", "", 7},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			f := newFront(t, cfg)
			for range c.passes {
				require.NotEqual(t, 429, f.from("192.0.2.1", c.method, c.path, "X-Answer", c.answer).Code)
			}
			requireLimited(t, f.from("192.0.2.1", c.method, c.path, "X-Answer", c.answer))
			f.pass(11 * time.Minute)
			require.NotEqual(t, 429, f.from("192.0.2.1", c.method, c.path, "X-Answer", c.answer).Code)
		})
	}
	f := newFront(t, cfg)
	for range 5 {
		require.Equal(t, 404, f.from("192.0.2.1", "GET", "/api/tracking").Code)
	}
	requireLimited(t, f.from("192.0.2.1", "GET", "/api/tracking"))
	f = newFront(t, cfg)
	for range 100 {
		for _, path := range []string{"/api/track?event=impression", "/s/token", "/healthz", "/readyz"} {
			require.NotEqual(t, 429, f.from("192.0.2.1", "GET", path).Code, "beacons are never refused")
		}
		require.Equal(
			t, 200, f.from("192.0.2.1", "GET", "/api/campaigns").Code, "who has a key is not limited by address",
		)
	}
}

// A publisher's exchanges and programs use few addresses: a valid key is accepted whatever else its
// address sends, and has its own limit elsewhere.
func TestValidKeyIsNotLimitedByAddress(t *testing.T) {
	for _, path := range []string{"/api/mcp", "/api/rtb"} {
		f := newFront(t, Config{Keyless: 5})
		for range 100 {
			require.Equal(t, 200, f.from("192.0.2.1", "POST", path).Code, "what is not refused does not count")
		}
		for range 5 {
			require.Equal(t, 401, f.from("192.0.2.1", "POST", path, "X-Answer", "invalid_token").Code)
		}
		requireLimited(t, f.from("192.0.2.1", "POST", path, "X-Answer", "invalid_token"))
		requireLimited(t, f.from("192.0.2.1", "GET", "/api/rtb?op=win"))
		require.Equal(t, 200, f.from("192.0.2.2", "POST", path).Code, "another address")
		for range 2 * lookupsPerSecond {
			require.Equal(t, 200, f.from("192.0.2.1", "POST", path, "X-Key", "known").Code)
		}
		for range lookupsPerSecond {
			require.Equal(
				t, 200, f.from("192.0.2.1", "POST", path, "X-Key", "formed").Code,
				"a key that was not seen yet is looked up",
			)
		}
		requireLimited(t, f.from("192.0.2.1", "POST", path, "X-Key", "formed"))
		require.Equal(t, 200, f.from("192.0.2.1", "POST", path, "X-Key", "known").Code)
		f.pass(time.Second)
		require.Equal(t, 200, f.from("192.0.2.1", "POST", path, "X-Key", "formed").Code)
		f.pass(2 * time.Minute)
		require.Equal(t, 200, f.from("192.0.2.1", "POST", path).Code)
	}
	// Anyone can invent a sandbox key, so it does not count as a key.
	f := newFront(t, Config{Keyless: 5})
	for range 5 {
		require.Equal(t, 200, f.from("192.0.2.1", "POST", "/api/mcp", "Authorization", "Bearer pub_test_sandbox").Code)
	}
	requireLimited(t, f.from("192.0.2.1", "POST", "/api/mcp", "Authorization", "Bearer pub_test_sandbox"))
}
