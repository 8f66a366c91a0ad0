package index

import (
	"cmp"
	"iter"
	"math/bits"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// ID identifies a campaign or an advertiser: the 16 bytes of a UUID, ordered bytewise.
type ID [16]byte

// FullVote is the [Campaign.Vote] of a full vote.
const FullVote = 1_000_000

// Format is the kind of creative.
type Format uint8

// The creative formats.
const (
	Image Format = iota
	Video
	Native
)

// ParseFormat parses the API value "image", "video" or "native"; ok is false for anything else.
func ParseFormat(s string) (f Format, ok bool) {
	for _, f := range []Format{Image, Video, Native} {
		if f.String() == s {
			return f, true
		}
	}
	return 0, false
}

// String returns the API value.
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

// within reports whether a campaign with these dates may be chosen at s.
func (s Second) within(start, end Second) bool { return start <= s && (end == 0 || s < end) }

// Campaign holds what the auction needs of a deliverable campaign. It is immutable once indexed.
type Campaign struct {
	ID ID
	// Advertiser owns the campaign, and Family is the advertiser's family: the zero value stands
	// for the advertiser alone.
	Advertiser, Family ID
	// Bid in micro-USD, per 1,000 impressions, click or conversion according to Billing.
	Bid money.Micros
	// Aim is the current target cost of a conversion in micro-USD, for a campaign with a goal. Bid
	// is then only the cap. It is 0 without a goal, and counts only if impressions are billed.
	Aim money.Micros
	// Billing is the billed event.
	Billing ranker.Billing
	// Format is the format of the creative.
	Format Format
	// Bound is the reason for showing it in few auctions.
	Bound Bound
	// Start and End bound the time of delivery: from Start to before End. 0 is no bound.
	Start, End Second
	// Vote is the part of a full vote that the family has in the weights of words, in parts per
	// million. Its campaigns share it. A campaign without a vote changes nothing for others.
	Vote uint32
	// ClickRate and ConvertRate are its own rates of clicks by impressions and of conversions by
	// clicks ÷ those of the network, in parts per million; 0 is the network's. They scale bids for
	// acts and aims.
	ClickRate, ConvertRate uint32
	// Ceiling is the most that 1,000 impressions count for if it pays per click or conversion,
	// micro-USD; 0 is no limit.
	Ceiling money.Micros
	// LandingDomain is the host of the click destination, compared with a request's blocked
	// domains.
	LandingDomain string
	// Headline and Subtext are the text of the campaign.
	Headline, Subtext string
	// MinRelevance is the least relevance accepted by the owner; 0 is off.
	MinRelevance ranker.PPM
	// Suits restricts the conversations beside which it runs.
	Suits
	// Targeting restricts delivery; nil means everywhere. The index shares one value among
	// campaigns with equal targeting, so the result may be an equal value of another campaign.
	Targeting *Targeting
}

// Suits restricts the conversations beside which a campaign runs, and the places. Campaigns of one
// group share it.
type Suits struct {
	// Allowed and Excluded are the sensitive subjects beside which the campaign runs or does not
	// run. Trades are its restricted trades.
	Allowed, Excluded subject.Set
	Trades            subject.TradeSet
	// PagesOnly excludes the campaign where a model reads the ad: no reviewer has approved it.
	PagesOnly bool
}

// beside reports whether a campaign may run beside a conversation with the subjects.
func (s *Suits) beside(subjects subject.Set) bool {
	return subjects&^s.Allowed == 0 && subjects&s.Excluded == 0
}

// within reports whether all its trades may run.
func (s *Suits) within(trades subject.TradeSet) bool { return s.Trades&^trades == 0 }

// Bound is a reason why a campaign takes part in few auctions: it pays per click or conversion and
// owes too much for what it was shown. See internal/ledger/owed.
type Bound uint8

// The bounds.
const (
	BoundNone Bound = iota
	// BoundUnproven: its family has shown as many ads as it may before its first charged act.
	BoundUnproven
	// BoundBehind: far fewer acts were charged than expected.
	BoundBehind
)

// boundOf is the divisor of the auctions in which bound campaigns take part. It is above a hundred
// so that chance does not raise the share of any campaign above a hundredth.
const boundOf = 128

// admits reports whether bound campaigns take part in the auction of q. A hash of the auction alone
// decides, so that any number of bound campaigns together cannot win more of the auctions.
func (q *Query) admits() bool {
	seed := q.seed()
	high, low := bits.Mul64(seed[0]^0xe7037ed1a0b428db, seed[1]^0x8ebc6af09c88c6e3)
	return (high^low)%boundOf == 0
}

// family returns the family of the owner.
func (c *Campaign) family() *ID {
	if c.Family == (ID{}) {
		return &c.Advertiser
	}
	return &c.Family
}

// Owner returns the id of the family that owns c, which counts as one advertiser.
func (c *Campaign) Owner() ID { return *c.family() }

// Value returns the worth of 1,000 impressions for c at a relevance, in micro-USD.
func (c *Campaign) Value(t *ranker.Table, r ranker.PPM) money.Micros {
	bid, aim := c.stake()
	return t.Value(c.Billing, bid, aim, r)
}

// stake returns the bid and the aim as auctions value them: amounts for acts are scaled by the
// campaign's own rates. A ceiling is a bid with the amount for an act as the aim.
func (c *Campaign) stake() (bid, aim money.Micros) {
	switch {
	case c.Billing.Thousands() && c.Aim <= 0:
		return c.Bid, 0
	case c.Billing.Thousands(): // at least 1, as 0 means no aim
		return c.Bid, max(1, ranker.Scaled(c.Aim, c.rate()))
	}
	worth := ranker.Scaled(c.Bid, c.rate())
	if c.Ceiling > 0 && worth > 0 {
		return c.Ceiling, worth
	}
	return worth, 0
}

// rate returns the rate of the act that c values, by impressions ÷ the network's.
func (c *Campaign) rate() ranker.PPM {
	rate := cmp.Or(ranker.PPM(c.ClickRate), ranker.Certain)
	if c.Billing != ranker.CPC {
		rate = rate * cmp.Or(ranker.PPM(c.ConvertRate), ranker.Certain) / ranker.Certain
	}
	return min(rate, ranker.MostRate)
}

// Targeting holds the targeting lists of a campaign. Each list that is not empty is a hard filter:
// the request must share at least one value with it. Values are compared in normalised form (see
// [Query]). Blank values count as absent.
type Targeting struct {
	// Exact makes the tokens a filter. Otherwise they count as part of the campaign's text.
	Exact bool
	// IntentTokens and Keywords form one list of intent tokens; phrases count as their words.
	IntentTokens, Keywords []string
	// ActiveTools are MCP tool ids.
	ActiveTools []string
	// HostApps, Surfaces and IntegrationMethods are each compared with a single value of the
	// request.
	HostApps, Surfaces, IntegrationMethods []string
	// Regions such as "US" (also matches "US-CA") and Languages such as "en" (also matches
	// "en-US").
	Regions, Languages []string
	// Deals are the private deals that the campaign may answer. They filter nothing: only queries
	// for deals use them.
	Deals []string
}

// Query is the part of a request used for matching. Values are compared ignoring case and
// surrounding space, in Unicode form NFC; tokens as read by [words].
type Query struct {
	// Auction is the id of the auction, which breaks ties.
	Auction ID
	// At is the time of the auction.
	At Second
	// Views reports whether a view of the ad can be reported. Campaigns that pay for views match
	// only then.
	Views bool
	// Floor is the least relevance of a match; 0 is off. A query without words has no relevance:
	// for it SilentFloor is the floor, reached by tools and placement alone.
	Floor, SilentFloor ranker.PPM
	// Words are the terms of the context, and Tokens the caller's own intent tokens.
	Words  []words.Term
	Tokens []string
	// ActiveTools are the MCP tool ids in use.
	ActiveTools []string
	// HostApp, Surface, IntegrationMethod, Region and Language are empty if unknown. Then only
	// campaigns that do not target the dimension match.
	HostApp, Surface, IntegrationMethod, Region, Language string
	// Formats are the formats that can be shown; empty means any.
	Formats []Format
	// Subjects are the sensitive subjects of the conversation. A campaign matches only if it allows
	// all of them and excludes none. Trades are the restricted trades that may run. A campaign with
	// another trade does not match.
	Subjects subject.Set
	Trades   subject.TradeSet
	// Bound reports whether bound campaigns match in any auction, not only in one of 128.
	Bound bool
	// Models reports whether a model reads the ad.
	Models bool
	// Deals, if not empty, restricts the query to campaigns that share a deal. Deals are compared
	// ignoring case like other values; callers that need the exact id compare again.
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

// dimensionName returns the campaign field of a dimension, as an explanation names it.
func dimensionName(d int) string {
	return [dims]string{
		"target_intent_tokens", "target_active_tools", "target_host_apps", "target_surfaces",
		"target_integration_methods", "target_regions", "target_languages", "deal_ids",
	}[d]
}

// filters reports whether the dimension d of t restricts requests.
func (t *Targeting) filters(d int) bool { return d != dimToken || t != nil && t.Exact }

// text returns the text of c.
func (c *Campaign) text() lexicon.Text {
	t := lexicon.Text{Headline: c.Headline, Subtext: c.Subtext}
	if c.Targeting != nil {
		t.Stated = [2][]string{c.Targeting.IntentTokens, c.Targeting.Keywords}
	}
	return t
}

// lists returns the stated values of one dimension.
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

// values yields the normalised values of one dimension, duplicates included. The values of tokens
// are their terms.
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
				r.ReadStated(token, words.Unit)
				for _, term := range r.Terms() {
					if term.Kind != words.Extra && !yield(term.Text) {
						return
					}
				}
			}
		}
	}
}
