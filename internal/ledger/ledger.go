package ledger

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/schemas/event"
)

// Asset is the unit of an entry.
type Asset string

// The assets. They are never mixed in a sum.
const (
	USD    Asset = "USD"    // micro-USD
	Credit Asset = "CREDIT" // whole Credits
)

// Account is the name of one side of an entry. Balances are the sums of entries: an advertiser's
// cash is positive when deposited and negative when owed.
type Account string

// The accounts of the house. A house account is the opposite side of every movement.
const (
	Revenue       Account = "house:revenue"        // USD earned from charges
	CreditFunding Account = "house:credit_funding" // USD of charges that Credits funded at creation
	Deposits      Account = "house:deposits"       // USD received from payment providers
	Mint          Account = "house:mint"           // Credits issued (negative)
	CreditSpent   Account = "house:credit_spent"   // Credits spent on campaign budget
)

// AdvertiserCash returns the USD account of an advertiser.
func AdvertiserCash(id uuid.UUID) Account { return Account("advertiser:" + id.String()) }

// DeveloperCredits returns the CREDIT account of a publisher's spendable Credits. It is below zero
// if the publisher spent Credits that were later taken back.
func DeveloperCredits(id uuid.UUID) Account { return Account("developer:" + id.String()) }

// Entry is one leg of a transaction.
type Entry struct {
	Account Account
	Asset   Asset
	Amount  int64 // micro-USD or Credits; positive raises the account's balance
}

// Kind is the kind of a transaction.
type Kind string

// The kinds of transactions.
const (
	KindCharge     Kind = "charge"      // unique billable events of one campaign in one batch
	KindMint       Kind = "mint"        // valid unique impressions of one publisher in one batch
	KindCreditFund Kind = "credit_fund" // Credits deducted for a campaign's budget
)

// Transaction is a balanced set of entries, written in full or not at all.
type Transaction struct {
	ID   uuid.UUID
	Kind Kind
	// Ref is the cause: "<stream>/<partition>:<first>-<next>" for batches, a campaign id for
	// funding, "<provider>:<payment>" for deposits.
	Ref     string
	Subject uuid.UUID // the charged campaign, the minting developer or the paying advertiser
	At      time.Time
	Entries []Entry
	// Reverses is the transaction that this one reverses, in part or in full. It is zero except for
	// refunds and claw-backs. A claw-back can reverse many: this is the first one, and [Reversal]
	// lists each.
	Reverses uuid.UUID
}

// EventType is the kind of an ad's event.
type EventType string

// The event types that rules name. The table of all is in schemas/event.
const (
	Impression    EventType = "impression"
	Click         EventType = "click"
	Close         EventType = "close"
	Skip          EventType = "skip"
	VideoComplete EventType = "video_complete"
	Conversion    EventType = "conversion"
	Viewable      EventType = "viewable" // a view as defined by the MRC; costs and earns with [campaign.VCPM] only
)

// TypeOf returns the event type of a record of the log. It reports false for an unknown number.
func TypeOf(t event.Type) (EventType, bool) {
	name := t.Name()
	return EventType(name), name != ""
}

// invalidPrefix is the prefix of the key type of an invalid event.
const invalidPrefix = "invalid_"

// Invalid returns the type that deduplicates an invalid event of type t.
func (t EventType) Invalid() EventType { return invalidPrefix + t }

// Valid returns the type whose valid event makes an invalid event with key type t a repeat. It
// returns false if t is not the key type of invalid traffic.
func (t EventType) Valid() (EventType, bool) {
	valid, is := strings.CutPrefix(string(t), invalidPrefix)
	return EventType(valid), is
}

// Proof is the result of ingress's check of an event's token.
type Proof string

// The proofs. Only [Signed] and [UnsignedBillable] events can cost or earn anything.
const (
	Signed           Proof = "signed"            // valid token within its lifetime
	Expired          Proof = "expired"           // valid token after its lifetime
	Unsigned         Proof = "unsigned"          // no token
	UnsignedBillable Proof = "unsigned_billable" // no token, ADNET_UNSIGNED_BEACONS=bill: priced by the campaign
	BadSignature     Proof = "bad_signature"     // token not issued by us, or modified
	Unverified       Proof = "unverified"        // a conversion without its advertiser's confirmation or a valid click
)

