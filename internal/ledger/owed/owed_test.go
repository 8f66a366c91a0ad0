package owed

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

func id(n int) (u uuid.UUID) {
	binary.BigEndian.PutUint64(u[8:], uint64(n)+1)
	return u
}

// cpa returns a campaign of the family of its number, shown for so many expected conversions at the
// first rates.
func cpa(n int, expected float64, acts int64) Campaign {
	impressions := int64(math.Ceil(expected * 1e12 / float64(FirstClick*FirstConvert)))
	clicks := impressions * FirstClick / Same
	return Campaign{
		ID: id(n), Family: id(n), Billing: campaign.CPA, Bid: 2 * money.USD, Impressions: impressions, Clicks: clicks,
		Conversions: acts, Acts: acts, Charged: money.Micros(acts) * 2 * money.USD,
	}
}

// network returns families that convert as the first table predicts, so that its rates stay.
func network() (list []Campaign) {
	for n := range 20 {
		list = append(list, cpa(1000+n, 100, 100))
	}
	return list
}

// verdict judges one family in a usual network.
func verdict(in Input, list ...Campaign) Result {
	in.Campaigns = append(network(), list...)
	return Judge(in)[list[len(list)-1].ID]
}

func TestFamilyIsUnprovenAfterThreeExpectedActs(t *testing.T) {
	reviewed := Input{Families: map[uuid.UUID]Family{id(1): {Reviewed: true}}}
	require.Empty(t, verdict(reviewed, cpa(1, 2.9, 0)).Bound)
	require.Equal(t, campaign.Unproven, verdict(reviewed, cpa(1, 3.1, 0)).Bound)
	require.Empty(t, verdict(reviewed, cpa(1, 3.1, 1)).Bound, "one act proves it")

	first, second := cpa(1, 1.6, 0), cpa(2, 1.6, 0)
	second.Family = first.Family
	require.Equal(t, campaign.Unproven, verdict(reviewed, first, second).Bound, "all campaigns count together")
	fresh := cpa(3, 0, 0)
	fresh.Family = first.Family
	require.Equal(t, campaign.Unproven, verdict(reviewed, first, second, fresh).Bound, "and a new one as well")
}

func TestUnprovenAdsAreWorthAtMostTheAllowance(t *testing.T) {
	dear := cpa(1, 0.4, 0)
	dear.Bid = 20 * money.USD
	require.Equal(t, campaign.Unproven, verdict(Input{}, dear).Bound, "8 USD, whatever it bids")
	reviewed := map[uuid.UUID]Family{id(1): {Reviewed: true}}
	require.Empty(t, verdict(Input{Families: reviewed}, dear).Bound)
	dear.Bid = 200 * money.USD
	require.Equal(t, campaign.Unproven, verdict(Input{Families: reviewed}, dear).Bound, "80 USD")
	got := verdict(Input{Families: reviewed, Median: 5 * money.USD}, dear)
	require.Empty(t, got.Bound, "no 1,000 impressions counted for more than 5 USD")
	require.Equal(t, money.Micros(dear.Impressions)*5*money.USD/1000, got.Value)
	require.Equal(t, 5*money.USD, got.Ceiling)
	dear.Acts, dear.Charged = 1, dear.Bid
	require.Zero(t, verdict(Input{Median: 5 * money.USD}, dear).Ceiling, "the ceiling ends with the first act")
}

func TestCheapActsDoNotProveDearOnes(t *testing.T) {
	clicks := Campaign{
		ID: id(1), Family: id(1), Billing: campaign.CPC, Bid: 10_000, Impressions: 10_000, Clicks: 173, Acts: 173,
		Charged: 173 * 10_000,
	}
	dear := cpa(2, 0.1, 0)
	dear.Family, dear.Bid = id(1), 1000*money.USD
	require.Equal(t, campaign.Unproven, verdict(Input{}, clicks, dear).Bound)
	require.Empty(t, verdict(Input{}, dear, clicks).Bound, "the clicks are paid for")
	dear.Bid = money.USD
	require.Empty(t, verdict(Input{}, clicks, dear).Bound, "the family paid more than an act of it")
}

