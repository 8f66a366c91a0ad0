package httpapi

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

func TestTurnsOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		flooder, other := uuid.New(), uuid.New()
		first, err := all.take(t.Context(), flooder)
		require.NoError(t, err)
		second, err := all.take(t.Context(), flooder)
		require.NoError(t, err)
		waited := make(chan time.Duration)
		began := time.Now()
		go func() {
			leave, err := all.take(t.Context(), flooder)
			if err == nil {
				leave()
			}
			waited <- time.Since(began)
		}()
		theirs, err := all.take(t.Context(), other)
		require.NoError(t, err, "another account does not wait")
		theirs()
		time.Sleep(time.Second)
		first()
		require.Equal(t, time.Second, <-waited)
		third, err := all.take(t.Context(), flooder)
		require.NoError(t, err)
		_, err = all.take(t.Context(), flooder)
		require.True(t, errs.Is(err, errs.RateLimited), "%v", err)
		second()
		third()
		require.Empty(t, all.of, "an account that changes nothing costs nothing")
	})
}