// Event is one record of the events topic as used by settlement. All fields except the caller's
// conversion details come from the signed token, or, for unsigned events, from the campaign.
type Event struct {
	Type         EventType
	Proof        Proof
	ReceivedAt   time.Time // ingress clock, UTC
	AuctionID    uuid.UUID // UUIDv7; for UnsignedBillable a hash of (campaign, dev, session)
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	DeveloperID  uuid.UUID    // zero if the publisher is unknown
	Price        money.Micros // per billed unit of BillingModel; ignored for UnsignedBillable
	BillingModel campaign.BillingModel
	Sandbox      bool
	House        bool // of a house ad: a publisher's own campaign where nothing else was sold
	Browser      bool // of an ad requested with a browser key
	FromReader   bool // sent by a reader's device, as far as the request shows
	// NetworkMark, of a click, is the mark of its network on the campaign and day; 0 when unknown
	NetworkMark int32
	Reported    bool // of a click: the publisher's server reported it
	// InvalidTraffic is the rule that found the event invalid; empty for valid traffic.
	InvalidTraffic string
	Goal           *Goal // of a conversion; nil without a type and an external id
}

// Key identifies an event for deduplication, without time limit: one per auction and event type, of
// conversions one per auction and [Goal].
type Key struct {
	Day     day.Day // the UTC day inside the auction id, so that an auction always uses the same unique index
	Auction uuid.UUID
	Type    EventType
}

// unverifiedSuffix is the suffix of the key type of an unverified conversion.
const unverifiedSuffix = "_unverified"

// Unverified returns the type that deduplicates an unverified conversion whose verified one has the
// key type t.
func (t EventType) Unverified() EventType { return t + unverifiedSuffix }

// Key returns the event's deduplication key. Keys of invalid traffic and of unverified conversions
// differ from the valid event's key, so that they never use it up.
func (e *Event) Key() Key {
	k := Key{Day: day.OfUUID(e.AuctionID), Auction: e.AuctionID, Type: e.Type}
	if e.InvalidTraffic != "" {
		k.Type = e.Type.Invalid()
		return k
	}
	switch {
	case e.Type == Conversion && e.Goal != nil && e.Proof == Unverified:
		k.Type = UnverifiedKey(e.Goal.Type, e.Goal.External)
	case e.Type == Conversion && e.Goal != nil:
		k.Type = ConversionKey(e.Goal.Type, e.Goal.External)
	case e.Proof == Unverified:
		k.Type = k.Type.Unverified()
	}
	return k
}

// Verdict is settlement's decision about a record. Every record of the events topic gets exactly
// one; for an early one ([VerdictEarly]) it is not the final one.
type Verdict string

// The verdicts, a closed list ([Verdicts]). Invalid traffic has "invalid_traffic:" plus the rule's
// name.
const (
	OK                Verdict = "ok"
	Duplicate         Verdict = "duplicate"
	VerdictExpired    Verdict = "expired"
	VerdictUnsigned   Verdict = "unsigned"
	VerdictForged     Verdict = "bad_signature"
	VerdictUnverified Verdict = "unverified" // an unverified conversion: never charged
	VerdictPaused     Verdict = "paused"     // received while the campaign was not active: stored, never charged
	OverBudget        Verdict = "over_budget"
	OverBalance       Verdict = "over_balance"
	// ConversionCapped: the hour's charged conversions reached the cap; recorded, not charged
	ConversionCapped Verdict = "conversion_cap"
	VerdictSandbox   Verdict = "sandbox"
	SelfServed       Verdict = "self_served"
	VerdictHouse     Verdict = "house" // of a house ad: recorded, never charged, in no count of impressions
	UnknownCampaign  Verdict = "unknown_campaign"
	// VerdictEarly: it waits for the event that permits it; its verdict follows in [EarlyStream]
	VerdictEarly   Verdict = "early"
	Poison         Verdict = "poison" // cannot be decoded; stored in the dead-letter table
	InvalidTraffic Verdict = "invalid_traffic:"
)

// Verdicts lists all verdicts but [InvalidTraffic], which is many.
var Verdicts = []Verdict{
	OK, Duplicate, VerdictExpired, VerdictUnsigned, VerdictForged, VerdictUnverified, VerdictPaused, OverBudget,
	OverBalance, ConversionCapped, VerdictSandbox, SelfServed, VerdictHouse, UnknownCampaign, VerdictEarly, Poison,
}

// Outcome is the verdict on one record and its effects.
type Outcome struct {
	Verdict Verdict
	Charge  money.Micros  // paid by the advertiser
	Minted  money.Credits // for the publisher, pending until backed by charges
	Credit  CreditNote    // the destination of the Credit, unless it simply went to the publisher
}
