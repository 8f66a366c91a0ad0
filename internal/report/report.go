// Package report defines the analytics row of an event, and the query and result of stats.
package report

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Row is one decided event in the analytics store. Times are UTC.
type Row struct {
	EventID           uuid.UUID
	ReceivedAt        time.Time
	Type              ledger.EventType
	Verdict           ledger.Verdict
	Price             money.Micros // of the billed unit, agreed at the auction
	Charge            money.Micros // at most Price; less where a budget or balance ended
	Minted            money.Credits
	Credit            ledger.CreditNote // what became of the Credit
	AuctionID         uuid.UUID
	CampaignID        uuid.UUID
	AdvertiserID      uuid.UUID
	DeveloperID       uuid.UUID
	BillingModel      string
	Format            string
	IntegrationMethod string
	Surface           string
	Region            string
	Language          string
	HostApp           string
	Session           string
	ConversionType    string
	ConversionValue   money.Micros
	Currency          string
	ExternalID        string
	NetworkMark       int64 // of a click: token.Keyring.Network and 1; 0 when unknown
}

// Type is the view of a stats query.
type Type string

// The views of the specification.
const (
	Overview  Type = "overview"  // all campaigns of an advertiser; every campaign for an admin
	Campaign  Type = "campaign"  // one campaign
	Developer Type = "developer" // one publisher
)

// Query selects events. Nil UUIDs select every advertiser, campaign or developer. Since and Until
// are days, both included.
type Query struct {
	AdvertiserID uuid.UUID
	CampaignID   uuid.UUID
	DeveloperID  uuid.UUID
	Since, Until day.Day
	Breakdown    Breakdown // empty: none
	Then         Breakdown // splits the groups of Breakdown once more; empty: none
	// AllGroups selects every group, for jobs that need each campaign or publisher. Answers to
	// callers are limited.
	AllGroups bool
	// Families, if not empty, selects the events of the advertisers of a family at publishers of
	// the same family. An account is in one family. At most [MaxRelatives] ids.
	Families []Relatives
}

// Relatives are accounts of one family: advertisers, and publishers by their developer ids.
type Relatives struct{ Advertisers, Developers []uuid.UUID }

// MaxRelatives is the maximum number of ids in the families of a query.
const MaxRelatives = 2000

// MaxConversionValue is the largest value that a conversion may state, 1 million of its currency.
const MaxConversionValue = 1_000_000 * money.USD

// Counts counts unique events. Its first block counts events whose verdict confirms that they
// happened once; it excludes duplicates and forged, expired, unsigned, unverified, sandbox, house
// and invalid events.
type Counts struct {
	Events        // verdicts ok, paused, over_budget, over_balance, conversion_cap, self_served
	Spend         money.Micros
	Credits       money.Credits // minted
	Billed        int64         // events with a charge
	ConversionUSD money.Micros  // value of conversions stated in USD

	Duplicates int64
	Rejected   int64 // forged, expired, unsigned, unknown campaign
	Sandbox    int64
	Invalid    int64 // invalid traffic
	Unverified int64 // conversions without a report of their advertiser or a valid click
}

// Group holds the counts of one value of a breakdown or of one day.
type Group struct {
	Key  string // of the breakdown: an id, a name, a day as 2006-01-02, or an hour as RFC 3339
	Then string // of the second breakdown
	Counts
}

// Result answers a query.
type Result struct {
	Counts         // over the whole range
	Daily  []Group // one per day of the range that has events, ascending
	Groups []Group // of the breakdown, by [Query.Sort]; nil without one
	// Traffic counts the events that were not paid for or earned nothing, over the whole range, by
	// reason: the rules of traffic.InvalidRules, and [TrafficHouse], [TrafficSelfServed],
	// [TrafficCapped] and [TrafficHeld].
	Traffic []Traffic
	// AsOf is the time up to which events are included: all received before it are counted.
	AsOf time.Time
}

// The reasons of [Traffic] besides the rules of invalid traffic.
const (
	TrafficHouse      = "house"       // a house ad: neither charged nor minted, and not in Counts.Events
	TrafficSelfServed = "self_served" // a publisher's own campaign: neither charged nor minted
	TrafficCapped     = "mint_capped" // charged; nothing minted because of the daily mint cap
	TrafficHeld       = "mint_held"   // charged; the Credit is held by a quarantine
)

// Traffic counts the events of one reason.
type Traffic struct {
	Reason      string
	Impressions int64
	Clicks      int64
	Other       int64
}

// TrafficReason returns the reason of an event; empty for a normal one.
func TrafficReason(v ledger.Verdict, note ledger.CreditNote) string {
	rule, invalid := strings.CutPrefix(string(v), string(ledger.InvalidTraffic))
	switch {
	case invalid:
		return rule
	case v == ledger.VerdictHouse:
		return TrafficHouse
	case v == ledger.SelfServed:
		return TrafficSelfServed
	case note == ledger.CreditCapped:
		return TrafficCapped
	case note == ledger.CreditHeld:
		return TrafficHeld
	}
	return ""
}
