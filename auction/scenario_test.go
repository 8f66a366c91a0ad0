package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

// budgets is a gate that reserves the price of its grants, as the ingress does.
type budgets map[auction.ID]money.Micros

// Check refuses when the price no longer fits.
func (budgets) Undo(*auction.Campaign) {}

func (b budgets) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if b[c.ID] < of.Price {
		return auction.Budget
	}
	b[c.ID] -= of.Price
	return ""
}

// A day with budgets: the best campaign serves until its budget is used up, then the next, never
// over budget.
func TestBudgetsAreSpentFromTheTopAndNeverExceeded(t *testing.T) {
	snap := snapshot(cpm(1, 10), cpm(2, 5), cpm(3, 20))
	left := budgets{id(1): 25_000, id(2): 5_000, id(3): 40_000} // 2.5, 1 and 2 impressions of requests without words
	var scratch auction.Scratch
	var order []int
	var spent money.Micros
	for range 10 {
		got := auction.Decide(&auction.Request{}, snap, left, &scratch)
		if got.Winner == nil {
			require.Equal(t, auction.Budget, got.Reason)
			continue
		}
		order = append(order, int(got.Winner.ID[15]))
		spent += got.Price
	}
	require.Equal(t, []int{3, 3, 1, 1, 2}, order)
	require.Equal(t, money.Micros(2*20_000+2*10_000+5_000), spent)
	require.Equal(t, budgets{id(1): 5_000, id(2): 0, id(3): 0}, left)
}

// The life of a campaign as the catalog applies it: approved, raised, paused, resumed, retargeted,
// archived.
func TestLifeOfACampaign(t *testing.T) {
	other, mine := cpm(1, 5), cpm(2, 4)
	req := auction.Request{Words: terms("Which vector database?"), Region: "US-CA"}
	retargeted := mine
	retargeted.Targeting = &auction.Targeting{Keywords: []string{"vector databases"}, Regions: []string{"US"}}
	elsewhere := retargeted
	elsewhere.Targeting = &auction.Targeting{Keywords: []string{"vector databases"}, Regions: []string{"DE"}}
	raised := mine
	raised.Bid = 6 * money.USD
	snap := snapshot(other)
	for _, step := range []struct {
		name   string
		change index.Changes
		winner int
		cpm    money.Micros
	}{
		{"approved, but outbid", index.Changes{Upsert: []auction.Campaign{mine}}, 1, 2_500_000},
		{"raised", index.Changes{Upsert: []auction.Campaign{raised}}, 2, 3_000_000},
		{"paused", index.Changes{Remove: []auction.ID{mine.ID}}, 1, 2_500_000},
		{"paused twice", index.Changes{Remove: []auction.ID{mine.ID}}, 1, 2_500_000},
		{"resumed with targeting", index.Changes{Upsert: []auction.Campaign{retargeted}}, 2, 4_000_000},
		{"moved to another country", index.Changes{Upsert: []auction.Campaign{elsewhere}}, 1, 2_500_000},
		{
			"back, the rival gone", index.Changes{Upsert: []auction.Campaign{mine}, Remove: []auction.ID{other.ID}}, 2,
			2_000_000,
		},
	} {
		snap = snap.Apply(step.change)
		got := decide(t, req, snap, nil)
		require.NotNil(t, got.Winner, step.name)
		require.Equal(t, id(step.winner), got.Winner.ID, step.name)
		require.Equal(t, step.cpm, got.EffectiveCPM, step.name)
		require.Equal(t, got.Winner, decide(t, req, snap.Compacted(), nil).Winner, step.name)
	}
	require.Equal(
		t, auction.NoCampaigns, decide(t, req, snap.Apply(index.Changes{Remove: []auction.ID{mine.ID}}), nil).Reason,
	)
}

// Thousands of equal campaigns, likely with a default bid, each come once. Neither the oldest nor
// the advertiser with the most copies comes first more often than its share.
func TestTiesFavourNeitherAgeNorCopies(t *testing.T) {
	var equal []auction.Campaign
	for i := range 1000 {
		c := cpm(i, 5)
		if i < 900 {
			c.Advertiser = id(5000) // one with 900 copies among 101
		}
		equal = append(equal, c)
	}
	snap := index.Build(ranker.Version2(), equal)
	wins, seen := 0, map[auction.ID]bool{}
	var scratch auction.Scratch
	for i := range 2000 {
		if auction.Decide(&auction.Request{ID: id(i)}, snap, nil, &scratch).Winner.Advertiser == id(5000) {
			wins++
		}
	}
	require.InDelta(t, 2000/101, wins, 25)
	auction.Decide(&auction.Request{}, snap, auction.GateFunc(func(
		c *auction.Campaign, _ auction.Valuation,
	) auction.Reason {
		require.False(t, seen[c.ID])
		seen[c.ID] = true
		return auction.Paced
	}), &scratch)
	require.Len(t, seen, 1000)
}
