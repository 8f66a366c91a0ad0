// Package auction decides which campaign serves a request and at what price.
//
// It is a pure function of its arguments: no input or output, no clock, no randomness, integers
// only. The steps are separate: [target] filters, [ranker] scores, [Gate] says what budget, pacing
// and frequency caps allow, and the first candidate in score order that passes everything wins and
// pays the bid that won (first price): for an impression its effective CPM, not what it stated.
// [Decide] does this through the index; [Explain] gives the same winner by looking at every
// campaign, with a reason for each that did not win.
//
// The order of candidates is total: descending effective CPM, then descending match, then by a hash
// of the auction and the advertiser, then of the auction and the campaign, so that neither age nor
// a number of copies wins a tie. Where clicks have taught something, a new campaign may come first
// in about 3 % of the auctions, as if its relevance were certain, see [Outcome].
package auction

import (
	"cmp"
	"slices"
	"strings"

	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/auction/words"
	"adnet/internal/money"
	"adnet/internal/subject"
)

// Names of the parts that make up an auction, so that callers need only this package.
type (
	// ID identifies a campaign or an advertiser.
	ID = target.ID
	// Campaign is a deliverable campaign.
	Campaign = target.Campaign
	// Targeting holds the lists of a campaign.
	Targeting = target.Targeting
	// Suits is beside which conversations a campaign runs.
	Suits = target.Suits
	// Format is the kind of creative.
	Format = target.Format
	// Snapshot is one immutable state of the deliverable campaigns.
	Snapshot = target.Index
	// Prediction is the score of a campaign with its attribution.
	Prediction = ranker.Prediction
)

// Scratch is the working memory of [Decide]; the zero value is ready, and one goroutine at a time
// may use it. Reused, it spares every allocation.
type Scratch struct {
	// Trace, when set, is filled with the candidates of each auction; nil costs nothing.
	Trace  *Trace
	search target.Search
	ahead  ahead
}

// Reason says why a request was not filled or a campaign did not win; the values are those of the
// wire. Empty means "may serve".
type Reason string

// The closed list of reasons.
const (
	// NoCampaigns: nothing is deliverable at all.
	NoCampaigns Reason = "no_campaigns"
	// NoMatch: the targeting or the format excludes the request.
	NoMatch Reason = "no_match"
	// Irrelevant: it is not likely enough that the ad answers the request, by the highest floor of
	// network, campaign, publisher and request.
	Irrelevant Reason = "irrelevant"
	// BelowFloor: the effective CPM is below the request's floor.
	BelowFloor Reason = "below_floor"
	// Budget: today's budget, the total budget or the balance is used up.
	Budget Reason = "budget"
	// Paced: today's budget is being spread over the day.
	Paced Reason = "paced"
	// FrequencyCapped: this user has seen the campaign often enough.
	FrequencyCapped Reason = "frequency_capped"
	// Blocked: the request blocks the landing domain or the advertiser.
	Blocked Reason = "blocked"
	// Stale: the node cannot prove that its snapshot is fresh or, from a [Gate], cannot say in time
	// whether the campaign has budget left. Only the caller of this package can say so.
	Stale Reason = "stale"
	// Unsuitable: the conversation has a subject beside which no ad is shown. Only the caller of
	// this package can say so.
	Unsuitable Reason = "unsuitable"
	// SensitiveSubject: the conversation has a sensitive subject that publisher and campaign did
	// not both allow.
	SensitiveSubject Reason = "sensitive"
	// RateLimited: the caller asks too often. Only the caller of this package can say so.
	RateLimited Reason = "rate_limited"
	// Outbid is the reason of a campaign that could have served but another one won; it is found in
	// an [Explanation] and never in an [Outcome].
	Outbid Reason = "outbid"
	// NotStarted and Ended are the reasons of a campaign whose dates keep it out; they are found in
	// an [Explanation] only.
	NotStarted Reason = "not_started"
	Ended      Reason = "ended"
)

