package ranker

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/money"
)

func TestTheSharesOfATableSumToOne(t *testing.T) {
	table := OverlapV1()
	require.Equal(t, PerMille(1000), table.Base+table.Intent+table.Tool+table.Host)
	require.Equal(t, "benna-overlap-1", table.Version)
}

func TestRelevance(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals Signals
		want    PerMille
	}{
		{"nothing targeted earns the base only", Signals{}, 400},
		{"one of one token", Signals{IntentMatched: 1, IntentTargeted: 1}, 750},
		{"one of two tokens", Signals{IntentMatched: 1, IntentTargeted: 2}, 575},
		{"one of many tokens, rounded down", Signals{IntentMatched: 1, IntentTargeted: 12}, 516},
		{"two of many tokens", Signals{IntentMatched: 2, IntentTargeted: 12}, 633},
		{"three of many tokens are enough", Signals{IntentMatched: 3, IntentTargeted: 12}, 750},
		{"nine are not more", Signals{IntentMatched: 9, IntentTargeted: 12}, 750},
		{"one of one tool", Signals{ToolMatched: 1, ToolTargeted: 1}, 550},
		{"one of three tools", Signals{ToolMatched: 1, ToolTargeted: 3}, 450},
		{"host", Signals{HostMatched: true}, 500},
		{"everything", Signals{3, 3, 3, 3, true}, 1000},
	} {
		require.Equal(t, c.want, OverlapV1().Relevance(c.signals), c.name)
	}
}

func TestEffectiveCPM(t *testing.T) {
	table := OverlapV1()
	for _, c := range []struct {
		name      string
		billing   Billing
		bid       money.Micros
		relevance PerMille
		want      money.Micros
	}{
		{"cpm at full relevance is the bid", CPM, 5 * money.USD, 1000, 5 * money.USD},
		{"cpm rounds down", CPM, 3_370_001, 516, 1_738_920},
		{"cpc at 500: 1 % of clicks", CPC, money.USD, 500, 10 * money.USD},
		{"cpc at 1000: 2 % of clicks", CPC, money.USD, 1000, 20 * money.USD},
		{"cpa at 500: 1 % × 2 %", CPA, 10 * money.USD, 500, 2 * money.USD},
		{"cpa at 1000: 2 % × 4 %", CPA, 10 * money.USD, 1000, 8 * money.USD},
		{"cpa, largest bid", CPA, 1000 * money.USD, 1000, 800 * money.USD},
		{"no bid", CPM, 0, 1000, 0},
		{"negative bid", CPC, -1, 1000, 0},
		{"unknown billing", Billing(9), money.USD, 1000, 0},
	} {
		require.Equal(t, c.want, table.EffectiveCPM(c.billing, c.bid, c.relevance), c.name)
	}
}

func TestEffectiveCPMIsExactAndNeverOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := OverlapV1()
		table.ClickRate = PPM(rapid.Int64Range(0, int64(Certain)).Draw(t, "click rate"))
		table.ConvertRate = PPM(rapid.Int64Range(0, int64(Certain)).Draw(t, "convert rate"))
		bid := money.Micros(rapid.Int64Range(1, math.MaxInt64).Draw(t, "bid"))
		r := PerMille(rapid.Int64Range(0, 1000).Draw(t, "relevance"))
		click, convert := table.PClick(r), table.PConvert(r)
		require.LessOrEqual(t, click, Certain)
		require.LessOrEqual(t, convert, Certain)
		for billing, ratio := range map[Billing]*big.Rat{
			CPM: big.NewRat(int64(r), 1000),
			CPC: big.NewRat(int64(click), 1000),
			CPA: big.NewRat(int64(click)*int64(convert), 1_000_000_000),
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
		table := OverlapV1()
		billing := Billing(rapid.IntRange(0, 2).Draw(t, "billing"))
		low := money.Micros(rapid.Int64Range(1, 1000*int64(money.USD)).Draw(t, "bid"))
		high := low + money.Micros(rapid.Int64Range(0, 1000).Draw(t, "more"))
		r := PerMille(rapid.Int64Range(0, 999).Draw(t, "relevance"))
		require.LessOrEqual(t, table.EffectiveCPM(billing, low, r), table.EffectiveCPM(billing, high, r))
		require.LessOrEqual(t, table.EffectiveCPM(billing, low, r), table.EffectiveCPM(billing, low, r+1))
	})
}

func TestPredictionAttributesTheRelevance(t *testing.T) {
	table := OverlapV1()
	require.Equal(t, Prediction{
		ModelVersion: "benna-overlap-1", Bid: 17_320_000, PClick: 17_320, PConvert: 34_640, Relevance: 866,
		Contributions: Contributions{IntentOverlap: 216, ToolOverlap: 150, HostMatch: 100},
	}, predictWithIntent(table, 216))
	rapid.Check(t, func(t *rapid.T) {
		targeted := func(label string) uint16 { return rapid.Uint16Range(0, 9).Draw(t, label) }
		s := Signals{IntentTargeted: targeted("tokens"), ToolTargeted: targeted("tools"), HostMatched: rapid.Bool().Draw(t, "host")}
		s.IntentMatched = rapid.Uint16Range(0, s.IntentTargeted).Draw(t, "matched tokens")
		s.ToolMatched = rapid.Uint16Range(0, s.ToolTargeted).Draw(t, "matched tools")
		p := table.Predict(CPM, money.USD, s)
		sum := table.Base + p.Contributions.IntentOverlap + p.Contributions.ToolOverlap + p.Contributions.HostMatch
		require.Equal(t, p.Relevance, sum)
		require.LessOrEqual(t, p.Relevance, PerMille(1000))
		require.LessOrEqual(t, p.Bid, money.USD, "a cpm campaign is never ranked above its bid")
	})
}

// predictWithIntent uses a table whose intent share is earned in full.
func predictWithIntent(table Table, share PerMille) Prediction {
	table.Intent = share
	return table.Predict(CPC, money.USD, Signals{2, 2, 1, 1, true})
}

func TestPriceIsTheBidThatWon(t *testing.T) {
	require.Equal(t, money.Micros(3370), CPM.Price(9_360_000, 3_370_999), "an impression costs the effective CPM, rounded down")
	require.Equal(t, money.Micros(3370), CPM.Price(3_370_999, 9_360_000), "and never more than the stated bid")
	require.Equal(t, money.Micros(9_360_000), CPC.Price(9_360_000, 3_370_999))
	require.Equal(t, money.Micros(9_360_000), CPA.Price(9_360_000, 3_370_999))
}

func TestBillingNames(t *testing.T) {
	for _, b := range []Billing{CPM, CPC, CPA} {
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
