package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ranking"
)

// Weights stores learnt weights, and Log what was changed.
type Weights struct {
	Ranking
	Log AuditLog
}

// Ranking holds the store methods of learnt weights.
type Ranking interface {
	WeightState(ctx context.Context) (ranking.State, error)
	WeightData(ctx context.Context, number int64) ([]byte, error)
	WeightVersions(ctx context.Context, limit int) ([]ranking.Version, error)
	AddWeights(
		ctx context.Context, at time.Time, report []byte, encode func(number int64) ([]byte, error),
	) (int64, error)
	MoveWeights(ctx context.Context, at time.Time, decide func([]ranking.Version) ([]ranking.Move, error)) error
}

// RunWeights runs the cases of learnt weights.
func RunWeights(t *testing.T, newStore func(t *testing.T) Weights) {
	for name, run := range map[string]func(*testing.T, Weights){
		"Kept": weightsKept, "Stages": weightStages, "Rollback": weightRollback, "OnePlaceEach": weightPlaces,
		"Forgotten": weightsForgotten,
	} {
		t.Run(name, func(t *testing.T) { run(t, newStore(t)) })
	}
}

func addWeights(t *testing.T, s Weights) int64 {
	t.Helper()
	number, err := s.AddWeights(t.Context(), now, []byte(`{"why": ["few"]}`), func(number int64) ([]byte, error) {
		return fmt.Appendf(nil, "weights %d", number), nil
	})
	require.NoError(t, err)
	return number
}

func moveWeights(t *testing.T, s Weights, moves ...ranking.Move) error {
	t.Helper()
	return s.MoveWeights(t.Context(), now, func([]ranking.Version) ([]ranking.Move, error) { return moves, nil })
}

func requireWeights(t *testing.T, s Weights, want ranking.State) {
	t.Helper()
	got, err := s.WeightState(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func weightsKept(t *testing.T, s Weights) {
	requireWeights(t, s, ranking.State{})
	require.EqualValues(t, 1, addWeights(t, s))
	require.EqualValues(t, 2, addWeights(t, s))
	data, err := s.WeightData(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, "weights 2", string(data))
	_, err = s.WeightData(t.Context(), 3)
	require.True(t, errs.Is(err, errs.NotFound), err)
	list, err := s.WeightVersions(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.JSONEq(t, `{"why": ["few"]}`, string(list[0].Report))
	list[0].Report = nil
	require.Equal(t, ranking.Version{Number: 2, Stage: ranking.Refused, MadeAt: now, StageAt: now}, list[0])
	broken := errors.New("broken")
	_, err = s.AddWeights(t.Context(), now, []byte(`{}`), func(int64) ([]byte, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 3, addWeights(t, s), "what failed is not there")
}

func weightStages(t *testing.T, s Weights) {
	begin := func(number int64) error {
		return s.MoveWeights(
			t.Context(), now,
			func(versions []ranking.Version) ([]ranking.Move, error) { return ranking.Begin(versions, number) },
		)
	}
	first, two := addWeights(t, s), addWeights(t, s)
	require.NoError(t, begin(first))
	requireWeights(t, s, ranking.State{Trial: first, Stage: ranking.Shadow})
	require.True(t, errs.Is(begin(two), errs.InvalidState))
	later := now.Add(24 * time.Hour)
	require.NoError(t, s.MoveWeights(t.Context(), later, func(versions []ranking.Version) ([]ranking.Move, error) {
		return []ranking.Move{{Number: first, To: versions[1].Stage.Next(), Report: []byte(`{"clicks": 1}`)}}, nil
	}))
	requireWeights(t, s, ranking.State{Trial: first, Stage: ranking.Part})
	list, err := s.WeightVersions(t.Context(), 9)
	require.NoError(t, err)
	require.Equal(t, later, list[1].StageAt)
	require.JSONEq(t, `{"clicks": 1}`, string(list[1].Report))
	require.NoError(t, moveWeights(t, s, ranking.Move{Number: first, To: ranking.All}))
	require.NoError(t, begin(two))
	requireWeights(t, s, ranking.State{Live: first, Trial: two, Stage: ranking.Shadow})
	require.NoError(t, moveWeights(t, s, ranking.Move{Number: two, To: ranking.All}))
	three := addWeights(t, s)
	require.NoError(t, begin(three))
	requireWeights(t, s, ranking.State{Live: two, Trial: three, Stage: ranking.Shadow})
	entries, err := s.Log.AuditLog(t.Context(), auditlog.Query{Limit: 100})
	require.NoError(t, err)
	require.Len(t, entries, 6)
	require.Equal(t, "ranking_weights", entries[0].TargetID)
	require.Equal(
		t, map[string]auditlog.Change{"1": {After: "retired"}, "2": {After: "live"}, "3": {After: "shadow"}},
		entries[0].Changes,
	)
}

func weightRollback(t *testing.T, s Weights) {
	back := func() error { return s.MoveWeights(t.Context(), now, ranking.Rollback) }
	require.True(t, errs.Is(back(), errs.InvalidState))
	first, two := addWeights(t, s), addWeights(t, s)
	require.NoError(
		t, moveWeights(t, s, ranking.Move{Number: first, To: ranking.Live}, ranking.Move{Number: two, To: ranking.All}),
	)
	require.NoError(t, back())
	requireWeights(t, s, ranking.State{Live: first})
	require.NoError(t, back())
	requireWeights(t, s, ranking.State{})
	require.NoError(
		t,
		moveWeights(t, s, ranking.Move{Number: first, To: ranking.Retired}, ranking.Move{Number: two, To: ranking.Live}),
	)
	three := addWeights(t, s)
	require.NoError(t, moveWeights(t, s, ranking.Move{Number: three, To: ranking.Shadow}))
	require.NoError(t, back())
	requireWeights(t, s, ranking.State{Live: first})
}

// Regardless of concurrent decisions, a place has one version.
func weightPlaces(t *testing.T, s Weights) {
	first, two := addWeights(t, s), addWeights(t, s)
	require.True(
		t,
		errs.Is(
			moveWeights(
				t, s, ranking.Move{Number: first, To: ranking.Shadow}, ranking.Move{Number: two, To: ranking.Part},
			), errs.Conflict,
		),
	)
	require.True(t, errs.Is(moveWeights(t, s, ranking.Move{Number: 77, To: ranking.Shadow}), errs.NotFound))
	requireWeights(t, s, ranking.State{})
	var wait sync.WaitGroup
	for _, number := range []int64{first, two, first, two} {
		wait.Go(func() { _ = moveWeights(t, s, ranking.Move{Number: number, To: ranking.Shadow}) })
	}
	wait.Wait()
	state, err := s.WeightState(t.Context())
	require.NoError(t, err)
	require.Equal(t, ranking.Shadow, state.Stage)
}

// Old versions are removed, except those that nodes follow.
func weightsForgotten(t *testing.T, s Weights) {
	live := addWeights(t, s)
	require.NoError(t, moveWeights(t, s, ranking.Move{Number: live, To: ranking.Live}))
	for range ranking.Retained + 3 {
		addWeights(t, s)
	}
	list, err := s.WeightVersions(t.Context(), 1000)
	require.NoError(t, err)
	require.Len(t, list, ranking.Retained+1)
	require.Equal(t, live, list[ranking.Retained].Number)
}
