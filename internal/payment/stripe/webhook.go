package stripe

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stripe/stripe-go/v85/webhook"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/payment"
)

// Webhook verifies and decodes Stripe's deliveries. Stripe's library checks signatures over
// "t.body"; any of several v1 signatures may match, and they are at most 300 s old, or ahead. The
// body is decoded here, strictly and regardless of the endpoint's API version: only fields that no
// version has changed are used.
type Webhook struct{ secret, mode string }

var _ payment.Webhook = (*Webhook)(nil)

// NewWebhook returns a Webhook. It fails without a secret, because anyone can sign with an empty
// one.
func NewWebhook(cfg Config) (*Webhook, error) {
	if cfg.WebhookSecret == "" {
		return nil, errors.New("ADNET_STRIPE_WEBHOOK_SECRET is not set")
	}
	return &Webhook{secret: cfg.WebhookSecret, mode: modeOf(cfg.Key)}, nil
}

// The modes of Stripe's keys and events.
const (
	live = "live"
	test = "test"
)

// modeOf returns the mode of a secret or restricted key, empty if the key has none.
func modeOf(key string) string {
	for _, mode := range []string{live, test} {
		if strings.HasPrefix(key, "sk_"+mode+"_") || strings.HasPrefix(key, "rk_"+mode+"_") {
			return mode
		}
	}
	return ""
}

// Read implements [payment.Webhook].
func (w *Webhook) Read(_ context.Context, header http.Header, body []byte) (payment.Delivery, error) {
	signature := header.Get("Stripe-Signature")
	if err := webhook.ValidatePayload(body, signature, w.secret); err != nil {
		return payment.Delivery{}, errs.Wrap(
			err, errs.InvalidRequest, "the delivery is not signed by Stripe for this webhook, or is too old",
		)
	}
	if ahead(signature, time.Now()) {
		return payment.Delivery{}, errs.New(
			errs.InvalidRequest, "the delivery is signed for a future time; compare the clocks",
		)
	}
	return w.read(body)
}

// ahead reports whether a signature's time is further ahead than old ones may be behind. Stripe's
// library checks only the past, and a delivery signed for next year could be repeated until then.
func ahead(signature string, now time.Time) bool {
	for part := range strings.SplitSeq(signature, ",") {
		name, value, _ := strings.Cut(part, "=")
		at, err := strconv.ParseInt(value, 10, 64)
		if name == "t" && (err != nil || at > now.Add(webhook.DefaultTolerance).Unix()) {
			return true
		}
	}
	return false
}

// event holds the used fields of an event.
type event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Created  int64  `json:"created"` // Unix seconds
	Livemode bool   `json:"livemode"`
	Account  string `json:"account"` // a connected account; empty for the operator's own
	Data     struct {
		Object   jsontext.Value `json:"object"`
		Previous *struct {
			AmountRefunded *int64 `json:"amount_refunded"`
		} `json:"previous_attributes"` // only the changed fields
	} `json:"data"`
}

// mode returns the mode of the event.
func (e *event) mode() string {
	if e.Livemode {
		return live
	}
	return test
}

// sent returns the time of the event, zero if it has none.
func (e *event) sent() time.Time {
	if e.Created <= 0 || e.Created > 1<<40 {
		return time.Time{}
	}
	return time.Unix(e.Created, 0).UTC()
}

type session struct {
	PaymentStatus     string    `json:"payment_status"`
	PaymentIntent     reference `json:"payment_intent"`
	AmountTotal       int64     `json:"amount_total"`
	Currency          string    `json:"currency"`
	ClientReferenceID string    `json:"client_reference_id"`
	Metadata          metadata  `json:"metadata"`
}

type charge struct {
	PaymentIntent  reference `json:"payment_intent"`
	AmountRefunded int64     `json:"amount_refunded"` // of all refunds so far
	Currency       string    `json:"currency"`
	Method         struct {
		Card struct {
			Fingerprint string `json:"fingerprint"` // the same for a card in all payments
		} `json:"card"`
	} `json:"payment_method_details"`
}

