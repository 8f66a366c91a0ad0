package auction_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// id returns ids in the order of n.
func id(n int) (id auction.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// few draws up to n values out of a small vocabulary, in any spelling that should compare equal.
func few(t *rapid.T, label string, n int, vocabulary ...string) []string {
	list := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, n).Draw(t, label)
	for i, v := range list {
		if (len(v)+i)%2 == 1 {
			list[i] = " " + strings.ToUpper(v)
		}
	}
	return list
}

// drawCampaign draws campaigns that often collide in every respect: targeting, bid, score,
// advertiser.
func drawCampaign(t *rapid.T) auction.Campaign {
	c := auction.Campaign{
		ID:         id(rapid.IntRange(0, 40).Draw(t, "id")),
		Advertiser: id(rapid.IntRange(0, 5).Draw(t, "advertiser")),
		Bid: money.Micros(
			rapid.SampledFrom([]int64{10_000, 5_000_000, 5_000_001, 5_000_002, 5_000_009, 9_000_000}).Draw(t, "bid"),
		),
		Vote:          rapid.SampledFrom([]uint32{0, 0, 50_000, index.FullVote}).Draw(t, "vote"),
		Billing:       ranker.Billing(rapid.IntRange(0, 3).Draw(t, "billing")),
		Format:        auction.Format(rapid.IntRange(0, 2).Draw(t, "format")),
		LandingDomain: rapid.SampledFrom([]string{"a.example", "www.a.example", "b.example"}).Draw(t, "domain"),
	}
	if c.Billing == ranker.CPM {
		c.Aim = money.Micros(rapid.SampledFrom([]int64{0, 0, 5_000_000, 6_000_000, 60_000_000}).Draw(t, "aim"))
	}
	own := func(label string) uint32 {
		return rapid.SampledFrom([]uint32{0, 0, 0, 1, 250_000, 1_000_001, 4_000_000}).Draw(t, label)
	}
	c.ClickRate, c.ConvertRate = own("click rate"), own("conversion rate")
	c.Ceiling = money.Micros(rapid.SampledFrom([]int64{0, 0, 1, 3_000_000, 5_000_000}).Draw(t, "ceiling"))
	c.Bound = rapid.SampledFrom(
		[]index.Bound{index.BoundNone, index.BoundNone, index.BoundUnproven, index.BoundBehind},
	).Draw(t, "bound")
	c.Start = index.Second(rapid.SampledFrom([]uint32{0, 0, 0, 99, 100, 101}).Draw(t, "start"))
	if length := rapid.SampledFrom([]uint32{0, 0, 0, 1, 2}).Draw(t, "length"); length > 0 {
		c.End = max(c.Start, 98) + index.Second(length)
	}
	c.Headline = rapid.SampledFrom([]string{
		"", "Vector databases", "Travel with the API", "search for café",
	}).Draw(t, "headline")
	c.Subtext = rapid.SampledFrom([]string{"", "An api for search", "天気予報 of every city"}).Draw(t, "subtext")
	c.MinRelevance = ranker.PPM(rapid.SampledFrom([]int{0, 0, 0, 300_000, 900_000}).Draw(t, "least"))
	c.Suits = drawSuits(t)
	if rapid.Bool().Draw(t, "feed") {
		ofFeed(t, &c)
		return c
	}
	if rapid.IntRange(0, 9).Draw(t, "untargeted") == 0 {
		return c
	}
	rare := func(label string, vocabulary ...string) []string {
		if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
			return nil
		}
		return few(t, label, 2, vocabulary...)
	}
	c.Targeting = &auction.Targeting{
		Exact:              rapid.Bool().Draw(t, "exact"),
		IntentTokens:       few(t, "tokens", 5, "database", "api", "vector", "search", "travel", "ai", "café"),
		Keywords:           rare("keywords", "vector databases", "apis", "travel", ""),
		ActiveTools:        rare("tools", "git", "fetch", "time"),
		HostApps:           rare("hosts", "cursor", "discord"),
		Surfaces:           rare("surfaces", "chat", "welcome"),
		IntegrationMethods: rare("methods", "mcp", "rest"),
		Regions:            rare("regions", "us", "us-ca", "de"),
		Languages:          rare("languages", "en", "en-us", "zh-hant", "zh"),
		Deals:              rare("deals", "Deal-1", "deal-2", "x"),
	}
	return c
}

// drawSubjects draws some of three sensitive subjects, often none.
func drawSubjects(t *rapid.T, label string) subject.Set {
	return rapid.SampledFrom([]subject.Set{
		0, 0, 0, subject.SetOf(subject.Health), subject.SetOf(subject.Debt),
		subject.SetOf(subject.Health, subject.Debt),
		subject.SetOf(subject.Health, subject.Debt, subject.Religion),
	}).Draw(t, label)
}

