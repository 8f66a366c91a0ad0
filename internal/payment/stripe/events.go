package stripe

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/ledger"
	"adnet/internal/payment"
)

// handled are the event types that an endpoint must be subscribed to. docs/operate/money.md lists
// them.
var handled = map[string]func(event) (payment.Delivery, error){
	"checkout.session.completed":               readSession,
	"checkout.session.async_payment_succeeded": readSession,
	"charge.refunded":                          readCharge,
	"charge.updated":                           readCharge,
	"charge.refund.updated":                    readRefund,
	"refund.created":                           readRefund,
	"refund.updated":                           readRefund,
	"refund.failed":                            readRefund,
	"charge.dispute.created":                   readDispute,
	"charge.dispute.funds_withdrawn":           readDispute,
	"charge.dispute.funds_reinstated":          readDispute,
	"charge.dispute.closed":                    readDispute,
}

// harmless are the event types that have an amount and move no payer's money, or money that a
// handled type reports. Types without an amount need no entry.
var harmless = setOf(
	// A checkout session reports the payment.
	"charge.captured", "charge.expired", "charge.failed", "charge.pending", "charge.succeeded",
	"checkout.session.async_payment_failed", "checkout.session.expired",
	"payment_intent.amount_capturable_updated", "payment_intent.canceled", "payment_intent.created",
	"payment_intent.partially_funded", "payment_intent.payment_failed", "payment_intent.processing",
	"payment_intent.requires_action", "payment_intent.succeeded",
	// A change of evidence or deadlines. Other types report what a dispute moves.
	"charge.dispute.updated",
	// Prices and requests for payment.
	"coupon.created", "coupon.deleted", "coupon.updated", "credit_note.updated", "credit_note.voided",
	"customer.created", "customer.deleted", "customer.updated",
	"invoice.created", "invoice.deleted", "invoice.finalization_failed", "invoice.finalized",
	"invoice.marked_uncollectible", "invoice.overdue", "invoice.payment_action_required", "invoice.payment_failed",
	"invoice.sent", "invoice.upcoming", "invoice.updated", "invoice.voided", "invoice.will_be_due",
	"invoiceitem.created", "invoiceitem.deleted", "plan.created", "plan.deleted", "plan.updated",
	"price.created", "price.deleted", "price.updated", "quote.accepted", "quote.canceled", "quote.created",
	"quote.finalized", "setup_intent.created", "setup_intent.succeeded", "source.canceled", "source.chargeable",
	"source.failed",
	// Money between the operator's account at Stripe and the operator's bank.
	"balance.available", "payout.canceled", "payout.created", "payout.failed", "payout.paid",
	"payout.reconciliation_completed", "payout.updated", "topup.canceled", "topup.created", "topup.failed",
	"topup.reversed", "topup.succeeded",
)

func setOf(types ...string) map[string]bool {
	set := make(map[string]bool, len(types))
	for _, t := range types {
		set[t] = true
	}
	return set
}

// amounts are the fields with the amount of an object, in the order of preference.
var amounts = []string{
	"amount", "amount_total", "amount_received", "amount_paid", "amount_refunded", "amount_captured", "net", "net_amount",
	"total", "amount_due", "amount_remaining", "amount_reversed", "gross_amount",
}

// errAmount is the error of an amount in another form than a number of cents.
var errAmount = errors.New("no number of cents")

// centsOf returns the first amount of an object.
func centsOf(object map[string]jsontext.Value) (cents int64, err error) {
	for _, field := range amounts {
		if !payment.IsAmount(object[field]) {
			continue
		}
		if json.Unmarshal(object[field], &cents) != nil {
			return 0, errAmount
		}
		return cents, nil
	}
	return 0, errAmount
}

// unhandled returns the delivery of an event that adnet cannot apply: parked if its object has an
// amount.
func unhandled(e event, why string) (payment.Delivery, error) {
	var object map[string]jsontext.Value
	if !payment.HasAmount(e.Data.Object) {
		return payment.Delivery{Unknown: why}, nil
	}
	if json.Unmarshal(e.Data.Object, &object) != nil { // a list
		object = nil
	}
	p := payment.Unapplied{Provider: ledger.Stripe, EventID: e.ID, Type: e.Type, Why: why}
	cents, err := centsOf(object)
	if json.Unmarshal(object["currency"], &p.Currency) == nil && p.Currency == "usd" && err == nil {
		p.Amount, err = micros(max(cents, -cents))
	}
	p.Illegible = err != nil
	for _, field := range []string{"payment_intent", "charge", "id"} {
		var id reference
		if json.Unmarshal(object[field], &id) == nil && id != "" {
			p.PaymentID = string(id)
			break
		}
	}
	return p.Delivery()
}