// ofCard returns the delivery of a charge that moves no money here: it may have a card.
func (c *charge) ofCard(ignored string) payment.Delivery {
	d := payment.Delivery{Ignored: ignored}
	if c.Method.Card.Fingerprint != "" {
		d.Notice = ledger.Notice{
			Provider: ledger.Stripe, PaymentID: string(c.PaymentIntent), Instrument: c.Method.Card.Fingerprint,
		}
	}
	return d
}

// ignore returns the delivery of a harmless type.
func ignore(e event) payment.Delivery {
	var c charge
	if e.Type != "charge.succeeded" || e.Account != "" || json.Unmarshal(e.Data.Object, &c) != nil {
		return payment.Delivery{Ignored: "type"}
	}
	return c.ofCard("type")
}

// reference is an id, or the object that has it.
type reference string

// UnmarshalJSON reads either form, and null as empty.
func (r *reference) UnmarshalJSON(b []byte) error {
	var object struct {
		ID string `json:"id"`
	}
	if len(b) > 0 && b[0] == '{' {
		err := json.Unmarshal(b, &object)
		*r = reference(object.ID)
		return err
	}
	return json.Unmarshal(b, (*string)(r))
}

// metadata holds the texts that a checkout carried.
type metadata map[string]string

// UnmarshalJSON reads an object. An empty list is an empty object: some encoders write it so.
func (m *metadata) UnmarshalJSON(b []byte) error {
	var list [0]jsontext.Value
	if len(b) > 0 && b[0] == '[' && json.Unmarshal(b, &list) == nil {
		*m = nil
		return nil
	}
	return json.Unmarshal(b, (*map[string]string)(m))
}

// read decodes a verified body.
func (w *Webhook) read(body []byte) (payment.Delivery, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return payment.Delivery{}, unreadable(err)
	}
	if w.mode != "" && w.mode != e.mode() {
		return payment.Delivery{WrongMode: "the event is of " + e.mode() + " mode and ADNET_STRIPE_KEY of " + w.mode +
			" mode: set the key and the webhook secret of one mode"}, nil
	}
	reads, known := handled[e.Type]
	switch {
	case harmless[e.Type]:
		return ignore(e), nil
	case !known:
		return unhandled(e, payment.UnknownType)
	case e.Account != "": // its money is not the operator's
		return unhandled(e, "the event is of a connected account")
	}
	d, err := reads(e)
	d.Notice.SentAt, d.Type = e.sent(), e.Type
	return d, err
}

func readSession(e event) (payment.Delivery, error) {
	var s session
	if err := json.Unmarshal(e.Data.Object, &s); err != nil {
		return payment.Delivery{}, unreadable(err)
	}
	switch s.PaymentStatus {
	case "unpaid", "no_payment_required": // a bank may still reject it; the async event follows
		return payment.Delivery{Ignored: "payment_status"}, nil
	case "paid":
	default:
		return unknownSession(e, s.PaymentIntent)
	}
	if s.PaymentIntent == "" { // a subscription, which our checkouts never are
		return unhandled(e, noPayment)
	}
	return deliver(ledger.Notice{
		Provider: ledger.Stripe, EventID: e.ID, Kind: ledger.NoticePaid, PaymentID: string(s.PaymentIntent),
		Names: named(s.Metadata, s.ClientReferenceID),
	}, s.AmountTotal, s.Currency)
}

// unknownSession parks a session in an unknown state as a payment: a credit of it is the credit of
// the payment, which a later event does not credit again.
func unknownSession(e event, intent reference) (payment.Delivery, error) {
	d, err := unhandled(e, "the payment_status of the session is not known")
	if d.Parked != "" && intent != "" && d.Notice.PaymentID == string(intent) {
		d.Notice.Kind = ledger.NoticePaid
	}
	return d, err
}

