package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// The kinds of transactions caused by payment providers.
const (
	KindDeposit Kind = "deposit" // cash that a provider captured for an advertiser
	KindRefund  Kind = "refund"  // the refunded part of a deposit; its Reverses is the deposit

	KindRefundFailed Kind = "refund_failed" // returned after a refund failed; its Reverses is the refund's row

	KindDispute    Kind = "dispute"     // the disputed part of a deposit; its Reverses is the deposit
	KindDisputeWon Kind = "dispute_won" // returned after a dispute; its Reverses is the dispute's row

	KindParkedCredit Kind = "parked_credit" // cash that an operator gave because of a parked event
	KindParkedDebit  Kind = "parked_debit"  // cash that an operator took because of a parked event
)

// TakesBack reports whether the kind takes back money paid in through a provider. Only such a kind
// may bring a prepaid balance below zero.
func (k Kind) TakesBack() bool {
	switch k {
	case KindRefund, KindRefundFailed, KindDispute, KindDisputeWon, KindParkedDebit:
		return true
	}
	return false
}

// Provider is the company that moved the money.
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
	DepositOpen     DepositStatus = "open" // not paid, according to the provider so far
	DepositPaid     DepositStatus = "paid"
	DepositPartly   DepositStatus = "partially_refunded"
	DepositRefunded DepositStatus = "refunded"
	DepositDisputed DepositStatus = "disputed" // the payer's bank or provider holds a part of it, or took it for good
)

// Deposit is a request to pay in, with its outcome. Only the provider's evidence determines the
// credited amount. Requested never moves money.
type Deposit struct {
	ID           uuid.UUID
	AdvertiserID uuid.UUID
	Provider     Provider
	CheckoutID   string       // the provider's checkout session; empty for a payment without a checkout of ours
	PaymentID    string       // the provider's payment; empty while open
	Requested    money.Micros // the amount of the checkout
	Paid         money.Micros // credited
	Reversed     money.Micros // taken back, ≤ Paid
	Disputed     money.Micros // the part of Reversed due to disputes
	ReturnURL    string       // the page to which the payer returns
	CreatedAt    time.Time
}

// Status returns the state of d.
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
	NoticePaid         NoticeKind = "paid"          // Amount was captured
	NoticeRefunded     NoticeKind = "refunded"      // Amount was refunded with the refund RefundID
	NoticeRefundFailed NoticeKind = "refund_failed" // the refund RefundID of Amount failed or was cancelled
	NoticeRefundedTo   NoticeKind = "refunded_to"   // Amount is the total refunded, after a refund
	NoticeRefundTotal  NoticeKind = "refund_total"  // Amount is the total refunded, after any change

	NoticeDisputed    NoticeKind = "disputed"     // Amount is held because of the dispute DisputeID
	NoticeDisputeLost NoticeKind = "dispute_lost" // the dispute ended, Amount is gone
	NoticeDisputeWon  NoticeKind = "dispute_won"  // the dispute ended, Amount was returned
)

// Notice is a provider's authenticated report about one of its payments.
type Notice struct {
	Provider  Provider
	EventID   string // the provider's event; a repeat changes nothing
	Kind      NoticeKind
	PaymentID string // Stripe payment intent, PayPal capture
	RefundID  string // only for a single refund: it counts once, in however many events it appears
	DisputeID string // only for the three kinds about disputes
	Amount    money.Micros
	// Names are the ids from the checkout, of a deposit or of an account, most specific first. Only
	// for NoticePaid.
	Names []uuid.UUID
	// Instrument is the provider's id of the payer (PayPal) or of the card (Stripe's fingerprint); empty
	// where the event has none. Only a keyed hash of it is stored.
	Instrument string
	At         time.Time // time of receipt, UTC
	SentAt     time.Time // the provider's time of the event, UTC; zero for At
}

// maxReference is the maximum length of a provider's ids in bytes.
const maxReference = 255

