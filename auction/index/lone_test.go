package index

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/internal/money"
)

// feed returns campaigns of products that differ in their number alone.
func feed(n int) (campaigns []Campaign) {
	targeting := &Targeting{IntentTokens: []string{"shoes"}}
	for i := range n {
		campaigns = append(campaigns, Campaign{
			ID: ID{14: byte(i >> 8), 15: byte(i)}, Bid: money.Micros(1_000_000 + i), Vote: FullVote, Targeting: targeting,
			Headline: fmt.Sprintf("Shoes %d", 10_000+i),
		})
	}
	return campaigns
}

func TestCampaignsThatDifferInLoneWordsAreOneGroup(t *testing.T) {
	campaigns := feed(1000)
	index := Build(ranker.Version2(), campaigns)
	require.Len(t, index.base.groups, 1)

	plain := order(index, Query{Tokens: []string{"shoes"}})
	require.Len(t, plain, len(campaigns))
	require.Equal(t, campaigns[999].ID, plain[0], "the highest bid of the group")

	lone := order(index, Query{Tokens: []string{"shoes", "10007"}})
	require.Len(t, lone, len(campaigns), "the product that was asked for comes once")
	require.Equal(t, campaigns[7].ID, lone[0], "as nothing else says its number")

	strict := order(index, Query{Tokens: []string{"10007"}, Floor: 300_000})
	require.Equal(t, []ID{campaigns[7].ID}, strict)

	gone := index.Apply(Changes{Remove: []ID{campaigns[7].ID}})
	require.NotContains(t, order(gone, Query{Tokens: []string{"shoes", "10007"}}), campaigns[7].ID)
	again := gone.Apply(Changes{Upsert: campaigns[5:9]})
	require.Equal(t, campaigns[7].ID, order(again, Query{Tokens: []string{"shoes", "10007"}})[0])
}

// A word of five copies is not lone: otherwise all copies of a campaign would be checked one by
// one.
func TestWordsOfManyCopiesAreNotLone(t *testing.T) {
	for copies := range fewCampaigns + 2 {
		campaigns := feed(20)
		for i := range copies {
			again := campaigns[3]
			again.ID = ID{0: 1, 15: byte(i)}
			campaigns = append(campaigns, again)
		}
		index := Build(ranker.Version2(), campaigns)
		groups := 1
		if 1+copies > fewCampaigns {
			groups = 2
		}
		require.Len(t, index.base.groups, groups, copies)
		require.Len(t, order(index, Query{Tokens: []string{"10003"}, Floor: 300_000}), 1+copies)
	}
}

// The terms that earned the ad include its lone words, as in the matcher.
func TestLoneWordsAreExplained(t *testing.T) {
	campaigns := feed(100)
	for i := range campaigns {
		campaigns[i].Bid = money.USD
	}
	index := Build(ranker.Version2(), campaigns)
	q := Query{Tokens: []string{"shoes", "10007"}}
	var s Search
	s.Start(index, &q)
	c, ok := s.Next()
	require.True(t, ok)
	want, _, ok := NewMatcher(index, &q).Match(&campaigns[7])
	require.True(t, ok)
	require.Equal(t, want.Signals, s.Found(&c).Signals)
	require.Equal(t, want.Terms, s.Found(&c).Terms)
	require.Contains(t, []string{want.Terms[0].Term, want.Terms[1].Term}, "10007")
}
