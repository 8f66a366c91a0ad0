package offer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/internal/money/share"
)

// A publisher earns by impressions: what it states cannot take the floor below the lowest.
func TestFloor(t *testing.T) {
	stated := func(s share.Share) *share.Share { return &s }
	for _, c := range []struct {
		lowest             float64
		request, publisher *share.Share
		want, silent       ranker.PPM
	}{
		{lowest: -1, want: 600_000},
		{lowest: -1, request: stated(0), want: 600_000},
		{lowest: -1, request: stated(900_000), want: 900_000},
		{lowest: 0, request: stated(0), want: 0},
		{lowest: 0.3, request: stated(0), want: 300_000},
		{lowest: 0.3, request: stated(450_000), want: 450_000},
		{lowest: 0.9, request: stated(0), want: 600_000},
		{lowest: 0, publisher: stated(0), want: 0},
		{lowest: -1, publisher: stated(0), want: 600_000},
		{lowest: 0.3, publisher: stated(0), want: 300_000},
		{lowest: 0, publisher: stated(200_000), want: 200_000, silent: 200_000},
		{lowest: -1, publisher: stated(200_000), want: 600_000, silent: 200_000},
		{lowest: -1, publisher: stated(900_000), want: 900_000, silent: 900_000},
		{lowest: 0, request: stated(100_000), publisher: stated(700_000), want: 700_000, silent: 700_000},
		{lowest: 0, request: stated(800_000), publisher: stated(700_000), want: 800_000, silent: 800_000},
		{lowest: 0, request: stated(800_000), publisher: stated(0), want: 800_000},
	} {
		cfg := Config{MinRelevance: 0.6, MinRelevanceLowest: c.lowest}
		usual, silent := cfg.floors(c.request, c.publisher)
		require.Equal(t, []ranker.PPM{c.want, c.silent}, []ranker.PPM{usual, silent}, "%+v", c)
	}
}
