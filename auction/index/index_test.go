package index

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/internal/money"
)

// order returns all matching campaigns, best first.
func order(x *Index, q Query) (ids []ID) {
	var s Search
	s.Start(x, &q)
	for {
		c, ok := s.Next()
		if !ok {
			return ids
		}
		ids = append(ids, c.Campaign.ID)
	}
}

// found returns the last bytes of their ids.
func found(x *Index, q Query) (ids []byte) {
	for _, id := range order(x, q) {
		ids = append(ids, id[15])
	}
	return ids
}

func single(t Targeting) Campaign {
	return Campaign{ID: ID{15: 1}, Bid: money.USD, Vote: FullVote, Targeting: &t}
}

func TestHardFilters(t *testing.T) {
	for _, c := range []struct {
		name   string
		target Targeting
		query  Query
		want   bool
	}{
		{"nothing targeted, nothing known", Targeting{}, Query{}, true},
		{
			"empty lists accept anything", Targeting{},
			Query{Tokens: []string{"api"}, HostApp: "x", Region: "US", Language: "en"}, true,
		},
		{"blank values are no target", Targeting{HostApps: []string{" "}, IntentTokens: []string{""}}, Query{}, true},
		{
			"one common token suffices", Targeting{IntentTokens: []string{"api", "travel"}},
			Query{Tokens: []string{"API", "code"}}, true,
		},
		{"no common token", Targeting{IntentTokens: []string{"travel"}}, Query{Tokens: []string{"code"}}, false},
		{"no tokens known", Targeting{IntentTokens: []string{"travel"}}, Query{}, false},
		{
			"a keyword makes up for the tokens",
			Targeting{IntentTokens: []string{"travel"}, Keywords: []string{"Code"}}, Query{Tokens: []string{"code"}},
			true,
		},
		{
			"short tokens match when the caller states them", Targeting{IntentTokens: []string{"AI"}},
			Query{Tokens: []string{"ai"}}, true,
		},
		{
			"tokens match without their marks", Targeting{IntentTokens: []string{"Größe"}},
			Query{Tokens: []string{"groesse"}}, true,
		},
		{
			"and with them", Targeting{IntentTokens: []string{"pho"}}, Query{Tokens: []string{"phở"}}, true,
		},
		{
			"other marks are another word", Targeting{IntentTokens: []string{"phố"}}, Query{Tokens: []string{"phở"}},
			false,
		},
		{"tool", Targeting{ActiveTools: []string{"Git"}}, Query{ActiveTools: []string{"fetch", "git"}}, true},
		{"tool is not a plural", Targeting{ActiveTools: []string{"gits"}}, Query{ActiveTools: []string{"git"}}, false},
		{
			"tool and token are both required", Targeting{ActiveTools: []string{"git"}, IntentTokens: []string{"code"}},
			Query{ActiveTools: []string{"git"}}, false,
		},
		{
			"the other way round", Targeting{ActiveTools: []string{"git"}, IntentTokens: []string{"code"}},
			Query{Tokens: []string{"code"}}, false,
		},
		{
			"both there", Targeting{ActiveTools: []string{"git"}, IntentTokens: []string{"code"}},
			Query{Tokens: []string{"code"}, ActiveTools: []string{"git"}}, true,
		},
		{"host", Targeting{HostApps: []string{"cursor", "VSCode"}}, Query{HostApp: " vscode "}, true},
		{"unknown host", Targeting{HostApps: []string{"cursor"}}, Query{}, false},
		{"a token is not a host", Targeting{HostApps: []string{"cursor"}}, Query{Tokens: []string{"cursor"}}, false},
		{"surface", Targeting{Surfaces: []string{"chat"}}, Query{Surface: "Chat"}, true},
		{"other surface", Targeting{Surfaces: []string{"chat"}}, Query{Surface: "welcome"}, false},
		{"method", Targeting{IntegrationMethods: []string{"mcp"}}, Query{IntegrationMethod: "mcp"}, true},
		{"other method", Targeting{IntegrationMethods: []string{"mcp"}}, Query{IntegrationMethod: "rest"}, false},
		{"country covers its parts", Targeting{Regions: []string{"us"}}, Query{Region: "US-CA"}, true},
		{"a part does not cover the country", Targeting{Regions: []string{"US-CA"}}, Query{Region: "US"}, false},
		{"nor another part", Targeting{Regions: []string{"US-CA"}}, Query{Region: "US-NY"}, false},
		{"a prefix is not a part", Targeting{Regions: []string{"U"}}, Query{Region: "US"}, false},
		{"language covers its variants", Targeting{Languages: []string{"en"}}, Query{Language: "en-US"}, true},
		{"a macrolanguage covers its own", Targeting{Languages: []string{"zh"}}, Query{Language: "yue-HK"}, true},
		{"but not the other way", Targeting{Languages: []string{"yue"}}, Query{Language: "zh-HK"}, false},
		{"Latin America covers Mexico", Targeting{Languages: []string{"es-419"}}, Query{Language: "es-MX"}, true},
		{"and not Spain", Targeting{Languages: []string{"es-419"}}, Query{Language: "es-ES"}, false},
		{"in any spelling", Targeting{Languages: []string{"ZH_Hant"}}, Query{Language: "zh-hant-tw"}, true},
		{
			"a variant does not cover the language", Targeting{Languages: []string{"en-US"}}, Query{Language: "en"},
			false,
		},
		{"a campaign with deals is also in the open", Targeting{Deals: []string{"d"}}, Query{}, true},
		{"its deal", Targeting{Deals: []string{"c", "d"}}, Query{Deals: []string{"x", "D "}}, true},
		{"another deal", Targeting{Deals: []string{"d"}}, Query{Deals: []string{"e"}}, false},
		{"a deal, and the campaign has none", Targeting{}, Query{Deals: []string{"e"}}, false},
		{
			"its deal, and the other lists hold", Targeting{Deals: []string{"d"}, HostApps: []string{"a"}},
			Query{Deals: []string{"d"}, HostApp: "b"}, false,
		},
		{
			"its deal with a token", Targeting{Deals: []string{"d"}, IntentTokens: []string{"api"}},
			Query{Deals: []string{"d"}, Tokens: []string{"api"}}, true,
		},
		{"malformed", Targeting{Languages: []string{"en"}}, Query{Language: "-en"}, false},
	} {
		c.target.Exact = true
		campaign := single(c.target)
		index := Build(ranker.Version2(), []Campaign{campaign})
		require.Equal(t, c.want, len(found(index, c.query)) == 1, c.name)
		_, failed, ok := NewMatcher(index, &c.query).Match(&campaign)
		require.Equal(t, c.want, ok, c.name)
		require.Equal(t, c.want, failed == "", c.name)
	}
}

