package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/auction/train"
	"adnet/internal/campaign"
	"adnet/internal/ranking"
)

// shelf is a store of weights.
type shelf struct {
	mu    sync.Mutex
	state ranking.State
	data  map[int64][]byte
}

func (s *shelf) set(state ranking.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

func (s *shelf) WeightState(context.Context) (ranking.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *shelf) WeightData(_ context.Context, number int64) ([]byte, error) {
	if data, ok := s.data[number]; ok {
		return data, nil
	}
	return nil, errors.New("damaged")
}

func weights(t *testing.T, numbers ...int64) *shelf {
	s := &shelf{data: map[int64][]byte{}}
	for _, number := range numbers {
		l := &ranker.Learnt{Version: number, Campaigns: map[[16]byte][]ranker.Lesson{}}
		for i := range l.Clicks {
			l.Clicks[i] = ranker.PPM(1000 + i)
		}
		data, err := train.Encode(l)
		require.NoError(t, err)
		s.data[number] = data
	}
	return s
}

// follow runs a catalog over weights in fake time.
func follow(t *testing.T, s *shelf, test func(w *world, c *Catalog)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(make1(1, 1, campaign.Active))
		c := New(Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: w, Feed: w, Node: "n1",
			Now: time.Now, Weights: s,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() { _ = c.Run(ctx) })
		<-c.Ready()
		test(w, c)
		cancel()
		wait.Wait()
	})
}

// decided is how many of 20,000 auctions the trial decides.
func decided(c *Catalog) (n int) {
	for range 20_000 {
		if _, decides := c.Trial(uuid.Must(uuid.NewV7())); decides {
			n++
		}
	}
	return n
}

func TestStagesOfWeights(t *testing.T) {
	s := weights(t, 1, 2)
	follow(t, s, func(w *world, c *Catalog) {
		to := func(state ranking.State) {
			s.set(state)
			time.Sleep(2 * time.Second) // a rollback is on every node by then
			synctest.Wait()
		}
		deciding := func() int64 { return c.Snapshot().Weights() }
		trial, _ := c.Trial(uuid.New())
		require.Nil(t, trial)
		require.Zero(t, deciding())

		to(ranking.State{Trial: 1, Stage: ranking.Shadow})
		trial, _ = c.Trial(uuid.New())
		require.EqualValues(t, 1, trial.Weights(), "scores every auction")
		require.Zero(t, decided(c), "and decides none")
		require.Zero(t, deciding())
		to(ranking.State{Trial: 1, Stage: ranking.Part})
		require.InDelta(t, 0.05*20_000, decided(c), 150)
		to(ranking.State{Trial: 1, Stage: ranking.All})
		require.EqualValues(t, 1, deciding())

		w.put(make1(1, 2, campaign.Paused))
		to(ranking.State{Trial: 1, Stage: ranking.All})
		require.Zero(t, c.Snapshot().Len(), "a paused campaign is in no snapshot")
		w.put(make1(1, 3, campaign.Active))

		to(ranking.State{})
		require.Zero(t, deciding(), "rolled back")
		require.Equal(t, 1, c.Snapshot().Len())
		to(ranking.State{Trial: 1, Stage: ranking.All})
		to(ranking.State{Live: 1, Trial: 2, Stage: ranking.Shadow})
		require.EqualValues(t, 1, deciding(), "what was on trial decides on")
		trial, _ = c.Trial(uuid.New())
		require.EqualValues(t, 2, trial.Weights())
		to(ranking.State{Live: 2})
		require.EqualValues(t, 2, deciding())
		to(ranking.State{Trial: 1, Stage: ranking.All})
		require.EqualValues(t, 1, deciding())
		to(ranking.State{})
		require.Zero(t, deciding())
		require.Equal(t, 1, c.Snapshot().Len())
	})
}

// A node that cannot read weights goes on by those it has.
func TestDamagedWeightsChangeNothing(t *testing.T) {
	s := weights(t, 1)
	follow(t, s, func(_ *world, c *Catalog) {
		s.set(ranking.State{Live: 1})
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, c.Snapshot().Weights())
		s.set(ranking.State{Live: 9})
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, c.Snapshot().Weights())
	})
}