// drawTrades draws some of two trades, often none.
func drawTrades(t *rapid.T, label string) subject.TradeSet {
	trades, _ := subject.TradesOf(
		rapid.SampledFrom([][]string{nil, nil, nil, {"alcohol"}, {"credit"}, {"alcohol", "credit"}}).Draw(t, label),
	)
	return trades
}

// drawSuits draws the suits of a campaign, the most common ones in every second case.
func drawSuits(t *rapid.T) auction.Suits {
	if rapid.Bool().Draw(t, "for all") {
		return auction.Suits{
			Allowed: subject.OfTier(subject.Sensitive), PagesOnly: rapid.Bool().Draw(t, "pages only"),
		}
	}
	return auction.Suits{
		Allowed: drawSubjects(t, "allowed"), Excluded: drawSubjects(t, "excluded"), Trades: drawTrades(t, "trades"),
	}
}

// models are words that often occur in a single campaign.
var models = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"}

// ofFeed makes c one of many products whose campaigns are equal but for names of models.
func ofFeed(t *rapid.T, c *auction.Campaign) {
	c.Headline = strings.Join(append(few(t, "models", 2, models...), "vector databases for travel"), " ")
	c.Subtext, c.Start, c.End, c.Format = "", 0, 0, 0
	if rapid.Bool().Draw(t, "targeted feed") {
		c.Targeting = &auction.Targeting{
			IntentTokens: []string{"vector", "api"}, Exact: rapid.Bool().Draw(t, "exact feed"),
			ActiveTools: few(t, "tools of the feed", 1, "git"),
		}
	}
}

func drawRequest(t *rapid.T) auction.Request {
	first := func(label string, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(t, label)
	}
	r := auction.Request{
		ID:       id(rapid.SampledFrom(append(admitting(2), 0, 1, 2, 3)).Draw(t, "auction")),
		At:       index.Second(rapid.Uint32Range(97, 103).Draw(t, "at")),
		Views:    rapid.Bool().Draw(t, "views"),
		Models:   rapid.Bool().Draw(t, "models"),
		Subjects: drawSubjects(t, "subjects"),
		Trades:   drawTrades(t, "req trades"),
		MinRelevance: ranker.PPM(
			rapid.SampledFrom([]int{0, 0, 1000, 400_000, 800_000, 1_000_000}).Draw(t, "floor of relevance"),
		),
		SilentFloor: ranker.PPM(
			rapid.SampledFrom([]int{0, 0, 1000, 400_000, 1_000_000}).Draw(t, "floor without words"),
		),
		Tokens: few(
			t, "req tokens", 6, "database", "api", "vector", "search", "travel", "vector database", "ai", "other", "天気",
			"serach", "traveling",
		),
		ActiveTools:       few(t, "req tools", 3, "git", "fetch", "time", "other"),
		HostApp:           first("req host", "cursor", "Discord", "other"),
		Surface:           first("req surface", "chat", "Welcome"),
		IntegrationMethod: first("req method", "mcp", "rest"),
		Region:            first("req region", "US", "us_ca", "US-NY", "DE", "FR"),
		Language:          first("req language", "en", "en-US", "en-GB", "zh-Hant-TW", "fr"),
		FloorCPM: money.Micros(
			rapid.SampledFrom([]int64{0, 0, 0, 2_500_000, 60_000_000, 1 << 50}).Draw(t, "floor"),
		),
	}
	r.Tokens = append(r.Tokens, few(t, "req models", 3, models...)...)
	if rapid.Bool().Draw(t, "tokenised") {
		r.Words = terms(strings.Join(r.Tokens, " "))
		r.Tokens = few(t, "stated", 1, "travel", "news")
	}
	for _, f := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 2).Draw(t, "formats") {
		r.Formats = append(r.Formats, auction.Format(f))
	}
	r.BlockedDomains = rapid.SliceOfN(
		rapid.SampledFrom([]string{"A.example", "www.a.example.", "c.example", ""}), 0, 1,
	).Draw(t, "bcat")
	if rapid.IntRange(0, 3).Draw(t, "private") == 0 {
		r.Deals = few(t, "req deals", 2, "deal-1", "DEAL-2", "other")
	}
	if rapid.IntRange(0, 4).Draw(t, "block") == 0 {
		r.BlockedAdvertisers = []auction.ID{id(1), id(4)}
	}
	return r
}

// drawGate refuses a random set of campaigns for random reasons.
func drawGate(t *rapid.T) auction.Gate {
	refused := map[auction.ID]auction.Reason{}
	if !rapid.Bool().Draw(t, "gated") {
		return nil
	}
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 30).Draw(t, "refused") {
		refused[id(n)] = []auction.Reason{auction.Budget, auction.Paced, auction.FrequencyCapped, auction.NoMatch}[n%4]
	}
	gate := auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason { return refused[c.ID] })
	if rapid.Bool().Draw(t, "scored") {
		return floorGate{gate}
	}
	return gate
}