func TestBehindByTheFormula(t *testing.T) {
	for _, c := range []struct {
		expected float64
		acts     int64
		behind   bool
	}{
		{19, 1, false}, {30, 7, false}, {30, 5, true}, {100, 49, true}, {100, 51, false}, {64, 29, true}, {64, 31, false},
		{10_000, 4999, true}, {10_000, 5001, false}, {1e9, 1, true},
	} {
		require.Equal(t, c.behind, behind(Acts(c.expected*float64(Act)), Acts(c.acts)*Act), c)
	}
	rapid.Check(t, func(t *rapid.T) {
		e := Acts(rapid.Int64Range(0, 1e15).Draw(t, "e"))
		c := Acts(rapid.Int64Range(0, 1e15).Draw(t, "c"))
		e1, c1 := float64(e)/1e6, float64(c)/1e6
		over := e1 - c1 - 4*math.Sqrt(e1) - 2
		if math.Abs(over) > 1e-3 { // beyond the rounding of this test
			require.Equal(t, over > 0 && 2*c < e, behind(e, c))
		}
	})
	require.Equal(t, campaign.Behind, verdict(Input{}, cpa(1, 40, 5)).Bound)
	require.Empty(t, verdict(Input{}, cpa(1, 40, 20)).Bound)
}

// What a campaign may be shown for beyond its charges ends where it is behind.
func TestToleranceEndsWhereACampaignIsBehind(t *testing.T) {
	for _, c := range []struct {
		acts int64
		want float64 // (c + 3) × ln((e + 3) ÷ (c + 3)), where e − c = 4·√e + 2, or e = 2·c
	}{
		{0, 6.08}, {1, 7.27}, {3, 9.24}, {24, 21.0}, {100, 69.9}, {10_000, 6931},
	} {
		require.InEpsilon(t, c.want, float64(Tolerance(c.acts, money.USD))/float64(money.USD), 0.01, c.acts)
	}
	require.Zero(t, Tolerance(5, 0))
	require.Positive(t, Tolerance(math.MaxInt64, 1000*money.USD))
	require.Equal(t, Tolerance(0, money.USD), Tolerance(-1, money.USD))
}

func TestFamilyIsBehindOverAllItsCampaigns(t *testing.T) {
	list := []Campaign{cpa(0, 2, 2)} // two acts paid for
	for n := range 20 {
		c := cpa(1+n, 5, 0)
		c.Family = id(0)
		list = append(list, c)
	}
	require.Equal(t, campaign.Behind, verdict(Input{}, list...).Bound, "none of them is behind by itself")
	require.Empty(t, verdict(Input{}, append(list, list[0])...).Bound, "what is paid for goes on")
}

func TestOwnRates(t *testing.T) {
	require.Equal(t, Same, own(0, 0))
	require.Equal(t, Same/2, own(0, 3*Act))
	require.Equal(t, Same/10, own(0, 27*Act))
	require.Equal(t, Same/1_000_000, own(0, 3_000_000*Act), "no lower bound")
	require.Equal(t, Most, own(1000, Act), "at most four times")
	require.Equal(t, 2*Same, own(63, 30*Act), "its own charges outweigh the network")
	got := verdict(Input{}, cpa(1, 30, 15))
	require.InDelta(t, 545_000, got.ConvertRate, 40_000)
	require.InDelta(t, Same, got.ClickRate, 80_000)
	goal := cpa(1, 30, 15)
	goal.Billing, goal.Goal, goal.Acts = campaign.CPM, true, 0
	got = verdict(Input{Median: 1}, goal)
	require.InDelta(t, 545_000, got.ConvertRate, 40_000)
	require.Empty(t, got.Bound, "it pays for impressions")
	require.Zero(t, got.Ceiling)
	goal.Conversions = 0
	require.Empty(t, verdict(Input{}, goal).Bound)
	clicks := Campaign{ID: id(1), Family: id(1), Billing: campaign.CPC, Bid: 1, Impressions: 10_000}
	require.Less(t, verdict(Input{}, clicks).ClickRate, Same/40)
	require.NotContains(t, Judge(Input{Campaigns: []Campaign{{Billing: campaign.CPM}}}), uuid.Nil)
}

