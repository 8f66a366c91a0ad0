package credit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/consumers/credit"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// store notes what it was asked for.
type store struct {
	rules   []ledger.CreditRules
	expired [][2]day.Day
	mean    ledger.MeanCharge
	err     error
}

func (s *store) ReleaseCredits(_ context.Context, r ledger.CreditRules) (ledger.CreditRun, error) {
	s.rules = append(s.rules, r)
	return ledger.CreditRun{Days: 1, Released: 3, Available: 2}, s.err
}

func (s *store) MarkExpired(_ context.Context, since, before day.Day) error {
	s.expired = append(s.expired, [2]day.Day{since, before})
	return nil
}

func (s *store) MeanCharge(context.Context, day.Day, day.Day) (ledger.MeanCharge, error) {
	return s.mean, nil
}

var config = credit.Config{Every: time.Second, Hold: time.Hour, LongHold: 4 * time.Hour, Value: 5_000}

func newReleaser(t *testing.T, s *store) (*credit.Releaser, *prometheus.Registry, *bytes.Buffer) {
	t.Helper()
	metrics, log := prometheus.NewRegistry(), &bytes.Buffer{}
	r, err := credit.New(config, credit.Deps{Store: s, Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics})
	require.NoError(t, err)
	return r, metrics, log
}

func TestReleasesAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{err: errors.New("away")}
		r, metrics, _ := newReleaser(t, s)
		ctx, stop := context.WithTimeout(t.Context(), 21*time.Minute+time.Millisecond)
		defer stop()
		require.NoError(t, r.Run(ctx))
		require.Len(t, s.rules, 21*60, "a failure does not end it")
		require.Equal(t, money.Micros(5_000), s.rules[0].Value)
		require.Equal(
			t, []time.Duration{time.Hour, 4 * time.Hour}, []time.Duration{s.rules[0].Hold, s.rules[0].LongHold},
		)
		first := ledger.ExpiredBefore(s.rules[0].Now)
		require.Equal(
			t, [][2]day.Day{{0, first}, {first - 2, first}, {first - 2, first}}, s.expired,
			"all days once, then the new ones",
		)
		require.NoError(t, testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP adnet_credit_failures_total Runs of the release of Credits that failed and were retried.
# TYPE adnet_credit_failures_total counter
adnet_credit_failures_total 1260
`), "adnet_credit_failures_total"))
	})
}

// A value above the mean charge is told, in the log once and as a metric, and stops nothing.
func TestValueAboveTheMeanCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{mean: ledger.MeanCharge{Charged: 49_990, Impressions: 10}}
		r, metrics, log := newReleaser(t, s)
		gauge := func(want string) {
			t.Helper()
			require.NoError(t, testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP adnet_credit_value_above_mean 1 while ADNET_CREDIT_VALUE_USD is above the mean charge of an impression: part of the Credits then expires.
# TYPE adnet_credit_value_above_mean gauge
adnet_credit_value_above_mean `+want+"\n"), "adnet_credit_value_above_mean"))
		}
		for _, mean := range []ledger.MeanCharge{s.mean, {Charged: 49_990, Impressions: 10}} {
			s.mean = mean
			_, err := r.Release(t.Context())
			require.NoError(t, err)
			gauge("1")
			time.Sleep(10 * time.Minute)
		}
		require.Equal(t, 1, strings.Count(log.String(), "above the mean charge"))
		for _, mean := range []ledger.MeanCharge{{Charged: 50_000, Impressions: 10}, {}} {
			s.mean = mean
			_, err := r.Release(t.Context())
			require.NoError(t, err)
			gauge("0")
			time.Sleep(10 * time.Minute)
		}
	})
}

func TestNewChecksItsSettings(t *testing.T) {
	for name, spoil := range map[string]func(*credit.Config, *credit.Deps){
		"value": func(c *credit.Config, _ *credit.Deps) { c.Value = 0 },
		"hold":  func(c *credit.Config, _ *credit.Deps) { c.Hold = -1 },
		"store": func(_ *credit.Config, d *credit.Deps) { d.Store = nil },
	} {
		c, d := config, credit.Deps{
			Store: &store{}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		}
		spoil(&c, &d)
		_, err := credit.New(c, d)
		require.Error(t, err, name)
	}
	off := config
	off.Every = 0
	s := &store{}
	r, err := credit.New(
		off, credit.Deps{Store: s, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, r.Run(ctx))
	require.Empty(t, s.rules)
}