func TestFormats(t *testing.T) {
	campaign := single(Targeting{})
	campaign.Format = Native
	index := Build(ranker.Version2(), []Campaign{campaign})
	require.Len(t, found(index, Query{}), 1)
	require.Len(t, found(index, Query{Formats: []Format{Image, Native}}), 1)
	require.Empty(t, found(index, Query{Formats: []Format{Image, Video}}))
	require.Empty(t, found(index, Query{Formats: []Format{9}}), "an unknown format is not any format")
	for _, f := range []Format{Image, Video, Native} {
		got, ok := ParseFormat(f.String())
		require.True(t, ok)
		require.Equal(t, f, got)
	}
	_, ok := ParseFormat("audio")
	require.False(t, ok)
	require.Equal(t, "unknown", Format(9).String())
}

// In broad mode tokens are part of a campaign's text, and no filter.
func TestBroadTokensAreNoFilter(t *testing.T) {
	broad := single(Targeting{IntentTokens: []string{"travel"}})
	index := Build(ranker.Version2(), []Campaign{broad})
	require.Len(t, found(index, Query{Tokens: []string{"code"}}), 1)
	require.Empty(t, found(index, Query{Tokens: []string{"code"}, Floor: 500_000}), "but it is not relevant")
	require.Len(t, found(index, Query{Tokens: []string{"travels"}, Floor: 500_000}), 1)
	require.Len(t, found(index, Query{Floor: 500_000}), 1, "without words nothing is irrelevant")
}