// Acts in question count as the campaign's acts elsewhere let expect: they prove no rate, and take
// none from a campaign that is clicked elsewhere as well.
func TestActsInQuestionProveNothing(t *testing.T) {
	parts := func(here, elsewhere Campaign) Campaign {
		c := here
		c.Doubted = Doubted{here.Impressions, here.Clicks, here.Conversions}
		c.Impressions += elsewhere.Impressions
		c.Clicks += elsewhere.Clicks
		c.Conversions += elsewhere.Conversions
		c.Acts, c.Charged = c.Acts+elsewhere.Acts, c.Charged+elsewhere.Charged
		return c
	}
	for _, k := range []struct {
		name            string
		here, elsewhere Campaign
		rate            PPM
		bound           campaign.Bound
	}{
		{"a ring", cpa(1, 50, 100), cpa(1, 30, 0), 85_000, campaign.Behind},
		{"a ring without readers elsewhere", cpa(1, 50, 100), cpa(1, 0, 0), Same, ""},
		{"an honest campaign beside a thief", cpa(1, 20, 200), cpa(1, 40, 40), Same, ""},
		{"one with little more than half of the usual rate", cpa(1, 20, 200), cpa(1, 100, 60), 600_000, ""},
		{"one with twice the usual rate", cpa(1, 20, 40), cpa(1, 100, 200), 2 * Same, ""},
		{"acts in question that are few", cpa(1, 20, 2), cpa(1, 40, 40), Same * 45 / 63, ""},
		{"acts without impressions", cpa(1, 0, 100), cpa(1, 40, 40), Same, ""},
	} {
		got := verdict(Input{}, parts(k.here, k.elsewhere))
		require.InEpsilon(t, k.rate, got.ConvertRate, 0.1, k.name)
		require.Equal(t, k.bound, got.Bound, k.name)
	}
	clicks := Campaign{
		ID: id(1), Family: id(1), Billing: campaign.CPC, Bid: 1000, Impressions: 100_000, Clicks: 2000, Acts: 2000,
		Charged: 2_000_000, Doubted: Doubted{Impressions: 50_000, Clicks: 2000},
	}
	got := verdict(Input{}, clicks)
	require.Less(t, got.ClickRate, Same/100)
	require.Equal(t, campaign.Behind, got.Bound)
	in := Input{Campaigns: []Campaign{clicks}}
	Judge(in)
	require.EqualValues(t, 2000, in.Campaigns[0].Acts, "the input stays")
}

func TestConversionsAreExpectedWhenTheyAreDue(t *testing.T) {
	c := cpa(1, 5, 0)
	families := map[uuid.UUID]Family{id(1): {Reviewed: true}}
	require.Equal(t, campaign.Unproven, verdict(Input{Families: families}, c).Bound)
	c.Recent = []Recent{{30 * time.Minute, c.Impressions, c.Clicks}}
	got := verdict(Input{Families: families}, c)
	require.Empty(t, got.Bound, "a quarter of their conversions is reported in half an hour")
	require.InDelta(t, 1_125_000, int64(got.Expected), 150_000)
	late := LearnCurve([len(ages)]int64{0, 0, 0, 0, 0, 0, 1000})
	require.Less(t, late.Due(3*24*time.Hour), Same/10)
	require.Equal(t, Same, late.Due(31*24*time.Hour))
	at, ok := Bucket(90 * time.Minute)
	require.True(t, ok)
	require.Equal(t, 1, at)
	_, ok = Bucket(31 * 24 * time.Hour)
	require.False(t, ok)
}

// One family sets no delay for the others, whatever it reports.
func TestFamilyMovesTheCurveLittle(t *testing.T) {
	list := []Delays{}
	for range 20 {
		list = append(list, Delays{Same, [len(ages)]int64{100}})
	}
	require.Greater(t, NetworkCurve(list)[0], Same*98/100)
	late := Delays{Same, [len(ages)]int64{7: 1e8}}
	require.InDelta(t, 4*Same/5, NetworkCurve(append(list, late))[0], 20_000)
	require.InDelta(t, Same/4, NetworkCurve([]Delays{late})[0], 30_000, "alone it counts as the first curve")
	late.Weight = 0
	require.Equal(t, NetworkCurve(list), NetworkCurve(append(list, late)))
	require.Equal(t, FirstCurve, NetworkCurve(nil))
}

func TestCurveRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var delays [len(ages)]int64
		for i := range delays {
			delays[i] = rapid.Int64Range(0, 1e9).Draw(t, "conversions")
		}
		c, last := LearnCurve(delays), PPM(0)
		require.Equal(t, Same, c[len(c)-1])
		for hours := range 24 * 31 {
			due := c.Due(time.Duration(hours) * time.Hour)
			require.LessOrEqual(t, last, due)
			last = due
		}
	})
}

