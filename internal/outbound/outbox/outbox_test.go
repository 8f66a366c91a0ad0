package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPausesGrowAndDiffer(t *testing.T) {
	last, seen := time.Duration(0), map[time.Duration]bool{}
	for n := 1; n <= 40; n++ {
		pause := Pause(n)
		require.Greater(t, pause, longestOf(n)*4/5-1)
		require.LessOrEqual(t, pause, longestOf(n))
		last, seen[pause] = pause, true
	}
	require.Greater(t, last, 6*time.Hour)
	require.Greater(t, len(seen), 30, "jitter")
}

// longestOf is the pause after n attempts without jitter.
func longestOf(n int) time.Duration {
	pause := firstPause
	for range n - 1 {
		pause = min(pause*3, longestPause)
	}
	return pause
}

// A receiver that always fails is tried for three days, and no longer.
func TestPatience(t *testing.T) {
	begun := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m, at := Message{BegunAt: begun}, begun
	for {
		m.Attempts++
		e := After(m, at, 500, "the endpoint answered 500")
		if e.State == Failed {
			break
		}
		require.Equal(t, Waiting, e.State)
		at = e.Next
	}
	require.Greater(t, at.Sub(begun), Patience-longestPause)
	require.LessOrEqual(t, at.Sub(begun), Patience)
	require.Greater(t, m.Attempts, 12)
	require.Less(t, m.Attempts, 25)
}
