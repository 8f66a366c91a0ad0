package payment

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/ledger"
)

// Demo simulates a payment provider in in-memory mode, so that the whole flow can be tried: its
// checkout is a page of adnet, where every visitor may "pay" without money. It must not be
// constructed in any other mode.
type Demo struct {
	store   Store
	baseURL func() string
	now     func() time.Time
}

var _ Checkouts = (*Demo)(nil)

// NewDemo returns the provider; its checkouts live under baseURL.
func NewDemo(store Store, baseURL func() string, now func() time.Time) *Demo {
	return &Demo{store: store, baseURL: baseURL, now: now}
}

// Provider implements [Checkouts].
func (d *Demo) Provider() ledger.Provider { return ledger.Demo }

// Open implements [Checkouts].
func (d *Demo) Open(_ context.Context, r Request) (Session, error) {
	id := r.DepositID.String()
	return Session{ID: "demo_checkout_" + id, URL: d.baseURL() + "/checkout/" + id}, nil
}

// Verify implements [Checkouts]: a payment here is credited at once, so an open checkout is not
// paid.
func (d *Demo) Verify(context.Context, string) (ledger.Notice, bool, error) {
	return ledger.Notice{}, false, nil
}

// Checkout returns the deposit of a checkout page. Errors: errs.NotFound.
func (d *Demo) Checkout(ctx context.Context, id uuid.UUID) (ledger.Deposit, error) {
	deposit, err := d.store.Deposit(ctx, id)
	if err == nil && deposit.Provider != ledger.Demo {
		err = errs.New(errs.NotFound, "no such checkout")
	}
	return deposit, err
}

// Complete pays a checkout; a repeat changes nothing. Errors: errs.NotFound.
func (d *Demo) Complete(ctx context.Context, id uuid.UUID) (ledger.Deposit, error) {
	deposit, err := d.Checkout(ctx, id)
	if err != nil {
		return deposit, err
	}
	result, err := d.store.ApplyNotice(ctx, ledger.Notice{
		Provider: ledger.Demo, EventID: "demo_event_" + id.String(), Kind: ledger.NoticePaid,
		PaymentID: "demo_payment_" + id.String(),
		Amount:    deposit.Requested, Names: []uuid.UUID{id}, At: d.now().UTC(),
	})
	return result.Deposit, err
}
