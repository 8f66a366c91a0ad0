package cmd

import (
	"time"

	"adnet/ingress/api/billing"
	"adnet/internal/ledger"
	"adnet/internal/payment"
	"adnet/internal/payment/paypal"
	"adnet/internal/payment/stripe"
	"adnet/internal/process/obs"
)

// paymentConfig holds the settings of payments.
type paymentConfig struct {
	Payment payment.Config `embed:""`
	Stripe  stripe.Config  `embed:""`
	PayPal  paypal.Config  `embed:""`
}

// billing builds and mounts deposits, webhooks and statements. A provider without settings is off;
// in in-memory mode the demo provider takes the place of a checkout that is off.
func (r *ingressRole) billing() error {
	payments, demo, err := r.payments()
	if err != nil {
		return err
	}
	creditValue, err := r.inputs.Money.Value()
	if err != nil {
		return err
	}
	billing.New(billing.Deps{
		Metrics: r.metrics, Users: r.Stores.Accounts, Ledger: r.Stores.Ledger,
		Publishers: r.Stores.Publishers, Payments: payments,
		Demo: demo, Deliveries: r.limits,
		Prepaid: r.inputs.Money.Required(), CreditValue: creditValue, Now: time.Now,
	}).Mount(r.http)
	return nil
}

// payments builds the providers' checkouts and webhooks. demo is nil unless deposits may be
// simulated.
func (r *ingressRole) payments() (_ *payment.Service, demo *payment.Demo, err error) {
	cfg := r.inputs.Config.Payments
	deps := payment.Deps{
		Store: r.Stores.Payments, Webhooks: make(map[ledger.Provider]payment.Webhook),
		Alarm:   obs.Limited(r.Log, time.Minute),
		BaseURL: r.http.BaseURL, Marks: r.inputs.Ring.Marks, Now: time.Now,
	}
	if cfg.Stripe.Key != "" {
		client, err := stripe.New(cfg.Stripe)
		if err != nil {
			return nil, nil, err
		}
		deps.Checkouts = append(deps.Checkouts, client)
	}
	wallet := paypal.WebhookDeps{Certificates: paypal.NewFetcher(nil, time.Now), Now: time.Now}
	if cfg.PayPal.ClientID != "" || cfg.PayPal.ClientSecret != "" {
		orders, err := paypal.New(cfg.PayPal, time.Now)
		if err != nil {
			return nil, nil, err
		}
		deps.Checkouts = append(deps.Checkouts, orders)
		wallet.Captures = orders
	}
	if r.inputs.InMemory {
		demo = payment.NewDemo(r.Stores.Payments, r.http.BaseURL, time.Now)
		deps.Checkouts = append(deps.Checkouts, demo)
	}
	if cfg.Stripe.WebhookSecret != "" {
		hook, err := stripe.NewWebhook(cfg.Stripe)
		if err != nil {
			return nil, nil, err
		}
		deps.Webhooks[ledger.Stripe] = hook
	}
	if cfg.PayPal.WebhookID != "" {
		hook, err := paypal.NewWebhook(cfg.PayPal, wallet)
		if err != nil {
			return nil, nil, err
		}
		deps.Webhooks[ledger.PayPal] = hook
	}
	payments, err := payment.New(cfg.Payment, deps)
	return payments, demo, err
}
