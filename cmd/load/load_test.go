package load

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/internal/money"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jumpingClock jumps to the time that the last sleep ended at: a paced run takes no time.
type jumpingClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *jumpingClock {
	return &jumpingClock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
}

func (c *jumpingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *jumpingClock) SleepUntil(ctx context.Context, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
	return ctx.Err()
}

func (c *jumpingClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// settings are those of a plain run against f: no campaigns, 3 publishers, no clicks, no
// duplicates.
func settings(f *fake) Config {
	return Config{
		URL: f.URL, Campaigns: None, Contexts: Demo, Advertisers: 3, Publishers: 3, Concurrency: 8,
		Timeout: 10 * time.Second, SettleWait: 10 * time.Second, Seed: 1,
	}
}

func run(t *testing.T, cfg Config) (Report, string) {
	t.Helper()
	report, out, err := try(t, cfg)
	require.NoError(t, err)
	return report, out
}

func try(t *testing.T, cfg Config) (Report, string, error) {
	t.Helper()
	var out bytes.Buffer
	l, err := New(cfg, Deps{Out: &out, Clock: newClock()})
	require.NoError(t, err)
	report, err := l.Run(t.Context())
	return report, out.String(), err
}

// demoRequests is how many requests the demo has.
func demoRequests(t *testing.T) int {
	t.Helper()
	all, err := readContexts(Demo)
	require.NoError(t, err)
	return len(all)
}

func lines(t *testing.T, list ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(list, "\n")+"\n"), 0o600))
	return name
}

func TestAccounting(t *testing.T) {
	f := newFake(t)
	f.noFillOf, f.lag = "postgres", 7
	cfg := settings(f)
	cfg.Campaigns, cfg.Advertisers = Demo, 2 // whose owners report the conversions
	cfg.Clicks, cfg.Conversions, cfg.Duplicates = 0.3, 0.1, 0.2
	report, out := run(t, cfg)

	require.EqualValues(t, demoRequests(t), report.Requests)
	require.Positive(t, report.NoFill)
	require.Equal(t, map[string]int64{"no_match": report.NoFill}, report.NoFillReasons)
	require.Equal(t, report.Requests, report.Filled+report.NoFill)
	require.InDelta(t, float64(report.Filled)/float64(report.Requests), report.FillRate, 1e-9)
	require.Empty(t, report.Errors)
	require.Equal(t, report.Requests, report.AdLatency.Count)

	require.True(t, report.Settled)
	require.Zero(t, report.Missing)
	require.Equal(t, report.Filled, report.Impressions.Fired)
	require.Equal(t, report.Impressions.Fired, report.Stats.Impressions)
	require.Equal(t, report.Clicks.Fired, report.Stats.Clicks)
	require.Equal(t, report.Conversions.Fired, report.Stats.Conversions)
	require.Zero(t, report.Stats.Unverified)
	require.Positive(t, report.Conversions.Fired)
	require.Less(t, report.Conversions.Fired, report.Clicks.Fired)
	require.Equal(t, report.DuplicatesSent, report.Stats.Duplicates)
	require.Equal(
		t, report.DuplicatesSent, report.Impressions.Repeated+report.Clicks.Repeated+report.Conversions.Repeated,
	)
	require.Equal(t, report.BeaconsAnswered, report.BeaconLatency.Count)
	require.Equal(t, report.BeaconsAnswered, report.Stats.Accounted())
	require.Equal(t, report.Stats.Impressions, report.Stats.Credits)
	require.Equal(t, money.Micros(report.Stats.Impressions)*3*money.USD/1000, report.Stats.Spend)
	require.EqualValues(t, report.BeaconsAnswered, len(f.fired))

	for _, part := range []string{
		"fill rate", "no_match", "p99", "duplicates refused", "Credits minted", report.Stats.Spend.String(),
	} {
		require.Contains(t, out, part)
	}
	// Each request has its own user and one of the publishers.
	sessions := map[string]bool{}
	for _, c := range f.contexts {
		sessions[c.SessionID] = true
	}
	require.Len(t, sessions, demoRequests(t))
	require.Len(t, f.stats, 3)
}

func TestSharesAndSeed(t *testing.T) {
	fired := func(seed uint64, concurrency int) []string {
		f := newFake(t)
		cfg := settings(f)
		cfg.Requests, cfg.Seed, cfg.Concurrency = 1000, seed, concurrency
		cfg.AccountSuffix, cfg.Password = "same", "password-1"
		cfg.Duplicates, cfg.Clicks, cfg.Conversions = 0.1, 0.1, 0.02
		report, _ := run(t, cfg)
		require.EqualValues(t, 1000, report.Impressions.Fired)
		require.InDelta(t, 100, report.Impressions.Repeated, 40)
		require.InDelta(t, 100, report.Clicks.Fired, 40)
		require.InDelta(t, 20, report.Conversions.Fired, 16)
		slices.Sort(f.fired)
		return f.fired
	}
	first := fired(1, 1)
	require.Equal(t, first, fired(1, 16), "the seed alone decides")
	require.NotEqual(t, first, fired(2, 1))
}

