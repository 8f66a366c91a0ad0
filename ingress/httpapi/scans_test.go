package httpapi

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

// An account that sends many scans at once delays its own, not those of others.
func TestScansAreSharedFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScans(4)
		var mu sync.Mutex
		var done []uuid.UUID
		scan := func(account uuid.UUID, last time.Duration) {
			leave, err := s.take(t.Context(), account)
			if err != nil {
				require.True(t, errs.Is(err, errs.RateLimited), "%v", err)
				return
			}
			time.Sleep(last)
			mu.Lock()
			done = append(done, account)
			mu.Unlock()
			leave()
		}
		flooders, honest := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}, uuid.New()
		for range 40 {
			for _, flooder := range flooders {
				go scan(flooder, time.Second)
			}
		}
		synctest.Wait()
		began := time.Now()
		for range 3 {
			scan(honest, 100*time.Millisecond)
		}
		require.Less(t, time.Since(began), 4*time.Second, "of a minute's worth of the others")
		time.Sleep(time.Minute)
		require.Empty(t, s.of)
		require.Empty(t, s.order)
		require.Equal(t, 4, s.free)
		ran := map[uuid.UUID]int{}
		for _, account := range done {
			ran[account]++
		}
		for _, flooder := range flooders {
			require.GreaterOrEqual(t, ran[flooder], scansOfOne, "a flooder has its own share")
			require.LessOrEqual(t, ran[flooder], scansOfOne+scansInWait, "what waits is bounded")
		}
	})
}

// One account alone leaves connections to the others.
func TestOneAccountHasFewScans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, account := newScans(0), uuid.New()
		for range scansOfOne {
			_, err := s.take(t.Context(), account)
			require.NoError(t, err)
		}
		began := time.Now()
		_, err := s.take(t.Context(), account)
		require.True(t, errs.Is(err, errs.RateLimited), "%v", err)
		require.Equal(t, scanWait, time.Since(began))
		require.Equal(t, scansAtOnce-scansOfOne, s.free)
	})
	require.Equal(t, []int{1, 6}, []int{ScansOf(1), ScansOf(8)})
}
