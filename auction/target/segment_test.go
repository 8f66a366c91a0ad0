package target

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
			ID:      ID{15: byte(i)},
			Bid:     money.Micros(rapid.SampledFrom([]int64{10_000, 10_001, 10_002, 5_000_000, 5_000_003}).Draw(t, "bid")),
			Billing: ranker.Billing(rapid.IntRange(0, 2).Draw(t, "billing")),
			Format:  Format(rapid.IntRange(0, 2).Draw(t, "format")),
			Targeting: &Targeting{
				IntentTokens: list("token", 5), ActiveTools: list("tool", 4), HostApps: list("host", 2),
				Regions: list("region", 1),
			},
		}
		campaigns = append(campaigns, c)
	}
	return newSegment(ranker.OverlapV1(), campaigns)
}

// Every campaign is a member of exactly one group, in the order that a search relies on.
func TestMembersAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		seen := make([]bool, len(s.campaigns))
		for i := range s.groups {
			g := &s.groups[i]
			require.Less(t, g.begin, g.end)
			for at := g.begin; at < g.end; at++ {
				m := s.members[at]
				require.False(t, seen[m.slot])
				seen[m.slot] = true
				require.Equal(t, g.billing, s.campaigns[m.slot].Billing)
				require.Equal(t, g.format, s.campaigns[m.slot].Format)
				require.Greater(t, m.tierEnd, at)
				require.LessOrEqual(t, m.tierEnd, g.end)
				require.Equal(t, s.campaigns[m.slot].Bid, m.bid)
				require.Equal(t, m.bid, s.members[m.tierEnd-1].bid)
				if m.tierEnd < g.end {
					require.Greater(t, m.bid, s.members[m.tierEnd].bid, "tiers by descending bid")
				}
				if at+1 < m.tierEnd {
					require.Less(t, m.slot, s.members[at+1].slot, "within a tier by id")
				}
			}
		}
		require.NotContains(t, seen, false)
	})
}

// Early stop is only right when no request can give a member more than the group's limits, and when
// the groups that follow are not better in the total order.
func TestLimitsHoldForEveryRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		for i := range s.groups {
			g, l := &s.groups[i], &s.limits[i]
			require.True(t, slices.IsSorted(l[:]), "more shared tokens never score less")
			if i > 0 {
				before := &s.limits[i-1]
				require.GreaterOrEqual(t, before.bound(), l.bound())
				if before.bound() == l.bound() {
					require.Less(t, s.groups[i-1].first, g.first)
				}
			}
			best := g.best(s)
			for shared := range best.IntentTargeted + 1 {
				for tools := range best.ToolTargeted + 1 {
					signals := best
					signals.IntentMatched, signals.ToolMatched = shared, tools
					checkLimits(t, s, i, signals)
				}
			}
		}
	})
}

func checkLimits(t *rapid.T, s *segment, i int, signals ranker.Signals) {
	g, l := &s.groups[i], &s.limits[i]
	relevance := s.table.Relevance(signals)
	for at := g.begin; at < g.end; at++ {
		score := s.table.EffectiveCPM(g.billing, s.members[at].bid, relevance)
		require.LessOrEqual(t, score, l.with(int(signals.IntentMatched)))
		require.LessOrEqual(t, score, l.with(0))
		if score == l.bound() {
			require.GreaterOrEqual(t, s.members[at].slot, g.first)
		}
	}
}

// Whatever passes the filters is in a list that the search reads, and lists are in the order of a
// merge.
func TestEveryGroupIsListedWhereASearchLooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSegment(t)
		for _, terms := range s.lists {
			for _, of := range terms {
				checkList(t, of.any)
			}
		}
		for _, list := range s.hosted {
			checkList(t, list)
		}
		for token := range s.vocab[dimToken] {
			require.True(t, s.words.may(token))
		}
		for slot := range s.campaigns {
			c := &s.campaigns[slot]
			for _, q := range narrowQueries(c.Targeting) {
				index := &Index{base: s, overlay: newSegment(s.table, nil)}
				require.Contains(t, found(index, q), c.ID[15])
			}
		}
	})
}

func checkList(t *rapid.T, list []uint32) {
	require.True(t, slices.IsSorted(list))
	require.Len(t, slices.Compact(slices.Clone(list)), len(list))
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
				})
			}
		}
	}
	return queries
}

func TestOverlapCountsCommonValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ascending := func(label string) []uint32 {
			list := rapid.SliceOf(rapid.Uint32Range(0, 20)).Draw(t, label)
			slices.Sort(list)
			return slices.Compact(list)
		}
		a, b := ascending("a"), ascending("b")
		want := uint16(0)
		for _, v := range a {
			if slices.Contains(b, v) {
				want++
			}
		}
		require.Equal(t, want, overlap(a, b))
		require.Equal(t, want, overlap(b, a))
	})
}

func TestKeysOfListsDiffer(t *testing.T) {
	seen := map[listKey]string{}
	for _, dim := range []int{dimToken, dimTool, dims} {
		for _, term := range []uint32{0, 1, 2, 1 << 20, 1<<29 - 1, none} {
			for _, host := range []uint32{0, 1, 2, 1 << 20, none} {
				name := fmt.Sprint(dim, term, host)
				require.Empty(t, seen[keyOf(dim, term, host)], name)
				seen[keyOf(dim, term, host)] = name
			}
		}
	}
}

// A search is reused for other queries and other indexes, after any number of results were taken.
func TestSearchForgetsTheLastQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var reused Search
		for range 6 {
			index := &Index{base: drawSegment(t), overlay: drawSegment(t)}
			q := Query{
				Tokens:  rapid.SliceOfN(rapid.SampledFrom([]string{"token0", "token1", "token2", "Token3", "x"}), 0, 4).Draw(t, "tokens"),
				HostApp: rapid.SampledFrom([]string{"", "host0", "HOST1"}).Draw(t, "host"),
				Region:  rapid.SampledFrom([]string{"", "region0", "region1-x"}).Draw(t, "region"),
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
	s.Start(Build(ranker.OverlapV1(), []Campaign{{ID: ID{1}, Bid: 1}}), &Query{})
	_, ok = s.Next()
	require.True(t, ok)
	for range 3 {
		_, ok = s.Next()
		require.False(t, ok)
	}
}
