package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"adnet/internal/testenv"
)

// get makes plain requests.
func get(server *httptest.Server) traffic {
	return traffic{addr: strings.TrimPrefix(server.URL, "http://"), next: func(_ uint64, r *fasthttp.Request) {
		r.SetRequestURI("/")
		r.Header.SetHost("test")
	}}
}

// A server that stands still for a second delays every request that was due meanwhile, not only
// those that it had accepted. The open loop must show that; otherwise a stall hides itself
// (coordinated omission).
func TestOpenLoopSeesStalls(t *testing.T) {
	end := sync.OnceValue(func() time.Time { return time.Now().Add(time.Second) }) // of the stall
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(time.Until(end()))
	}))
	defer server.Close()
	requests := get(server)
	m, err := requests.open(t.Context(), 400, 2*time.Second)
	require.NoError(t, err)
	require.InDelta(t, 800, m.count, 150)
	// Half of the requests were due in the stalled second; a closed loop would show 128 slow ones
	// of 800.
	require.Greater(t, m.p99, 900*time.Millisecond)
	require.Greater(t, m.p50, time.Duration(0))
	slow, err := requests.open(t.Context(), 400, time.Second)
	require.NoError(t, err)
	require.Less(t, slow.p50, m.p99)
}

func TestLoadReportsRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
	))
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
	of := func(ours, baseline float64) round { return round{sample{rate: ours}, sample{rate: baseline}} }
	slow := []round{of(24.4, 24.0), of(15.0, 12.3), of(14.2, 13.7), of(19.1, 21.7), of(24.9, 28.0)}
	require.Equal(t, of(24.4, 24.0), medianRound(slow))
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
	with := result{
		row: row{name: "beacon", unit: "requests/s", must: 0.55, aim: 0.8}, ours: 27204.123, baseline: 55755,
		p50: 2091 * time.Microsecond, p99: 8983 * time.Microsecond,
	}
	require.JSONEq(
		t,
		`{"name":"beacon","ours":27200,"baseline":55760,"ratio":0.4879,"unit":"requests/s","stolen":0,"p50_ms":2.091,"p99_ms":8.983}`, with.json(),
	)
	require.Equal(t, missed, with.verdict())
	alone := result{row: row{name: "start", unit: "s", must: 2, aim: 0.5, atMost: true}, ours: 0.4}
	require.JSONEq(t, `{"name":"start","ours":0.4,"unit":"s","stolen":0}`, alone.json())
	require.Equal(t, reached, alone.verdict())
	require.Contains(t, table([]result{with, alone}, "a machine", false), "MISSED")
	require.NotContains(t, table([]result{with, alone}, "a machine", true), "MISSED")
	for _, line := range []string{with.json(), alone.json()} {
		require.True(t, json.Valid([]byte(line)))
	}
}

func TestMarkdown(t *testing.T) {
	text := markdown([]result{
		{
			row:  row{name: "beacon", ours: "GET", baseline: "bare gin", unit: "requests/s", must: 0.55, aim: 0.8},
			ours: 27204, baseline: 55755, p50: 2091 * time.Microsecond, p99: 8983 * time.Microsecond,
		},
		{row: row{name: "start", ours: "ready", unit: "s", must: 2, aim: 0.5, atMost: true}, ours: 0.7},
	}, "a machine", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	require.Contains(t, text, "2026-11-21 on a machine")
	require.Contains(
		t, text,
		"| beacon: GET | 27,204 requests/s | bare gin: 55,755 | 0.488 (missed) | ≥ 0.550 | ≥ 0.800 |  | 0 % | 2.091 "+
			"/ 8.983 |\n",
	)
	require.Contains(t, text, "| start: ready | 0.700 s |  | 0.700 | ≤ 2.000 | ≤ 0.500 |  | 0 % |  |\n")
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

// Rows are the contract of the issue tracker and of the README: each once, each with its
// thresholds.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		require.False(t, seen[r.name], r.name)
		seen[r.name] = true
		require.NotNil(t, r.run, r.name)
		if r.name != "small" { // this row informs and has no goal
			require.Positive(t, r.must, r.name)
		}
		require.NotEmpty(t, r.unit, r.name)
		if r.baseline != "" && !r.steady && r.must > 0 {
			require.Positive(t, r.cpuMust, "%s: it has to be held against something on a noisy machine", r.name)
		}
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
	cost := perUnit(
		map[string]float64{"ingress": 1}, map[string]float64{"ingress": 3, "kafka": 0.5, "idle": 0}, 100_000,
	)
	require.Equal(t, map[string]float64{"ingress": 20, "kafka": 5}, cost)
	require.Equal(t, "ingress 20.0, kafka 5.000", costs(cost))
}

func TestFreeAddr(t *testing.T) {
	addr, err := testenv.FreeAddr()
	require.NoError(t, err)
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, answers(addr))
	require.NoError(t, l.Close())
	require.Error(t, answers(addr))
}

