package auction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

func snapshot(campaigns ...auction.Campaign) *auction.Snapshot {
	return index.Build(ranker.Version2(), campaigns)
}

// cpm is an untargeted campaign with a bid in USD.
func cpm(n int, usd money.Micros) auction.Campaign {
	return auction.Campaign{
		ID: id(n), Advertiser: id(100 + n), Bid: usd * money.USD, Vote: index.FullVote, LandingDomain: "shop.example",
	}
}

func decide(t *testing.T, req auction.Request, s *auction.Snapshot, gate auction.Gate) auction.Outcome {
	t.Helper()
	got := auction.Decide(&req, s, gate, new(auction.Scratch))
	require.Equal(t, auction.Explain(&req, s, gate).Outcome, got)
	return got
}

func TestDecideWinner(t *testing.T) {
	tokens := func(c auction.Campaign, list ...string) auction.Campaign {
		c.Targeting = &auction.Targeting{IntentTokens: list}
		return c
	}
	exactly := func(c auction.Campaign, list ...string) auction.Campaign {
		c.Targeting = &auction.Targeting{Exact: true, IntentTokens: list}
		return c
	}
	clicks := func(c auction.Campaign) auction.Campaign { c.Billing = ranker.CPC; return c }
	conversions := func(c auction.Campaign) auction.Campaign { c.Billing = ranker.CPA; return c }
	req := auction.Request{Tokens: []string{"vector", "database"}}
	for _, c := range []struct {
		name string
		in   []auction.Campaign
		want int
		cpm  money.Micros
	}{
		{"the higher bid", []auction.Campaign{cpm(1, 4), cpm(2, 5)}, 2, 2_500_000},
		{
			"relevance beats a somewhat higher bid", []auction.Campaign{cpm(1, 9), tokens(cpm(2, 5), "vector")}, 2,
			5_000_000,
		},
		{"but not a bid of more than twice", []auction.Campaign{cpm(1, 11), tokens(cpm(2, 5), "vector")}, 1, 5_500_000},
		{
			"a click at 2 % is worth 20 CPM", []auction.Campaign{cpm(1, 19), clicks(tokens(cpm(2, 1), "vector"))}, 2,
			19_757_000,
		},
		{
			"a conversion at 2 % × 4 %", []auction.Campaign{cpm(1, 1), conversions(tokens(cpm(2, 10), "vector"))}, 2,
			7_806_780,
		},
		{"what does not match cannot win", []auction.Campaign{cpm(1, 1), exactly(cpm(2, 900), "travel")}, 1, 500_000},
		{"keywords and phrases are intent too", []auction.Campaign{cpm(1, 1), {ID: id(2), Bid: money.USD,
			Targeting: &auction.Targeting{Keywords: []string{"Vector Databases"}}}}, 2, 1_000_000},
		{
			"the headline speaks, too",
			[]auction.Campaign{cpm(1, 5), {ID: id(2), Bid: 4 * money.USD, Headline: "A vector database"}}, 2, 4_000_000,
		},
	} {
		got := decide(t, req, snapshot(c.in...), nil)
		require.NotNil(t, got.Winner, c.name)
		require.Equal(t, id(c.want), got.Winner.ID, c.name)
		require.Equal(t, c.cpm, got.EffectiveCPM, c.name)
		require.Equal(t, c.cpm, got.Prediction.Bid, c.name)
		require.Regexp(t, `^benna-2\.[0-9a-f]{8}$`, got.Prediction.ModelVersion, c.name)
	}
}

// Of equal values the better match comes first, so that relevance alone decides between equal bids.
func TestEqualValuesAreDecidedByTheMatch(t *testing.T) {
	near, far := cpm(1, 5), cpm(2, 5)
	near.Headline, far.Headline = "Postgres hosting", "Postgres hosting, and coffee, tea, cake, bread, milk"
	req := auction.Request{Tokens: []string{"postgres", "hosting", "price", "support"}}
	for n := range 20 {
		req.ID = id(n)
		require.Equal(t, near.ID, decide(t, req, snapshot(near, far), nil).Winner.ID)
	}
}

