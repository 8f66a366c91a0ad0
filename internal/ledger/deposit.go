package ledger

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"adnet/internal/errs"
	"adnet/internal/money"

	"github.com/google/uuid"
)

// The kinds of transactions that payment providers cause.
const (
	KindDeposit Kind = "deposit" // cash that a provider captured for an advertiser
	KindRefund  Kind = "refund"  // the part of a deposit that the provider gave back; its Reverses names the deposit
)

// Provider is who moved the money.
type Provider string

// The providers.
const (
	Stripe Provider = "stripe"
	PayPal Provider = "paypal"
	Demo   Provider = "demo" // the checkout page of in-memory mode
)

// DepositStatus is what became of a deposit.
type DepositStatus string

// The states of a deposit. They follow from the sums: see [Deposit.Status].
const (
	DepositOpen     DepositStatus = "open" // not paid, as far as the provider has told
	DepositPaid     DepositStatus = "paid"
	DepositPartly   DepositStatus = "partially_refunded"
	DepositRefunded DepositStatus = "refunded"
)

// Deposit is a wish to pay in and what came of it. What was credited is decided by the provider's evidence alone;
// Requested never moves money.
type Deposit struct {
	ID           uuid.UUID
	AdvertiserID uuid.UUID
	Provider     Provider
	CheckoutID   string       // the provider's checkout session; empty when the payment came without one of ours
	PaymentID    string       // the provider's payment; empty while open
	Requested    money.Micros // what the checkout asked for
	Paid         money.Micros // credited
	Reversed     money.Micros // taken back, ≤ Paid
	ReturnURL    string       // where the payer goes afterwards
	CreatedAt    time.Time
}

// Status is the state of d.
func (d Deposit) Status() DepositStatus {
	switch {
	case d.Paid == 0:
		return DepositOpen
	case d.Reversed == 0:
		return DepositPaid
	case d.Reversed < d.Paid:
		return DepositPartly
	}
	return DepositRefunded
}

// NoticeKind says what a provider reports.
type NoticeKind string

// The kinds of notices.
const (
	NoticePaid       NoticeKind = "paid"        // Amount was captured
	NoticeRefunded   NoticeKind = "refunded"    // Amount was given back by the refund RefundID
	NoticeRefundedTo NoticeKind = "refunded_to" // Amount is all that was given back so far
)

// Notice is a provider's proven report about one of its payments.
type Notice struct {
	Provider  Provider
	EventID   string // the provider's event: the same one again changes nothing
	Kind      NoticeKind
	PaymentID string // Stripe payment intent, PayPal capture
	RefundID  string // only for NoticeRefunded: a refund counts once, in however many events it comes
	Amount    money.Micros
	// Names are the ids that the checkout carried, of a deposit or of an account, most telling first. Only for
	// NoticePaid.
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
	for name, text := range texts {
		if text == "" || len(text) > maxReference || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return errs.New(errs.InvalidRequest, "the notice has no usable %s", name)
		}
	}
	if n.Amount < 0 || n.Amount > money.Max || n.Amount == 0 && n.Kind != NoticeRefundedTo {
		return errs.New(errs.InvalidRequest, "the notice has no usable amount")
	}
	return nil
}

// NoticeOutcome is what a notice changed.
type NoticeOutcome string

// The outcomes of notices.
const (
	NoticeCredited     NoticeOutcome = "credited"
	NoticeReversed     NoticeOutcome = "reversed"
	NoticeParked       NoticeOutcome = "parked"       // a refund of a payment that has not been reported yet
	NoticeNothing      NoticeOutcome = "unchanged"    // the payment or refund is known from another event
	NoticeUnattributed NoticeOutcome = "unattributed" // money for nobody that is known here; nothing is kept
)

// NoticeResult answers a notice. Repeated says that the very same event was applied before; Outcome is then
// what it changed at that time.
type NoticeResult struct {
	Outcome  NoticeOutcome
	Repeated bool
	Deposit  Deposit // zero while parked or unattributed
}

