package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/reserve"
	"adnet/internal/stream"
	"adnet/internal/traffic"
)

// Batch holds the records of one poll: whole runs of partitions, each record in the order of its
// offset.
type Batch struct {
	Runs []Run
	// At is when the batch is applied (UTC); it only dates rows.
	At time.Time
	// Prepaid says that cash campaigns may only spend deposited balance (ADNET_PREPAID=required).
	Prepaid bool
	// MintCap is the number of Credits that a publisher may earn on a UTC day of receipt
	// (ADNET_MINT_DAILY_CAP) unless its account has its own cap; 0 means no cap.
	MintCap money.Credits
	// ConversionCap is the number of conversions that a campaign may be charged for per publisher
	// and hour of receipt (ADNET_CONVERSION_HOURLY_CAP); 0 means no cap.
	ConversionCap int64
}

// Run is the records of one range. Records[i] has offset First+i.
type Run struct {
	stream.Range
	Records []Record
}

// Record is one decoded record. A Poison record has only Raw and Problem.
type Record struct {
	Event   Event
	Problem string // why it could not be decoded; empty for a good record
	Raw     []byte // kept in the dead-letter table when Problem is set
}

// ErrFenced says that another consumer moved a partition's offset: the batch must be dropped and
// the partition read again from the stored offset.
var ErrFenced = errors.New("partition is applied by another consumer")

// Tx is the one transaction that applies a batch. The methods are called in this order, once each;
// an error of any rolls all of it back.
type Tx interface {
	// AdvanceOffsets moves every partition's offset from First to Next, or fails with [ErrFenced].
	AdvanceOffsets(ctx context.Context, ranges []stream.Range) error
	// Recorded says which of the auctions have a recorded event of a type: impressions for
	// [Screen], clicks for [ScreenConversions]. An auction's events are in one partition, which
	// AdvanceOffsets locks, so the answer stays true until the transaction ends. It may be called
	// for each type once, or not at all.
	Recorded(ctx context.Context, of EventType, auctions []uuid.UUID) (map[uuid.UUID]bool, error)
	// MarkFirst records keys and says for each whether it was new. A key that occurs twice in the
	// list is new at its first place only; one from before the retention horizon never is, nor is
	// the key of an invalid event whose valid one ([EventType.Valid]) is recorded or stands before
	// it in the list.
	MarkFirst(ctx context.Context, keys []Key) ([]bool, error)
	// Books locks and reads the rows that the events of need depend on: after it returns no other
	// transaction can spend from, pause or fund these campaigns until this one ends.
	Books(ctx context.Context, need Need) (Books, error)
	// Write keeps the effects.
	Write(ctx context.Context, e Effects) error
}

// Need names the books that a batch touches. Lists are sorted and without repeats.
type Need struct {
	Campaigns []uuid.UUID
	Days      []day.Day // days that spend is counted on
	Prepaid   bool      // balances are needed

	Publishers  []uuid.UUID      // developers whose Credits or charged traffic the batch may move
	Conversions []ConversionHour // whose charged conversions count against the cap; sorted
}

// Books is the state that decides charges.
type Books struct {
	Campaigns map[uuid.UUID]*CampaignBook // unknown campaigns are absent
	Balances  map[uuid.UUID]money.Micros  // cash by advertiser, only with Need.Prepaid
	Horizon   day.Day                     // of retention, as MarkFirst obeyed it: earlier auctions have expired

	// Invalid has the auctions of the batch of which an invalid impression was recorded before it.
	Invalid map[uuid.UUID]bool

	Publishers  map[uuid.UUID]PublisherBook // by developer; an absent one never earned and has no limit of its own
	Conversions map[ConversionHour]int64    // charged before this batch
}

// CampaignBook is a campaign as money sees it.
type CampaignBook struct {
	AdvertiserID uuid.UUID
	// the publisher side of the advertiser's own account; of a seat's owner, where the seat
	// advertises
	DeveloperID  uuid.UUID
	BillingModel campaign.BillingModel
	Bid          money.Micros
	DailyBudget  money.Micros
	TotalBudget  money.Micros
	CreditFunded bool
	SpentTotal   money.Micros
	SpentOn      map[day.Day]money.Micros
	Inactive     []Interval
}

// Interval is a time in which a campaign was not active: From included, To excluded; a zero To is
// open.
type Interval struct{ From, To time.Time }

// Covers says whether t lies in the interval.
func (i Interval) Covers(t time.Time) bool {
	return !t.Before(i.From) && (i.To.IsZero() || t.Before(i.To))
}

// Effects is everything that applying a batch writes, decided and complete. Lists are in a fixed
// order, so that stores lock rows in the same order everywhere.
type Effects struct {
	Applied      []AppliedRange
	Spend        []Spend            // by campaign id, then day
	Released     []reserve.Released // by campaign id, then minute
	Transactions []Transaction      // by kind, then subject
	Dead         []DeadLetter
	At           time.Time

	Publishers  []traffic.PublisherDay // by developer, then day; sums to add
	HeldCharges []HeldCharge           // by case, campaign, then day
	Sources     []PublisherCharge      // by developer, day, then payer; sums to add
	CaseMints   []CaseMint             // by developer, then day; sums to add
	Conversions []ConversionCount      // by campaign, developer, then hour; numbers to add
}

// AppliedRange is the verdicts of a range, or of several that follow each other: Outcomes[i]
// belongs to offset First+i.
type AppliedRange struct {
	stream.Range
	Outcomes []Outcome
}

// Planned is a [stream.Plan] with settlement's verdicts on its offsets, which the analytics store
// receives as one block.
type Planned []AppliedRange

// Plan is the ranges alone.
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

// Check is one promise compared on live stores: Got must equal Want.
type Check struct {
	Name      string `json:"name"`
	Want, Got int64
	Detail    string `json:"detail,omitempty"` // the first offenders, when they differ
}

// OK says whether the promise holds.
func (c Check) OK() bool { return c.Want == c.Got }
