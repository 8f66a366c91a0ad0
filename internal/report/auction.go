package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// Auction is the outcome of one auction as the analytics store keeps it. Auctions are best effort:
// they explain fill and prices, and no money depends on them. At is UTC.
type Auction struct {
	AuctionID         uuid.UUID
	At                time.Time
	DeveloperID       uuid.UUID
	CampaignID        uuid.UUID    // zero when nothing won
	HouseID           uuid.UUID    // of the house ad that was shown as nothing won; zero for none
	Reason            string       // why nothing won, from the closed list of no-fill reasons; empty on a fill
	Price             money.Micros // paid by the winner per billed unit of its model
	ECPM              money.Micros // the winner's effective price of 1,000 impressions
	Format            string       // that was asked for
	CreativeFormat    string       // of the winner; empty when nothing won
	IntegrationMethod string
	Surface           string
	Region            string
	Language          string
	HostApp           string
	Sandbox           bool
	Took              time.Duration // of the decision, without the HTTP exchange

	Tokens, Tools  int64        // counts of the request
	Floor          money.Micros // least effective price of 1,000 impressions that was accepted
	Candidates     []Candidate  // the best ones, best first, at most 10
	MoreCandidates bool         // there may have been others behind them
	ModelVersion   string       // of the tables that decided; empty in records of earlier versions
	Explores       bool         // the winner won as a new campaign that explores

	// Suitability is the subject for which the auction was refused, and SuitabilityBy what decided;
	// the first is empty where an earlier turn of the session was refused, both are for other
	// auctions.
	Suitability, SuitabilityBy string
	AgeAdult                   bool // the publisher said that the reader is an adult

	Consent string // what the signals of the reader's consent said; never their texts

	Outcome Outcome // what can be learnt from it
}

// RefusalReasons are the reasons of auctions that did not take place because of their conversation.
var RefusalReasons = []string{Unsuitable, Sensitive}

// Refused reports whether the auction did not take place because of its conversation: it is no
// request that a campaign could have won.
func (a *Auction) Refused() bool { return slices.Contains(RefusalReasons, a.Reason) }

// Outcome is what ranking may learn from an auction that an ad won. It is stored apart from the
// auction, and of its terms only those that enough people used.
type Outcome struct {
	Terms       []uint32 // ids of terms of the request that campaigns say, ascending, at most 32
	SessionMark int64    // counts sessions and is not stored; 0 without one
	PClick      int64    // of the winner by what decided, ppm; 0: nothing is learnt from it
	TrialPClick int64    // by the weights on trial, ppm; 0 while none are
	Weights     int64    // the version of the learnt weights that decided; 0 for none
}

// AskedQuery selects the requests of one publisher, or All. Since and Until are UTC days, both
// included.
type AskedQuery struct {
	DeveloperID  uuid.UUID
	All          bool // of every publisher, whatever DeveloperID says
	Since, Until day.Day
	Breakdown    Breakdown // one of [AskedBreakdowns]; empty: none
}

// AskedBreakdowns are what requests can be split by: what a publisher says of the place of an ad.
var AskedBreakdowns = []string{string(BySurface), string(ByHostApp), string(ByIntegrationMethod), string(ByFormat)}

// MaxAskedGroups is how many values of a breakdown are told apart, those with the most requests. A
// publisher chooses the names of host apps freely; the totals count all.
const MaxAskedGroups = 200

// Check says whether the store answers q. Errors: errs.InvalidRequest with the field.
func (q *AskedQuery) Check() error {
	if q.Breakdown != "" && !slices.Contains(AskedBreakdowns, string(q.Breakdown)) {
		return errs.New(
			errs.InvalidRequest, "breakdown must be one of %s", strings.Join(AskedBreakdowns, ", "),
		).With("field", "breakdown")
	}
	return nil
}

// Asked counts what publishers asked for in some days, as far as auctions were recorded, without
// sandbox keys and without refused requests: those [Refusals] tells, which no total may give away.
type Asked struct {
	Outcomes map[string]int64 // by why there was no ad; empty for an ad
	Last     time.Time        // UTC; zero without any
	// Groups are those of the query's breakdown, by [AskedGroup.Compare], at most [MaxAskedGroups].
	Groups []AskedGroup
}

// AskedGroup is the requests of one value of a breakdown.
type AskedGroup struct {
	Key              string
	Requests, Filled int64
}

// Compare is the order of groups: more requests first, then by key.
func (g AskedGroup) Compare(o AskedGroup) int {
	return cmp.Or(cmp.Compare(o.Requests, g.Requests), strings.Compare(g.Key, o.Key))
}

// Candidate is a campaign that took part in an auction.
type Candidate struct {
	CampaignID uuid.UUID
	ECPM       money.Micros // its effective price of 1,000 impressions
	Reason     string       // why it did not win; empty for the winner
}

// Delivery is the outcome of one campaign in the auctions of some time, as far as it was among the
// recorded candidates.
type Delivery struct {
	Auctions  int64            // all auctions
	Truncated int64            // those with candidates that are not recorded
	Outcomes  map[string]int64 // of the campaign, by reason; "" is won
}

// MoreCandidates counts auctions with candidates that are not recorded, beside the reasons of those
// that are, for [Delivery].
const MoreCandidates = "more_candidates"

// Notice is an exchange's message about one bid, as the analytics store keeps it: of several of one
// kind about one bid any one may stay. Notices are best effort, and no money depends on them. At is
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
	Reason       int64        // OpenRTB loss reason or VAST error code; -1 when none was given
	Sandbox      bool
}

// Seen is how many of a publisher's impressions of a day were viewed, in places where a view can be
// reported. Both are valid and accepted for billing, and of an auction each counts once.
type Seen struct {
	DeveloperID        uuid.UUID
	Impressions, Views int64
}

// Impression is a served impression as ranking learns from it: valid, accepted for billing, without
// a session and without the id of its click.
type Impression struct {
	Day         time.Time
	CampaignID  uuid.UUID
	Advertiser  uuid.UUID
	DeveloperID uuid.UUID
	Place       uint32   // a hash of host app, surface and integration method
	Terms       []uint32 // ids, ascending; each known to enough people in its month
	Clicked     bool     // a valid click, accepted for billing, followed
	Converted   bool     // of a click: a valid conversion followed it
	PaysCPA     bool     // its campaign pays for conversions
	Network     int64    // marks the click's network on this campaign and day
	PClick      int64    // foretold by what decided, ppm
	TrialPClick int64    // foretold by the weights on trial, ppm; 0 for none
	Weights     int64    // the version that decided
}
