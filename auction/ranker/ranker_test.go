package ranker

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/money"
)

func TestTheNumbersOfATable(t *testing.T) {
	table := Version2()
	require.Equal(t, "benna-2", table.Version)
	require.LessOrEqual(t, len(table.Calibration), 64)
	for i := range table.Calibration[1:] {
		require.Greater(t, table.Calibration[i+1], table.Calibration[i], "a better match is always worth more")
	}
}

// The sigmoid's points and the values between them are close to the real function.
func TestProbability(t *testing.T) {
	for odds := int32(-5000); odds <= 5000; odds += 7 {
		want := 1 / (1 + math.Exp(-float64(odds)/256))
		require.InDelta(t, want, float64(probability(odds))/float64(Certain), 0.0011)
		require.LessOrEqual(t, probability(odds), probability(odds+1))
	}
}

func TestRelevanceGrowsWithEverySignal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Version2()
		s := Signals{
			Words: Match(rapid.Uint32Range(0, uint32(Full)).Draw(t, "words")),
			Tools: Match(rapid.Uint32Range(0, uint32(Full)).Draw(t, "tools")),
		}
		r := table.RelevanceOf(s)
		more := s
		more.Words += 1000
		require.GreaterOrEqual(t, table.RelevanceOf(more), r)
		more = s
		more.HostMatched, more.SurfaceMatched = true, true
		require.GreaterOrEqual(t, table.RelevanceOf(more), r)
		more.Silent = true
		require.GreaterOrEqual(t, table.RelevanceOf(more), table.Usual, "a request without words shades no bid")
	})
}

func TestEffectiveCPM(t *testing.T) {
	table := Version2()
	for _, c := range []struct {
		name      string
		billing   Billing
		bid       money.Micros
		relevance PPM
		want      money.Micros
	}{
		{"cpm at the usual relevance is the bid", CPM, 5 * money.USD, table.Usual, 5 * money.USD},
		{"and no more above it", CPM, 5 * money.USD, Certain, 5 * money.USD},
		{"at least half of it", CPM, 5 * money.USD, 0, 2_500_000},
		{"cpc of a relevant ad: 2 % of clicks", CPC, money.USD, Certain, 20 * money.USD},
		{"cpc of an irrelevant one: 0.2 %", CPC, money.USD, 0, 2 * money.USD},
		{"cpa of a relevant ad: 2 % × 4 %", CPA, 10 * money.USD, Certain, 8 * money.USD},
		{"cpa, largest bid", CPA, 1000 * money.USD, Certain, 800 * money.USD},
		{"no bid", CPM, 0, Certain, 0},
		{"negative bid", CPC, -1, Certain, 0},
		{"unknown billing", Billing(9), money.USD, Certain, 0},
	} {
		require.Equal(t, c.want, table.EffectiveCPM(c.billing, c.bid, c.relevance), c.name)
	}
}

func TestGoalBidsByPrediction(t *testing.T) {
	table := Version2()
	require.Equal(t, 8*money.USD, table.Value(CPM, 1000*money.USD, 10*money.USD, Certain), "1,000 × 10 USD × 2 % × 4 %")
	require.Equal(t, 5*money.USD, table.Value(CPM, 5*money.USD, 10*money.USD, Certain), "never above the bid")
	require.Equal(
		t, money.Micros(80_000), table.Value(CPM, 5*money.USD, 10*money.USD, 0),
		"an irrelevant one is worth a hundredth, not half",
	)
	require.Equal(t, table.EffectiveCPM(CPC, money.USD, 0), table.Value(CPC, money.USD, 0, 0))
	rapid.Check(t, func(t *rapid.T) {
		bid := money.Micros(rapid.Int64Range(-1, 1000*int64(money.USD)).Draw(t, "bid"))
		aim := money.Micros(rapid.Int64Range(0, math.MaxInt64).Draw(t, "aim"))
		r := PPM(rapid.Int64Range(0, int64(Certain)-1).Draw(t, "relevance"))
		value := table.Value(CPM, bid, aim, r)
		require.LessOrEqual(t, value, max(0, bid))
		require.GreaterOrEqual(t, value, money.Micros(0))
		require.LessOrEqual(t, value, table.Value(CPM, bid, aim, r+1))
		require.LessOrEqual(t, value, table.Value(CPM, bid+1, aim, r))
	})
}

func TestEffectiveCPMIsExactAndNeverOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Version2().With(&Learnt{View: PPM(
			rapid.SampledFrom([]PPM{0, LeastView, 333_333, Certain}).Draw(t, "view"),
		)})
		for i := range table.Learnt.Clicks {
			table.Learnt.Clicks[i] = 1 + PPM(i)*700
		}
		bid := money.Micros(rapid.Int64Range(1, math.MaxInt64).Draw(t, "bid"))
		r := PPM(rapid.Int64Range(0, int64(Certain)).Draw(t, "relevance"))
		click, convert := table.PClick(r), table.PConvert(r)
		require.LessOrEqual(t, click, Certain)
		require.LessOrEqual(t, convert, Certain)
		for billing, ratio := range map[Billing]*big.Rat{
			CPM:  big.NewRat(int64(table.Shade(r)), int64(Certain)),
			VCPM: big.NewRat(int64(table.Shade(r))*int64(table.PView()), int64(Certain)*int64(Certain)),
			CPC:  big.NewRat(int64(click), 1000),
			CPA:  big.NewRat(int64(click)*int64(convert), 1_000_000_000),
		} {
			exact := new(big.Rat).Mul(big.NewRat(int64(bid), 1), ratio)
			want := new(big.Int).Quo(exact.Num(), exact.Denom())
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			require.Equal(t, money.Micros(want.Int64()), table.EffectiveCPM(billing, bid, r), billing)
		}
	})
}

