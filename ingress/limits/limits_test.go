package limits

import (
	"testing"
	"time"

	"adnet/internal/errs"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRateLetsTheBurstThroughAndThenTheRate(t *testing.T) {
	r, err := NewRate(Config{PerMinute: 60, Burst: 3})
	require.NoError(t, err)
	now, caller, other := time.Unix(1_800_000_000, 0), uuid.New(), uuid.New()
	for range 3 {
		require.NoError(t, r.Allow(caller, now))
	}
	limited := r.Allow(caller, now)
	require.True(t, errs.Is(limited, errs.RateLimited))
	require.Equal(t, 1, errs.Of(limited).Extra["retry_after"])
	require.NoError(t, r.Allow(other, now), "another caller is not affected")
	require.NoError(t, r.Allow(caller, now.Add(time.Second)))
	require.Error(t, r.Allow(caller, now.Add(time.Second)))
}

func TestRateIsOffAtZero(t *testing.T) {
	r, err := NewRate(Config{})
	require.NoError(t, err)
	for range 5000 {
		require.NoError(t, r.Allow(uuid.Nil, time.Unix(0, 0)))
	}
}