// Wall clock counts where less than 5 % of a sample was stolen; a noisier one is repeated, three
// times at most, and then the row is held against processor time, for which no sample is repeated.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		stolen []float64
		again  []bool
		noisy  bool
	}{
		"quiet":                 {[]float64{0, 0.049, 0.01}, []bool{false, false, false}, false},
		"noisy once":            {[]float64{0.05, 0.02, 0.02}, []bool{true, false, false}, false},
		"third repeat is quiet": {[]float64{0.3, 0.3, 0.3, 0.01}, []bool{true, true, true, false}, false},
		"each sample has three": {
			[]float64{0.3, 0.3, 0.3, 0, 0.3, 0.3, 0.3, 0}, []bool{true, true, true, false, true, true, true, false},
			false,
		},
		"never quiet": {[]float64{0.3, 0.3, 0.3, 0.3, 0.3}, []bool{true, true, true, false, false}, true},
		"quiet, but too late": {
			[]float64{0.3, 0.3, 0.3, 0.3, 0, 0.3}, []bool{true, true, true, false, false, false}, true,
		},
		"all of the time stolen": {[]float64{1, 1, 1, 1}, []bool{true, true, true, false}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var p patience
			for i, stolen := range c.stolen {
				require.Equal(t, c.again[i], p.again(stolen), "sample %d", i)
			}
			require.Equal(t, c.noisy, p.noisy)
		})
	}
}

func TestVerdict(t *testing.T) {
	rate := row{name: "beacon", baseline: "gin", must: 0.5, cpuMust: 2.4}
	unbound := row{name: "x", baseline: "y", must: 0.5}
	latency := row{name: "pause", must: 1, atMost: true}
	memory := row{name: "memory", baseline: "JSON", must: 1.5, atMost: true, steady: true}
	idle := row{name: "idle", must: 1.5, atMost: true, steady: true}
	for name, c := range map[string]struct {
		result
		want verdict
	}{
		"quiet, fast, dear": {
			result{row: rate, ours: 60, baseline: 100, cpuRatio: 9, stolen: 0.049}, reached,
		},
		"quiet, slow, cheap": {result{row: rate, ours: 40, baseline: 100, cpuRatio: 1, stolen: 0}, missed},
		"noisy, slow, cheap": {
			result{row: rate, ours: 40, baseline: 100, cpuRatio: 2.4, stolen: 0.05}, reachedByCPU,
		},
		"noisy, fast, dear": {
			result{row: rate, ours: 60, baseline: 100, cpuRatio: 2.41, stolen: 0.5}, missedByCPU,
		},
		"noisy, cost unknown": {result{row: rate, ours: 60, baseline: 100, stolen: 0.5}, tooNoisy},
		"noisy, no bound": {
			result{row: unbound, ours: 60, baseline: 100, cpuRatio: 1, stolen: 0.5}, tooNoisy,
		},
		"quiet latency":               {result{row: latency, ours: 0.9}, reached},
		"quiet latency, late":         {result{row: latency, ours: 1.1}, missed},
		"noisy latency, kept anyway":  {result{row: latency, ours: 0.9, stolen: 0.5}, reached},
		"noisy latency, late":         {result{row: latency, ours: 1.1, stolen: 0.5}, tooNoisy},
		"memory does not mind":        {result{row: memory, ours: 1.4, baseline: 1, stolen: 0.9}, reached},
		"memory misses":               {result{row: memory, ours: 1.6, baseline: 1, stolen: 0.9}, missed},
		"idle is processor time":      {result{row: idle, ours: 1.6, stolen: 0.9}, missed},
		"a row that is only reported": {result{row: row{name: "small"}, ours: 3, baseline: 1, stolen: 0.9}, unjudged},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.verdict()) })
	}
}

func TestJudge(t *testing.T) {
	of := func(ours, baseline, oursCPU, baselineCPU, stolen float64) round {
		return round{sample{ours, oursCPU, 0}, sample{baseline, baselineCPU, stolen}}
	}
	got := judge([]round{of(50, 100, 30, 20, 0.01), of(10, 100, 29, 20, 0.04), of(90, 100, 90, 20, 0)})
	require.InDelta(t, 0.5, got.judged(), 1e-9, "the round in the middle")
	require.InDelta(t, 1.5, got.cpuRatio, 1e-9, "the median of the ratios")
	require.InDelta(t, 0.04, got.stolen, 1e-9, "the worst sample")
	require.Zero(t, judge([]round{of(50, 100, 30, 0, 0)}).cpuRatio, "not known")
}