func TestShareOfNoneAndAll(t *testing.T) {
	for share, repeated := range map[float64]int64{0: 0, 1: 50} {
		f := newFake(t)
		cfg := settings(f)
		cfg.Requests, cfg.Duplicates, cfg.Clicks, cfg.Conversions = 50, share, share, share
		report, _ := run(t, cfg)
		require.EqualValues(t, 50, report.Impressions.Fired)
		require.Equal(t, Sent{Fired: repeated, Repeated: repeated}, report.Clicks)
		require.Equal(t, Sent{Fired: repeated, Repeated: repeated}, report.Conversions)
		require.Equal(t, 3*repeated, report.Stats.Duplicates)
	}
}

func TestImport(t *testing.T) {
	f := newFake(t)
	cfg := settings(f)
	list := []string{`{"subtext":"no headline"}`, `{"headline":"<b>","bid_amount":1.10}`, ``}
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"headline":"Campaign %d","cta_url":"https://x.example"}`, i))
	}
	cfg.Campaigns, cfg.Contexts = lines(t, list...), lines(
		t, `{"context":"c","host_app":"vscode","ignored":1}`, `{"context":"d"}`,
	)
	cfg.HostApps = []string{"cursor"}
	cfg.AdminEmail, cfg.AdminPassword = "admin@x.example", "admin-password"
	cfg.AccountSuffix, cfg.Password = "again", "password-1"
	report, out := run(t, cfg)
	require.Equal(t, CampaignReport{Imported: 21, Refused: 1, Active: 20, InReview: 1}, report.Campaigns)
	require.Contains(t, out, "headline is required")
	require.Equal(t, map[string]int64{"400": 1}, report.Errors)
	require.EqualValues(t, 2, report.Requests)
	slices.SortFunc(f.contexts, func(a, b adRequest) int { return strings.Compare(a.Context, b.Context) })
	require.Equal(t, "vscode", f.contexts[0].HostApp)
	require.Equal(t, "cursor", f.contexts[1].HostApp)
	owners := map[string]int{}
	for _, c := range f.campaigns {
		owners[c.AdvertiserID]++
	}
	require.Len(t, owners, 3)

	// Again on the same accounts: a login instead of a registration, and stats count from here.
	cfg.Campaigns = lines(t, list[3:]...)
	report, _ = run(t, cfg)
	require.Equal(t, 20, report.Campaigns.Existing+report.Campaigns.Imported)
	require.GreaterOrEqual(t, report.Campaigns.Existing, 19)
	require.Empty(t, report.Errors)
	require.EqualValues(t, 2, report.Stats.Impressions+report.Stats.Duplicates)
}

func TestWithoutAdministrator(t *testing.T) {
	f := newFake(t)
	cfg := settings(f)
	cfg.Campaigns, cfg.Requests = Demo, 1
	report, out := run(t, cfg)
	all, err := readCampaigns(Demo)
	require.NoError(t, err)
	require.Equal(t, CampaignReport{Imported: len(all), Active: 3, InReview: len(all) - 3}, report.Campaigns)
	require.Contains(t, out, "--admin-email")

	cfg.AdminEmail, cfg.AdminPassword = "admin@x.example", "wrong"
	_, _, err = try(t, cfg)
	require.ErrorContains(t, err, "administrator admin@x.example")
	require.NotContains(t, err.Error(), "wrong password")
}

func TestGivenKey(t *testing.T) {
	f := newFake(t)
	f.keys["pub_live_mine"] = "me"
	f.stats["me"] = &Stats{Impressions: 7, Duplicates: 2, Credits: 7, Spend: money.USD}
	cfg := settings(f)
	cfg.Key, cfg.Requests = "pub_live_mine", 5
	report, _ := run(t, cfg)
	require.EqualValues(t, 5, report.Stats.Impressions, "earlier ones are not this run's")
	require.EqualValues(t, 5, report.Stats.Credits)
	require.Zero(t, f.count("POST /api/auth"))

	f.keys["pub_test_sandbox"] = "nobody"
	cfg.Key = "pub_test_sandbox"
	report, out := run(t, cfg)
	require.Nil(t, report.Stats)
	require.EqualValues(t, 5, report.Impressions.Fired)
	require.Contains(t, out, "sandbox key")
}

func TestRetryAfterIsHonoured(t *testing.T) {
	f := newFake(t)
	f.refuse = func(r *http.Request, hit int) (int, string) {
		switch {
		case r.URL.Path == "/v1/ad-request" && hit <= 2:
			return 429, "7"
		case r.URL.Path == "/api/track" && hit == 1:
			return 503, ""
		case r.URL.Path == "/v1/ad-request" && hit == 5:
			return 502, "1"
		}
		return 0, ""
	}
	cfg := settings(f)
	cfg.Requests, cfg.Concurrency = 4, 1
	clock := newClock()
	l, err := New(cfg, Deps{Clock: clock})
	require.NoError(t, err)
	before := clock.Now()
	report, err := l.Run(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, clock.Now().Sub(before), 15*time.Second)
	require.Equal(t, map[string]int64{"429": 2, "503": 1, "502": 1}, report.Errors)
	require.EqualValues(t, 3, report.BackedOff)
	require.EqualValues(t, 4, report.Requests)
	require.EqualValues(t, 1, report.Failed, "502 is a no-fill that is not tried again")
	require.EqualValues(t, 3, report.Impressions.Fired)
	require.True(t, report.Settled)
}

func TestRetriesEnd(t *testing.T) {
	f := newFake(t)
	f.refuse = func(r *http.Request, _ int) (int, string) {
		if r.URL.Path == "/api/track" {
			return 503, "1"
		}
		return 0, ""
	}
	cfg := settings(f)
	cfg.Requests, cfg.Duplicates = 2, 1
	report, out := run(t, cfg)
	require.EqualValues(t, 2, report.BeaconsRefused)
	require.EqualValues(t, 2*maxTries, report.Errors["503"])
	require.Zero(t, report.DuplicatesSent, "what failed is not repeated")
	require.Contains(t, out, "2 beacons were refused")
}

func TestBrokenConnections(t *testing.T) {
	f := newFake(t)
	broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/track" {
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	})
	f.Config.Handler = broken
	cfg := settings(f)
	cfg.Requests = 3
	report, _ := run(t, cfg)
	require.EqualValues(t, 3, report.BeaconsUnanswered)
	require.EqualValues(t, 3, report.Errors["network"])
}

func TestLostBeaconsAreReported(t *testing.T) {
	f := newFake(t)
	f.lose = 4
	cfg := settings(f)
	cfg.Requests = 20
	report, out := run(t, cfg)
	require.False(t, report.Settled)
	require.EqualValues(t, 4, report.Missing)
	require.EqualValues(t, 16, report.Stats.Impressions)
	require.Contains(t, out, "stats lack 4 of 20")
	// 10 s of a poll each 250 ms, not for ever; 3 publishers.
	require.LessOrEqual(t, f.count("GET /api/stats"), 3*42)
}

func TestPace(t *testing.T) {
	f := newFake(t)
	cfg := settings(f)
	cfg.Requests, cfg.Rate = 101, 50
	clock := newClock()
	l, err := New(cfg, Deps{Clock: clock})
	require.NoError(t, err)
	before := clock.Now()
	shots := make(chan shot, 101)
	require.NoError(t, l.pace(t.Context(), 101, shots))
	require.Equal(t, 2*time.Second, clock.Now().Sub(before))
	n := 0
	for s := range shots {
		require.Equal(t, before.Add(time.Duration(n)*20*time.Millisecond), s.due)
		n++
	}
	require.Equal(t, 101, n)
}

// Users of a service that needs 100 ms an ad, asked by one worker 100 times a second, see it become
// ever slower. A generator that waits for each answer before it asks again would measure 100 ms.
func TestLatencyCountsFromWhenDue(t *testing.T) {
	f := newFake(t)
	clock := newClock()
	f.onAd = func() { clock.advance(100 * time.Millisecond) }
	cfg := settings(f)
	cfg.Requests, cfg.Rate, cfg.Concurrency = 50, 100, 1
	l, err := New(cfg, Deps{Clock: clock})
	require.NoError(t, err)
	report, err := l.Run(t.Context())
	require.NoError(t, err)
	// The last is due after 490 ms and answered after 5 s.
	require.InEpsilon(t, 4510, report.AdLatency.Max, 0.01)
	require.Greater(t, report.AdLatency.P50, 2000.0)
}

func TestCancel(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ads := 0
	f.onAd = func() {
		if ads++; ads == 30 {
			cancel()
		}
	}
	cfg := settings(f)
	cfg.Requests = 100_000
	var out bytes.Buffer
	l, err := New(cfg, Deps{Out: &out})
	require.NoError(t, err)
	report, err := l.Run(ctx)
	require.NoError(t, err)
	require.True(t, report.Interrupted)
	require.GreaterOrEqual(t, report.Requests, int64(20))
	require.Less(t, report.Requests, int64(100))
	require.Nil(t, report.Stats)
	require.Empty(t, report.Errors, "the end of the run is no error of the service")
	require.Contains(t, out.String(), "interrupted")
}

func TestForeignLinks(t *testing.T) {
	f := newFake(t)
	f.base = "http://ads.elsewhere.example"
	cfg := settings(f)
	report, _, err := try(t, cfg)
	require.ErrorContains(t, err, "http://ads.elsewhere.example")
	require.Zero(t, report.BeaconsAnswered)

	l, err := New(
		Config{
			URL: "http://localhost:8080", Contexts: Demo, Campaigns: None, Publishers: 1, Concurrency: 1, Timeout: 1,
		}, Deps{},
	)
	require.NoError(t, err)
	require.NoError(t, l.mayFire("http://127.0.0.1:8080/api/track?x=1"))
	require.NoError(t, l.mayFire("http://localhost:8080/s/x"))
	require.Error(t, l.mayFire("http://127.0.0.1:8081/s/x"))
	require.Error(t, l.mayFire("https://localhost:8080/s/x"))
	l.cfg.ForeignLinks = true
	require.NoError(t, l.mayFire("https://other.example/s/x"))
}

func TestServiceIsDown(t *testing.T) {
	f := newFake(t)
	f.Close()
	report, out, err := try(t, settings(f))
	require.ErrorContains(t, err, "load-publisher")
	require.Positive(t, report.Errors["network"])
	require.Empty(t, out)
}

func TestJSONReport(t *testing.T) {
	f := newFake(t)
	cfg := settings(f)
	cfg.Requests, cfg.JSON = 3, true
	report, out := run(t, cfg)
	var decoded Report
	require.NoError(t, json.Unmarshal([]byte(out), &decoded, json.RejectUnknownMembers(true)))
	report.Notes = decoded.Notes
	require.Equal(t, report, decoded)
}

func TestProgress(t *testing.T) {
	f := newFake(t)
	cfg := settings(f)
	cfg.Requests = 3
	for _, visible := range []bool{false, true} {
		var progress bytes.Buffer
		cfg.Progress = visible
		l, err := New(cfg, Deps{Progress: &progress})
		require.NoError(t, err)
		_, err = l.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, visible, strings.Contains(progress.String(), "replay contexts"))
	}
}

func TestWrongSettings(t *testing.T) {
	good := Config{
		URL: "http://127.0.0.1:1", Campaigns: Demo, Contexts: Demo, Advertisers: 1, Publishers: 1, Concurrency: 1,
		Timeout: time.Second,
	}
	_, err := New(good, Deps{})
	require.NoError(t, err)
	nan := 0.0
	for name, spoil := range map[string]func(*Config){
		"url":            func(c *Config) { c.URL = "localhost:8080" },
		"duplicates":     func(c *Config) { c.Duplicates = 1.5 },
		"clicks":         func(c *Config) { c.Clicks = nan / nan },
		"conversions":    func(c *Config) { c.Conversions = -1 },
		"rate":           func(c *Config) { c.Rate = -1 },
		"requests":       func(c *Config) { c.Requests = -1 },
		"concurrency":    func(c *Config) { c.Concurrency = 0 },
		"timeout":        func(c *Config) { c.Timeout = 0 },
		"advertisers":    func(c *Config) { c.Advertisers = 0 },
		"publishers":     func(c *Config) { c.Publishers = 0 },
		"account-suffix": func(c *Config) { c.AccountSuffix = "x" },
		"admin-password": func(c *Config) { c.AdminEmail = "a@b.example" },
	} {
		cfg := good
		spoil(&cfg)
		_, err := New(cfg, Deps{})
		require.ErrorContains(t, err, name)
	}
}

func TestWrongFiles(t *testing.T) {
	f := newFake(t)
	for want, spoil := range map[string]func(*Config){
		"no-such-file": func(c *Config) { c.Contexts = filepath.Join(t.TempDir(), "no-such-file") },
		"line 2":       func(c *Config) { c.Contexts = lines(t, `{"context":"x"}`, `{"context":`) },
		"is empty":     func(c *Config) { c.Contexts = lines(t, "") },
		"longer than":  func(c *Config) { c.Campaigns = lines(t, `{"headline":"`+strings.Repeat("x", maxLine)+`"}`) },
	} {
		cfg := settings(f)
		spoil(&cfg)
		_, _, err := try(t, cfg)
		require.ErrorContains(t, err, want)
	}
}
