package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// Auction is the outcome of one auction in the analytics store. Auctions are best effort: they
// explain fill and prices, and no money depends on them. At is UTC.
type Auction struct {
	AuctionID         uuid.UUID
	At                time.Time
	DeveloperID       uuid.UUID
	CampaignID        uuid.UUID    // zero when nothing won
	HouseID           uuid.UUID    // the house ad shown when nothing won; zero for none
	Reason            string       // why nothing won, from the closed list of no-fill reasons; empty on a fill
	Price             money.Micros // paid by the winner per billed unit of its model
	ECPM              money.Micros // the winner's effective price of 1,000 impressions
	Format            string       // the requested format
	CreativeFormat    string       // of the winner; empty when nothing won
	IntegrationMethod string
	Surface           string
	Region            string
	Language          string
	HostApp           string
	Sandbox           bool
	Took              time.Duration // of the decision, without the HTTP exchange

	Tokens, Tools  int64        // counts of the request
	Floor          money.Micros // lowest accepted effective price of 1,000 impressions
	Candidates     []Candidate  // the best ones, best first, at most 10
	MoreCandidates bool         // further candidates may exist
	ModelVersion   string       // of the deciding tables
	Explores       bool         // the winner won as a new campaign that explores

	// Suitability is the subject for which the auction was refused, and SuitabilityBy the deciding
	// rule. The first is empty if an earlier turn of the session was refused. Both are empty for
	// other auctions.
	Suitability, SuitabilityBy string
	AgeAdult                   bool // the publisher reported an adult reader

	Consent string // result of the reader's consent signals; never their texts

	Outcome Outcome // training data of the auction
}

// RefusalReasons are the reasons of auctions that did not take place because of their conversation.
var RefusalReasons = []string{Unsuitable, Sensitive}

// Refused reports whether the auction did not take place because of its conversation: it is no
// request that a campaign could have won.
func (a *Auction) Refused() bool { return slices.Contains(RefusalReasons, a.Reason) }

// Outcome is the training data of a won auction for the ranking. It is stored apart from the
// auction, and includes only terms that enough people used.
type Outcome struct {
	Terms       []uint32 // ids of the request's terms that campaigns use, ascending, at most 32
	SessionMark int64    // counts sessions and is not stored; 0 without one
	PClick      int64    // prediction for the winner by the deciding weights, ppm; 0: no training data
	TrialPClick int64    // by the weights on trial, ppm; 0 while none are
	Weights     int64    // version of the deciding learnt weights; 0 for none
}

// DemandQuery selects the requests of one publisher, or All. Since and Until are UTC days, both
// included.
type DemandQuery struct {
	DeveloperID  uuid.UUID
	All          bool // of every publisher, regardless of DeveloperID
	Since, Until day.Day
	Breakdown    Breakdown // one of [DemandBreakdowns]; empty: none
	Then         Breakdown // splits the groups of Breakdown once more; empty: none
}

// The maximum number of groups of requests, those with the most requests. The others are one group,
// [OthersKey]. Days alone are bounded by the range.
const (
	MaxDemandGroups = 200
	MaxDemandPairs  = MaxGroups // of two breakdowns
)

// Most returns the maximum number of groups of q, 0 without a limit.
func (q *DemandQuery) Most() int {
	switch {
	case q.Then != "":
		return MaxDemandPairs
	case q.Breakdown == ByDay:
		return 0
	}
	return MaxDemandGroups
}

// Check returns nil if the store answers q. Errors: errs.InvalidRequest with the field.
func (q *DemandQuery) Check() error { return checkBreakdowns(q.Breakdown, q.Then, DemandBreakdowns) }

// Demand counts publishers' requests of some days, as far as auctions were recorded, without
// sandbox keys and refused requests: [Refusals] holds those, and no total may reveal them.
type Demand struct {
	Outcomes map[string]int64 // by the reason for no ad; empty for an ad
	Last     time.Time        // UTC; zero without any
	// Groups holds the values of the query's breakdown, by [DemandQuery.Sort], at most
	// [DemandQuery.Most], and a last group [OthersKey] if there are more.
	Groups []DemandGroup
}

