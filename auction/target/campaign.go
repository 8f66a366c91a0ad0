package target

import (
	"iter"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/money"
	"adnet/internal/subject"
)

// ID identifies a campaign or an advertiser: the 16 bytes of a UUID, ordered bytewise.
type ID [16]byte

// Format is the kind of creative.
type Format uint8

// The creative formats.
const (
	Image Format = iota
	Video
	Native
)

// ParseFormat reads the wire value "image", "video" or "native"; ok is false for anything else.
func ParseFormat(s string) (f Format, ok bool) {
	for _, f := range []Format{Image, Video, Native} {
		if f.String() == s {
			return f, true
		}
	}
	return 0, false
}

// String is the wire value.
func (f Format) String() string {
	switch f {
	case Image:
		return "image"
	case Video:
		return "video"
	case Native:
		return "native"
	}
	return "unknown"
}

// Second is a time in seconds since 1970, UTC. It ends in 2106.
type Second uint32

// within says that a campaign of these dates may be chosen at s.
func (s Second) within(start, end Second) bool { return start <= s && (end == 0 || s < end) }

// Campaign is what the auction needs of a deliverable campaign. It is immutable once it is indexed.
type Campaign struct {
	ID ID
	// Advertiser owns the campaign.
	Advertiser ID
	// Bid in micro-USD, per 1,000 impressions, click or conversion as Billing says.
	Bid money.Micros
	// Aim, of a campaign with a goal, is what a conversion may cost now in micro-USD: Bid is only
	// the cap then. 0 is a campaign without one. It counts with impressions as Billing only.
	Aim money.Micros
	// Billing is the event that is paid for.
	Billing ranker.Billing
	// Format of the creative.
	Format Format
	// Start and End bound when it may be chosen: from Start to before End. 0 does not bound.
	Start, End Second
	// LandingDomain is the host of the click destination, compared with a request's blocked
	// domains.
	LandingDomain string
	// Headline and Subtext are what the campaign says of itself.
	Headline, Subtext string
	// MinRelevance is the least relevance that its owner accepts; 0 is off.
	MinRelevance ranker.PPM
	// Suits is what the conversation must be like.
	Suits
	// Targeting restricts delivery; nil means everywhere. The index lets campaigns that target the
	// same share one value, so it may come back as an equal one of another campaign.
	Targeting *Targeting
}

// Suits is beside which conversations a campaign runs. Campaigns of one group share it.
type Suits struct {
	// Allowed are the sensitive subjects beside which it runs, Excluded those beside which it does
	// not, and Trades its restricted trades.
	Allowed, Excluded subject.Set
	Trades            subject.TradeSet
}

// beside reports whether a campaign may run beside a conversation with the subjects.
func (s *Suits) beside(subjects subject.Set) bool {
	return subjects&^s.Allowed == 0 && subjects&s.Excluded == 0
}

// within reports whether all its trades may run.
func (s *Suits) within(trades subject.TradeSet) bool { return s.Trades&^trades == 0 }

// Value is what 1,000 impressions for c are worth at a relevance, in micro-USD.
func (c *Campaign) Value(t *ranker.Table, r ranker.PPM) money.Micros {
	bid, aim := c.stake(t)
	return t.Value(c.Billing, bid, aim, r)
}

// stake is the bid and the aim as auctions value them: amounts for a conversion count by how often
// clicks on the campaign convert.
func (c *Campaign) stake(t *ranker.Table) (bid, aim money.Micros) {
	switch {
	case c.Aim > 0: // at least 1: 0 stands for no aim
		return c.Bid, max(1, t.Worth(c.Aim, c.ID, c.Advertiser))
	case c.Billing == ranker.CPA:
		return t.Worth(c.Bid, c.ID, c.Advertiser), 0
	}
	return c.Bid, c.Aim
}

// Targeting holds the lists of a campaign. Each list that is not empty is a hard filter: the
// request must share at least one value with it. Values are compared after normalisation (see
// [Query]); blank values count as absent.
type Targeting struct {
	// Exact makes the tokens a filter, too. Otherwise they are part of what the campaign says.
	Exact bool
	// IntentTokens and Keywords form one list of intent tokens; phrases count as their words.
	IntentTokens, Keywords []string
	// ActiveTools are MCP tool ids.
	ActiveTools []string
	// HostApps, Surfaces and IntegrationMethods are compared with the request's one value each.
	HostApps, Surfaces, IntegrationMethods []string
	// Regions such as "US" (also matches "US-CA") and Languages such as "en" (also matches
	// "en-US").
	Regions, Languages []string
	// Deals are the private deals that may be answered. They filter nothing: only a query for deals
	// looks at them.
	Deals []string
}