// floorGate has a floor of its own for every third campaign, as deals have.
type floorGate struct{ auction.Gate }

func (g floorGate) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if c.ID[15]%3 == 0 && of.EffectiveCPM < 2_000_000 {
		return auction.BelowFloor
	}
	return g.Gate.Check(c, of)
}

// population makes campaigns like real ones: bids from 0.50 to 20 USD, two to twelve intent tokens
// from a vocabulary with few common words, a third with a tool, a quarter with a host.
type population struct {
	goals      bool // a part of the campaigns has one
	rng        *rand.Rand
	vocabulary []string
	templates  []auction.Targeting
	exact      bool
}

// terms returns the terms of a context.
func terms(context string) []words.Term {
	var r words.Reader
	r.ReadContext(context)
	return r.Terms()
}

// contextWords are words of the contexts below, so that they can match.
const contextWords = "travel blog post trip culture attraction email professional feedback quarterly financial " +
	"report data " +
	"analysis presentation phone model market smell sound metaphor character language paragraph search code " +
	"database api " +
	"cloud file git memory time web content query vector agent test deploy security payment invoice calendar meeting"

// phrases returns n words.
func (p *population) phrases(n int) (phrases []string) {
	for range n {
		phrases = append(phrases, p.word())
	}
	return phrases
}

func newPopulation(seed uint64, templates int) *population {
	p := &population{rng: rand.New(rand.NewPCG(seed, 1)), vocabulary: strings.Fields(contextWords)}
	for i := range 1800 {
		p.vocabulary = append(p.vocabulary, fmt.Sprintf("topic%d", i))
	}
	for range templates {
		p.templates = append(p.templates, p.targeting())
	}
	return p
}

// word draws a word; the commonest makes up 1.6 % of all and is in an eighth of the campaigns.
func (p *population) word() string {
	return p.vocabulary[int(math.Pow(p.rng.Float64(), 1.8)*float64(len(p.vocabulary)))]
}

func (p *population) targeting() auction.Targeting {
	var t auction.Targeting
	for range 2 + p.rng.IntN(11) {
		t.IntentTokens = append(t.IntentTokens, p.word())
	}
	if p.rng.IntN(3) == 0 {
		t.ActiveTools = []string{fmt.Sprintf("tool%d", p.rng.IntN(180))}
	}
	if p.rng.IntN(4) == 0 {
		t.HostApps = []string{[]string{"chatgpt", "discord", "vscode", "claude-desktop", "cursor"}[p.rng.IntN(5)]}
	}
	if p.rng.IntN(20) == 0 {
		t.IntentTokens = nil
	}
	return t
}

// campaigns replicates the templates; without templates every campaign has its own targeting.
func (p *population) campaigns(n int) []auction.Campaign {
	list := make([]auction.Campaign, n)
	for i := range list {
		t := auction.Targeting{Exact: p.exact}
		if len(p.templates) > 0 {
			t = p.templates[i%len(p.templates)]
		} else {
			t = p.targeting()
		}
		list[i] = auction.Campaign{
			ID:         id(i),
			Advertiser: id(i % 97),
			Vote:       index.FullVote,
			Bid:        money.Micros(500_000 + 10_000*p.rng.Int64N(1950)),
			Billing:    []ranker.Billing{ranker.CPM, ranker.CPM, ranker.CPA, ranker.CPC, ranker.VCPM}[p.rng.IntN(5)],
			Format:     auction.Format(p.rng.IntN(3)),
			Targeting:  &t, LandingDomain: "landing.example",
		}
		if p.goals && i%3 == 0 && list[i].Billing == ranker.CPM {
			list[i].Aim = money.Micros(1_000_000 + 100_000*p.rng.Int64N(200))
		}
		if p.goals && i%5 == 0 {
			list[i].ClickRate, list[i].Ceiling = uint32(p.rng.IntN(4_000_000)), money.Micros(p.rng.IntN(9_000_000))
			list[i].Bound = index.Bound(p.rng.IntN(3))
		}
	}
	return list
}

// contexts returns requests as publishers send them.
func (p *population) contexts(n int) []auction.Request {
	list := make([]auction.Request, n)
	for i := range list {
		var phrases []string
		for range 5 + p.rng.IntN(40) {
			if p.rng.IntN(3) == 0 {
				phrases = append(phrases, p.word())
			} else {
				phrases = append(phrases, fmt.Sprintf("filler%d", p.rng.IntN(5000)))
			}
		}
		list[i] = auction.Request{
			Words: terms(strings.Join(phrases, " ")), HostApp: "cursor", Surface: "chat",
			IntegrationMethod: "mcp", Region: "US-CA", Language: "en-US",
			ActiveTools: []string{fmt.Sprintf("tool%d", p.rng.IntN(180))},
		}
	}
	return list
}
