package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/stream"
	"adnet/internal/traffic"
)

// Batch holds the records of one poll: contiguous ranges of partitions, each in the order of
// offsets.
type Batch struct {
	Runs []Run
	// Idle lists partitions without new records. Their early events are due by At.
	Idle []stream.Partition
	// At is the time of applying (UTC). It is stored in rows and ends the waiting of early events of
	// Idle partitions.
	At time.Time
	// Prepaid limits cash campaigns to deposited balance (ADNET_PREPAID=required).
	Prepaid bool
	// MintCap is the number of Credits that a publisher may earn on a UTC day of receipt
	// (ADNET_MINT_DAILY_CAP) unless its account has its own cap; 0 means no cap.
	MintCap money.Credits
	// ConversionCap is the number of conversions that a campaign may be charged for per publisher
	// and hour of receipt (ADNET_CONVERSION_HOURLY_CAP); 0 means no cap.
	ConversionCap int64
	// NetworkClicks is the number of clicks of a network that a campaign may be charged for on a UTC
	// day of receipt (ADNET_CLICK_RATES); 0 means any number.
	NetworkClicks int64

	acts map[Acts]*ActsBook // of acts with cases
}

// Run holds the records of one range. Records[i] has offset First+i.
type Run struct {
	stream.Range
	Records []Record
}

// Record is one decoded record. A Poison record has only Raw and Problem.
type Record struct {
	Event   Event
	Problem string    // the reason why it could not be decoded; empty for a good record
	Raw     []byte    // stored in the dead-letter table if Problem is set, and with an early event
	Written time.Time // to the log, UTC

	early  bool // waits for the event that permits it, see [Batch.Screen]
	stored bool // was early in an earlier batch
	due    bool // with stored: its time is over
	held   bool // with early: waits for a decision about acts, see [ActsBook]
	waited bool // with stored: was held in an earlier batch
	again  bool // repeats an event that is held
}

// ErrFenced reports that another consumer moved a partition's offset: the batch must be dropped and
// the partition read again from the stored offset.
var ErrFenced = errors.New("partition is applied by another consumer")

// Tx is the transaction that applies a batch. [Settle] calls each method at most once, in this
// order. An error rolls everything back.
type Tx interface {
	// AdvanceOffsets moves every partition's offset from First to Next, or fails with [ErrFenced].
	AdvanceOffsets(ctx context.Context, ranges []stream.Range) error
	// Early returns the early events that the query selects, by ID, and locks them. While none is
	// stored it returns without a call of query or a round trip.
	Early(ctx context.Context, query func() EarlyQuery) ([]Early, error)
	// Acts returns what decides whether acts wait. Those without a case may be absent. While no case
	// about acts is open, and held reports that no recalled event was held, it returns without a call
	// of which or a round trip.
	Acts(ctx context.Context, held bool, which func() []Acts) (map[Acts]*ActsBook, error)
	// Recorded reports which of the auctions have a recorded event of a type: impressions and
	// clicks for [Batch.Screen]. An auction's events are in one partition, which
	// AdvanceOffsets locks, so the result stays valid until the transaction ends. It is called at
	// most once per type.
	Recorded(ctx context.Context, of EventType, auctions []uuid.UUID) (map[uuid.UUID]bool, error)
	// CountClicks adds to the clicks of networks, sorted, and returns the sums. Afterwards no other
	// transaction counts clicks of these networks until this one ends.
	CountClicks(ctx context.Context, clicks []NetworkClicks) (map[NetworkDay]int64, error)
	// Hold notes that events that Early returned wait for a decision about acts from now on.
	Hold(ctx context.Context, ids []int64) error
	// Judge moves events that Early returned to the next offsets of a partition of [EarlyStream],
	// in the order of ids, and claims these like AdvanceOffsets.
	Judge(ctx context.Context, number int32, ids []int64) (stream.Range, error)
	// MarkFirst records keys and reports for each whether it was new. A key that occurs twice in
	// the list is new only at its first position. A key from before the retention horizon is never
	// new. Nor is the key of an invalid event if its valid event ([EventType.Valid]) is recorded or
	// precedes it in the list.
	MarkFirst(ctx context.Context, keys []Key) ([]bool, error)
	// Books locks and reads the rows needed by the events of need. Afterwards no other transaction
	// can spend from, pause or fund these campaigns until this one ends.
	Books(ctx context.Context, need Need) (Books, error)
	// Write stores the effects.
	Write(ctx context.Context, e Effects) error
}

