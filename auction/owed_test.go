package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

// admitting returns the numbers of the first n auctions in which bound campaigns take part.
func admitting(n int) (list []int) {
	bound := index.Build(
		ranker.Version2(), []auction.Campaign{{ID: id(1), Bid: money.USD, Bound: index.BoundBehind}},
	)
	var scratch auction.Scratch
	for i := 0; len(list) < n; i++ {
		if auction.Decide(&auction.Request{ID: id(i)}, bound, nil, &scratch).Winner != nil {
			list = append(list, i)
		}
	}
	return list
}

// perAct returns a campaign that says the words of its requests.
func perAct(n int, b ranker.Billing, bid money.Micros) auction.Campaign {
	return auction.Campaign{
		ID: id(n), Advertiser: id(100 + n), Billing: b, Bid: bid, Headline: "Vector database hosting",
		Subtext: "for teams",
	}
}

func vector(n int) auction.Request {
	return auction.Request{ID: id(n), Words: terms("vector database hosting"), MinRelevance: ranker.DefaultFloor}
}

func TestBoundCampaignsShowInAHundredth(t *testing.T) {
	const auctions = 20_000
	all := []auction.Campaign{perAct(1, ranker.CPM, 2*money.USD)}
	for n := range 200 { // together they have no more auctions than one
		thief := perAct(2+n, ranker.CPA, 1000*money.USD)
		thief.Bound = index.Bound(1 + n%2)
		all = append(all, thief)
	}
	snap, won := index.Build(ranker.Version2(), all), map[auction.ID]int{}
	var scratch auction.Scratch
	for n := range auctions {
		req := vector(n)
		req.MinRelevance = 0 // what all say is no word of a trade
		won[auction.Decide(&req, snap, nil, &scratch).Winner.ID]++
	}
	others := auctions - won[id(1)]
	require.LessOrEqual(t, others, auctions/100)
	require.Greater(t, others, auctions/300, "a charge must be able to free them")
}

func TestOnlyBoundCampaignsAreUnpaid(t *testing.T) {
	bound := perAct(1, ranker.CPC, money.USD)
	bound.Bound = index.BoundUnproven
	snap := index.Build(ranker.Version2(), []auction.Campaign{bound})
	skip := admitting(1)[0]
	req := vector(skip + 1)
	require.Equal(t, auction.Unpaid, decide(t, req, snap, nil).Reason)
	losers := auction.Explain(&req, snap, nil).Losers
	require.Equal(t, auction.Unpaid, losers[0].Reason)
	require.Equal(t, index.BoundField, losers[0].Mismatch)

	req.Words = terms("what is the meaning of life")
	require.Equal(t, auction.Irrelevant, decide(t, req, snap, nil).Reason)
	free := bound
	free.Bound = index.BoundNone
	snap = snap.Apply(index.Changes{Upsert: []auction.Campaign{free}})
	req = vector(skip + 1)
	require.Equal(t, id(1), decide(t, req, snap, nil).Winner.ID, "a change of the bound counts at once")
}

func TestOwnRatesScaleBidsForActs(t *testing.T) {
	table := ranker.Version2()
	value := func(b ranker.Billing, click, convert uint32) money.Micros {
		c := perAct(1, b, 10*money.USD)
		c.ClickRate, c.ConvertRate = click, convert
		return c.Value(&table, ranker.Certain)
	}
	require.Equal(t, 200*money.USD, value(ranker.CPC, 0, 0))
	require.Equal(t, 100*money.USD, value(ranker.CPC, 500_000, 1))
	require.Equal(t, 8*money.USD, value(ranker.CPA, 0, 0))
	require.Equal(t, 2*money.USD, value(ranker.CPA, 500_000, 500_000))
	require.Equal(t, 32*money.USD, value(ranker.CPA, 4_000_000, 4_000_000), "at most four times")
	require.Less(t, value(ranker.CPA, 1000, 1000), money.Micros(10), "without a lower bound")
	require.Equal(t, 10*money.USD, value(ranker.CPM, 1, 1), "impressions are paid for")

	goal := perAct(1, ranker.CPM, 10*money.USD)
	goal.Aim, goal.ClickRate, goal.ConvertRate, goal.Ceiling = 10*money.USD, 500_000, 500_000, 1
	require.Equal(t, 2*money.USD, goal.Value(&table, ranker.Certain), "a goal pays its value, so it has no ceiling")
}

func TestCeilingLimitsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := ranker.Version2()
		c := perAct(1, rapid.SampledFrom([]ranker.Billing{ranker.CPC, ranker.CPA}).Draw(t, "billing"), money.Micros(
			rapid.Int64Range(1, 1000*int64(money.USD)).Draw(t, "bid"),
		))
		c.ClickRate = rapid.Uint32Range(1, 4_000_000).Draw(t, "rate")
		r := ranker.PPM(rapid.Int64Range(0, int64(ranker.Certain)).Draw(t, "relevance"))
		open := c.Value(&table, r)
		c.Ceiling = money.Micros(rapid.Int64Range(1, 10*int64(money.USD)).Draw(t, "ceiling"))
		require.Equal(t, min(open, c.Ceiling), c.Value(&table, r))
	})
}
