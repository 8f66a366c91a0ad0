package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

// 900 accounts of one family, with the same ad, win no more ties than one of 101 others.
func TestCopiesOfAFamilyWinNoMoreTies(t *testing.T) {
	var equal []auction.Campaign
	for i := range 1000 {
		c := cpm(i, 5)
		c.Advertiser = id(5000 + i)
		if i < 900 {
			c.Family = id(5000)
		}
		equal = append(equal, c)
	}
	snap := index.Build(ranker.Version2(), equal)
	wins := 0
	var scratch auction.Scratch
	for i := range 2000 {
		if auction.Decide(&auction.Request{ID: id(i)}, snap, nil, &scratch).Winner.Family == id(5000) {
			wins++
		}
	}
	require.InDelta(t, 2000/101, wins, 25)
}

// The further accounts of a family that has explored enough explore no more. A stranger with the
// same offer does.
func TestAFamilyExploresOnce(t *testing.T) {
	young := auction.Campaign{
		ID: id(2), Advertiser: id(102), Bid: 4 * money.USD, Vote: index.FullVote,
		Headline: "Hosting of a vector database", Subtext: "with backups and restores",
	}
	_, explored := wins(t, explorers(young), 2000)
	require.Positive(t, explored[id(2)])
	young.Family = id(150)
	_, explored = wins(t, explorers(young), 2000)
	require.Empty(t, explored)
}
