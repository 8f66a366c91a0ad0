package offer

import (
	"testing"

	"adnet/auction/ranker"
	"adnet/internal/money"

	"github.com/stretchr/testify/require"
)

// A publisher earns by impressions: what it states cannot take the floor below the lowest.
func TestFloor(t *testing.T) {
	share := func(m money.Micros) *money.Micros { return &m }
	for _, c := range []struct {
		lowest          float64
		request, wanted *money.Micros
		want            ranker.PPM
	}{
		{lowest: -1, want: 600_000},
		{lowest: -1, request: share(0), want: 600_000},
		{lowest: -1, request: share(900_000), want: 900_000},
		{lowest: 0, request: share(0), want: 0},
		{lowest: 0.3, request: share(0), want: 300_000},
		{lowest: 0.3, request: share(450_000), want: 450_000},
		{lowest: 0.9, request: share(0), want: 600_000},
		{lowest: 0, wanted: share(200_000), want: 200_000},
		{lowest: -1, wanted: share(200_000), want: 600_000},
		{lowest: 0, request: share(100_000), wanted: share(700_000), want: 700_000},
		{lowest: 0, request: share(800_000), wanted: share(700_000), want: 800_000},
	} {
		cfg := Config{MinRelevance: 0.6, MinRelevanceLowest: c.lowest}
		require.Equal(t, c.want, cfg.floor(c.request, c.wanted), "%+v", c)
	}
}
