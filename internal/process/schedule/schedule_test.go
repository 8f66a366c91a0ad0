package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUntilTimeOfDay(t *testing.T) {
	const at = 3*time.Hour + 30*time.Minute
	for now, want := range map[string]time.Duration{
		"2026-03-01T00:00:00Z":      at,
		"2026-03-01T03:29:59Z":      time.Second,
		"2026-03-01T03:30:00Z":      24 * time.Hour,
		"2026-03-01T23:00:00Z":      time.Hour + at,
		"2026-03-01T01:00:00+02:00": 30*time.Minute + 4*time.Hour, // 23:00 UTC of the day before
	} {
		instant, err := time.Parse(time.RFC3339, now)
		require.NoError(t, err)
		require.Equal(t, want, UntilTimeOfDay(instant, at), now)
	}
}

func TestLoopWaitsAsLongAsItsTurnsSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		began := time.Now()
		var at []time.Duration
		Loop(ctx, time.Minute, func(context.Context) time.Duration {
			at = append(at, time.Since(began))
			return time.Duration(len(at)) * 10 * time.Minute
		})
		require.Equal(t, []time.Duration{time.Minute, 11 * time.Minute, 31 * time.Minute}, at)
		require.Equal(t, time.Hour, time.Since(began), "it ends with its context, not with the next turn")
	})
}

func TestLoopDoesNotBeginATurnAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		turns := 0
		Loop(ctx, 0, func(context.Context) time.Duration {
			turns++
			stop()
			return 0
		})
		require.Equal(t, 1, turns)
	})
}

func TestEveryTellsFailuresAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 35*time.Minute)
		defer stop()
		began, turns := time.Now(), 0
		var reported []error
		Every(ctx, 10*time.Minute, func(context.Context) error {
			if turns++; turns == 2 {
				return context.Canceled
			}
			return nil
		}, func(err error) { reported = append(reported, err) })
		require.Equal(t, 3, turns)
		require.Equal(t, []error{context.Canceled}, reported)
		require.Equal(t, 35*time.Minute, time.Since(began))
	})
}

func TestEveryZeroNeverTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		Every(ctx, 0, func(context.Context) error { t.Error("a turn"); return nil }, nil)
		require.Error(t, ctx.Err())
	})
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		require.NoError(t, Pause(ctx, 20*time.Second))
		require.NoError(t, Pause(ctx, -time.Second))
		require.ErrorIs(t, Pause(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

func TestClock(t *testing.T) {
	fixed := time.Unix(1, 0)
	require.Equal(t, fixed, Clock(func() time.Time { return fixed })())
	require.WithinDuration(t, time.Now(), Clock(nil)(), time.Minute)
}
