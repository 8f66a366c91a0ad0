package ledger

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/money"
)

// Limits of parked events.
const (
	MaxParked       = 1000 // rows that wait for a decision
	MaxParkedOfType = 20   // of them, rows of one event of one type; the others share one row
)

// ParkedOther is the type of the row that takes a provider's events when MaxParked is reached.
const ParkedOther = "other"

// Parked is a provider's event that moved nothing although money moved at the provider. A person
// must decide it.
type Parked struct {
	ID        uuid.UUID
	Provider  Provider
	EventID   string // of a shared row: the newest event
	PaymentID string // may be empty
	Type      string // the provider's type of the event
	Kind      NoticeKind
	Amount    money.Micros // USD; 0 if unknown or in another currency
	Reason    string
	At        time.Time // time of receipt, UTC; of a shared row: of the newest event
	Shared    bool      // the row stands for Count events
	Count     int64     // ≥ 1

	Decision  ParkedDecision // empty while it waits
	AccountID uuid.UUID      // of a credit or debit
	Applied   money.Micros   // of a credit or debit
	DecidedAt time.Time
	DecidedBy uuid.UUID // zero for a command
	Note      string
}

// ParkedQuery selects parked events, newest first.
type ParkedQuery struct {
	Open   bool // only those that wait
	Limit  int  // ≥ 1
	Offset int  // ≥ 0
}

// ParkedDecision is the end of a parked event.
type ParkedDecision string

// The decisions.
const (
	ParkedCredited   ParkedDecision = "credit"
	ParkedDebited    ParkedDecision = "debit"
	ParkedDismissed  ParkedDecision = "dismiss"
	ParkedSuperseded ParkedDecision = "superseded" // the provider sent the event again, and it was applied
)

// ParkedRoom holds the numbers of waiting rows that decide where an event is parked.
type ParkedRoom struct {
	All    int  // rows
	OfType int  // rows of one event of the type
	Shared bool // the type has a shared row
}

// Place returns the row for an event: its own, or the shared row of a type.
func (r ParkedRoom) Place(eventType string) (shared bool, of string) {
	free := r.All < MaxParked-2 // one row for each provider's other events
	switch {
	case free && r.OfType < MaxParkedOfType:
		return false, eventType
	case free || r.Shared:
		return true, eventType
	}
	return true, ParkedOther
}

// ParkedVerdict is an operator's decision about a parked event. The zero Amount stands for the
// amount of the event.
type ParkedVerdict struct {
	ID        uuid.UUID
	Decision  ParkedDecision
	AccountID uuid.UUID // the advertiser of a credit or debit
	Amount    money.Micros
	By        uuid.UUID
	Note      string
	At        time.Time
}

// maxParkedNote is the maximum length of a note in code points.
const maxParkedNote = 500

// Check completes v for p and reports whether it repeats the decision already made, so that there
// is nothing to do. Errors: errs.Conflict if p has a different decision, errs.InvalidRequest.
func (v *ParkedVerdict) Check(p *Parked) (repeats bool, err error) {
	v.Note = strings.TrimSpace(v.Note)
	moves := v.Decision == ParkedCredited || v.Decision == ParkedDebited
	if moves && v.Amount == 0 && !p.Shared {
		v.Amount = p.Amount
	}
	if !moves {
		v.AccountID, v.Amount = uuid.Nil, 0
	}
	switch {
	case !moves && v.Decision != ParkedDismissed:
		return false, errs.New(
			errs.InvalidRequest, "decision must be credit, debit or dismiss",
		).With("field", "decision")
	case v.Note == "" || utf8.RuneCountInString(v.Note) > maxParkedNote:
		return false, errs.New(
			errs.InvalidRequest, "note is required: state your reason in at most %d characters", maxParkedNote,
		).With("field", "note")
	case moves && v.AccountID == uuid.Nil:
		return false, errs.New(
			errs.InvalidRequest, "account_id is required: name the advertiser to %s", v.Decision,
		).With("field", "account_id")
	case moves && v.Amount == 0:
		return false, errs.New(
			errs.InvalidRequest, "amount is required: the event has no amount in USD",
		).With("field", "amount")
	case v.Amount < 0 || v.Amount > money.Max:
		return false, errs.New(
			errs.InvalidRequest, "amount must be above 0 and at most %s USD", money.Max,
		).With("field", "amount")
	case p.Decision == "":
		return false, nil
	case p.Decision != v.Decision || p.AccountID != v.AccountID || p.Applied != v.Amount:
		return false, errs.New(errs.Conflict, "the event was already decided: %s", p.decided())
	}
	return true, nil
}

func (p *Parked) decided() string {
	if p.AccountID == uuid.Nil {
		return string(p.Decision)
	}
	return string(p.Decision) + " of " + p.Applied.String() + " USD for " + p.AccountID.String()
}

// Credits reports whether v credits the payment that p reports. It is then applied as a notice, so
// that later refunds and disputes of the payment find it.
func (v *ParkedVerdict) Credits(p *Parked) bool {
	return v.Decision == ParkedCredited && p.Kind == NoticePaid && !p.Shared
}

// Notice returns the payment that v credits.
func (v *ParkedVerdict) Notice(p *Parked) Notice {
	return Notice{
		Provider: p.Provider, EventID: p.EventID, Kind: NoticePaid, PaymentID: p.PaymentID, Amount: v.Amount,
		Names: []uuid.UUID{v.AccountID}, At: v.At,
	}
}

// Moves returns the transactions of v, none for a dismissal or a payment that it credits.
func (v *ParkedVerdict) Moves(p *Parked) []Transaction {
	x := transfer{
		kind: KindParkedCredit, ref: "parked:" + p.ID.String(), subject: v.AccountID, at: v.At,
		asset: USD, from: Deposits, to: AdvertiserCash(v.AccountID), amount: int64(v.Amount),
	}
	switch {
	case v.Decision == ParkedDismissed || v.Credits(p):
		return nil
	case v.Decision == ParkedDebited:
		x.kind, x.from, x.to = KindParkedDebit, x.to, x.from
	}
	return []Transaction{newTransfer(x)}
}

// Decided returns p after v.
func (v *ParkedVerdict) Decided(p Parked) Parked {
	p.Decision, p.AccountID, p.Applied, p.DecidedAt, p.DecidedBy, p.Note = v.Decision, v.AccountID, v.Amount, v.At,
		v.By, v.Note
	return p
}
