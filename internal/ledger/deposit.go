package ledger

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// The kinds of transactions that payment providers cause.
const (
	KindDeposit Kind = "deposit" // cash that a provider captured for an advertiser
	KindRefund  Kind = "refund"  // the part of a deposit that the provider gave back; its Reverses names the deposit

	KindDispute    Kind = "dispute"     // the part of a deposit that its payer disputes; its Reverses names the deposit
	KindDisputeWon Kind = "dispute_won" // given back after a dispute; its Reverses names the dispute's row
)

// TakesBack says whether the kind takes back money that a provider had paid in: only this may take
// a prepaid balance below zero.
func (k Kind) TakesBack() bool { return k == KindRefund || k == KindDispute || k == KindDisputeWon }

// Provider names the company that moved the money.
type Provider string

// The providers.
const (
	Stripe Provider = "stripe"
	PayPal Provider = "paypal"
	Demo   Provider = "demo" // the checkout page of in-memory mode
)

// DepositStatus is the state of a deposit.
type DepositStatus string

// The states of a deposit. They follow from the sums: see [Deposit.Status].
const (
	DepositOpen     DepositStatus = "open" // not paid, as far as the provider has told
	DepositPaid     DepositStatus = "paid"
	DepositPartly   DepositStatus = "partially_refunded"
	DepositRefunded DepositStatus = "refunded"
	DepositDisputed DepositStatus = "disputed" // the payer's bank or provider holds a part of it, or took it for good
)

// Deposit is a request to pay in and its outcome. Only the provider's evidence decides the credited
// amount; Requested never moves money.
type Deposit struct {
	ID           uuid.UUID
	AdvertiserID uuid.UUID
	Provider     Provider
	CheckoutID   string       // the provider's checkout session; empty when the payment came without one of ours
	PaymentID    string       // the provider's payment; empty while open
	Requested    money.Micros // the amount of the checkout
	Paid         money.Micros // credited
	Reversed     money.Micros // taken back, ≤ Paid
	Disputed     money.Micros // the part of Reversed that disputes took
	ReturnURL    string       // where the payer goes afterwards
	CreatedAt    time.Time
}

// Status is the state of d.
func (d Deposit) Status() DepositStatus {
	switch {
	case d.Paid == 0:
		return DepositOpen
	case d.Disputed > 0:
		return DepositDisputed
	case d.Reversed == 0:
		return DepositPaid
	case d.Reversed < d.Paid:
		return DepositPartly
	}
	return DepositRefunded
}

// NoticeKind is the kind of a provider's report.
type NoticeKind string

// The kinds of notices.
const (
	NoticePaid       NoticeKind = "paid"        // Amount was captured
	NoticeRefunded   NoticeKind = "refunded"    // Amount was given back by the refund RefundID
	NoticeRefundedTo NoticeKind = "refunded_to" // Amount is all that was given back so far

	NoticeDisputed    NoticeKind = "disputed"     // Amount is held because of the dispute DisputeID
	NoticeDisputeLost NoticeKind = "dispute_lost" // the dispute ended, Amount is gone
	NoticeDisputeWon  NoticeKind = "dispute_won"  // the dispute ended, Amount is ours again
)

// Notice is a provider's proven report about one of its payments.
type Notice struct {
	Provider  Provider
	EventID   string // the provider's event: the same one again changes nothing
	Kind      NoticeKind
	PaymentID string // Stripe payment intent, PayPal capture
	RefundID  string // only for NoticeRefunded: a refund counts once, in however many events it comes
	DisputeID string // only for the three kinds about disputes
	Amount    money.Micros
	// Names are the ids that the checkout carried, of a deposit or of an account, most telling
	// first. Only for NoticePaid.
	Names []uuid.UUID
	At    time.Time // when it was received, UTC
}

// maxReference bounds a provider's ids in bytes.
const maxReference = 255

// Valid refuses notices that cannot be kept. Errors: errs.InvalidRequest.
func (n *Notice) Valid() error {
	texts := map[string]string{"event id": n.EventID, "payment id": n.PaymentID}
	if n.Kind == NoticeRefunded {
		texts["refund id"] = n.RefundID
	}
	if n.dispute() != "" {
		texts["dispute id"] = n.DisputeID
	}
	for name, text := range texts {
		if text == "" || len(text) > maxReference || !utf8.ValidString(text) ||
			strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return errs.New(errs.InvalidRequest, "the notice has no usable %s", name)
		}
	}
	if n.Amount < 0 || n.Amount > money.Max || n.Amount == 0 && n.Kind != NoticeRefundedTo {
		return errs.New(errs.InvalidRequest, "the notice has no usable amount")
	}
	return nil
}

// NoticeOutcome is the change that a notice made.
type NoticeOutcome string