// IsReference reports whether text can be stored as a provider's id.
func IsReference(text string) bool {
	return text != "" && len(text) <= maxReference && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Valid rejects notices that cannot be stored. Errors: errs.InvalidRequest.
func (n *Notice) Valid() error {
	texts := map[string]string{"event id": n.EventID, "payment id": n.PaymentID}
	if n.Kind == NoticeRefunded || n.Kind == NoticeRefundFailed {
		texts["refund id"] = n.RefundID
	}
	if n.dispute() != "" {
		texts["dispute id"] = n.DisputeID
	}
	for name, text := range texts {
		if !IsReference(text) {
			return errs.New(errs.InvalidRequest, "the notice has no usable %s", name)
		}
	}
	if n.Amount < 0 || n.Amount > money.Max || n.Amount == 0 && !n.totals() {
		return errs.New(errs.InvalidRequest, "the notice has no usable amount")
	}
	return nil
}

// totals reports whether the notice has the total of a payment's refunds.
func (n *Notice) totals() bool { return n.Kind == NoticeRefundedTo || n.Kind == NoticeRefundTotal }

// IsRefund reports whether the notice is about refunds.
func (n *Notice) IsRefund() bool {
	return n.totals() || n.Kind == NoticeRefunded || n.Kind == NoticeRefundFailed
}

// Report returns the notice's part of [RefundedOf].
func (n *Notice) Report() RefundReport {
	return RefundReport{Kind: n.Kind, RefundID: n.RefundID, Amount: n.Amount, SentAt: n.Sent()}
}

// Sent returns the provider's time of the event, or else the time of receipt.
func (n *Notice) Sent() time.Time {
	if n.SentAt.IsZero() {
		return n.At
	}
	return n.SentAt
}

// NoticeOutcome is the change made by a notice.
type NoticeOutcome string

// The outcomes of notices.
const (
	NoticeCredited     NoticeOutcome = "credited"
	NoticeReversed     NoticeOutcome = "reversed"
	NoticeHeld         NoticeOutcome = "held"         // a dispute took the money
	NoticeReleased     NoticeOutcome = "released"     // a dispute or a failed refund returned the money
	NoticeParked       NoticeOutcome = "parked"       // a refund or dispute of a payment not reported yet
	NoticeNothing      NoticeOutcome = "unchanged"    // the payment or refund is already known from another event
	NoticeUnattributed NoticeOutcome = "unattributed" // money for an unknown account; nothing is stored
	NoticeClosed       NoticeOutcome = "closed"       // money for a closed account; nothing is stored
)

// NoticeResult is the result of a notice. Repeated is true if the same event was applied before;
// Outcome is then its original outcome.
type NoticeResult struct {
	Outcome  NoticeOutcome
	Repeated bool
	Deposit  Deposit // zero while parked, unattributed or closed
}

// PaymentBook is the known state of one payment of a provider.
type PaymentBook struct {
	DepositID    uuid.UUID // zero until paid
	AdvertiserID uuid.UUID // zero until paid
	Paid         money.Micros
	Refunded     money.Micros // according to the reports so far: see RefundedOf
	DisputeSum   money.Micros // of its open or lost disputes
	Reversed     money.Micros // taken back by the ledger
	Disputed     money.Micros // the part of Reversed due to disputes
	HoldID       uuid.UUID    // the last row in which a dispute took it; zero without one
	RefundID     uuid.UUID    // the last row in which a refund took it; zero without one
	RefundPeak   money.Micros // the most that refunds had ever taken
}

// DisputeState is the state of a dispute. States only rise, so notices may arrive in any order: a
// dispute that is won after it was lost (an appeal) ends as won.
type DisputeState string

// The states of disputes, lowest first.
const (
	DisputeOpen DisputeState = "open"
	DisputeLost DisputeState = "lost"
	DisputeWon  DisputeState = "won"
)

// Dispute is one dispute of a payment. The zero value is an unknown dispute.
type Dispute struct {
	PaymentID string
	Amount    money.Micros // the largest amount reported
	State     DisputeState
}

// Takes returns the amount that the dispute takes from its payment.
func (d Dispute) Takes() money.Micros {
	if d.State == DisputeOpen || d.State == DisputeLost {
		return d.Amount
	}
	return 0
}

// after returns the dispute after a notice about it.
func (d Dispute) after(n *Notice) Dispute {
	rank := map[DisputeState]int{DisputeOpen: 1, DisputeLost: 2, DisputeWon: 3}
	if state := n.dispute(); rank[state] > rank[d.State] {
		d.State = state
	}
	d.PaymentID, d.Amount = n.PaymentID, max(d.Amount, n.Amount)
	return d
}

// dispute returns the state reported by the notice, empty for a notice that is not about a dispute.
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

// IsDispute reports whether the notice is about a dispute.
func (n *Notice) IsDispute() bool { return n.dispute() != "" }

// Known holds the store's records of the objects in a notice.
type Known struct {
	Payer   Deposit        // NoticePaid: the deposit to credit
	Refunds []RefundReport // a notice about refunds: the earlier ones about the payment
	Dispute Dispute        // a notice about a dispute: its previous state
}

// NoticeEffects holds the changes of applying a notice.
type NoticeEffects struct {
	Book    PaymentBook
	Dispute Dispute // only for a notice about a dispute
	Outcome NoticeOutcome
	Written []Transaction
}

// DecideNotice applies a valid notice to a payment's book. Written is in causal order: a deposit,
// then amounts returned, then amounts taken. It is pure.
//
// Guarantee for any set of notices in any order with any repeats: a payment is credited once, and
// after all notices Reversed is the lesser of the paid amount and the refunded or disputed amount,
// without refunds that failed.
// An early refund or dispute waits: nothing is taken from a balance before the payment is credited.
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
	case n.IsRefund():
		e.Book.Refunded = RefundedOf(append(slices.Clip(known.Refunds), n.Report()))
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

// settle moves the amounts that the book now requires to be taken or returned. Refunds come before
// disputes. Together they never take more than was paid.
func (e *NoticeEffects) settle(n *Notice) {
	b := &e.Book
	refunded := min(b.Paid, b.Refunded)
	held := min(b.Paid-refunded, b.DisputeSum)
	if back := b.Disputed - held; back > 0 {
		e.move(n, KindDisputeWon, back, b.HoldID)
		b.Reversed, b.Disputed = b.Reversed-back, held
		if n.Kind != NoticePaid {
			e.Outcome = NoticeReleased
		}
	}
	if back := b.Reversed - b.Disputed - refunded; back > 0 {
		e.move(n, KindRefundFailed, back, b.RefundID)
		b.Reversed -= back
		if n.Kind != NoticePaid {
			e.Outcome = NoticeReleased
		}
	}
	deposit := TransactionID(KindDeposit, n.ref(), b.AdvertiserID)
	if due := refunded - (b.Reversed - b.Disputed); due > 0 {
		b.RefundID = e.move(n, KindRefund, due, deposit)
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

// move writes one movement of the payment's money: out of the advertiser's cash, or back after a
// dispute or a failed refund.
func (e *NoticeEffects) move(n *Notice, kind Kind, amount money.Micros, reverses uuid.UUID) uuid.UUID {
	cash := AdvertiserCash(e.Book.AdvertiserID)
	x := transfer{
		// An event is applied once and moves each kind once.
		kind: kind, ref: n.ref() + "#" + n.EventID, subject: e.Book.AdvertiserID, at: n.At,
		asset: USD, from: cash, to: Deposits, amount: int64(amount),
	}
	b := &e.Book
	switch total := b.Reversed - b.Disputed + amount; {
	case kind == KindRefund && total > b.RefundPeak:
		// The total makes the ref unique and records the extent of this refund.
		x.ref, b.RefundPeak = n.ref()+"#"+strconv.FormatInt(int64(total), 10), total
	case kind == KindDisputeWon || kind == KindRefundFailed:
		x.from, x.to = Deposits, cash
	}
	t := newTransfer(x)
	t.Reverses = reverses
	e.Written = append(e.Written, t)
	return t.ID
}

// ref identifies the payment in the ledger.
func (n *Notice) ref() string { return string(n.Provider) + ":" + n.PaymentID }

// DepositIDFor returns the id of the deposit for a payment without a checkout of ours. It is the
// same for the same payment on every node.
func DepositIDFor(p Provider, paymentID string) uuid.UUID {
	return TransactionID("deposit_record", string(p)+":"+paymentID, uuid.Nil)
}

// Line is one row of an account's history.
type Line struct {
	Seq         int64 // position in the ledger; larger is newer
	Transaction uuid.UUID
	At          time.Time
	Kind        Kind
	Ref         string
	Subject     uuid.UUID
	Reverses    uuid.UUID // zero unless this row reverses another
	Account     Account
	Asset       Asset
	Amount      int64 // micro-USD or Credits
	Balance     int64 // of the account after this row
}

// HistoryQuery selects a page of the rows of one owner's accounts, newest first: its cash, and its
// pending, held and spendable Credits.
type HistoryQuery struct {
	Advertiser uuid.UUID
	Developer  uuid.UUID
	Asset      Asset     // empty for both
	Before     int64     // only rows with a smaller Seq; 0 for the newest
	From, To   time.Time // only rows of this period, To exclusive; zero for no bound
	Limit      int       // ≥ 1
}

// Earnings are the Credits that a publisher minted, except those in a quarantine case.
type Earnings struct {
	Days  []DayCredits  // days with mints, oldest first
	Total money.Credits // ever minted
}

// DayCredits holds the Credits of one UTC day.
type DayCredits struct {
	Day     day.Day
	Credits money.Credits
}