// The owner's minimum relevance acts as a floor for its own campaign only.
func TestAnOwnersFloor(t *testing.T) {
	modest, proud := single(Targeting{}), single(Targeting{})
	modest.Headline, proud.Headline = "Flights to Rome and hotels", "Flights to Rome and hotels"
	proud.ID, proud.MinRelevance = ID{15: 2}, 1_000_000
	index := Build(ranker.Version2(), []Campaign{modest, proud})
	require.Equal(
		t, []byte{1},
		found(index, Query{Tokens: []string{"flights", "visa", "doctor", "recipe", "x-ray"}, Floor: 100_000}),
	)
	require.ElementsMatch(t, []byte{1, 2}, found(index, Query{Floor: 100_000}), "without words nothing is irrelevant")
}

func TestApplyLeavesTheOldIndexAlone(t *testing.T) {
	a, b := single(Targeting{}), single(Targeting{})
	b.ID = ID{15: 2}
	old := Build(ranker.Version2(), []Campaign{a, b})
	paused := old.Apply(Changes{Remove: []ID{a.ID}})
	b.Bid = 9 * money.USD
	c := Campaign{ID: ID{15: 3}, Bid: 2 * money.USD}
	changed := paused.Apply(Changes{Upsert: []Campaign{b, c}})
	require.Equal(t, []byte{1, 2}, found(old, Query{}))
	require.Equal(t, []byte{2}, found(paused, Query{}))
	require.Equal(t, []byte{2, 3}, found(changed, Query{}))
	require.Equal(t, 9*money.USD, changed.Get(b.ID).Bid)
	require.Equal(t, money.USD, paused.Get(b.ID).Bid)
	require.Nil(t, changed.Get(a.ID))
	require.Equal(
		t, []byte{2, 1, 3}, found(changed.Apply(Changes{Upsert: []Campaign{{ID: a.ID, Bid: 3 * money.USD}}}), Query{}),
	)
	require.Equal(
		t, []byte{3}, found(changed.Apply(Changes{Upsert: []Campaign{b}, Remove: []ID{b.ID}}), Query{}), "removal wins",
	)
}

func TestCompactedEqualsAndIsNoLongerOvergrown(t *testing.T) {
	all := make([]Campaign, 400)
	for i := range all {
		all[i] = Campaign{ID: ID{14: byte(i / 256), 15: byte(i)}, Bid: money.Micros(i + 1)}
	}
	index := Build(ranker.Version2(), all)
	require.False(t, index.Overgrown())
	for i := range 200 {
		index = index.Apply(Changes{Remove: []ID{all[i].ID}})
	}
	require.True(t, index.Overgrown())
	compacted := index.Compacted()
	require.False(t, compacted.Overgrown())
	require.Equal(t, 200, compacted.Len())
	require.Equal(t, found(index, Query{}), found(compacted, Query{}))
	require.Equal(t, index.Table(), compacted.Table())

	many := make([]Campaign, maxOverlay+1)
	for i := range many {
		many[i] = Campaign{ID: ID{0: 1, 14: byte(i / 256), 15: byte(i)}, Bid: 1}
	}
	require.True(t, index.Apply(Changes{Upsert: many}).Overgrown())
}

func TestCampaignsWithEqualTargetingShareIt(t *testing.T) {
	a := single(Targeting{IntentTokens: []string{"api", "Databases"}})
	b := single(Targeting{IntentTokens: []string{"api", "Databases"}})
	b.ID = ID{15: 2}
	index := Build(ranker.Version2(), []Campaign{a, b})
	require.Same(t, index.Get(a.ID).Targeting, index.Get(b.ID).Targeting)
	require.Len(t, index.base.groups, 1)
}