// Query is the part of a request that campaigns are matched with. Values are compared without
// regard to case and surrounding space, in Unicode form NFC; tokens as [words] reads them.
type Query struct {
	// Auction is the id of the auction, by which ties are broken.
	Auction ID
	// At is when it takes place.
	At Second
	// Views says that a view of the ad can be reported. Campaigns that pay for views match no other
	// query.
	Views bool
	// Floor is the least relevance of a match; 0 is off. It does not hold for a query without
	// words, which has nothing to be irrelevant to. For that SilentFloor is the least that tools
	// and place have in common with it.
	Floor, SilentFloor ranker.PPM
	// Words are the terms of the context, and Tokens the caller's own intent tokens.
	Words  []words.Term
	Tokens []string
	// ActiveTools are the MCP tool ids in use.
	ActiveTools []string
	// HostApp, Surface, IntegrationMethod, Region and Language are empty when unknown; then only
	// campaigns that do not target the dimension match.
	HostApp, Surface, IntegrationMethod, Region, Language string
	// Formats that can be shown; empty means any.
	Formats []Format
	// Subjects are the sensitive subjects of the conversation: only campaigns match that allow all
	// of them and exclude none. Trades are the restricted trades that may run: campaigns with
	// another one do not match.
	Subjects subject.Set
	Trades   subject.TradeSet
	// Deals, when not empty, leaves only campaigns that share one. Compared like other values, so
	// without regard to case: whoever needs the exact id compares it again.
	Deals []string
}

// The targeting dimensions. Each has its own vocabulary.
const (
	dimToken = iota
	dimTool
	dimHost
	dimSurface
	dimMethod
	dimRegion
	dimLanguage
	dimDeal // filters only where the query asks for deals
	dims
)

// dimensionName is the campaign field that a dimension comes from, as an explanation names it.
func dimensionName(d int) string {
	return [dims]string{
		"target_intent_tokens", "target_active_tools", "target_host_apps", "target_surfaces",
		"target_integration_methods", "target_regions", "target_languages", "deal_ids",
	}[d]
}

// filters says whether the dimension d of t keeps requests out.
func (t *Targeting) filters(d int) bool { return d != dimToken || t != nil && t.Exact }

// text is what c says of itself.
func (c *Campaign) text() lexicon.Text {
	t := lexicon.Text{Headline: c.Headline, Subtext: c.Subtext}
	if c.Targeting != nil {
		t.Stated = [2][]string{c.Targeting.IntentTokens, c.Targeting.Keywords}
	}
	return t
}

// lists are the values of one dimension as they are stated.
func (t *Targeting) lists(d int) [2][]string {
	if t == nil {
		return [2][]string{}
	}
	if d == dimToken {
		return [2][]string{t.IntentTokens, t.Keywords}
	}
	return [2][]string{[dims][]string{
		dimTool: t.ActiveTools, dimHost: t.HostApps, dimSurface: t.Surfaces,
		dimMethod: t.IntegrationMethods, dimRegion: t.Regions, dimLanguage: t.Languages, dimDeal: t.Deals,
	}[d]}
}

// values yields the normalised values of one dimension, repeated ones included: of tokens their
// terms.
func (t *Targeting) values(d int) iter.Seq[string] {
	return func(yield func(string) bool) {
		if d == dimToken {
			var r words.Reader
			for term := range statedTerms(&r, t.lists(d)) {
				if !yield(term) {
					return
				}
			}
			return
		}
		for _, v := range t.lists(d)[0] {
			if value := string(appendValue(nil, d, v)); value != "" && !yield(value) {
				return
			}
		}
	}
}

// statedTerms yields the terms of stated tokens.
func statedTerms(r *words.Reader, lists [2][]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range lists {
			for _, token := range list {
				r.Reset()
				r.ReadStated(token, words.One)
				for _, term := range r.Terms() {
					if term.Kind != words.Extra && !yield(term.Text) {
						return
					}
				}
			}
		}
	}
}
