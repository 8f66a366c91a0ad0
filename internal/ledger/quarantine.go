package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// The kinds of transactions that end a quarantine. Their ref is the case. A claw-back and a refund
// list the rows that they reverse: [Reversal]. A release moves the Credits in the account of the
// case ([HeldCredits]) and does not reverse the held mints.
const (
	KindMintRelease   Kind = "mint_release"   // held Credits made pending, as if minted there
	KindMintClawback  Kind = "mint_clawback"  // held Credits destroyed
	KindTrafficRefund Kind = "traffic_refund" // refund of a campaign's charges for clawed-back traffic
)

// Quarantine is a case: from OpenedAt to DecidedAt everything that the publisher minted was held.
type Quarantine struct {
	ID          uuid.UUID
	DeveloperID uuid.UUID
	Evidence    traffic.Evidence
	OpenedAt    time.Time

	Held    money.Credits // minted since, regardless of the decision
	Charged money.Micros  // charged to advertisers for the traffic during the case

	Decision  QuarantineDecision // empty while open
	DecidedAt time.Time
	DecidedBy uuid.UUID // the administrator
	Note      string    // the administrator's reason
}

// OfActs reports whether the case is about the acts of one campaign at the publisher: these wait for
// the decision, a release settles and a claw-back rejects them. No Credit is held.
func (c *Quarantine) OfActs() bool { return c.Evidence.Campaign != uuid.Nil }

// QuarantineQuery selects cases, newest first.
type QuarantineQuery struct {
	Developer uuid.UUID // zero for all
	Open      bool      // only cases without a decision
	Since     time.Time // opened then or later
	Limit     int       // ≥ 1
}

// QuarantineDecision is the decision that ends a case.
type QuarantineDecision string

// The decisions.
const (
	QuarantineRelease  QuarantineDecision = "release"
	QuarantineClawback QuarantineDecision = "clawback"
)

// QuarantineVerdict is an administrator's decision about a case.
type QuarantineVerdict struct {
	Case     uuid.UUID
	Decision QuarantineDecision
	By       uuid.UUID
	Note     string
	At       time.Time
}

// Repeats reports whether v repeats the decision already made, so that there is nothing to do.
// Errors: errs.Conflict if the case has a different decision, errs.InvalidRequest for an unknown
// decision.
func (v QuarantineVerdict) Repeats(c Quarantine) (bool, error) {
	switch {
	case v.Decision != QuarantineRelease && v.Decision != QuarantineClawback:
		return false, errs.New(errs.InvalidRequest, "decision must be release or clawback").With("field", "decision")
	case c.Decision == "":
		return false, nil
	case c.Decision != v.Decision:
		return false, errs.New(errs.Conflict, "the case was already ended by %s", c.Decision)
	}
	return true, nil
}

// RefundableCharge is the cost of a case's traffic to a campaign on a day, with its payer. Charge
// is its first transaction.
type RefundableCharge struct {
	HeldCharge
	AdvertiserID uuid.UUID
	CreditFunded bool
}

// Reversal is a part of a transaction that another transaction reverses.
type Reversal struct {
	Transaction uuid.UUID
	Reverses    uuid.UUID
	Amount      int64 // micro-USD or Credits, > 0
}

// QuarantineBooks holds the amounts that a decision moves.
type QuarantineBooks struct {
	FirstMint uuid.UUID          // the first transaction that minted into the case's account; zero without one
	Charges   []RefundableCharge // one per campaign and day
}

