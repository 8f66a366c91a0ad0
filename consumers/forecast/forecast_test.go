package forecast

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/store/redis"
)

// past is the auctions of some days.
type past struct {
	counts      map[uuid.UUID]*[campaign.Quarters]int64
	first, last day.Day
	requests    int
	err         error
}

func (p *past) Opportunities(_ context.Context, first, last day.Day) (map[uuid.UUID]*[campaign.Quarters]int64, error) {
	p.first, p.last, p.requests = first, last, p.requests+1
	return p.counts, p.err
}

var now = time.Date(2026, 3, 4, 0, 10, 0, 0, time.UTC)

// The counts of seven days arrive at the node as a curve, through Redis.
func TestCurvesReachTheNodes(t *testing.T) {
	server, err := redis.NewEmbedded(redis.EmbeddedConfig{})
	require.NoError(t, err)
	require.NoError(t, server.Start())
	client, err := redis.Open(redis.Config{Addr: server.Addr()}, redis.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	store := redis.NewCurves(client)
	evening, quiet, gone := uuid.New(), uuid.New(), uuid.New()
	require.NoError(t, store.PublishCurves(t.Context(), map[uuid.UUID]campaign.Curve{gone: {0: 1}}))
	source := &past{counts: map[uuid.UUID]*[campaign.Quarters]int64{evening: {80: 3000, 81: 3000}, quiet: {5: 499}}}
	f := New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: source, Target: store,
		Now: func() time.Time { return now },
	})
	require.NoError(t, f.Publish(t.Context()))
	require.Equal(t, day.Of(now)-7, source.first)
	require.Equal(t, day.Of(now)-1, source.last, "whole days only")
	found, err := store.Curves(t.Context(), []uuid.UUID{evening, quiet, gone})
	require.NoError(t, err)
	require.Len(t, found, 1, "too few say nothing, and what is not counted any more is gone")
	curve := found[evening]
	require.EqualValues(t, 65535, curve[80])
	require.EqualValues(t, 65535, curve[81])
	require.InDelta(t, 65535/3, float64(curve[79]), 1)
	require.Zero(t, curve[40])
}

func TestRunTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &past{err: errors.New("away")}
		f := New(Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: source, Target: nothing{},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Run(ctx) }()
		time.Sleep(offset + 3*again + time.Second)
		synctest.Wait()
		require.Equal(t, 4, source.requests)
		source.err = nil
		time.Sleep(again)
		synctest.Wait()
		time.Sleep(3 * every)
		synctest.Wait()
		require.Equal(t, 8, source.requests)
		cancel()
		require.NoError(t, <-ended)
	})
}

type nothing struct{}

func (nothing) PublishCurves(context.Context, map[uuid.UUID]campaign.Curve) error { return nil }
