package obs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps no connection, so that a test ends with all of its goroutines.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func newAdmin(t *testing.T, addr string) (*Admin, *Readiness) {
	t.Helper()
	readiness := NewReadiness()
	admin, err := NewAdmin(AdminConfig{Addr: addr}, AdminDeps{Gatherer: NewRegistry(), Readiness: readiness})
	require.NoError(t, err)
	return admin, readiness
}

// run starts admin and returns its address and a function that stops it.
func run(t *testing.T, admin *Admin) (base string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- admin.Run(ctx) }()
	select {
	case <-admin.Ready():
	case err := <-result:
		t.Fatal(err)
	}
	stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return "http://" + admin.Addr(), stop
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := client.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func TestAdminRoutes(t *testing.T) {
	admin, _ := newAdmin(t, "127.0.0.1:0")
	require.Empty(t, admin.Addr())
	admin.Handle("GET /internal/verify", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("verified"))
	}))
	base, _ := run(t, admin)
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"ready":true,"draining":false,"degraded":[],"checks":[]}`,
		"/metrics": "go_goroutines ", "/internal/verify": "verified", "/debug/pprof/": "heap",
		"/debug/pprof/goroutine?debug=1": "goroutine profile:", "/debug/pprof/cmdline": "obs.test",
	} {
		status, body := get(t, base+path)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, want, path)
	}
	status, _ := get(t, base+"/nothing")
	require.Equal(t, http.StatusNotFound, status)
	res, err := client.Post(base+"/internal/verify", "text/plain", nil)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
}

// Prometheus asks for one of several forms; a person with curl gets the text format.
func TestMetricsSpeakOpenMetrics(t *testing.T) {
	admin, _ := newAdmin(t, "127.0.0.1:0")
	base, _ := run(t, admin)
	for accept, want := range map[string]string{
		"":                             "text/plain;",
		"*/*":                          "text/plain;",
		"application/openmetrics-text": "application/openmetrics-text;",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf;",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/metrics", nil)
		require.NoError(t, err)
		if accept != "" {
			request.Header.Set("Accept", accept)
		}
		res, err := client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		require.True(t, strings.HasPrefix(res.Header.Get("Content-Type"), want), "%s: %s", accept, res.Header)
		require.Equal(t, strings.Contains(want, "openmetrics"), strings.HasSuffix(string(body), "# EOF\n"), accept)
	}
}

func TestAdminReadyzNamesWhatFails(t *testing.T) {
	admin, readiness := newAdmin(t, "127.0.0.1:0")
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	readiness.now = func() time.Time { return at }
	var failure atomic.Pointer[error]
	readiness.Add("log", Traffic, func() error {
		if err := failure.Load(); err != nil {
			return *err
		}
		return nil
	})
	readiness.Add("store", Traffic, func() error { return nil })
	base, _ := run(t, admin)
	status, body := get(t, base+"/readyz")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"ready":true,"draining":false,"degraded":[],"checks":[
		{"name":"log","ok":true,"since":"2026-01-31T12:00:00Z"},
		{"name":"store","ok":true,"since":"2026-01-31T12:00:00Z"}]}`, body)

	down := errors.New("no broker at broker-1:9092")
	failure.Store(&down)
	status, body = get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"ready":false,"draining":false,"degraded":[],"checks":[
		{"name":"log","ok":false,"since":"2026-01-31T12:00:00Z","error":"no broker at broker-1:9092"},
		{"name":"store","ok":true,"since":"2026-01-31T12:00:00Z"}]}`, body)

	failure.Store(nil)
	readiness.SetDraining()
	status, body = get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"draining":true`)
	status, _ = get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status, "a draining process is alive")
}

// A process that only cannot sell ads, or not fill the statistics, keeps its traffic.
func TestAdminReadyzForAds(t *testing.T) {
	admin, readiness := newAdmin(t, "127.0.0.1:0")
	readiness.Add("recording", Traffic, func() error { return nil })
	readiness.Add("budget", Ads, func() error { return errors.New("Redis is down") })
	readiness.Add("archive", Upkeep, func() error { return errors.New("ClickHouse is down") })
	base, _ := run(t, admin)
	for path, want := range map[string]int{
		"/readyz": http.StatusOK, "/readyz?for=ads": http.StatusServiceUnavailable,
	} {
		status, body := get(t, base+path)
		require.Equal(t, want, status, path)
		require.Contains(t, body, `"degraded":["budget","archive"]`, path)
	}
	status, body := get(t, base+"/readyz?for=money")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, `"field":"for"`)

	readiness.Add("budget", Ads, func() error { return nil })
	status, _ = get(t, base+"/readyz?for=ads")
	require.Equal(t, http.StatusOK, status, "ads do without the archive")
}

