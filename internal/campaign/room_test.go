package campaign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAllowed(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		days, approved, want int
	}{{0, 0, 100}, {29, 0, 100}, {30, 0, 200}, {365, 0, 1300}, {0, 3, 250}, {60, 10, 800}, {4000, 500, 10_000}} {
		require.Equal(t, tc.want, allowed(100, Record{Approved: tc.approved, Since: now.AddDate(0, 0, -tc.days)}, now))
	}
	require.Equal(t, 100, allowed(100, Record{}, now))
	require.Equal(t, 20_000, allowed(20_000, Record{}, now), "the operator's number holds")
}