// A newer family begins with what the older ones used up. Nothing changes for the older ones.
func TestBoundFamiliesInherit(t *testing.T) {
	day := func(n int) time.Time { return time.Unix(int64(n)*86_400, 0) }
	families := map[uuid.UUID]Family{
		id(1): {Since: day(1), Reviewed: true},
		id(2): {Since: day(2), Reviewed: true, BoundTo: id(1)},
		id(3): {Since: day(3), Reviewed: true, BoundTo: id(2)},
	}
	judge := func(list ...Campaign) map[uuid.UUID]Result {
		return Judge(Input{Families: families, Campaigns: append(network(), list...)})
	}
	got := judge(cpa(1, 2, 0), cpa(2, 0.5, 0), cpa(3, 0.7, 0))
	require.Empty(t, got[id(1)].Bound)
	require.Empty(t, got[id(2)].Bound)
	require.Equal(t, campaign.Unproven, got[id(3)].Bound, "3.2 acts in all")
	require.Less(t, got[id(3)].ConvertRate, got[id(2)].ConvertRate)
	alone := judge(cpa(1, 2, 0))
	got = judge(cpa(1, 2, 0), cpa(2, 50, 0), cpa(3, 50, 0))
	require.Equal(t, alone[id(1)], got[id(1)], "copies change nothing for the older one")

	got = judge(cpa(1, 100, 90), cpa(2, 0.5, 0), cpa(3, 0.7, 0))
	require.Empty(t, got[id(3)].Bound, "one that pays used up nothing")
	got = judge(cpa(1, 100, 10), cpa(2, 0, 0))
	require.Equal(t, campaign.Behind, got[id(1)].Bound)
	require.Equal(t, campaign.Unproven, got[id(2)].Bound, "a new account does not get rid of a debt")
	got = judge(cpa(1, 100, 10), cpa(2, 1, 1))
	require.Empty(t, got[id(2)].Bound, "one that was charged is judged by itself")

	families[id(1)] = Family{BoundTo: id(3)} // a circle ends
	require.NotEmpty(t, judge(cpa(1, 1, 0), cpa(2, 1, 0)))
}

// Accounts without charges cannot lower the rates of the network, whatever their number.
func TestUnpaidAccountsMoveTheNetworkLittle(t *testing.T) {
	honest := cpa(1, 100, 60)
	usual := verdict(Input{}, honest)
	list := []Campaign{}
	for n := range 5000 {
		list = append(list, cpa(5000+n, 50, 0))
	}
	got := verdict(Input{}, append(list, honest)...)
	require.InDelta(t, usual.ConvertRate, got.ConvertRate, float64(usual.ConvertRate)/4)
	require.Greater(t, got.Expected, usual.Expected*4/5)
}

func TestHugeCountersDoNotOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64/2)
		var list []Campaign
		for i := range 3 {
			list = append(list, Campaign{
				ID: id(i), Family: id(i % 2), Billing: rapid.SampledFrom(
					[]campaign.BillingModel{campaign.CPC, campaign.CPA, campaign.CPM},
				).Draw(t, "billing"),
				Goal: rapid.Bool().Draw(t, "goal"), Bid: money.Micros(n.Draw(t, "bid")), Impressions: n.Draw(t, "impressions"),
				Clicks: n.Draw(t, "clicks"), Acts: n.Draw(t, "acts") / 1e7, Charged: money.Micros(n.Draw(t, "charged") / 4),
			})
		}
		for _, r := range Judge(Input{Campaigns: list, Median: money.Micros(n.Draw(t, "median"))}) {
			require.GreaterOrEqual(t, r.Expected, Acts(0))
			require.GreaterOrEqual(t, r.Value, money.Micros(0))
			require.True(t, r.ClickRate >= 1 && r.ClickRate <= Most)
			require.True(t, r.ConvertRate >= 0 && r.ConvertRate <= Most)
		}
	})
}

// poisson draws a number of acts.
func poisson(rng *rand.Rand, mean float64) (n int64) {
	for ; mean > 30; mean -= 30 {
		n += poisson(rng, 30)
	}
	limit, p := math.Exp(-mean), rng.Float64()
	for ; p > limit; n++ {
		p *= rng.Float64()
	}
	return n
}