func TestIrrelevantAdsAreNotShown(t *testing.T) {
	c := cpm(1, 5)
	c.Headline, c.Subtext = "Postgres hosting", "Backups, replicas and support for your database"
	snap := snapshot(c)
	floor := ranker.DefaultFloor
	got := decide(t, auction.Request{Tokens: []string{"recipe", "for", "apple", "pie"}, MinRelevance: floor}, snap, nil)
	require.Equal(t, auction.Irrelevant, got.Reason)
	require.NotNil(
		t, decide(t, auction.Request{Tokens: []string{"recipe", "pie"}}, snap, nil).Winner, "the floor is off",
	)
	require.NotNil(
		t, decide(t, auction.Request{MinRelevance: floor}, snap, nil).Winner,
		"a request without words has nothing to be irrelevant to",
	)
	require.Equal(
		t, auction.Irrelevant, decide(t, auction.Request{SilentFloor: floor}, snap, nil).Reason,
		"unless its publisher asks that it has something in common",
	)
	won := decide(
		t, auction.Request{Words: terms("Which database should I use for my startup?"), MinRelevance: floor}, snap, nil,
	)
	require.NotNil(t, won.Winner, "one content word is enough in a small network")
	require.Equal(t, "databas", won.Prediction.Terms[0].Term)
	require.GreaterOrEqual(t, won.Prediction.Relevance, floor)
	require.Equal(
		t, auction.NoMatch,
		decide(t, auction.Request{Formats: []auction.Format{index.Video}, MinRelevance: floor}, snap, nil).Reason,
	)
}

// A campaign newer than the table of words gains no more from common words than after the next
// table, whichever campaigns have its other words.
func TestANewCampaignOfCommonWords(t *testing.T) {
	var others []auction.Campaign
	for n, topic := range strings.Fields(
		"postgres flights coffee bicycles spanish tomatoes invoices headphones yoga chess pianos sailing",
	) {
		for i := range 10 {
			c := cpm(10*n+i+1, 5)
			c.Headline, c.Subtext = topic+" lessons", fmt.Sprintf("of school%d in street%d", i, n)
			others = append(others, c)
		}
	}
	everywhere := cpm(900, 9)
	everywhere.Headline = "Great offers for you"
	counted := snapshot(append(others, everywhere)...)
	heard := snapshot(others...).Apply(index.Changes{Upsert: []auction.Campaign{everywhere}})
	relevance := func(s *auction.Snapshot, query string) ranker.PPM {
		req := auction.Request{Words: terms(query)}
		return decide(t, req, s, auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
			if c.ID != everywhere.ID {
				return auction.Blocked
			}
			return ""
		})).Prediction.Relevance
	}
	for _, query := range []string{
		"Offer me something great about marzipan", "Which great museums are there in Vienna?",
		"Are there any offers of rubber boats",
	} {
		require.Less(t, relevance(counted, query), ranker.DefaultFloor, query)
		require.InDelta(t, int64(relevance(counted, query)), int64(relevance(heard, query)), 100_000, query)
	}
}

// The worked example of docs/relevance.md.
func TestTheWorkedExample(t *testing.T) {
	hosting, flights := cpm(1, 5), cpm(2, 5)
	hosting.Headline, hosting.Subtext = "Postgres hosting", "Backups, replicas and support for your database"
	flights.Headline, flights.Subtext = "Cheap flights to Rome", "Compare airlines and book a seat in minutes"
	snap := snapshot(hosting, flights)
	req := auction.Request{
		Words: terms("Which database should I use for my startup?"), MinRelevance: ranker.DefaultFloor,
	}
	got := auction.Explain(&req, snap, nil)
	require.Equal(t, hosting.ID, got.Winner.ID)
	require.Greater(t, got.Prediction.Relevance, ranker.PPM(900_000))
	require.Equal(t, auction.Irrelevant, got.Losers[0].Reason)
	pie := auction.Request{Words: terms("How do I bake an apple pie?"), MinRelevance: ranker.DefaultFloor}
	require.Equal(t, auction.Irrelevant, decide(t, pie, snap, nil).Reason)
}

func TestFirstPrice(t *testing.T) {
	cats := auction.Request{Words: terms("cats")}
	for billing, want := range map[ranker.Billing]money.Micros{
		ranker.CPM: 0, ranker.CPC: 3_370_999, ranker.CPA: 3_370_999,
	} {
		c := auction.Campaign{ID: id(1), Bid: 3_370_999, Billing: billing}
		won := decide(t, cats, snapshot(c), nil)
		if billing == ranker.CPM {
			require.Less(t, won.EffectiveCPM, c.Bid, "nothing in common: relevance shades the bid")
			want = won.EffectiveCPM / 1000
		}
		require.Equal(t, want, won.Price, "the bid that won; clicks and conversions whatever the relevance")
	}
}