// PaymentBook is what is known about one payment of a provider.
type PaymentBook struct {
	DepositID    uuid.UUID // zero until paid
	AdvertiserID uuid.UUID // zero until paid
	Paid         money.Micros
	RefundTotal  money.Micros // the largest total that the provider told
	RefundSum    money.Micros // the sum of its single refunds
	Reversed     money.Micros // what the ledger has taken back
}

// DecideNotice applies a valid notice to a payment's book and answers the new book, the outcome and the
// transactions to write, a deposit before its refund. It is pure.
//
// newRefund says that n's refund id is new for this payment. For NoticePaid, payer is the deposit that is
// credited. What it guarantees for any set of notices in any order with any repeats: a payment is credited
// once, and once all are in, Reversed is the smaller of what was paid and what was refunded. A refund that comes
// first waits: nothing is taken from a balance before the payment is on it.
func DecideNotice(book PaymentBook, n Notice, payer Deposit, newRefund bool) (PaymentBook, NoticeOutcome, []Transaction) {
	outcome := NoticeNothing
	var written []Transaction
	switch n.Kind {
	case NoticePaid:
		if book.Paid == 0 {
			book.DepositID, book.AdvertiserID, book.Paid = payer.ID, payer.AdvertiserID, n.Amount
			written = append(written, newTransfer(transfer{
				kind: KindDeposit, ref: n.ref(), subject: payer.AdvertiserID, at: n.At,
				asset: USD, from: Deposits, to: AdvertiserCash(payer.AdvertiserID), amount: int64(n.Amount),
			}))
			outcome = NoticeCredited
		}
	case NoticeRefunded:
		if newRefund {
			book.RefundSum = min(book.RefundSum+n.Amount, money.Max)
		}
	case NoticeRefundedTo:
		book.RefundTotal = max(book.RefundTotal, n.Amount)
	}
	if n.Kind != NoticePaid && book.Paid == 0 {
		return book, NoticeParked, nil
	}
	// Both ways of counting tell of the same money, so they are compared and not added.
	target := min(book.Paid, max(book.RefundTotal, book.RefundSum))
	if due := target - book.Reversed; due > 0 {
		book.Reversed = target
		refund := newTransfer(transfer{
			// The total makes the ref unique and says how far this refund went.
			kind: KindRefund, ref: n.ref() + "#" + strconv.FormatInt(int64(target), 10), subject: book.AdvertiserID, at: n.At,
			asset: USD, from: AdvertiserCash(book.AdvertiserID), to: Deposits, amount: int64(due),
		})
		refund.Reverses = TransactionID(KindDeposit, n.ref(), book.AdvertiserID)
		written = append(written, refund)
		if n.Kind != NoticePaid {
			outcome = NoticeReversed
		}
	}
	return book, outcome, written
}

// ref names the payment in the ledger.
func (n *Notice) ref() string { return string(n.Provider) + ":" + n.PaymentID }

// DepositIDFor is the id of the deposit that a payment without a checkout of ours gets: the same for the same
// payment, whoever computes it.
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
	Asset       Asset
	Amount      int64 // micro-USD or Credits
	Balance     int64 // of the account after this row
}

// HistoryQuery asks for a page of the rows of one owner's two accounts, newest first.
type HistoryQuery struct {
	Advertiser uuid.UUID
	Developer  uuid.UUID
	Asset      Asset // empty for both
	Before     int64 // only rows with a smaller Seq; 0 for the newest
	Limit      int   // ≥ 1
}

// Earnings is what a publisher minted.
type Earnings struct {
	Days      []DayCredits  // days with mints, oldest first
	Total     money.Credits // ever minted
	Available money.Credits // not spent yet
}

// DayCredits is the Credits of one UTC day.
type DayCredits struct {
	Day     Day
	Credits money.Credits
}
