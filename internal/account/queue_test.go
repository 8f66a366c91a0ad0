package account

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

// line is a queue with one slot, which is taken, and the callers in the order of their slots.
type line struct {
	*turns
	order []string
	full  []string // callers without a place
}

func newLine() *line {
	l := &line{turns: newTurns(1)}
	l.free = 0
	return l
}

// joins lets a caller of a network wait.
func (l *line) joins(ctx context.Context, network string, known bool) {
	go func() {
		err := l.acquire(WithAsker(ctx, Asker{Network: network, Known: func() bool { return known }}))
		switch {
		case errs.Is(err, errs.RateLimited):
			l.full = append(l.full, network)
		case err == nil:
			l.order = append(l.order, network)
		}
	}()
	synctest.Wait()
}

// pass gives the slot n times.
func (l *line) pass(n int) []string {
	l.order = nil
	for range n {
		l.release()
		synctest.Wait()
	}
	return l.order
}

// A network that floods the queue takes turns with others and takes no place that another needs.
func TestNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		for range 3 * hashPlaces {
			l.joins(t.Context(), "flood", false)
		}
		require.Len(t, l.full, 2*hashPlaces)
		l.full = nil
		for n := range 3 {
			l.joins(t.Context(), fmt.Sprint("owner", n), false)
		}
		require.Equal(t, []string{"flood", "flood", "flood"}, l.full)
		require.Equal(t, []string{"flood", "owner0", "owner1", "owner2", "flood"}, l.pass(5))
		l.joins(t.Context(), "owner9", false)
		require.Equal(t, []string{"owner9"}, l.pass(1))
		l.pass(hashPlaces)
		require.Equal(t, 0, l.waits())
	})
}

// Networks that come again at once take no place of one that comes for the first time.
func TestManyNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		for n := range hashPlaces {
			l.joins(t.Context(), fmt.Sprint("flood", n), false)
		}
		for n := range hashPlaces {
			l.pass(1)
			l.joins(t.Context(), fmt.Sprint("flood", n), false)
		}
		l.joins(t.Context(), "owner", false)
		require.Equal(t, []string{fmt.Sprint("flood", hashPlaces-1)}, l.full)
		require.Equal(t, []string{"owner"}, l.pass(1))
		l.pass(hashPlaces)
	})
}

// Known callers have places of their own and every second slot.
func TestKnownCallersHavePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		for n := range hashPlaces {
			l.joins(t.Context(), fmt.Sprint("flood", n), false)
		}
		l.joins(t.Context(), "home1", true)
		l.joins(t.Context(), "home2", true)
		require.Empty(t, l.full)
		require.Equal(t, []string{"home1", "flood0", "home2", "flood1"}, l.pass(4))
		l.pass(hashPlaces)
	})
}

// A caller that leaves keeps neither place nor slot.
func TestCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		ctx, cancel := context.WithCancel(t.Context())
		l.joins(ctx, "a", false)
		cancel()
		synctest.Wait()
		require.Zero(t, l.waits())
		l.release()
		require.Equal(t, 1, l.free)
		require.ErrorIs(t, l.acquire(ctx), context.Canceled)
		require.NoError(t, l.acquire(t.Context()))
		require.Zero(t, l.free)
	})
}

func TestServedIsBounded(t *testing.T) {
	l := newTurns(1)
	for n := range 10 * maxServed {
		l.serve(fmt.Sprint(n))
	}
	require.LessOrEqual(t, len(l.served), 2*maxServed)
}
