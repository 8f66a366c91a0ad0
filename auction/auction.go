// Package auction decides which campaign serves a request and at what price.
//
// The package has no I/O, no clock and no randomness, and computes with integers only: equal
// arguments give equal results. The steps are separate: [target] filters, [ranker] scores, and
// [Gate] applies budgets, pacing and frequency caps. The first candidate in score order that passes
// everything wins and pays its own bid (first price): for an impression its effective CPM, not its
// stated bid. [Decide] searches the index. [Explain] finds the same winner by scanning every
// campaign, and gives a reason for each that did not win.
//
// The order of candidates is total: descending effective CPM, then descending match, then a hash of
// the auction and the advertiser, then a hash of the auction and the campaign. Neither age nor a
// number of copies wins a tie. Once clicks have taught something, a new campaign may come first in
// about 3 % of the auctions, as if its relevance were certain; see [Outcome].
package auction

import (
	"cmp"
	"slices"
	"strings"

	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// Aliases of the types of an auction, so that callers need to import only this package.
type (
	// ID identifies a campaign or an advertiser.
	ID = index.ID
	// Campaign is a deliverable campaign.
	Campaign = index.Campaign
	// Targeting holds the lists of a campaign.
	Targeting = index.Targeting
	// Suits holds the conversations that a campaign may run beside.
	Suits = index.Suits
	// Format is the kind of creative.
	Format = index.Format
	// Snapshot is one immutable state of the deliverable campaigns.
	Snapshot = index.Index
	// Prediction is the score of a campaign with its attribution.
	Prediction = ranker.Prediction
)

// Scratch is the working memory of [Decide]. The zero value is ready. One goroutine may use it at a
// time. Reusing it avoids all allocations.
type Scratch struct {
	// Trace, when set, is filled with the candidates of each auction; nil costs nothing.
	Trace  *Trace
	search index.Search
	ahead  ahead
}

// Reason is why a request was not filled or a campaign did not win. The values are those of the
// API. Empty means "may serve".
type Reason string

// The closed list of reasons.
const (
	// NoCampaigns: nothing is deliverable at all.
	NoCampaigns Reason = "no_campaigns"
	// NoMatch: the targeting or the format excludes the request.
	NoMatch Reason = "no_match"
	// Irrelevant: the probability that the ad answers the request is below the highest floor of
	// network, campaign, publisher and request.
	Irrelevant Reason = "irrelevant"
	// BelowFloor: the effective CPM is below the request's floor.
	BelowFloor Reason = "below_floor"
	// Budget: today's budget, the total budget or the balance is used up.
	Budget Reason = "budget"
	// Paced: today's budget is being spread over the day.
	Paced Reason = "paced"
	// Unpaid: the campaign pays per click or conversion and owes too much for what it was shown, so
	// it takes part in few auctions; see [index.Bound].
	Unpaid Reason = "unpaid"
	// Unseen: ads that the publisher has not shown hold their part of today's budget.
	Unseen Reason = "unseen"
	// FrequencyCapped: this user has seen the campaign often enough.
	FrequencyCapped Reason = "frequency_capped"
	// Blocked: the request blocks the landing domain or the advertiser.
	Blocked Reason = "blocked"
	// Stale: the node cannot prove that its snapshot is fresh, or a [Gate] could not find out in
	// time whether the campaign has budget left. Only the caller of this package reports it.
	Stale Reason = "stale"
	// Unsuitable: the conversation has a subject beside which no ad is shown. Only the caller of
	// this package can report it.
	Unsuitable Reason = "unsuitable"
	// SensitiveSubject: the conversation has a sensitive subject that the publisher or the campaign
	// did not allow.
	SensitiveSubject Reason = "sensitive"
	// RateLimited: the caller sends too many requests. Only the caller of this package reports it.
	RateLimited Reason = "rate_limited"
	// Outbid is the reason of a campaign that could have served but lost to another. It occurs in
	// an [Explanation], never in an [Outcome].
	Outbid Reason = "outbid"
	// NotStarted and Ended are the reasons of a campaign excluded by its dates. They occur in an
	// [Explanation] only.
	NotStarted Reason = "not_started"
	Ended      Reason = "ended"
)

// Request is one opportunity to show an ad. Empty fields are unknown and match only campaigns that
// do not target them; see [index.Query] for how values are compared.
type Request struct {
	// ID identifies the auction. It breaks ties.
	ID ID
	// At is the time of the auction: campaigns may have a start and an end.
	At index.Second
	// Views reports whether a view of the ad can be reported. Campaigns that pay for views can win
	// only then.
	Views bool
	// Words are the terms of the context, and Tokens the intent stated by the caller.
	Words  []words.Term
	Tokens []string
	// MinRelevance is the least relevance of an ad; 0 is off. It does not apply to a request
	// without words, for which SilentFloor applies instead.
	MinRelevance, SilentFloor ranker.PPM
	// ActiveTools are the MCP tool ids in use.
	ActiveTools []string
	// HostApp, Surface, IntegrationMethod, Region ("US-CA") and Language ("en-US") describe the
	// placement.
	HostApp, Surface, IntegrationMethod, Region, Language string
	// Formats are the formats that can be shown; empty means any.
	Formats []Format
	// FloorCPM in micro-USD is the least accepted effective CPM.
	FloorCPM money.Micros
	// BlockedDomains must not be landed on, nor must their subdomains. BlockedAdvertisers must not
	// win.
	BlockedDomains     []string
	BlockedAdvertisers []ID
	// Subjects are the sensitive subjects of the conversation, all allowed by its publisher. A
	// campaign matches only if it allows all of them and excludes none.
	Subjects subject.Set
	// Trades are the restricted trades that may run. Campaigns with another trade do not match.
	Trades subject.TradeSet
	// Models reports whether a model reads the ad: campaigns for pages only do not match.
	Models bool
	// Deals, if not empty, restricts the auction to campaigns that may answer one of these private
	// deals; see [index.Query].
	Deals []string
}

func (r *Request) query() index.Query {
	return index.Query{
		Auction: r.ID, At: r.At, Views: r.Views, Floor: r.MinRelevance, SilentFloor: r.SilentFloor, Words: r.Words,
		Tokens: r.Tokens, ActiveTools: r.ActiveTools, HostApp: r.HostApp, Surface: r.Surface,
		IntegrationMethod: r.IntegrationMethod, Region: r.Region, Language: r.Language, Formats: r.Formats,
		Subjects: r.Subjects, Trades: r.Trades, Models: r.Models, Deals: r.Deals,
	}
}

// Gate checks candidates in score order until one passes, which then wins. Gates check the fit of
// the creative, frequency caps, budgets and pacing, and finally reserve the price. [Chain] joins
// several.
type Gate interface {
	// Check returns the reason to refuse c, or "" if it may serve. It may count or reserve what it
	// grants.
	Check(c *Campaign, of Valuation) Reason
	// Undo reverts what the last Check counted or reserved for c after granting it: c is not shown.
	Undo(c *Campaign)
}

// Valuation is the value and the price of a candidate in an auction, in micro-USD.
type Valuation struct {
	// EffectiveCPM is its score.
	EffectiveCPM money.Micros
	// Price is the cost of one billed unit if the candidate wins. The token carries it and
	// settlement charges it. It is never above the stated bid. See [ranker.Table.Price].
	Price money.Micros
}

// valued returns the valuation of c at a score.
func valued(t *ranker.Table, c *Campaign, effectiveCPM money.Micros) Valuation {
	return Valuation{effectiveCPM, t.Price(c.Billing, c.Bid, effectiveCPM)}
}

// GateFunc adapts a function to a [Gate] that counts nothing.
type GateFunc func(c *Campaign, of Valuation) Reason

// Check calls f.
func (f GateFunc) Check(c *Campaign, of Valuation) Reason { return f(c, of) }

// Undo does nothing.
func (GateFunc) Undo(*Campaign) {}

// Chain joins gates and checks them in order: a gate that reserves comes last. An empty chain lets
// everything pass.
type Chain []Gate

// Check grants c if every gate does. After a refusal the earlier gates undo what they granted.
func (chain Chain) Check(c *Campaign, of Valuation) Reason {
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

// Outcome is the result of an auction.
type Outcome struct {
	// Winner is nil if the request is not filled. It belongs to the snapshot and must not be
	// changed.
	Winner *Campaign
	// EffectiveCPM in micro-USD is the winning score.
	EffectiveCPM money.Micros
	// Price is the price of one billed unit in micro-USD, as passed to the gate.
	Price money.Micros
	// Explores reports whether the winner won as a new campaign that explores.
	Explores bool
	// Prediction is the prediction for the winner.
	Prediction Prediction
	// Reason is empty if there is a winner. Otherwise it is [NoCampaigns], [NoMatch],
	// [Unpaid] or [SensitiveSubject] (only their debts, or also the subjects of the conversation, exclude
	// campaigns), [Irrelevant]
	// (campaigns match but none is relevant enough), or the reason of the best-scored refused
	// candidate.
	Reason Reason
}

// Decide runs the auction through the index. A nil gate lets every candidate serve. The time
// depends on the number of candidates refused before the winner, hardly on the number of campaigns.
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
			// Before the trace continues the search, which reuses the memory of found.
			found := scratch.search.Found(&c)
			if trace != nil {
				trace.follow(req, scratch)
			}
			return won(snapshot, c, &found, scratch.ahead.explorer)
		}
		reason = cmp.Or(reason, refusal)
		if c.EffectiveCPM < req.FloorCPM || unreserved == maxUnreserved { // below the floor, all that follow are too
			if trace != nil {
				trace.follow(req, scratch)
			}
			return Outcome{Reason: reason}
		}
	}
}

