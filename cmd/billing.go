package cmd

import (
	"time"

	"adnet/ingress/billing"
	"adnet/ingress/httpapi"
	"adnet/internal/backends"
	"adnet/internal/ledger"
	"adnet/internal/payment"
	"adnet/internal/stripe"
)

// paymentConfig is the settings about paying in.
type paymentConfig struct {
	Payment payment.Config       `embed:""`
	Stripe  stripe.Config        `embed:""`
	PayPal  payment.PayPalConfig `embed:""`
}

// newBilling constructs the billing endpoints. A provider without its settings is off; in in-memory mode the demo
// provider takes the place of a checkout that is off.
func newBilling(h *host, p parts, b *backends.All, auth *httpapi.Auth, baseURL func() string) (*billing.API, error) {
	cfg := p.Config.Payments
	deps := payment.Deps{
		Store: b.Books, Webhooks: make(map[ledger.Provider]payment.Webhook), Log: h.Log, BaseURL: baseURL, Now: time.Now,
	}
	var demo *payment.Demo
	if cfg.Stripe.Key != "" {
		client, err := stripe.New(cfg.Stripe)
		if err != nil {
			return nil, err
		}
		deps.Checkouts = append(deps.Checkouts, client)
	}
	if cfg.PayPal.ClientID != "" || cfg.PayPal.ClientSecret != "" {
		orders, err := payment.NewPayPalOrders(cfg.PayPal, time.Now)
		if err != nil {
			return nil, err
		}
		deps.Checkouts = append(deps.Checkouts, orders)
	}
	if p.InMemory {
		demo = payment.NewDemo(b.Books, baseURL, time.Now)
		deps.Checkouts = append(deps.Checkouts, demo)
	}
	if cfg.Stripe.WebhookSecret != "" {
		hook, err := stripe.NewWebhook(cfg.Stripe)
		if err != nil {
			return nil, err
		}
		deps.Webhooks[ledger.Stripe] = hook
	}
	if cfg.PayPal.WebhookID != "" {
		hook, err := payment.NewPayPal(cfg.PayPal, payment.PayPalDeps{Certificates: payment.NewFetcher(nil, time.Now), Now: time.Now})
		if err != nil {
			return nil, err
		}
		deps.Webhooks[ledger.PayPal] = hook
	}
	payments, err := payment.New(cfg.Payment, deps)
	if err != nil {
		return nil, err
	}
	return billing.New(billing.Deps{
		Metrics: h.metrics, Auth: auth, Users: b.Books, Ledger: b.Books, Publishers: b.Books, Payments: payments, Demo: demo, Prepaid: p.Money.Required(), Now: time.Now,
	}), nil
}
