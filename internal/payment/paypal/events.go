package paypal

import (
	"cmp"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// handled are the event types that a webhook must be subscribed to, as far as PayPal offers them.
// docs/operate/money.md lists them.
var handled = map[string]func(e *wireEvent) (payment.Delivery, error){
	"CHECKOUT.ORDER.APPROVED":   readOrder,
	"PAYMENT.CAPTURE.COMPLETED": readCapture,
	"PAYMENT.CAPTURE.REFUNDED":  readRefund,
	"PAYMENT.CAPTURE.REVERSED":  readRefund, // PayPal's own refund
	"PAYMENT.REFUND.COMPLETED":  readRefund,
	"PAYMENT.REFUND.FAILED":     readRefund,
	"PAYMENT.REFUND.CANCELLED":  readRefund,
	"PAYMENT.REFUND.DENIED":     readRefund,
	"CUSTOMER.DISPUTE.CREATED":  readDispute,
	"CUSTOMER.DISPUTE.UPDATED":  readDispute,
	"CUSTOMER.DISPUTE.RESOLVED": readDispute,
}

// harmless are the event types that have an amount and move no payer's money, or money that a
// handled type reports. Types without an amount need no entry.
var harmless = setOf(
	"CHECKOUT.ORDER.COMPLETED", "CHECKOUT.ORDER.DECLINED", "CHECKOUT.ORDER.SAVED", "CHECKOUT.ORDER.VOIDED",
	"CHECKOUT.PAYMENT-APPROVAL.REVERSED",
	"PAYMENT.AUTHORIZATION.CREATED", "PAYMENT.AUTHORIZATION.VOIDED", "PAYMENT.CAPTURE.DECLINED",
	"PAYMENT.CAPTURE.DENIED", "PAYMENT.CAPTURE.PENDING", "PAYMENT.ORDER.CANCELLED", "PAYMENT.ORDER.CREATED",
	"PAYMENT.REFUND.PENDING",
	"BILLING.PLAN.ACTIVATED", "BILLING.PLAN.CREATED", "BILLING.PLAN.DEACTIVATED", "BILLING.PLAN.UPDATED",
	"BILLING.SUBSCRIPTION.ACTIVATED", "BILLING.SUBSCRIPTION.CANCELLED", "BILLING.SUBSCRIPTION.CREATED",
	"BILLING.SUBSCRIPTION.EXPIRED", "BILLING.SUBSCRIPTION.PAYMENT.FAILED", "BILLING.SUBSCRIPTION.RE-ACTIVATED",
	"BILLING.SUBSCRIPTION.SUSPENDED",
	"BILLING.SUBSCRIPTION.UPDATED",
	"INVOICING.INVOICE.CANCELLED", "INVOICING.INVOICE.CREATED", "INVOICING.INVOICE.SCHEDULED",
	"INVOICING.INVOICE.UPDATED",
	// The operator's payouts.
	"PAYMENT.PAYOUTS-ITEM.BLOCKED", "PAYMENT.PAYOUTS-ITEM.CANCELED", "PAYMENT.PAYOUTS-ITEM.DENIED",
	"PAYMENT.PAYOUTS-ITEM.FAILED", "PAYMENT.PAYOUTS-ITEM.HELD", "PAYMENT.PAYOUTS-ITEM.REFUNDED",
	"PAYMENT.PAYOUTS-ITEM.RETURNED", "PAYMENT.PAYOUTS-ITEM.SUCCEEDED", "PAYMENT.PAYOUTS-ITEM.UNCLAIMED",
	"PAYMENT.PAYOUTSBATCH.DENIED", "PAYMENT.PAYOUTSBATCH.PROCESSING", "PAYMENT.PAYOUTSBATCH.SUCCESS",
)

func setOf(types ...string) map[string]bool {
	set := make(map[string]bool, len(types))
	for _, t := range types {
		set[t] = true
	}
	return set
}

// The states of a refund.
const (
	refundCompleted = "COMPLETED"
	refundPending   = "PENDING"
)

// refundKind returns the effect of a refund's state; empty for one without a known effect.
func refundKind(state string) ledger.NoticeKind {
	switch state {
	case refundCompleted:
		return ledger.NoticeRefunded
	case "FAILED", "CANCELLED", "CANCELED", "DENIED":
		return ledger.NoticeRefundFailed
	}
	return ""
}

// amounts are the fields with the amount of a resource, in the order of preference.
var amounts = []string{"amount", "dispute_amount", "gross_amount", "net_amount", "total_amount", "amount_with_breakdown"}

// errAmount is the error of an amount in another form than PayPal's.
var errAmount = errors.New("no amount of PayPal's form")

// amountOf returns the first amount of a resource. Version 1 of the API names the parts total and
// currency.
func amountOf(resource map[string]jsontext.Value) (value money.Micros, currency string, err error) {
	for _, field := range amounts {
		if !payment.IsAmount(resource[field]) {
			continue
		}
		var a struct {
			wireAmount
			Total   string `json:"total"`
			Version string `json:"currency"`
		}
		if json.Unmarshal(resource[field], &a) != nil {
			return 0, "", errAmount
		}
		value, err = money.Parse(cmp.Or(a.Value, a.Total))
		if err != nil || value == 0 || max(value, -value) > money.Max {
			return 0, "", errAmount
		}
		return value, cmp.Or(a.Currency, a.Version), nil
	}
	return 0, "", errAmount
}

// unhandled returns the delivery of an event that adnet cannot apply: parked if its resource has an
// amount.
func unhandled(e *wireEvent, why string) (payment.Delivery, error) {
	var resource map[string]jsontext.Value
	if !payment.HasAmount(e.Raw) {
		return payment.Delivery{Unknown: why}, nil
	}
	if json.Unmarshal(e.Raw, &resource) != nil { // a list
		resource = nil
	}
	p := payment.Unapplied{Provider: ledger.PayPal, EventID: e.ID, Type: e.Type, Why: why}
	value, currency, err := amountOf(resource)
	if p.Currency = currency; currency == string(ledger.USD) {
		p.Amount = max(value, -value)
	}
	p.Illegible = err != nil
	for _, field := range []string{"sale_id", "capture_id", "dispute_id", "id"} {
		if json.Unmarshal(resource[field], &p.PaymentID) == nil && p.PaymentID != "" {
			break
		}
	}
	return p.Delivery()
}