// EndQuarantine returns the transactions that carry out a decision, in a fixed order. A release
// makes the held Credits pending; charges then release them like all others. A claw-back destroys
// them and returns the cost of the traffic to the account that paid it: the advertiser's cash, or
// the house's Credit funding. The store also reopens the budgets: refunded amounts count as unspent
// in the campaign's total and on the charged day.
func EndQuarantine(c Quarantine, v QuarantineVerdict, b QuarantineBooks) []Transaction {
	var written []Transaction
	ref := c.ID.String()
	if c.Held > 0 {
		t := transfer{kind: KindMintRelease, ref: ref, subject: c.DeveloperID, at: v.At, asset: Credit,
			from: HeldCredits(c.ID), to: PendingCredits(c.DeveloperID), amount: int64(c.Held)}
		if v.Decision == QuarantineClawback {
			t.kind, t.to, t.reverses = KindMintClawback, Mint, b.FirstMint
		}
		written = append(written, newTransfer(t))
	}
	if v.Decision != QuarantineClawback {
		return written
	}
	charges := slices.Clone(b.Charges)
	slices.SortStableFunc(charges, func(a, b RefundableCharge) int {
		return cmp.Or(cmp.Compare(a.CampaignID.String(), b.CampaignID.String()), cmp.Compare(a.Day, b.Day))
	})
	for len(charges) > 0 {
		first, payer := charges[0], AdvertiserCash(charges[0].AdvertiserID)
		if first.CreditFunded {
			payer = CreditFunding
		}
		t := transfer{
			kind: KindTrafficRefund, ref: ref, subject: first.CampaignID, at: v.At, asset: USD, from: Revenue,
			to: payer,
		}
		for len(charges) > 0 && charges[0].CampaignID == first.CampaignID {
			if t.amount += int64(charges[0].Amount); t.reverses == uuid.Nil {
				t.reverses = charges[0].Charge
			}
			charges = charges[1:]
		}
		written = append(written, newTransfer(t))
	}
	return written
}

// QuarantineID returns the id of the case opened for a publisher's day. It is the same on every
// node for the same publisher, day and number of earlier cases.
func QuarantineID(developer uuid.UUID, date day.Day, before int) uuid.UUID {
	return TransactionID("quarantine", date.String()+"#"+strconv.Itoa(before), developer)
}

// Answered reports whether a case of a publisher makes a further one for the evidence needless: it
// is open, an administrator released it within the days of the evidence, or released one of
// [traffic.QuarantineReaders]: that approval is for ever.
func (c *Quarantine) Answered(e traffic.Evidence) bool {
	if c.Evidence.Campaign != e.Campaign {
		return false
	}
	if c.Decision != QuarantineRelease {
		return c.Decision == ""
	}
	if e.Rule == traffic.QuarantineReaders {
		return c.Evidence.Rule == traffic.QuarantineReaders
	}
	since := e.Since
	if since == 0 {
		since = e.Today.Day
	}
	return day.Of(c.DecidedAt) >= since
}

// SeatHistory is the time for which a claw-back applies to new seats of its publisher's owner, and,
// once the owner has erased its account, to the next account of its mailbox.
const SeatHistory = 90 * 24 * time.Hour

// SeatCase returns the initial case of a new seat, based on the cases of its owner and of the
// owner's other seats, or of a new account, based on those of erased accounts of its mailbox. A
// publisher cannot escape a quarantine, or a claw-back within [SeatHistory], with a new seat or by an
// erasure.
func SeatCase(seat account.User, cases []Quarantine) (Quarantine, bool) {
	at := seat.CreatedAt
	for i := range cases {
		c := &cases[i]
		if c.OfActs() { // they apply to a seat as well, which is as young as its owner
			continue
		}
		if c.Decision != "" && (c.Decision != QuarantineClawback || c.DecidedAt.Before(at.Add(-SeatHistory))) {
			continue
		}
		today := traffic.PublisherDay{DeveloperID: seat.DeveloperID, Day: day.Of(at)}
		return Quarantine{
			ID: QuarantineID(seat.DeveloperID, today.Day, 0), DeveloperID: seat.DeveloperID, OpenedAt: at,
			Evidence: traffic.Evidence{
				Rule: traffic.QuarantineOwner, Today: today, Note: "its owner has the case " + c.ID.String(),
			},
		}, true
	}
	return Quarantine{}, false
}

// MintCap is a publisher's own daily mint cap.
type MintCap struct {
	DeveloperID uuid.UUID
	Cap         *money.Credits // per UTC day; 0 mints nothing, nil means the installation's cap
	By          uuid.UUID      // the administrator
	Note        string
	At          time.Time
}
