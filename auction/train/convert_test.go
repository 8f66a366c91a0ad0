package train_test

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/train"
	"adnet/internal/money"
)

// payers returns a network of campaigns that pay for conversions. Each has its own advertiser,
// except that campaigns 0 and 1 share one.
func payers(n int) train.Network {
	var list []index.Campaign
	for i := range n {
		list = append(
			list,
			index.Campaign{
				ID: id('c', i), Advertiser: id('a', max(i, 1)), Bid: money.USD, Vote: index.FullVote, Billing: ranker.CPA,
				Headline: "Managed postgres",
			},
		)
	}
	return train.Network{Index: index.Build(ranker.Version2(), list)}
}

// followed returns clicks on a campaign over completed days, of which one in oneOf converted; 0 is
// none.
func followed(campaign, clicks, oneOf int) (log []train.Sample) {
	rng := rand.New(rand.NewPCG(uint64(campaign), uint64(clicks)))
	for i := range clicks {
		log = append(log, train.Sample{
			Campaign: id('c', campaign), Advertiser: id('a', max(campaign, 1)), Publisher: id('p', i%40),
			Day: int32(-29 + i%25), Network: uint32(1 + i),
			Clicked: true, PerConversion: true, Converted: oneOf > 0 && rng.IntN(oneOf) == 0,
		})
	}
	return log
}

// after returns the rate and its report after so many versions on the same clicks.
func after(n train.Network, versions int, log []train.Sample) (ranker.PPM, *train.Report) {
	table := ranker.Version2()
	var got train.Trained
	for range versions {
		got = train.Train(train.Task{Network: n, Incumbent: table, Clicks: log})
		table = table.With(got.Learnt)
	}
	return got.Learnt.Conversions, got.Report
}

func TestConversionsAreLearnt(t *testing.T) {
	n := payers(5)
	var log []train.Sample
	for campaign := range 5 {
		log = append(log, followed(campaign, 4_000, 200)...)
	}
	log = append(log, followed(77, 4_000, 0)...) // is gone
	got, report := after(n, 6, log)
	require.Empty(t, report.Conversions.Reason)
	require.Equal(t, 24_000, report.Conversions.Clicks)
	require.Less(t, got, ranker.Certain*3/5, "an eighth of what the first table predicts")

	table := ranker.Version2().With(&ranker.Learnt{Version: 1, Clicks: flat(), Conversions: got})
	first := ranker.Version2()
	require.Less(t, table.PConvert(ranker.Certain), first.PConvert(ranker.Certain)*3/5)
	value := n.Index.Get(id('c', 1)).Value(&table, ranker.Certain)
	require.Equal(t, money.USD, ranker.CPA.Price(money.USD, value), "what a conversion costs is what was stated")
}

func flat() (curve [ranker.Knots]ranker.PPM) {
	for i := range curve {
		curve[i] = 20_000
	}
	return curve
}

// Whatever is reported, the rate stays within its bounds, moves one step per version, and survives
// encoding unchanged.
func TestRateHasBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := payers(3)
		var log []train.Sample
		for campaign := range 4 {
			log = append(
				log,
				followed(campaign, rapid.IntRange(0, 300).Draw(t, "clicks"), rapid.IntRange(0, 3).Draw(t, "one of"))...,
			)
		}
		table, before := ranker.Version2(), ranker.Certain
		for range 3 {
			got := train.Train(train.Task{Network: n, Incumbent: table, Clicks: log})
			rate := got.Learnt.Conversions
			now := cmp.Or(rate, ranker.Certain)
			require.True(t, ranker.LeastRate <= now && now <= ranker.MostRate)
			require.LessOrEqual(t, now, before*3/2+1)
			require.GreaterOrEqual(t, now+1, before*2/3)
			got.Learnt.Version = 1
			data, err := train.Encode(got.Learnt)
			require.NoError(t, err)
			back, err := train.Decode(data)
			require.NoError(t, err)
			require.Equal(t, rate, back.Conversions)
			table, before = table.With(got.Learnt), now
		}
	})
}

// Clicks on campaigns that pay for clicks teach nothing about conversions, as their owners do not
// report any.
func TestConversionsOfOtherCampaignsDoNotCount(t *testing.T) {
	n := train.Network{Index: index.Build(ranker.Version2(), []index.Campaign{
		{ID: id('c', 1), Advertiser: id('a', 1), Bid: money.USD, Vote: index.FullVote, Billing: ranker.CPC, Headline: "Managed postgres"},
		{ID: id('c', 2), Advertiser: id('a', 2), Bid: money.USD, Vote: index.FullVote, Billing: ranker.CPM, Headline: "Managed postgres"},
		{ID: id('c', 3), Advertiser: id('a', 3), Bid: money.USD, Vote: index.FullVote, Aim: money.USD, Headline: "Managed postgres"},
	})}
	var log []train.Sample
	for campaign := range 5 { // 0 and 4 are gone
		for _, s := range followed(campaign, 4_000, 100) {
			s.PerConversion = campaign == 1 || campaign == 4 // the first paid for them once
			log = append(log, s)
		}
	}
	_, report := after(n, 1, log)
	require.Equal(
		t, 8_000, report.Conversions.Clicks, "of the goal, and of the one that is gone and paid for conversions",
	)

	got, report := after(n, 1, followed(4, 20, 1))
	require.Equal(t, "too few conversions", report.Conversions.Reason)
	require.Zero(t, got)
}

// A rate that predicts the newest days worse than the current one is rejected.
func TestWorseRateIsRejected(t *testing.T) {
	n := payers(3)
	var log []train.Sample
	for _, s := range append(followed(1, 20_000, 6), followed(2, 20_000, 6)...) {
		s.Converted = s.Converted && s.Day <= -10 // of late there are none
		log = append(log, s)
	}
	got, report := after(n, 1, log)
	require.NotEmpty(t, report.Conversions.Reason, report.Conversions)
	require.Zero(t, got)
}

// One advertiser, or one publisher, hardly moves the network's rate, however much it reports.
func TestOneMovesTheNetworkLittle(t *testing.T) {
	const advertisers = 30
	n := payers(advertisers + 1)
	var honest []train.Sample
	for campaign := 1; campaign <= advertisers; campaign++ {
		honest = append(honest, followed(campaign, 1_000, 250)...)
	}
	usual, report := after(n, 1, honest)
	require.Empty(t, report.Conversions.Reason, report.Conversions)
	loud := append([]train.Sample(nil), honest...)
	for i, s := range followed(1, 30_000, 1) {
		s.Network += uint32(100_000 + i)
		loud = append(loud, s)
	}
	got, _ := after(n, 1, loud)
	require.Less(t, got, usual*6/5, "5 % of the clicks, all of which convert")
}
