package billing

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

type checkoutRequest struct {
	accountFields
	Amount    *money.Micros   `json:"amount"`
	ReturnURL string          `json:"return_url"`
	Provider  ledger.Provider `json:"provider"`
	Currency  string          `json:"currency"`
}

// createCheckout serves action=create_checkout.
func (a *API) createCheckout(c *gin.Context, caller account.User, in checkoutRequest) (httpapi.Object, error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return nil, err
	}
	if in.Amount == nil {
		return nil, errs.New(errs.InvalidRequest, "amount is required").With("field", "amount")
	}
	if p.advertiser == uuid.Nil {
		return nil, errs.New(errs.InvalidRequest, "advertiser_id is required").With("field", "advertiser_id")
	}
	opened, err := a.deps.Payments.Open(c.Request.Context(), p.caller, payment.CheckoutRequest{
		Advertiser: p.advertiser, Amount: *in.Amount, ReturnURL: in.ReturnURL, Provider: in.Provider,
		Currency: in.Currency,
	})
	if err != nil {
		return nil, err
	}
	return httpapi.Object{
		"checkout_url": opened.URL, "deposit_id": opened.Deposit.ID, "provider": opened.Deposit.Provider,
		"amount": opened.Deposit.Requested,
	}, nil
}

// depositReply is a deposit. Amount is the credited amount, 0 while the deposit is open.
type depositReply struct {
	ID           uuid.UUID            `json:"deposit_id"`
	AdvertiserID uuid.UUID            `json:"advertiser_id"`
	Provider     ledger.Provider      `json:"provider"`
	Status       ledger.DepositStatus `json:"status"`
	Amount       money.Micros         `json:"amount"`
	Refunded     money.Micros         `json:"refunded"`
	Disputed     money.Micros         `json:"held"` // by disputes
	Requested    money.Micros         `json:"requested"`
	Currency     ledger.Asset         `json:"currency"`
	PaymentID    string               `json:"payment_id,omitempty"`
	CreatedAt    time.Time            `json:"created_at"`
	Deduped      bool                 `json:"deduped"`
}

// depositRequest identifies a deposit by one of several ids. The amount is not used.
type depositRequest struct {
	accountFields
	DepositID     *string `json:"deposit_id"`
	SessionID     *string `json:"session_id"`     // Stripe
	PaymentIntent *string `json:"payment_intent"` // Stripe
	OrderID       *string `json:"order_id"`       // PayPal
	CaptureID     *string `json:"capture_id"`     // PayPal

	Amount jsontext.Value `json:"amount"`
}

// reference returns the first id that is present. An empty id is an error.
func (in depositRequest) reference() (payment.DepositReference, error) {
	if in.DepositID != nil {
		id, err := httpapi.ParseID("deposit_id", *in.DepositID)
		return payment.DepositReference{DepositID: id}, err
	}
	for _, name := range []struct {
		field    string
		value    *string
		provider ledger.Provider
	}{
		{"session_id", in.SessionID, ledger.Stripe}, {"payment_intent", in.PaymentIntent, ledger.Stripe},
		{"order_id", in.OrderID, ledger.PayPal}, {"capture_id", in.CaptureID, ledger.PayPal},
	} {
		switch {
		case name.value == nil:
		case *name.value == "":
			return payment.DepositReference{}, errs.New(
				errs.InvalidRequest, "%s must not be empty", name.field,
			).With("field", name.field)
		default:
			return payment.DepositReference{Provider: name.provider, Reference: *name.value}, nil
		}
	}
	return payment.DepositReference{}, errs.New(errs.InvalidRequest,
		"identify the deposit by deposit_id, session_id, payment_intent, order_id or capture_id; use "+
			"action=create_checkout to pay in").With("field", "deposit_id")
}

// deposit serves action=deposit. A payment is credited once the provider confirms it, with the
// provider's amount.
func (a *API) deposit(c *gin.Context, caller account.User, in depositRequest) (reply depositReply, err error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return reply, err
	}
	reference, err := in.reference()
	if err != nil {
		return reply, err
	}
	d, deduped, err := a.deps.Payments.Confirm(c.Request.Context(), p.caller, reference)
	if err != nil {
		return reply, err
	}
	return depositReply{
		ID: d.ID, AdvertiserID: d.AdvertiserID, Provider: d.Provider, Status: d.Status(), Amount: d.Paid,
		Refunded: d.Reversed - d.Disputed, Disputed: d.Disputed,
		Requested: d.Requested, Currency: ledger.USD, PaymentID: d.PaymentID, CreatedAt: d.CreatedAt.UTC(),
		Deduped: deduped,
	}, nil
}

// refused returns the error of a delivery. An unsigned delivery counts against its address; a
// signed one never does, even from a shared address.
func (a *API) refused(c *gin.Context, err error) error {
	if a.deps.Deliveries == nil || !errs.Is(err, errs.InvalidRequest) {
		return err
	}
	if limited := a.deps.Deliveries.BadDelivery(c.ClientIP(), a.deps.Now()); limited != nil {
		return limited
	}
	return err
}

// webhook serves action=webhook. Providers have no login: the signature over the raw body
// authenticates them. The provider is identified by its signature header.
func (a *API) webhook(c *gin.Context) error {
	reply, err := a.receive(c)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}

// receive applies a delivery. Whatever else it sends is ignored, as the providers' protocols ask.
func (a *API) receive(c *gin.Context) (httpapi.Object, error) {
	var provider ledger.Provider
	switch header := c.Request.Header; {
	case header.Get("Stripe-Signature") != "":
		provider = ledger.Stripe
	case header.Get("Paypal-Transmission-Sig") != "":
		provider = ledger.PayPal
	default:
		a.notices.WithLabelValues("unknown", "refused").Inc()
		return nil, a.refused(c, errs.New(errs.InvalidRequest, "the delivery has no payment provider's signature"))
	}
	var receipt payment.Receipt
	err := httpapi.RawBody(c, func(body []byte) (err error) {
		ctx := c.Request.Context()
		if a.deps.Deliveries != nil && a.deps.Deliveries.Doubts(c.ClientIP(), a.deps.Now()) {
			ctx = payment.Doubted(ctx)
		}
		receipt, err = a.deps.Payments.Receive(ctx, provider, c.Request.Header, body)
		return err
	})
	switch {
	case receipt.WrongMode: // signed, so it does not count against the address
		a.notices.WithLabelValues(string(provider), "wrong_mode").Inc()
		return nil, err
	case err != nil:
		a.notices.WithLabelValues(string(provider), "refused").Inc()
		return nil, a.refused(c, err)
	}
	reply := httpapi.Object{"received": true, "deduped": receipt.Deduped}
	outcome := "ignored"
	if receipt.Ignored == "" {
		outcome = string(receipt.Outcome)
	}
	counted := outcome
	if receipt.Unknown {
		counted = "unknown"
	}
	a.notices.WithLabelValues(string(provider), counted).Inc()
	reply["outcome"] = outcome
	if receipt.Reason != "" {
		reply["reason"] = receipt.Reason
	}
	if receipt.DepositID != uuid.Nil {
		reply["deposit_id"] = receipt.DepositID
	}
	return reply, nil
}