// Request is one opportunity to show an ad. Empty fields are unknown and match only campaigns that
// do not target them; see [target.Query] for how values are compared.
type Request struct {
	// ID is the auction's. Ties are broken by it.
	ID ID
	// At is when it takes place: campaigns may have a start and an end.
	At target.Second
	// Views says that a view of the ad can be reported: only then may campaigns win that pay for
	// it.
	Views bool
	// Words are the terms of the context, and Tokens the intent that the caller states.
	Words  []words.Term
	Tokens []string
	// MinRelevance is the least relevance of an ad; 0 is off. It does not hold for a request
	// without words: there is nothing to be irrelevant to. SilentFloor holds for those.
	MinRelevance, SilentFloor ranker.PPM
	// ActiveTools are the MCP tool ids in use.
	ActiveTools []string
	// HostApp, Surface, IntegrationMethod, Region ("US-CA") and Language ("en-US") describe the
	// place.
	HostApp, Surface, IntegrationMethod, Region, Language string
	// Formats that can be shown; empty means any.
	Formats []Format
	// FloorCPM in micro-USD is the least effective CPM that is accepted.
	FloorCPM money.Micros
	// BlockedDomains must not be landed on, nor their subdomains. BlockedAdvertisers must not win.
	BlockedDomains     []string
	BlockedAdvertisers []ID
	// Subjects are the sensitive subjects of the conversation, all of which its publisher allows:
	// only campaigns that allow all of them and exclude none match.
	Subjects subject.Set
	// Trades are the restricted trades that may run: campaigns with another one do not match.
	Trades subject.TradeSet
	// Deals, when not empty, leaves only campaigns that may answer one of these private deals; see
	// [target.Query].
	Deals []string
}

func (r *Request) query() target.Query {
	return target.Query{
		Auction: r.ID, At: r.At, Views: r.Views, Floor: r.MinRelevance, SilentFloor: r.SilentFloor, Words: r.Words,
		Tokens: r.Tokens, ActiveTools: r.ActiveTools, HostApp: r.HostApp, Surface: r.Surface,
		IntegrationMethod: r.IntegrationMethod, Region: r.Region, Language: r.Language, Formats: r.Formats,
		Subjects: r.Subjects, Trades: r.Trades, Deals: r.Deals,
	}
}

// Gate is asked about candidates in score order until it lets one pass, which then wins: the fit of
// the creative, frequency caps, budgets, pacing, and last the reservation of the price. [Chain]
// joins several.
type Gate interface {
	// Check gives the reason to refuse c, or "" when it may serve. It may count or reserve what it
	// grants.
	Check(c *Campaign, of Offer) Reason
	// Undo takes back what the last Check counted or reserved for c, which it granted: c is not
	// shown.
	Undo(c *Campaign)
}

// Offer is what a candidate is worth in an auction, in micro-USD.
type Offer struct {
	// EffectiveCPM is its score.
	EffectiveCPM money.Micros
	// Price is what one billed unit will cost, if it wins: what the token says and settlement
	// charges. It never is above the stated bid. See [ranker.Table.Price].
	Price money.Micros
}

// offered is the offer of c at a score.
func offered(t *ranker.Table, c *Campaign, effectiveCPM money.Micros) Offer {
	return Offer{effectiveCPM, t.Price(c.Billing, c.Bid, effectiveCPM)}
}

// GateFunc is a function as a [Gate] that counts nothing.
type GateFunc func(c *Campaign, of Offer) Reason

// Check calls f.
func (f GateFunc) Check(c *Campaign, of Offer) Reason { return f(c, of) }

// Undo does nothing.
func (GateFunc) Undo(*Campaign) {}

// Chain is gates as one, asked in their order: a gate that reserves is the last. Empty, it lets
// everything pass.
type Chain []Gate

// Check grants c when every gate does. After a refusal the gates before it undo what they granted.
func (chain Chain) Check(c *Campaign, of Offer) Reason {
	for i, gate := range chain {
		if reason := gate.Check(c, of); reason != "" {
			chain[:i].Undo(c)
			return reason
		}
	}
	return ""
}

// Undo undoes the grants of all gates, the last one first.
func (chain Chain) Undo(c *Campaign) {
	for i := range chain {
		chain[len(chain)-1-i].Undo(c)
	}
}

// Outcome of an auction.
type Outcome struct {
	// Winner is nil when the request is not filled. It belongs to the snapshot and must not be
	// changed.
	Winner *Campaign
	// EffectiveCPM in micro-USD is the score that won.
	EffectiveCPM money.Micros
	// Price in micro-USD per billed unit, as its gate was told.
	Price money.Micros
	// Explores says that the winner won as a new campaign that explores.
	Explores bool
	// Prediction of the winner.
	Prediction Prediction
	// Reason is empty when there is a winner. Otherwise [NoCampaigns], [NoMatch],
	// [SensitiveSubject] when campaigns would be candidates but for the subjects of the
	// conversation, [Irrelevant] when campaigns match but none is relevant enough, or the reason of
	// the best-scored candidate that was refused.
	Reason Reason
}