func TestReasonIsThatOfTheBestRefusedCandidate(t *testing.T) {
	gate := func(reasons map[int]auction.Reason) auction.Gate {
		return auction.GateFunc(
			func(c *auction.Campaign, _ auction.Valuation) auction.Reason { return reasons[int(c.ID[15])] },
		)
	}
	two := snapshot(cpm(1, 10), cpm(2, 5))
	unmatched := cpm(3, 900)
	unmatched.Targeting = &auction.Targeting{Regions: []string{"DE"}}
	for _, c := range []struct {
		name string
		snap *auction.Snapshot
		req  auction.Request
		gate auction.Gate
		want auction.Reason
	}{
		{"nothing there", snapshot(), auction.Request{}, nil, auction.NoCampaigns},
		{
			"nothing left", two.Apply(index.Changes{Remove: []auction.ID{id(1), id(2)}}), auction.Request{}, nil,
			auction.NoCampaigns,
		},
		{"nothing matches", snapshot(unmatched), auction.Request{Region: "US"}, nil, auction.NoMatch},
		{"format", two, auction.Request{Formats: []auction.Format{index.Video}}, nil, auction.NoMatch},
		{"floor", two, auction.Request{FloorCPM: 10_000_001}, nil, auction.BelowFloor},
		{
			"best first", two, auction.Request{}, gate(map[int]auction.Reason{1: auction.Budget, 2: auction.Paced}),
			auction.Budget,
		},
		{"best refused, rest below the floor", two, auction.Request{FloorCPM: 6_000_000},
			gate(map[int]auction.Reason{1: auction.FrequencyCapped}), auction.FrequencyCapped},
		{"domain", two, auction.Request{BlockedDomains: []string{"Shop.Example"}}, nil, auction.Blocked},
		{"domain above", two, auction.Request{BlockedDomains: []string{"example."}}, nil, auction.Blocked},
		{"advertisers", two, auction.Request{BlockedAdvertisers: []auction.ID{id(101), id(102)}}, nil, auction.Blocked},
	} {
		got := decide(t, c.req, c.snap, c.gate)
		require.Nil(t, got.Winner, c.name)
		require.Equal(t, c.want, got.Reason, c.name)
	}
}

func TestFloorAndBlocksExcludeNothingElse(t *testing.T) {
	two := snapshot(cpm(1, 10), cpm(2, 5))
	for _, c := range []struct {
		req  auction.Request
		want int
	}{
		{auction.Request{FloorCPM: 10_000_000}, 1},
		{auction.Request{BlockedAdvertisers: []auction.ID{id(101)}}, 2},
		{auction.Request{BlockedDomains: []string{"op.example", "sub.shop.example", "", ".", "shop.example.org"}}, 1},
		{auction.Request{Formats: []auction.Format{index.Video, index.Image}}, 1},
	} {
		require.Equal(t, id(c.want), decide(t, c.req, two, nil).Winner.ID)
	}
}

// A gate may reserve budget, so it must see candidates in order and none after the winner.
func TestGateIsAskedInScoreOrderUntilItGrants(t *testing.T) {
	snap := snapshot(cpm(1, 10), cpm(2, 5), cpm(3, 20), cpm(4, 5), cpm(5, 1))
	for name, run := range map[string]func(auction.Gate){
		"decide":  func(g auction.Gate) { auction.Decide(&auction.Request{}, snap, g, new(auction.Scratch)) },
		"explain": func(g auction.Gate) { auction.Explain(&auction.Request{}, snap, g) },
	} {
		var requests []int
		run(auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
			requests = append(requests, int(c.ID[15]))
			if c.ID == id(2) {
				return ""
			}
			return auction.Budget
		}))
		require.Equal(t, []int{3, 1, 2}, requests, name)
	}
}