// Need lists the books that a batch touches. Lists are sorted and have no duplicates.
type Need struct {
	Campaigns []uuid.UUID
	Days      []day.Day // days on which spend is counted
	Prepaid   bool      // balances are needed

	Publishers  []uuid.UUID      // developers whose Credits or charged traffic the batch may change
	Conversions []ConversionHour // hours whose charged conversions count against the cap; sorted
}

// Books is the state that determines charges.
type Books struct {
	Campaigns map[uuid.UUID]*CampaignBook // unknown campaigns are absent
	Balances  map[uuid.UUID]money.Micros  // cash by advertiser, only with Need.Prepaid
	Horizon   day.Day                     // of retention, as applied by MarkFirst: earlier auctions have expired

	// Invalid has the auctions of the batch with an invalid impression recorded before it.
	Invalid map[uuid.UUID]bool
	// Converted has the auctions of the batch with a conversion charged before it.
	Converted map[uuid.UUID]bool

	Publishers  map[uuid.UUID]PublisherBook // by developer; an absent one never earned and has no cap of its own
	Conversions map[ConversionHour]int64    // charged before this batch
}

// CampaignBook holds a campaign's financial data.
type CampaignBook struct {
	AdvertiserID uuid.UUID
	// the publisher side of the oldest account of the advertiser's family (internal/account/family)
	DeveloperID  uuid.UUID
	BillingModel campaign.BillingModel
	Bid          money.Micros
	DailyBudget  money.Micros
	TotalBudget  money.Micros
	CreditFunded bool
	// ConversionType is the type of the conversions that it pays for; empty for the first of a click
	ConversionType string
	SpentTotal     money.Micros
	SpentOn        map[day.Day]money.Micros
	Inactive       []Interval
}

// Interval is a period in which a campaign was not active: From inclusive, To exclusive. If To is
// zero, the interval is open.
type Interval struct{ From, To time.Time }

// Covers reports whether t lies in the interval.
func (i Interval) Covers(t time.Time) bool {
	return !t.Before(i.From) && (i.To.IsZero() || t.Before(i.To))
}

// Effects holds everything that applying a batch writes. Lists are in a fixed order, so that stores
// lock rows in the same order everywhere.
type Effects struct {
	Applied      []AppliedRange
	Spend        []Spend            // by campaign id, then day
	Released     []reserve.Released // by campaign id, then minute
	Transactions []Transaction      // by kind, then subject
	Dead         []DeadLetter
	Early        []Early // to hold
	Converted    []Key   // marks of charged conversions, sorted
	At           time.Time

	Publishers  []traffic.PublisherDay // by developer, then day; sums to add
	HeldCharges []HeldCharge           // by case, campaign, then day
	Sources     []PublisherCharge      // by developer, day, then payer; sums to add
	CaseMints   []CaseMint             // by developer, then day; sums to add
	Conversions []ConversionCount      // by campaign, developer, then hour; numbers to add
}

// AppliedRange holds the verdicts of one or several consecutive ranges: Outcomes[i] belongs to
// offset First+i.
type AppliedRange struct {
	stream.Range
	Outcomes []Outcome
}

// Planned is a [stream.Plan] with settlement's verdicts on its offsets. The analytics store
// receives it as one block.
type Planned []AppliedRange

// Plan returns the ranges without the verdicts.
func (p Planned) Plan() stream.Plan {
	plan := make(stream.Plan, len(p))
	for i := range p {
		plan[i] = p[i].Range
	}
	return plan
}

// Spend is an amount added to a campaign's day and total.
type Spend struct {
	CampaignID uuid.UUID
	Day        day.Day
	Amount     money.Micros // > 0
}

// DeadLetter is a record that could not be decoded.
type DeadLetter struct {
	stream.Partition
	Offset  int64
	Problem string
	Raw     []byte
}

// Check is one guarantee compared on live stores: Got must equal Want.
type Check struct {
	Name      string `json:"name"`
	Want, Got int64
	Detail    string `json:"detail,omitempty"` // the first violations, if they differ
}

// OK reports whether the guarantee holds.
func (c Check) OK() bool { return c.Want == c.Got }