// The outcomes of notices.
const (
	NoticeCredited     NoticeOutcome = "credited"
	NoticeReversed     NoticeOutcome = "reversed"
	NoticeHeld         NoticeOutcome = "held"         // a dispute took the money
	NoticeReleased     NoticeOutcome = "released"     // a dispute gave it back
	NoticeParked       NoticeOutcome = "parked"       // a refund or dispute of a payment that has not been reported yet
	NoticeNothing      NoticeOutcome = "unchanged"    // the payment or refund is known from another event
	NoticeUnattributed NoticeOutcome = "unattributed" // money for an unknown account; nothing is kept
)

// NoticeResult is the result of a notice. Repeated says that the very same event was applied
// before; Outcome is then its outcome at that time.
type NoticeResult struct {
	Outcome  NoticeOutcome
	Repeated bool
	Deposit  Deposit // zero while parked or unattributed
}

// PaymentBook is the known state of one payment of a provider.
type PaymentBook struct {
	DepositID    uuid.UUID // zero until paid
	AdvertiserID uuid.UUID // zero until paid
	Paid         money.Micros
	RefundTotal  money.Micros // the largest total that the provider told
	RefundSum    money.Micros // the sum of its single refunds
	DisputeSum   money.Micros // of its disputes that are open or lost
	Reversed     money.Micros // taken back by the ledger
	Disputed     money.Micros // the part of Reversed that disputes took
	HoldID       uuid.UUID    // the last row that a dispute took it with; zero without
}

// DisputeState is how a dispute stands. States only go up, so notices may come in any order: a
// dispute that is won after it was lost (an appeal) ends won.
type DisputeState string

// The states of disputes, lowest first.
const (
	DisputeOpen DisputeState = "open"
	DisputeLost DisputeState = "lost"
	DisputeWon  DisputeState = "won"
)

// Dispute is one dispute of a payment; the zero one is unknown.
type Dispute struct {
	PaymentID string
	Amount    money.Micros // the largest that was reported
	State     DisputeState
}

// Takes is the amount that the dispute takes from its payment.
func (d Dispute) Takes() money.Micros {
	if d.State == DisputeOpen || d.State == DisputeLost {
		return d.Amount
	}
	return 0
}

// after is the dispute after a notice about it.
func (d Dispute) after(n *Notice) Dispute {
	rank := map[DisputeState]int{DisputeOpen: 1, DisputeLost: 2, DisputeWon: 3}
	if state := n.dispute(); rank[state] > rank[d.State] {
		d.State = state
	}
	d.PaymentID, d.Amount = n.PaymentID, max(d.Amount, n.Amount)
	return d
}

// dispute is the state that the notice reports; empty for a notice that is not about a dispute.
func (n *Notice) dispute() DisputeState {
	switch n.Kind {
	case NoticeDisputed:
		return DisputeOpen
	case NoticeDisputeLost:
		return DisputeLost
	case NoticeDisputeWon:
		return DisputeWon
	}
	return ""
}

// IsDispute says whether the notice is about a dispute.
func (n *Notice) IsDispute() bool { return n.dispute() != "" }

// Parked is a provider's delivery that moved nothing although money moved at the provider: a person
// must look.
type Parked struct {
	Provider  Provider
	EventID   string
	PaymentID string
	Reason    string
	At        time.Time // when it was received, UTC
}

// Known holds the store's records of the objects that a notice names.
type Known struct {
	Payer     Deposit // NoticePaid: the deposit that is credited
	NewRefund bool    // NoticeRefunded: the refund id is new for this payment
	Dispute   Dispute // a notice about a dispute: as it stood
}

// NoticeEffects lists the changes of applying a notice.
type NoticeEffects struct {
	Book    PaymentBook
	Dispute Dispute // only for a notice about one
	Outcome NoticeOutcome
	Written []Transaction
}

// DecideNotice applies a valid notice to a payment's book. Written is in the order of cause: a
// deposit, then amounts given back, then amounts taken. It is pure.
//
// Guarantee for any set of notices in any order with any repeats: a payment is credited once, and
// once all are in, Reversed is the smaller of the paid amount and the refunded or disputed amount.
// A refund or dispute that comes first waits: nothing is taken from a balance before the payment is
// on it.
func DecideNotice(book PaymentBook, n Notice, known Known) NoticeEffects {
	e := NoticeEffects{Book: book, Outcome: NoticeNothing}
	switch {
	case n.Kind == NoticePaid && book.Paid == 0:
		e.Book.DepositID, e.Book.AdvertiserID, e.Book.Paid = known.Payer.ID, known.Payer.AdvertiserID, n.Amount
		e.Written = append(e.Written, newTransfer(transfer{
			kind: KindDeposit, ref: n.ref(), subject: known.Payer.AdvertiserID, at: n.At,
			asset: USD, from: Deposits, to: AdvertiserCash(known.Payer.AdvertiserID), amount: int64(n.Amount),
		}))
		e.Outcome = NoticeCredited
	case n.Kind == NoticeRefunded && known.NewRefund:
		e.Book.RefundSum = min(book.RefundSum+n.Amount, money.Max)
	case n.Kind == NoticeRefundedTo:
		e.Book.RefundTotal = max(book.RefundTotal, n.Amount)
	case n.IsDispute():
		e.Dispute = known.Dispute.after(&n)
		e.Book.DisputeSum = book.DisputeSum - known.Dispute.Takes() + e.Dispute.Takes()
	}
	if n.Kind != NoticePaid && book.Paid == 0 {
		e.Outcome = NoticeParked
		return e
	}
	e.settle(&n)
	return e
}

