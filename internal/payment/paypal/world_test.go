package paypal_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/store/memory"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// other is the provider that a deposit through PayPal must not ask.
type other struct{ opened []payment.Request }

func (o *other) Provider() ledger.Provider { return ledger.Stripe }

func (o *other) Open(_ context.Context, r payment.Request) (payment.Session, error) {
	o.opened = append(o.opened, r)
	return payment.Session{ID: "cs_" + r.DepositID.String(), URL: "https://pay.example/"}, nil
}

func (o *other) Verify(context.Context, string) (ledger.Notice, bool, error) {
	return ledger.Notice{}, false, nil
}

// hook answers deliveries as the test says.
type hook struct{ payment.Delivery }

func (h *hook) Read(context.Context, http.Header, []byte) (payment.Delivery, error) {
	return h.Delivery, nil
}

type world struct {
	store    *memory.Stores
	provider *other
	hook     *hook
	service  *payment.Service
}

// silence logs nothing.
type silence struct{}

func (silence) Error(context.Context, string, ...any) {}

// bothWorld is a service with two providers, PayPal on its protocol server.
func bothWorld(t *testing.T) (*world, *payPalServer) {
	t.Helper()
	w, server := &world{store: memory.New(time.Now), provider: &other{}, hook: &hook{}}, newPayPalServer(t)
	var err error
	w.service, err = payment.New(payment.Config{}, payment.Deps{
		Store: w.store.Payments, Checkouts: []payment.Checkouts{w.provider, server.client(t)},
		Webhooks: map[ledger.Provider]payment.Webhook{ledger.PayPal: w.hook},
		Alarm:    silence{},
		BaseURL:  func() string { return "https://ads.example" }, Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	return w, server
}

func (w *world) user(t *testing.T, role account.Role) account.User {
	t.Helper()
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Role: role, TokenVersion: 1, CreatedAt: now}
	u.Email = u.ID.String() + "@example.com"
	require.NoError(t, w.store.Accounts.CreateUser(t.Context(), u))
	return u
}

func (w *world) cash(t *testing.T, u account.User) money.Micros {
	t.Helper()
	cash, err := w.store.Ledger.AdvertiserBalance(t.Context(), u.ID)
	require.NoError(t, err)
	return cash
}