// Limit keeps the first sorted groups of d, the answer to q, and adds the other requests as one last
// group, unless there are none.
func (d *Demand) Limit(q *DemandQuery) {
	most := q.Most()
	if most == 0 || len(d.Groups) < most {
		return
	}
	d.Groups = d.Groups[:most:most]
	others := DemandGroup{Key: OthersKey, Filled: d.Outcomes[""]}
	if q.Then != "" {
		others.Then = OthersKey
	}
	for _, n := range d.Outcomes {
		others.Requests += n
	}
	for _, g := range d.Groups {
		others.Requests -= g.Requests
		others.Filled -= g.Filled
	}
	if others.Requests > 0 { // the store may have counted the groups later than the totals
		others.Filled = max(others.Filled, 0)
		d.Groups = append(d.Groups, others)
	}
}

// DemandGroup counts the requests of one value of a breakdown, or of one pair of values.
type DemandGroup struct {
	Key, Then        string
	Requests, Filled int64
}

// Sort sorts the groups of q: days alone by time, others by requests, then by their keys.
func (q *DemandQuery) Sort(groups []DemandGroup) {
	byTime := q.Breakdown == ByDay && q.Then == ""
	slices.SortFunc(groups, func(g, o DemandGroup) int {
		if byTime {
			return strings.Compare(g.Key, o.Key)
		}
		return cmp.Or(
			cmp.Compare(o.Requests, g.Requests), strings.Compare(g.Key, o.Key), strings.Compare(g.Then, o.Then),
		)
	})
}

// Candidate is a campaign that took part in an auction.
type Candidate struct {
	CampaignID uuid.UUID
	ECPM       money.Micros // its effective price of 1,000 impressions
	Reason     string       // reason for losing; empty for the winner
}

// Delivery is the outcome of one campaign in the auctions of a period, as far as it was among the
// recorded candidates.
type Delivery struct {
	Auctions  int64            // all auctions
	Truncated int64            // auctions with unrecorded candidates
	Outcomes  map[string]int64 // of the campaign, by reason; "" is won
}

// MoreCandidates counts auctions with unrecorded candidates, beside the reasons of the recorded
// ones, for [Delivery].
const MoreCandidates = "more_candidates"

// Notice is an exchange's message about one bid in the analytics store. Of repeated notices of one
// kind about a bid any one may remain. Notices are best effort, and no money depends on them. At is
// UTC.
type Notice struct {
	AuctionID    uuid.UUID // of the bid
	At           time.Time
	Kind         string // win, loss, bill or error
	Proof        string // signed, unsigned or bad_signature
	CampaignID   uuid.UUID
	DeveloperID  uuid.UUID    // the seat
	ImpressionID string       // the exchange's imp.id
	Price        money.Micros // clearing price of 1,000 impressions; 0 when unknown
	Reason       int64        // OpenRTB loss reason or VAST error code; -1 without one
	Sandbox      bool
}

// Seen counts a publisher's impressions of a day and the viewed ones, in placements that can report
// views. Both are valid and accepted for billing, and each auction counts once.
type Seen struct {
	DeveloperID        uuid.UUID
	Impressions, Views int64
}

// Impression is a served impression as training data: valid, accepted for billing, without a
// session and without the id of its click.
type Impression struct {
	Day         time.Time
	CampaignID  uuid.UUID
	Advertiser  uuid.UUID
	DeveloperID uuid.UUID
	Place       uint32   // a hash of host app, surface and integration method
	Terms       []uint32 // ids, ascending; each used by enough people in its month
	Clicked     bool     // a valid click, accepted for billing, followed
	Converted   bool     // of a click: a valid conversion followed it
	PaysCPA     bool     // its campaign pays for conversions
	Network     int64    // marks the click's network on this campaign and day
	PClick      int64    // prediction of the deciding weights, ppm
	TrialPClick int64    // prediction of the weights on trial, ppm; 0 for none
	Weights     int64    // version of the deciding weights
}