// settle moves the amounts that the book now requires to be taken or given back. Refunds come
// before disputes: both together never take more than was paid.
func (e *NoticeEffects) settle(n *Notice) {
	b := &e.Book
	// Both ways of counting refunds tell of the same money, so they are compared and not added.
	refunded := min(b.Paid, max(b.RefundTotal, b.RefundSum))
	held := min(b.Paid-refunded, b.DisputeSum)
	if back := b.Disputed - held; back > 0 {
		e.move(n, KindDisputeWon, back, b.HoldID)
		b.Reversed, b.Disputed = b.Reversed-back, held
		if n.Kind != NoticePaid {
			e.Outcome = NoticeReleased
		}
	}
	deposit := TransactionID(KindDeposit, n.ref(), b.AdvertiserID)
	if due := refunded - (b.Reversed - b.Disputed); due > 0 {
		e.move(n, KindRefund, due, deposit)
		b.Reversed += due
		if n.Kind != NoticePaid {
			e.Outcome = NoticeReversed
		}
	}
	if due := held - b.Disputed; due > 0 {
		b.HoldID = e.move(n, KindDispute, due, deposit)
		b.Reversed, b.Disputed = b.Reversed+due, held
		if n.Kind != NoticePaid {
			e.Outcome = NoticeHeld
		}
	}
}

// move writes one movement of the payment's money: out of the advertiser's cash, or back into it
// after a dispute.
func (e *NoticeEffects) move(n *Notice, kind Kind, amount money.Micros, reverses uuid.UUID) uuid.UUID {
	cash, b := AdvertiserCash(e.Book.AdvertiserID), &e.Book
	x := transfer{
		// An event is applied once, and moves each kind once.
		kind: kind, ref: n.ref() + "#" + n.EventID, subject: b.AdvertiserID, at: n.At,
		asset: USD, from: cash, to: Deposits, amount: int64(amount),
	}
	switch kind {
	case KindRefund: // the total makes the ref unique and says how far this refund went
		x.ref = n.ref() + "#" + strconv.FormatInt(int64(b.Reversed-b.Disputed+amount), 10)
	case KindDisputeWon:
		x.from, x.to = Deposits, cash
	}
	t := newTransfer(x)
	t.Reverses = reverses
	e.Written = append(e.Written, t)
	return t.ID
}

// ref names the payment in the ledger.
func (n *Notice) ref() string { return string(n.Provider) + ":" + n.PaymentID }

// DepositIDFor is the id of the deposit for a payment without a checkout of ours: the same for the
// same payment on every node.
func DepositIDFor(p Provider, paymentID string) uuid.UUID {
	return TransactionID("deposit_record", string(p)+":"+paymentID, uuid.Nil)
}

// Line is one row of an account's history.
type Line struct {
	Seq         int64 // place in the ledger; larger is newer
	Transaction uuid.UUID
	At          time.Time
	Kind        Kind
	Ref         string
	Subject     uuid.UUID
	Reverses    uuid.UUID // zero unless this row takes back another
	Account     Account
	Asset       Asset
	Amount      int64 // micro-USD or Credits
	Balance     int64 // of the account after this row
}

// HistoryQuery asks for a page of the rows of one owner's accounts, newest first: its cash, and its
// Credits that are pending, held and spendable.
type HistoryQuery struct {
	Advertiser uuid.UUID
	Developer  uuid.UUID
	Asset      Asset     // empty for both
	Before     int64     // only rows with a smaller Seq; 0 for the newest
	From, To   time.Time // only rows of this time, To excluded; zero for no bound
	Limit      int       // ≥ 1
}

// Earnings are the Credits that a publisher minted; those that a quarantine case has are not among
// them.
type Earnings struct {
	Days  []DayCredits  // days with mints, oldest first
	Total money.Credits // ever minted
}

// DayCredits is the Credits of one UTC day.
type DayCredits struct {
	Day     day.Day
	Credits money.Credits
}