func TestExplainAccountsForEveryLoser(t *testing.T) {
	elsewhere, video := cpm(5, 9), cpm(6, 9)
	elsewhere.Targeting = &auction.Targeting{Regions: []string{"DE"}, Languages: []string{"de"}}
	video.Format = index.Video
	snap := snapshot(cpm(1, 10), cpm(2, 5), cpm(3, 20), cpm(4, 1), elsewhere, video)
	req := auction.Request{Region: "US", Formats: []auction.Format{index.Image}, FloorCPM: 2_000_000}
	got := auction.Explain(&req, snap, auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
		if c.ID == id(3) {
			return auction.Paced
		}
		return ""
	}))
	require.Equal(t, id(1), got.Winner.ID)
	type line struct {
		id       auction.ID
		cpm      money.Micros
		reason   auction.Reason
		mismatch string
	}
	var lines []line
	for _, l := range got.Losers {
		lines = append(lines, line{l.Campaign.ID, l.EffectiveCPM, l.Reason, l.Mismatch})
	}
	require.Equal(t, []line{
		{id(3), 20_000_000, auction.Paced, ""},
		{id(2), 5_000_000, auction.Outbid, ""},
		{id(4), 1_000_000, auction.BelowFloor, ""},
		{id(5), 0, auction.NoMatch, "target_regions"},
		{id(6), 0, auction.NoMatch, "format"},
	}, lines)
}

func TestDecideDoesNotAllocateOnceWarm(t *testing.T) {
	p := newPopulation(3, 50)
	snap := index.Build(ranker.Version2(), p.campaigns(2000)).Apply(index.Changes{Upsert: p.campaigns(100)})
	requests := p.contexts(20)
	var scratch auction.Scratch
	run := func() {
		for i := range requests {
			auction.Decide(&requests[i], snap, nil, &scratch)
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(20, run))
}

func TestTokensOfAContextMeetStatedTargets(t *testing.T) {
	c := cpm(1, 5)
	c.Targeting = &auction.Targeting{IntentTokens: []string{"DATABASES", "Queries", "travel"}}
	got := decide(t, auction.Request{Words: terms("Which database answers my query fastest?")}, snapshot(c), nil)
	require.Greater(t, got.Prediction.Contributions.IntentOverlap, ranker.PerMille(700), "two of three")
	require.Equal(
		t, []string{"databas", "queri", ""},
		[]string{got.Prediction.Terms[0].Term, got.Prediction.Terms[1].Term, got.Prediction.Terms[2].Term},
	)
}

// nothing reserves nothing, and counts its checks.
type nothing struct{ requests int }

func (n *nothing) Check(*auction.Campaign, auction.Valuation) auction.Reason {
	n.requests++
	return auction.Stale
}

func (n *nothing) Undo(*auction.Campaign) { panic("nothing was granted") }

// counting grants everything, and counts the grants that were not undone.
type counting struct{ granted int }

func (g *counting) Check(*auction.Campaign, auction.Valuation) auction.Reason { g.granted++; return "" }
func (g *counting) Undo(*auction.Campaign)                                    { g.granted-- }

// If nothing can be reserved an auction gives up after some candidates, and gates undo their
// grants.
func TestUnreservedCandidatesAreBounded(t *testing.T) {
	p := newPopulation(3, 0)
	snap, requests := index.Build(ranker.Version2(), p.campaigns(20_000)), p.contexts(200)
	most := 0
	for i := range requests {
		reserver, gate := &nothing{}, &counting{}
		out := auction.Decide(&requests[i], snap, auction.Chain{gate, reserver}, new(auction.Scratch))
		require.Nil(t, out.Winner)
		require.LessOrEqual(t, reserver.requests, 64)
		require.Zero(t, gate.granted)
		most = max(most, reserver.requests)
	}
	require.Equal(t, 64, most, "some request has more candidates than are looked past")
}

// link is a gate that records its calls.
type link struct {
	name     string
	refuse   auction.Reason
	requests *[]string
}

func (l link) Check(*auction.Campaign, auction.Valuation) auction.Reason {
	*l.requests = append(*l.requests, l.name)
	return l.refuse
}

func (l link) Undo(*auction.Campaign) { *l.requests = append(*l.requests, "undo "+l.name) }

// A chain checks in order, stops at the first refusal, and undoes the earlier grants in reverse.
func TestChain(t *testing.T) {
	var requests []string
	c := new(auction.Campaign)
	chain := auction.Chain{
		link{"caps", "", &requests}, link{"budget", "", &requests}, link{"reservation", auction.Stale, &requests},
	}
	require.Equal(t, auction.Stale, chain.Check(c, auction.Valuation{}))
	require.Equal(t, []string{"caps", "budget", "reservation", "undo budget", "undo caps"}, requests)
	requests = nil
	require.Empty(t, chain[:2].Check(c, auction.Valuation{}))
	chain[:2].Undo(c)
	require.Equal(t, []string{"caps", "budget", "undo budget", "undo caps"}, requests)
	require.Empty(t, auction.Chain{}.Check(c, auction.Valuation{}))
}