func readCharge(e event) (payment.Delivery, error) {
	var c charge
	if err := json.Unmarshal(e.Data.Object, &c); err != nil {
		return payment.Delivery{}, unreadable(err)
	}
	n := ledger.Notice{
		Provider: ledger.Stripe, EventID: e.ID, Kind: ledger.NoticeRefundedTo, PaymentID: string(c.PaymentIntent),
		Instrument: c.Method.Card.Fingerprint,
	}
	if e.Type == "charge.updated" {
		before := e.Data.Previous
		switch {
		case before != nil && before.AmountRefunded == nil:
			return c.ofCard("amount_refunded"), nil
		case before == nil || *before.AmountRefunded > c.AmountRefunded: // a refund failed
			n.Kind = ledger.NoticeRefundTotal
		}
	}
	if c.PaymentIntent == "" {
		return unhandled(e, noPayment)
	}
	return deliver(n, c.AmountRefunded, c.Currency)
}

// noPayment is the reason for parking an event about an object without a payment intent.
const noPayment = "it names no payment_intent"

type refund struct {
	ID            string    `json:"id"`
	PaymentIntent reference `json:"payment_intent"`
	Amount        int64     `json:"amount"`
	Currency      string    `json:"currency"`
	Status        string    `json:"status"`
}

// readRefund reads one refund. Stripe takes the money when the refund is created, and returns it
// when the refund fails or is canceled, even after it succeeded.
func readRefund(e event) (payment.Delivery, error) {
	var r refund
	if err := json.Unmarshal(e.Data.Object, &r); err != nil {
		return payment.Delivery{}, unreadable(err)
	}
	n := ledger.Notice{
		Provider: ledger.Stripe, EventID: e.ID, Kind: ledger.NoticeRefunded, PaymentID: string(r.PaymentIntent),
		RefundID: r.ID,
	}
	switch {
	case r.Amount == 0:
		return payment.Delivery{Ignored: "amount"}, nil
	case r.PaymentIntent == "":
		return unhandled(e, noPayment)
	case e.Type == "refund.failed", r.Status == "failed", r.Status == "canceled":
		n.Kind = ledger.NoticeRefundFailed
	case r.Status != "" && r.Status != "succeeded" && r.Status != "pending" && r.Status != "requires_action":
		return unhandled(e, "the status of the refund is not known")
	}
	return deliver(n, r.Amount, r.Currency)
}

type dispute struct {
	ID            string    `json:"id"`
	PaymentIntent reference `json:"payment_intent"`
	Amount        int64     `json:"amount"`
	Currency      string    `json:"currency"`
	Status        string    `json:"status"`
}

// readDispute reads a chargeback. An inquiry (warning_…) takes no money, so it is ignored until it
// becomes a dispute, which funds_withdrawn reports.
func readDispute(e event) (payment.Delivery, error) {
	var d dispute
	if err := json.Unmarshal(e.Data.Object, &d); err != nil {
		return payment.Delivery{}, unreadable(err)
	}
	n := ledger.Notice{Provider: ledger.Stripe, EventID: e.ID, PaymentID: string(d.PaymentIntent), DisputeID: d.ID}
	switch {
	case d.PaymentIntent == "":
		return unhandled(e, noPayment)
	case e.Type == "charge.dispute.funds_withdrawn":
		n.Kind = ledger.NoticeDisputed
	case e.Type == "charge.dispute.funds_reinstated", d.Status == "won":
		n.Kind = ledger.NoticeDisputeWon
	case d.Status == "lost":
		n.Kind = ledger.NoticeDisputeLost
	case strings.HasPrefix(d.Status, "warning_"):
		return payment.Delivery{Ignored: "status"}, nil
	case e.Type == "charge.dispute.closed":
		return unhandled(e, "the status of the dispute is not known")
	default:
		n.Kind = ledger.NoticeDisputed
	}
	return deliver(n, d.Amount, d.Currency)
}

// deliver completes a notice, or parks it if it is in another currency.
func deliver(n ledger.Notice, cents int64, currency string) (payment.Delivery, error) {
	if currency != "usd" {
		return payment.ForeignCurrency(n, currency)
	}
	var err error
	if n.Amount, err = micros(cents); err != nil {
		return payment.Delivery{}, err
	}
	return payment.Delivery{Notice: n}, n.Valid()
}

func unreadable(err error) error {
	return errs.Wrap(err, errs.InvalidRequest, "the event cannot be read")
}
