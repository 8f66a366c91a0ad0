// Package stripe connects Stripe as a payment provider: hosted checkouts through its API, and its
// webhook.
//
// Contract: payments are in USD and keyed by their payment intent. The secret key and the webhook's
// secret never appear in errors or logs. Nothing is sent before a method is called.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stripe/stripe-go/v85"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// Config holds the settings of Stripe.
type Config struct {
	Key           string        `name:"stripe-key" env:"ADNET_STRIPE_KEY" secret:"" default:"" help:"Secret key of the Stripe account that is paid; empty switches its checkouts off."`
	BaseURL       string        `name:"stripe-base-url" env:"ADNET_STRIPE_BASE_URL" default:"https://api.stripe.com" help:"Address of Stripe's API."`
	WebhookSecret string        `name:"stripe-webhook-secret" env:"ADNET_STRIPE_WEBHOOK_SECRET" secret:"" default:"" help:"Secret that Stripe signs its webhook deliveries with; empty refuses them."`
	Timeout       time.Duration `name:"stripe-timeout" env:"ADNET_STRIPE_TIMEOUT" default:"10s" help:"How long a request to Stripe may take."`
}

const (
	cent      = money.USD / 100 // Stripe's unit for USD
	checkouts = "/v1/checkout/sessions"
)

// Client opens and verifies checkouts. It is safe for concurrent use. It calls the library's backend
// because [stripe.NewClient] links all services of Stripe: megabytes in the memory of each node.
type Client struct {
	api stripe.Backend
	key string
}

var _ payment.Checkouts = (*Client)(nil)

// New returns a client. Errors: a missing key, or an invalid base URL.
func New(cfg Config) (*Client, error) {
	if cfg.Key == "" {
		return nil, errors.New("ADNET_STRIPE_KEY is not set")
	}
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("ADNET_STRIPE_BASE_URL must be an http or https address")
	}
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL:        stripe.String(strings.TrimRight(cfg.BaseURL, "/")),
		HTTPClient: &http.Client{Timeout: cfg.Timeout},
		// Errors are returned, and logged once by the code that handles the request.
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: stripe.Int64(1), // requests carry an idempotency key
		EnableTelemetry:   stripe.Bool(false),
	})
	return &Client{api: backends.API, key: cfg.Key}, nil
}

// Provider implements [payment.Checkouts].
func (c *Client) Provider() ledger.Provider { return ledger.Stripe }

// Open implements [payment.Checkouts]. Repeating it for one deposit opens one checkout.
func (c *Client) Open(ctx context.Context, r payment.Request) (payment.Session, error) {
	ours := map[string]string{"deposit_id": r.DepositID.String(), "advertiser_id": r.AdvertiserID.String()}
	params := &stripe.CheckoutSessionCreateParams{
		Mode:              stripe.String("payment"),
		SuccessURL:        stripe.String(r.ReturnURL),
		CancelURL:         stripe.String(r.CancelURL),
		ClientReferenceID: stripe.String(r.DepositID.String()),
		Metadata:          ours,
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: ours},
		// Refunds of a payment in another currency would be counted in that currency.
		AdaptivePricing: &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: stripe.Bool(false)},
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(1),
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency:   stripe.String("usd"),
				UnitAmount: stripe.Int64(int64(r.Amount / cent)),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{
					Name: stripe.String("Advertising balance"),
				},
			},
		}},
	}
	if r.Email != "" {
		params.CustomerEmail = stripe.String(r.Email)
	}
	params.SetIdempotencyKey("adnet-deposit-" + r.DepositID.String())
	params.Context = ctx
	var session stripe.CheckoutSession
	if err := c.api.Call(http.MethodPost, checkouts, c.key, params, &session); err != nil {
		return payment.Session{}, failure("open a checkout", err)
	}
	if session.ID == "" || session.URL == "" {
		return payment.Session{}, errs.New(errs.UpstreamError, "Stripe returned no checkout")
	}
	return payment.Session{ID: session.ID, URL: session.URL}, nil
}

// Verify implements [payment.Checkouts]: only a session whose payment_status is paid is a payment.
func (c *Client) Verify(ctx context.Context, checkoutID string) (ledger.Notice, bool, error) {
	params := &stripe.CheckoutSessionRetrieveParams{Params: stripe.Params{Context: ctx}}
	var s stripe.CheckoutSession
	if err := c.api.Call(http.MethodGet, stripe.FormatURLPath(checkouts+"/%s", checkoutID), c.key, params, &s); err != nil {
		return ledger.Notice{}, false, failure("read a checkout", err)
	}
	if s.PaymentStatus != stripe.CheckoutSessionPaymentStatusPaid || s.Currency != stripe.CurrencyUSD ||
		s.PaymentIntent == nil {
		return ledger.Notice{}, false, nil
	}
	amount, err := micros(s.AmountTotal)
	if err != nil {
		return ledger.Notice{}, false, err
	}
	return ledger.Notice{
		Provider: ledger.Stripe, EventID: "verified_" + s.ID, Kind: ledger.NoticePaid, PaymentID: s.PaymentIntent.ID,
		Amount: amount,
		Names:  named(s.Metadata, s.ClientReferenceID),
	}, true, nil
}

// failure keeps Stripe's text for the log: it may repeat parts of the request.
func failure(what string, err error) error {
	var refused *stripe.Error
	if errors.As(err, &refused) {
		err = fmt.Errorf(
			"status %d, type %s, code %s, request %s", refused.HTTPStatusCode, refused.Type, refused.Code,
			refused.RequestID,
		)
	}
	return errs.Wrap(fmt.Errorf("%s: %w", what, err), errs.UpstreamError, "the payment provider could not %s", what)
}

// micros converts cents to micro-USD.
func micros(cents int64) (money.Micros, error) {
	if cents < 0 || cents > int64(money.Max/cent) {
		return 0, errs.New(errs.InvalidRequest, "the amount is out of range")
	}
	return money.Micros(cents) * cent, nil
}

// named returns the ids that a checkout carries, the deposit's first.
func named(metadata map[string]string, reference string) (ids []uuid.UUID) {
	for _, text := range []string{metadata["deposit_id"], reference, metadata["advertiser_id"]} {
		if id, err := uuid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