// Decide runs the auction through the index. gate may be nil: then every candidate may serve. The
// time depends on how many candidates are refused before the winner, hardly on how many campaigns
// there are.
func Decide(req *Request, snapshot *Snapshot, gate Gate, scratch *Scratch) Outcome {
	trace := scratch.Trace
	if trace != nil {
		trace.Reset()
	}
	if snapshot.Len() == 0 {
		return Outcome{Reason: NoCampaigns}
	}
	query := req.query()
	scratch.search.Start(snapshot, &query)
	scratch.explore(req, snapshot)
	var reason Reason // of the first candidate
	table, unreserved := snapshot.Table(), 0
	for {
		c, ok := scratch.next()
		if !ok {
			return Outcome{Reason: cmp.Or(reason, unmatched(&query, snapshot, scratch))}
		}
		refusal := refuse(req, gate, &table, c)
		if refusal == Stale {
			unreserved++
		}
		if trace != nil {
			trace.add(c, refusal)
		}
		if refusal == "" {
			// Before the trace looks on: what was found belongs to the search.
			found := scratch.search.Found(&c)
			if trace != nil {
				trace.follow(req, scratch)
			}
			return won(snapshot, c, &found, scratch.ahead.explorer)
		}
		reason = cmp.Or(reason, refusal)
		if c.EffectiveCPM < req.FloorCPM || unreserved == maxUnreserved { // the floor: so is everything that follows
			if trace != nil {
				trace.follow(req, scratch)
			}
			return Outcome{Reason: reason}
		}
	}
}

// maxUnreserved is how many candidates an auction looks past because their gate could not say in
// time whether they have budget left ([Stale]): when the store of reservations does not answer, a
// request must not walk through the whole catalog.
const maxUnreserved = 64

// refuse checks a candidate that matches; the gate comes last, as it may reserve what it grants.
func refuse(req *Request, gate Gate, table *ranker.Table, c target.Candidate) Reason {
	reason := unwanted(req, c)
	if reason == "" && gate != nil {
		return gate.Check(c.Campaign, offered(table, c.Campaign, c.EffectiveCPM))
	}
	return reason
}

// unwanted is why the request itself does not take a candidate.
func unwanted(req *Request, c target.Candidate) Reason {
	switch {
	case c.EffectiveCPM < req.FloorCPM:
		return BelowFloor
	case blocked(req, c.Campaign):
		return Blocked
	}
	return ""
}

// unmatched is the reason when nothing is a candidate. Only then another search finds out whether
// the subjects of the conversation kept all away.
func unmatched(query *target.Query, snapshot *Snapshot, scratch *Scratch) Reason {
	if query.Subjects != 0 {
		query.Subjects = 0
		scratch.search.Start(snapshot, query)
		if _, ok := scratch.search.Next(); ok {
			return SensitiveSubject
		}
	}
	if scratch.search.Excluded() {
		return Irrelevant
	}
	return NoMatch
}

// won is the outcome of c; explorer is the campaign that explores in the auction, nil for none.
func won(snapshot *Snapshot, c target.Candidate, found *target.Found, explorer *Campaign) Outcome {
	table := snapshot.Table()
	prediction := table.Predict(c.Campaign.Billing, c.Campaign.Bid, found.Signals)
	prediction.ModelVersion, prediction.Terms, prediction.Bid = snapshot.Model(), found.Terms, c.EffectiveCPM
	return Outcome{
		Explores:     c.Campaign == explorer,
		Winner:       c.Campaign,
		EffectiveCPM: c.EffectiveCPM,
		Price:        offered(&table, c.Campaign, c.EffectiveCPM).Price,
		Prediction:   prediction,
	}
}

func blocked(req *Request, c *Campaign) bool {
	if slices.Contains(req.BlockedAdvertisers, c.Advertiser) {
		return true
	}
	for _, domain := range req.BlockedDomains {
		if within(c.LandingDomain, domain) {
			return true
		}
	}
	return false
}

// within says that host is domain or below it, without regard to case or a final dot.
func within(host, domain string) bool {
	host, domain = strings.TrimSuffix(host, "."), strings.TrimSuffix(domain, ".")
	cut := len(host) - len(domain)
	if domain == "" || cut < 0 || !strings.EqualFold(host[cut:], domain) {
		return false
	}
	return cut == 0 || host[cut-1] == '.'
}
