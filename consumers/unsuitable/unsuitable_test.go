package unsuitable

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/report"
)

// past is the rates of publishers.
type past struct {
	rates         []report.NeverRate
	err           error
	since, lately time.Time
}

func (p *past) NeverRates(_ context.Context, since, lately, _ time.Time) ([]report.NeverRate, error) {
	p.since, p.lately = since, lately
	return p.rates, p.err
}

func TestPublishersThatJumpedAreCounted(t *testing.T) {
	steady := report.NeverRate{Requests: 1000, Never: 20, UsualRequests: 100_000, UsualNever: 2000}
	jumped := report.NeverRate{Requests: 1000, Never: 200, UsualRequests: 100_000, UsualNever: 2000}
	source := &past{rates: []report.NeverRate{steady, jumped, jumped}}
	now := time.Date(2026, 5, 4, 12, 40, 0, 0, time.UTC)
	w := New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: source,
		Now: func() time.Time { return now },
	})
	require.NoError(t, w.Look(t.Context()))
	require.EqualValues(t, 2, testutil.ToFloat64(w.jumped))
	require.Equal(t, time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC), source.lately)
	require.Equal(t, source.lately.AddDate(0, 0, -7), source.since)
	source.rates = nil
	require.NoError(t, w.Look(t.Context()))
	require.Zero(t, testutil.ToFloat64(w.jumped))
}

func TestRunGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &past{err: errors.New("away")}
		w := New(Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: source})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(every + time.Minute)
		source.err, source.rates = nil, []report.NeverRate{{Requests: 100, Never: 100}}
		time.Sleep(every)
		require.EqualValues(t, 1, testutil.ToFloat64(w.jumped))
		cancel()
		require.NoError(t, <-ended)
	})
}
