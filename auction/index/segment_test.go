package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction/ranker"
	"adnet/internal/money"
)

// drawSegment indexes campaigns with few words, few bids and every kind of targeting.
func drawSegment(t *rapid.T) *segment {
	list := func(label string, n int) (values []string) {
		for range rapid.IntRange(0, n).Draw(t, label) {
			values = append(values, fmt.Sprintf("%s%d", label, rapid.IntRange(0, 5).Draw(t, label+" value")))
		}
		return values
	}
	var campaigns []Campaign
	for i := range rapid.IntRange(0, 60).Draw(t, "campaigns") {
		c := Campaign{
			ID: ID{15: byte(i)},
			Bid: money.Micros(
				rapid.SampledFrom([]int64{10_000, 10_001, 10_002, 5_000_000, 5_000_003}).Draw(t, "bid"),
			),
			Billing:  ranker.Billing(rapid.IntRange(0, 3).Draw(t, "billing")),
			Format:   Format(rapid.IntRange(0, 2).Draw(t, "format")),
			Headline: rapid.SampledFrom([]string{"", "token1 and token2", "token9"}).Draw(t, "headline"),
			Targeting: &Targeting{
				Exact:        rapid.Bool().Draw(t, "exact"),
				IntentTokens: list("token", 5), ActiveTools: list("tool", 4), HostApps: list("host", 2),
				Regions: list("region", 1),
			},
		}
		rate := func(label string) uint32 {
			return rapid.SampledFrom([]uint32{0, 0, 1, 250_000, 1_000_001, 4_000_000}).Draw(t, label)
		}
		c.ClickRate, c.ConvertRate = rate("own click rate"), rate("own conversion rate")
		c.Bound = rapid.SampledFrom([]Bound{BoundNone, BoundNone, BoundUnproven, BoundBehind}).Draw(t, "bound")
		c.Ceiling = money.Micros(rapid.SampledFrom([]int64{0, 0, 1, 4_000_000}).Draw(t, "ceiling"))
		if c.Billing == ranker.CPM {
			c.Aim = money.Micros(rapid.SampledFrom([]int64{0, 0, 13, 5_000_000, 60_000_000}).Draw(t, "aim"))
		}
		campaigns = append(campaigns, c)
	}
	table := ranker.Version2()
	if rapid.Bool().Draw(t, "learnt") {
		learnt := &ranker.Learnt{
			Version: 1, Conversions: 1_300_001,
		}
		for i := range learnt.Clicks {
			learnt.Clicks[i] = ranker.PPM(500 + 400*i)
		}
		table = table.With(learnt)
	}
	return newSegment(&table, nil, campaigns)
}

// Every campaign is a member of exactly one group, in the order required by a search.
func TestMembersAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		seen := make([]bool, len(s.campaigns))
		for i := range s.groups {
			g := &s.groups[i]
			require.Less(t, g.begin, g.end)
			for at := g.begin; at < g.end; at++ {
				slot := s.slots[at]
				require.False(t, seen[slot])
				seen[slot] = true
				require.Equal(t, g.billing, s.campaigns[slot].Billing)
				require.Equal(t, g.format, s.campaigns[slot].Format)
				bid, aim := s.campaigns[slot].stake()
				require.Equal(t, bid, s.bids[at])
				require.Equal(t, aim, g.aim)
				require.Equal(t, s.campaigns[slot].Bound != BoundNone, g.bound)
				if at > g.begin {
					require.LessOrEqual(t, s.bids[at], s.bids[at-1])
				}
			}
		}
		require.NotContains(t, seen, false)
	})
}

// A search skips a block by its bounds, so no group may be worth more than these.
func TestBoundsHoldForEveryRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		relevance := ranker.PPM(rapid.Int64Range(0, int64(ranker.Certain)).Draw(t, "relevance"))
		for i := range s.groups {
			g, k := &s.groups[i], &s.blocks[i>>blockBits]
			if i > 0 {
				require.LessOrEqual(t, k.most, s.blocks[(i-1)>>blockBits].most)
			}
			require.LessOrEqual(t, ranker.Match(g.place), k.place)
			require.LessOrEqual(t, k.place, s.place)
			for at := g.begin; at < g.end; at++ {
				value := s.table.Value(g.billing, s.bids[at], g.aim, relevance)
				require.LessOrEqual(t, value, k.most)
				require.LessOrEqual(t, value, k.atMost(s.table, relevance))
			}
		}
		for term, peak := range s.texts.peak {
			from, to := s.texts.entries(uint32(term))
			for at := from; at < to; at++ {
				require.LessOrEqual(t, s.texts.by[at], peak)
			}
		}
	})
}