func TestStolenShare(t *testing.T) {
	at := func(busy, idle, steal, session, kernel float64) reading {
		return reading{session: session, kernel: kernel, machine: machineTime{busy, idle, steal}}
	}
	from := at(100, 100, 10, 50, 5)
	for name, c := range map[string]struct {
		to           reading
		hidden, want float64
	}{
		"all ours":               {at(108, 100, 10, 58, 5), 0, 0},
		"the kernel's threads":   {at(108, 100, 10, 57, 6), 0, 0},
		"idle is not stolen":     {at(101, 107, 10, 51, 5), 0, 0},
		"the hypervisor":         {at(106, 100, 12, 56, 5), 0, 0.25},
		"strangers":              {at(108, 100, 10, 56, 5), 0, 0.25},
		"both":                   {at(106, 100, 12, 54, 5), 0, 0.5},
		"without being told":     {at(108, 100, 10, 58, 5), 0.3, 0.3},
		"rounding of the ticks":  {at(108, 100, 10, 58.1, 5), 0, 0},
		"a clock that stands":    {from, 0.2, 0.2},
		"never more than all":    {at(100, 100, 18, 50, 5), 0.5, 1},
		"children inherited (-)": {at(108, 100, 10, 70, 5), 0, 0},
	} {
		t.Run(name, func(t *testing.T) { require.InDelta(t, c.want, stolenShare(from, c.to, c.hidden), 1e-9) })
	}
}

func TestParseAccounting(t *testing.T) {
	line := "77 (a (strange) name) S 5 77 77 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 8 0 100 1 2"
	require.Equal(t, processTime{parent: 5, used: 2, reaped: 0.5}, parseProcess(77, []byte(line)))
	require.True(
		t, parseProcess(20, []byte("20 (ksoftirqd/0) S 2 0 0 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 8")).kernelsThread,
	)
	require.Zero(t, parseProcess(1, []byte("torn")))
	require.Equal(
		t, machineTime{busy: 7, idle: 9, steal: 7},
		parseMachine([]byte("cpu  100 200 300 400 500 20 80 700 0 0\ncpu0 1\n")),
	)
	require.Zero(t, parseMachine([]byte("intr 1 2 3")))
	name, inode := listener(
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100",
		map[string]string{"8080": "kafka"},
	)
	require.Equal(t, "kafka", name)
	require.Equal(t, "12345", inode)
	name, _ = listener(
		"   0: 0100007F:1F90 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100",
		map[string]string{"8080": "kafka"},
	)
	require.Empty(t, name, "a connection, not a listener")
}

// The session finds its own processes with their children; all others are strangers.
func TestKind(t *testing.T) {
	s := &session{servers: map[int]string{30: "postgres"}}
	all := map[int]processTime{
		1: {}, 10: {parent: 1}, 11: {parent: 10}, 30: {parent: 1}, 31: {parent: 30}, 40: {parent: 1}, 50: {parent: 50},
	}
	names := map[int]string{10: "nginx"}
	for pid, want := range map[int]string{
		10: "nginx", 11: "nginx", 30: "postgres", 31: "postgres", 40: "", 1: "", 50: "", 99: "",
	} {
		name, server := s.kind(all, names, pid)
		require.Equal(t, want, name, pid)
		require.Equal(t, want == "postgres", server, pid)
	}
	require.Contains(t, s.read().ours, generator)
	require.Positive(t, s.read().machine.busy)
}

// Time that passes for a thread's clock between two readings, and not for its work, was taken.
func TestJumps(t *testing.T) {
	var j jumps
	require.Zero(t, j.share())
	for burst := range 10 { // of 5 ms each, with 1 ms missing in every second one
		j.resume()
		now := time.Duration(burst) * time.Hour // a pause is not a jump
		for range 40 {
			j.add(now)
			now += 100 * time.Microsecond
		}
		if burst%2 == 0 {
			now += 900 * time.Microsecond
		}
		j.add(now)
	}
	require.InDelta(t, 5.0/(10*4+4.5), j.share(), 1e-9)
	p := startProbe()
	time.Sleep(30 * time.Millisecond)
	require.Less(t, p.end(), 1.0)
}
