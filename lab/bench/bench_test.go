package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// get is requests that nothing is special about.
func get(server *httptest.Server) traffic {
	return traffic{addr: strings.TrimPrefix(server.URL, "http://"), next: func(_ uint64, r *fasthttp.Request) {
		r.SetRequestURI("/")
		r.Header.SetHost("test")
	}}
}

// A server that stands still for a second delays every request that was due meanwhile, not only those it had
// accepted: the open loop must show that, or a stall hides itself (coordinated omission).
func TestOpenLoopSeesStalls(t *testing.T) {
	begun := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if since := time.Since(begun); since < time.Second {
			time.Sleep(time.Second - since)
		}
	}))
	defer server.Close()
	requests := get(server)
	m, err := requests.open(t.Context(), 400, 2*time.Second)
	require.NoError(t, err)
	require.InDelta(t, 800, m.count, 150)
	// Half of the requests were due in the stalled second; a closed loop would show 128 slow ones of 800.
	require.Greater(t, m.p99, 900*time.Millisecond)
	require.Greater(t, m.p50, time.Duration(0))
	slow, err := requests.open(t.Context(), 400, time.Second)
	require.NoError(t, err)
	require.Less(t, slow.p50, m.p99)
}

func TestLoadReportsRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	requests := get(server)
	_, err := requests.peak(t.Context(), 50*time.Millisecond)
	require.ErrorContains(t, err, "status 418")
}

// The last request of a connection is due at the end of the run.
func TestPace(t *testing.T) {
	interval := pace(1280, 128, 10*time.Second) // 100 requests on each of 128 connections
	require.InDelta(t, (10 * time.Second).Seconds(), 99*interval.Seconds(), 0.001)
	require.Zero(t, pace(0, 128, time.Second))
}

func TestMedianAndQuantile(t *testing.T) {
	require.InDelta(t, 3, median([]float64{9, 1, 3}), 0)
	// Two slow minutes: each side's median would be of another one, and their ratio 0.88.
	slow := []round{{24.4, 24.0}, {15.0, 12.3}, {14.2, 13.7}, {19.1, 21.7}, {24.9, 28.0}}
	require.Equal(t, round{24.4, 24.0}, medianRound(slow))
	all := make([]float64, 100)
	for i := range all {
		all[i] = float64(100 - i)
	}
	require.InDelta(t, 99, quantile(all, 0.99), 0) // 99 of 100 are not above it
	require.InDelta(t, 50, quantile(all, 0.5), 0)
	require.InDelta(t, 1, quantile(all, 0), 0)
	require.InDelta(t, 100, quantile(all, 1), 0)
}

func TestResultLines(t *testing.T) {
	with := result{row: row{name: "beacon", unit: "requests/s", must: 0.55, aim: 0.8}, ours: 27204.123, baseline: 55755, p50: 2091 * time.Microsecond, p99: 8983 * time.Microsecond}
	require.JSONEq(t, `{"name":"beacon","ours":27200,"baseline":55760,"ratio":0.4879,"unit":"requests/s","p50_ms":2.091,"p99_ms":8.983}`, with.json())
	require.False(t, with.reached())
	alone := result{row: row{name: "start", unit: "s", must: 2, aim: 0.5, atMost: true}, ours: 0.4}
	require.JSONEq(t, `{"name":"start","ours":0.4,"unit":"s"}`, alone.json())
	require.True(t, alone.reached())
	require.Contains(t, table([]result{with, alone}, "a machine", false), "MISSED")
	require.NotContains(t, table([]result{with, alone}, "a machine", true), "MISSED")
	for _, line := range []string{with.json(), alone.json()} {
		require.True(t, json.Valid([]byte(line)))
	}
}

func TestMarkdown(t *testing.T) {
	text := markdown([]result{
		{row: row{name: "beacon", ours: "GET", baseline: "bare gin", unit: "requests/s", must: 0.55, aim: 0.8}, ours: 27204, baseline: 55755, p50: 2091 * time.Microsecond, p99: 8983 * time.Microsecond},
		{row: row{name: "start", ours: "ready", unit: "s", must: 2, aim: 0.5, atMost: true}, ours: 0.7},
	}, "a machine", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	require.Contains(t, text, "2026-11-21 on a machine")
	require.Contains(t, text, "| beacon: GET | 27,204 requests/s | bare gin: 55,755 | 0.488 (missed) | ≥ 0.550 | ≥ 0.800 | 2.091 / 8.983 |\n")
	require.Contains(t, text, "| start: ready | 0.700 s |  | 0.700 | ≤ 2.000 | ≤ 0.500 |  |\n")
}

func TestReadmeTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+tableStart+"old\n"+tableEnd+"after\n"), 0o644))
	require.NoError(t, replaceTable(path, "new\n"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before\n"+tableStart+"new\n"+tableEnd+"after\n", string(text))
	require.NoError(t, os.WriteFile(path, []byte("no markers"), 0o644))
	require.Error(t, replaceTable(path, "new\n"))
}

// Rows are the contract of the issue tracker and of the README: each once, each with its thresholds.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		require.False(t, seen[r.name], r.name)
		seen[r.name] = true
		require.NotNil(t, r.run, r.name)
		require.Positive(t, r.must, r.name)
		require.NotEmpty(t, r.unit, r.name)
		if r.atMost {
			require.LessOrEqual(t, r.aim, r.must, r.name)
		} else {
			require.GreaterOrEqual(t, r.aim, r.must, r.name)
		}
	}
}

func TestPick(t *testing.T) {
	names := func(of ...string) (names []string) {
		chosen, err := pick(rows(), of)
		require.NoError(t, err)
		for _, r := range chosen {
			names = append(names, r.name)
		}
		return names
	}
	require.Len(t, names(), len(rows()))
	require.Equal(t, []string{"beacon", "mcp"}, names("mcp", "beacon"))
	require.Equal(t, []string{"memory_100k", "memory_1m"}, names("memory"), "as the contract names the row")
	require.Equal(t, []string{"memory_1m"}, names("memory_1m"))
	for _, wrong := range []string{"", "beacons", "beacon,mcp"} {
		_, err := pick(rows(), []string{"beacon", wrong})
		require.Error(t, err, wrong)
	}
}

func TestCosts(t *testing.T) {
	cost := perUnit(map[string]float64{"ingress": 1}, map[string]float64{"ingress": 3, "kafka": 0.5, "idle": 0}, 100_000)
	require.Equal(t, map[string]float64{"ingress": 20, "kafka": 5}, cost)
	require.Equal(t, "ingress 20.0, kafka 5.000", costs(cost))
}

func TestFreeAddr(t *testing.T) {
	addr, err := freeAddr()
	require.NoError(t, err)
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, answers(addr))
	require.NoError(t, l.Close())
	require.Error(t, answers(addr))
}