// Among groups without a goal of one billing model none has a higher bid than an earlier one: a
// search assumes that a later group with no better match is worth no more.
func TestGroupsWithoutGoalsAreInTheOrderOfBids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		highest := map[ranker.Billing]money.Micros{}
		for i := range s.groups {
			g := &s.groups[i]
			if g.aim > 0 {
				continue
			}
			if before, seen := highest[g.billing]; seen {
				require.LessOrEqual(t, s.bids[g.begin], before)
			}
			highest[g.billing] = s.bids[g.begin]
		}
	})
}

// Whatever passes the filters is found by one value of each targeted dimension.
func TestEveryGroupIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		index := &Index{base: s, overlay: newSegment(s.table, s.words, nil)}
		for slot := range s.campaigns {
			c := &s.campaigns[slot]
			for _, q := range narrowQueries(c.Targeting) {
				require.Contains(t, found(index, q), c.ID[15])
			}
		}
	})
}

// narrowQueries match a targeting with exactly one value of each targeted dimension.
func narrowQueries(t *Targeting) (queries []Query) {
	or := func(list []string) []string {
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
	for _, token := range or(t.IntentTokens) {
		for _, tool := range or(t.ActiveTools) {
			for _, host := range or(t.HostApps) {
				queries = append(queries, Query{
					Tokens: []string{token}, ActiveTools: []string{tool}, HostApp: host, Region: or(t.Regions)[0],
					Views: true, Bound: true,
				})
			}
		}
	}
	return queries
}

func TestListsMeetIfTheyHaveACommonValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ascending := func(label string) []uint32 {
			list := rapid.SliceOf(rapid.Uint32Range(0, 20)).Draw(t, label)
			slices.Sort(list)
			return slices.Compact(list)
		}
		a, b := ascending("a"), ascending("b")
		want := slices.ContainsFunc(a, func(v uint32) bool { return slices.Contains(b, v) })
		require.Equal(t, want, meet(a, b))
		require.Equal(t, want, meet(b, a))
	})
}

// A search is reused for other queries and other indexes, after any number of results.
func TestSearchForgetsTheLastQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var reused Search
		for range 6 {
			base := drawSegment(t)
			index := &Index{base: base, overlay: newSegment(base.table, base.words, drawSegment(t).campaigns)}
			q := Query{
				Tokens: rapid.SliceOfN(
					rapid.SampledFrom([]string{"token0", "token1", "token2", "Token3", "x"}), 0, 4,
				).Draw(t, "tokens"),
				HostApp: rapid.SampledFrom([]string{"", "host0", "HOST1"}).Draw(t, "host"),
				Region:  rapid.SampledFrom([]string{"", "region0", "region1-x"}).Draw(t, "region"),
				Views:   rapid.Bool().Draw(t, "views"),
			}
			if rapid.Bool().Draw(t, "images") {
				q.Formats = []Format{Image}
			}
			var fresh Search
			reused.Start(index, &q)
			fresh.Start(index, &q)
			for range rapid.IntRange(0, 30).Draw(t, "taken") {
				got, ok := reused.Next()
				want, wantOK := fresh.Next()
				require.Equal(t, wantOK, ok)
				require.Same(t, want.Campaign, got.Campaign)
				require.Equal(t, want, got)
			}
		}
	})
}

func TestAnExhaustedSearchStaysExhausted(t *testing.T) {
	var s Search
	_, ok := s.Next()
	require.False(t, ok, "never started")
	s.Start(Build(ranker.Version2(), []Campaign{{ID: ID{1}, Bid: 1}}), &Query{})
	_, ok = s.Next()
	require.True(t, ok)
	for range 3 {
		_, ok = s.Next()
		require.False(t, ok)
	}
}