// maxUnreserved is the number of [Stale] refusals after which an auction gives up: if the
// reservation store does not answer, a request must not walk through the whole catalog.
const maxUnreserved = 64

// refuse checks a matching candidate. The gate comes last because it may reserve what it grants.
func refuse(req *Request, gate Gate, table *ranker.Table, c index.Candidate) Reason {
	reason := unwanted(req, c)
	if reason == "" && gate != nil {
		return gate.Check(c.Campaign, valued(table, c.Campaign, c.EffectiveCPM))
	}
	return reason
}

// unwanted returns why the request itself rejects a candidate, or "".
func unwanted(req *Request, c index.Candidate) Reason {
	switch {
	case c.EffectiveCPM < req.FloorCPM:
		return BelowFloor
	case blocked(req, c.Campaign):
		return Blocked
	}
	return ""
}

// unmatched returns the reason of an auction without candidates. Only then do further searches check
// whether the debts of campaigns or the subjects of the conversation excluded all of them.
func unmatched(query *index.Query, snapshot *Snapshot, scratch *Scratch) Reason {
	found := func() bool {
		scratch.search.Start(snapshot, query)
		_, ok := scratch.search.Next()
		return ok
	}
	if snapshot.Bound() {
		if query.Bound = true; found() {
			return Unpaid
		}
	}
	if query.Subjects != 0 {
		if query.Subjects = 0; found() {
			return SensitiveSubject
		}
	}
	if scratch.search.Excluded() {
		return Irrelevant
	}
	return NoMatch
}

// won returns the outcome for the winner c. explorer is the campaign that explores in the auction,
// or nil.
func won(snapshot *Snapshot, c index.Candidate, found *index.Found, explorer *Campaign) Outcome {
	table := snapshot.Table()
	prediction := table.Predict(c.Campaign.Billing, c.Campaign.Bid, found.Signals)
	prediction.ModelVersion, prediction.Terms, prediction.Bid = snapshot.Model(), found.Terms, c.EffectiveCPM
	return Outcome{
		Explores:     c.Campaign == explorer,
		Winner:       c.Campaign,
		EffectiveCPM: c.EffectiveCPM,
		Price:        valued(&table, c.Campaign, c.EffectiveCPM).Price,
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

// within reports whether host is domain or one of its subdomains, ignoring case and a final dot.
func within(host, domain string) bool {
	host, domain = strings.TrimSuffix(host, "."), strings.TrimSuffix(domain, ".")
	cut := len(host) - len(domain)
	if domain == "" || cut < 0 || !strings.EqualFold(host[cut:], domain) {
		return false
	}
	return cut == 0 || host[cut-1] == '.'
}