func TestScoreNeverDecreasesWithBidOrRelevance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Version2()
		billing := Billing(rapid.IntRange(0, 3).Draw(t, "billing"))
		low := money.Micros(rapid.Int64Range(1, 1000*int64(money.USD)).Draw(t, "bid"))
		high := low + money.Micros(rapid.Int64Range(0, 1000).Draw(t, "more"))
		r := PPM(rapid.Int64Range(0, int64(Certain)-1).Draw(t, "relevance"))
		require.LessOrEqual(t, table.EffectiveCPM(billing, low, r), table.EffectiveCPM(billing, high, r))
		require.LessOrEqual(t, table.EffectiveCPM(billing, low, r), table.EffectiveCPM(billing, low, r+1))
	})
}

// A search relies on this: no relevance makes a bid worth more than its bound.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Version2()
		billing := Billing(rapid.IntRange(0, 3).Draw(t, "billing"))
		bid := money.Micros(rapid.Int64Range(1, 1000*int64(money.USD)).Draw(t, "bid"))
		r := PPM(rapid.Int64Range(0, int64(Certain)).Draw(t, "relevance"))
		most := table.Most(billing, bid)
		require.LessOrEqual(t, table.EffectiveCPM(billing, bid, r), most)
		require.LessOrEqual(t, table.EffectiveCPM(billing, bid, r), table.AtMost(most, r))
	})
}

func TestPredictionAttributesTheMatch(t *testing.T) {
	table := Version2()
	p := table.Predict(CPC, money.USD, Signals{Words: Full / 2, Tools: Full / 4, HostMatched: true})
	require.Equal(t, Contributions{IntentOverlap: 500, ToolOverlap: 250, HostMatch: 15}, p.Contributions)
	require.Equal(t, table.Relevance(Full/2+Full/4+table.Host), p.Relevance)
	require.Equal(t, Full/2, table.ToolMatch(1))
	require.Equal(t, Full/4, table.ToolMatch(4), "of many stated tools each says less")
}

func TestPriceIsTheBidThatWon(t *testing.T) {
	require.Equal(
		t, money.Micros(3370), CPM.Price(9_360_000, 3_370_999), "an impression costs the effective CPM, rounded down",
	)
	require.Equal(t, money.Micros(3370), CPM.Price(3_370_999, 9_360_000), "and never more than the stated bid")
	require.Equal(t, money.Micros(9_360_000), CPC.Price(9_360_000, 3_370_999))
	require.Equal(t, money.Micros(9_360_000), CPA.Price(9_360_000, 3_370_999))
}

func TestPriceOfAView(t *testing.T) {
	first := Version2()
	require.Equal(t, Certain/2, first.PView())
	require.Equal(
		t, money.Micros(3370), first.Price(VCPM, 9_360_000, 1_685_499), "a view costs what two impressions are worth",
	)
	require.Equal(t, money.Micros(9360), first.Price(VCPM, 9_360_000, 4_680_000))
	require.Equal(t, money.Micros(9360), first.Price(VCPM, 9_360_999, math.MaxInt64))
	require.Equal(t, money.Micros(3370), first.Price(CPM, 9_360_000, 3_370_999))
	learnt := Version2().With(&Learnt{View: Certain / 4})
	for i := range learnt.Learnt.Clicks {
		learnt.Learnt.Clicks[i] = 20_000
	}
	require.Equal(t, money.USD, learnt.EffectiveCPM(VCPM, 4*money.USD, Certain), "one impression in four is viewed")
	require.Equal(t, money.Micros(4000), learnt.Price(VCPM, 4*money.USD, money.USD), "and a view costs the bid")
	rapid.Check(t, func(t *rapid.T) {
		learnt.Learnt.View = PPM(rapid.Int64Range(int64(LeastView), int64(Certain)).Draw(t, "view"))
		bid := money.Micros(rapid.Int64Range(1, 1000*int64(money.USD)).Draw(t, "bid"))
		r := PPM(rapid.Int64Range(0, int64(Certain)).Draw(t, "relevance"))
		price, shaded := learnt.Price(VCPM, bid, learnt.EffectiveCPM(VCPM, bid, r)), mulDiv(
			bid, uint64(learnt.Shade(r)), uint64(Certain),
		).PerMille()
		require.LessOrEqual(t, price, shaded, "never above the stated bid, shaded")
		require.GreaterOrEqual(t, price, shaded-1, "and of the rate nothing is left in the price but a rounding")
	})
}

func TestBillingNames(t *testing.T) {
	for _, b := range []Billing{CPM, CPC, CPA, VCPM} {
		got, ok := ParseBilling(b.String())
		require.True(t, ok)
		require.Equal(t, b, got)
	}
	for _, s := range []string{"", "CPM", "unknown", "cpx"} {
		_, ok := ParseBilling(s)
		require.False(t, ok, s)
	}
	require.Equal(t, "unknown", Billing(7).String())
}
