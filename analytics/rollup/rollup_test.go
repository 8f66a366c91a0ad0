package rollup

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/process/roster"
)

// What the statements do is checked on the real store, in analytics/clickhouse.

// recorder notes statements and can fail those that contain a text.
type recorder struct {
	mu         sync.Mutex
	statements []string
	days       []string
	fail       string
	failures   int // left; below zero: for ever
	swept      chan struct{}
}

var errBroken = errors.New("broken")

func (r *recorder) note(statement string, params map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, statement)
	if date := params["day"]; date != "" {
		r.days = append(r.days, date)
	}
	if r.fail != "" && r.failures != 0 && strings.Contains(statement, r.fail) {
		r.failures--
		return errBroken
	}
	return nil
}

func (r *recorder) Exec(_ context.Context, statement string, params map[string]string) error {
	return r.note(statement, params)
}

func (r *recorder) Select(_ context.Context, _ any, query string, params map[string]string) error {
	if strings.Contains(query, "system.tables") && r.swept != nil {
		defer func() { r.swept <- struct{}{} }()
	}
	return r.note(query, params)
}

func newRollup(t *testing.T, cfg Config, s Store, now time.Time) *Rollup {
	r, err := New(
		cfg,
		Deps{
			Store: s, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
			Now: func() time.Time { return now },
		},
	)
	require.NoError(t, err)
	return r
}

func TestNewChecks(t *testing.T) {
	_, err := New(Config{}, Deps{})
	require.Error(t, err)
	deps := Deps{Store: &recorder{}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()}
	_, err = New(Config{At: 24 * time.Hour}, deps)
	require.True(t, errs.Is(err, errs.InvalidRequest))
	_, err = New(Config{}, deps)
	require.NoError(t, err)
	_, err = New(Config{}, deps)
	require.NoError(t, err, "a second one counts into the metrics of the first: see obs.Register")
}

func TestWhenAndWhichDay(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return v
	}
	for _, c := range []struct{ now, day, next string }{
		{"2026-03-10T12:00:00Z", "2026-03-09", "2026-03-11T00:10:00Z"},
		{"2026-03-10T00:10:00Z", "2026-03-09", "2026-03-11T00:10:00Z"},
		// Shortly after midnight the day before may still receive: the last closed one is rolled
		// up.
		{"2026-03-10T00:09:59Z", "2026-03-08", "2026-03-10T00:10:00Z"},
		{"2027-01-01T00:10:01Z", "2026-12-31", "2027-01-02T00:10:00Z"},
	} {
		s := &recorder{}
		r := newRollup(t, Config{}, s, at(c.now))
		wait, err := r.turn(t.Context())
		require.NoError(t, err)
		require.Equal(t, at(c.next).Sub(at(c.now)), wait, c.now)
		require.Equal(t, []string{c.day}, s.days, c.now)
		require.Equal(t, at(c.day+"T00:00:00Z").Unix(), int64(testutil.ToFloat64(r.newest)))
	}
}

// Whatever fails, the staging table goes and the failure is seen.
func TestFailuresLeaveNothing(t *testing.T) {
	for _, fail := range []string{"CREATE TABLE", "INSERT INTO", "count()", "PARTITION", "DROP TABLE"} {
		s := &recorder{fail: fail, failures: 1}
		r := newRollup(t, Config{}, s, time.Unix(1e9, 0))
		_, err := r.Aggregate(t.Context(), day.Day(100))
		require.ErrorIs(t, err, errBroken, fail)
		if fail != "CREATE TABLE" {
			last := s.statements[len(s.statements)-1]
			require.True(t, strings.HasPrefix(last, "DROP TABLE IF EXISTS "+stagingPrefix), last)
		}
	}
}

// Run does yesterday at once, tries again after a failure, and ends with its context.
func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := &recorder{fail: "CREATE TABLE", failures: 2, swept: make(chan struct{})}
	r := newRollup(t, Config{Retry: time.Nanosecond}, s, time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	var reported []bool
	r.Tells(func(_ context.Context, ended *roster.Run, _ time.Time) { reported = append(reported, ended.Failed) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	<-s.swept
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, []string{"2026-03-09"}, s.days)
	require.InDelta(t, 2, testutil.ToFloat64(r.failures), 0)
	require.Equal(t, []bool{true, true}, reported[:2])
}