// The listener runs the checks although no probe asks, so that the time of a failure is right.
func TestAdminDatesFailuresUnasked(t *testing.T) {
	admin, readiness := newAdmin(t, "127.0.0.1:0")
	ran := make(chan struct{}, 1)
	readiness.Add("log", Traffic, func() error {
		select {
		case ran <- struct{}{}:
		default:
		}
		return nil
	})
	run(t, admin)
	for range 2 { // at the start, and again
		<-ran
	}
}

// The public listener shows a Report as it is: reasons stay inside.
func TestReportIsFitForStrangers(t *testing.T) {
	readiness := NewReadiness()
	readiness.Add("log", Traffic, func() error { return errors.New("no broker at broker-1:9092") })
	report := readiness.Check(Traffic)
	require.EqualError(t, report.Checks[0].Err, "no broker at broker-1:9092")
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.JSONEq(t, `{"ready":false,"draining":false,"degraded":[],"checks":[{"name":"log","ok":false}]}`, string(text))
}

var errBroken = errors.New("broken")

func TestReadiness(t *testing.T) {
	readiness := NewReadiness()
	require.True(t, readiness.Check(Traffic).Ready)
	readiness.Add("a", Traffic, func() error { panic("bug") })
	report := readiness.Check(Traffic)
	require.False(t, report.Ready)
	require.ErrorContains(t, report.Checks[0].Err, "bug")
	readiness.Add("a", Traffic, func() error { return nil })
	report = readiness.Check(Traffic)
	require.True(t, report.Ready)
	require.Len(t, report.Checks, 1)

	failed := report.Checks[0].Since
	readiness.now = func() time.Time { return failed.Add(time.Hour) }
	require.Equal(t, failed, readiness.Check(Ads).Checks[0].Since, "the result has not changed")
	readiness.Add("a", Traffic, func() error { return errBroken })
	require.Equal(t, failed.Add(time.Hour), readiness.Check(Ads).Checks[0].Since)
	readiness.Add("a", Traffic, func() error { return nil })

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				readiness.Add("a", Traffic, func() error { return nil })
				assert.True(t, readiness.Check(Traffic).Checks[0].OK)
			}
		})
	}
	all.Wait()
	readiness.SetDraining()
	require.False(t, readiness.Check(Traffic).Ready)
}

func TestAdminAddressTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	admin, _ := newAdmin(t, taken.Addr().String())
	err = admin.Run(t.Context())
	require.ErrorContains(t, err, taken.Addr().String())
	require.ErrorContains(t, err, "ADNET_ADMIN_ADDR")
	select {
	case <-admin.Ready():
		t.Fatal("ready without a listener")
	default:
	}
}

func TestNewAdminChecks(t *testing.T) {
	for _, addr := range []string{"", "8081", "a:b:c"} {
		_, err := NewAdmin(
			AdminConfig{Addr: addr}, AdminDeps{Gatherer: prometheus.NewRegistry(), Readiness: NewReadiness()},
		)
		require.ErrorContains(t, err, "host:port", addr)
	}
	_, err := NewAdmin(AdminConfig{Addr: "127.0.0.1:0"}, AdminDeps{Readiness: NewReadiness()})
	require.Error(t, err)
	_, err = NewAdmin(AdminConfig{Addr: "127.0.0.1:0"}, AdminDeps{Gatherer: prometheus.NewRegistry()})
	require.Error(t, err)
}

// A request under way when the process stops sees it and may answer; the listener is gone
// afterwards.
func TestAdminStopEndsRequestsUnderWay(t *testing.T) {
	admin, _ := newAdmin(t, "127.0.0.1:0")
	inside := make(chan struct{})
	admin.Handle("GET /slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
		w.Write([]byte("cut short"))
	}))
	base, stop := run(t, admin)
	answer := make(chan string, 1)
	go func() {
		res, err := client.Get(base + "/slow")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-inside
	require.NoError(t, stop())
	require.Equal(t, "cut short", <-answer)
	_, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.Error(t, err, "still listening")
}

// A client that sends a header for ever must not hold up the stop beyond its grace.
func TestAdminStopCutsOffStalledClients(t *testing.T) {
	admin, _ := newAdmin(t, "127.0.0.1:0")
	base, stop := run(t, admin)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: "))
	require.NoError(t, err)
	_, err = http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, stop())
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.Copy(io.Discard, conn)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the connection was left open")
}
