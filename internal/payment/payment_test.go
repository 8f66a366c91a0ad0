package payment_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/store/memory"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// provider simulates a payment provider.
type provider struct {
	opened   []payment.Request
	err      error
	paid     map[string]ledger.Notice // by checkout
	requests int
}

func (p *provider) Provider() ledger.Provider { return ledger.Stripe }

func (p *provider) Open(_ context.Context, r payment.Request) (payment.Session, error) {
	p.opened = append(p.opened, r)
	return payment.Session{ID: "cs_" + r.DepositID.String(), URL: "https://pay.example/" + r.DepositID.String()}, p.err
}

func (p *provider) Verify(_ context.Context, checkout string) (ledger.Notice, bool, error) {
	p.requests++
	n, paid := p.paid[checkout]
	return n, paid, p.err
}

// hook answers deliveries as the test says.
type hook struct {
	payment.Delivery
	err error
}

func (h *hook) Read(context.Context, http.Header, []byte) (payment.Delivery, error) {
	return h.Delivery, h.err
}

type world struct {
	store    *memory.Stores
	provider *provider
	hook     *hook
	service  *payment.Service
	log      *strings.Builder
}

func newWorld(t *testing.T, cfg payment.Config) *world {
	t.Helper()
	w := &world{
		store: memory.New(time.Now), provider: &provider{paid: map[string]ledger.Notice{}}, hook: &hook{},
		log: &strings.Builder{},
	}
	var err error
	w.service, err = payment.New(cfg, payment.Deps{
		Store: w.store.Payments, Checkouts: []payment.Checkouts{w.provider},
		Webhooks: map[ledger.Provider]payment.Webhook{ledger.Stripe: w.hook},
		Alarm:    w.logger(), BaseURL: func() string { return "https://ads.example" },
		Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	return w
}

func (w *world) logger() textLog { return textLog{slog.New(slog.NewTextHandler(w.log, nil))} }

// textLog writes every line.
type textLog struct{ *slog.Logger }

func (l textLog) Error(ctx context.Context, msg string, args ...any) {
	l.ErrorContext(ctx, msg, args...)
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

func TestOpenKeepsADeposit(t *testing.T) {
	w := newWorld(t, payment.Config{})
	u := w.user(t, account.RoleAdvertiser)
	opened, err := w.service.Open(
		t.Context(), u,
		payment.CheckoutRequest{Advertiser: u.ID, Amount: 25 * money.USD, ReturnURL: "https://shop.example/back?x=1"},
	)
	require.NoError(t, err)
	id := opened.Deposit.ID
	require.Equal(t, "https://pay.example/"+id.String(), opened.URL)
	require.Equal(t, []payment.Request{{
		DepositID: id, AdvertiserID: u.ID, Email: u.Email, Amount: 25 * money.USD,
		ReturnURL: "https://shop.example/back?deposit_id=" + id.String() + "&x=1",
		CancelURL: "https://shop.example/back?cancelled=true&deposit_id=" + id.String() + "&x=1",
	}}, w.provider.opened)
	stored, err := w.store.Payments.Deposit(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, opened.Deposit, stored)
	require.Equal(t, "cs_"+id.String(), stored.CheckoutID)
	require.Zero(t, w.cash(t, u))
}

func TestOpenRefuses(t *testing.T) {
	w := newWorld(t, payment.Config{})
	u, other := w.user(t, account.RoleAdvertiser), w.user(t, account.RoleAdvertiser)
	_, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: other.ID, Amount: 25 * money.USD, ReturnURL: ""},
	)
	require.True(t, errs.Is(err, errs.Forbidden))
	for _, amount := range []money.Micros{
		0, -money.USD, payment.MinCheckout - 1, payment.MinCheckout + 1, payment.MaxCheckout + 10_000, 25*money.USD + 1,
	} {
		_, err := w.service.Open(
			t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: amount, ReturnURL: ""},
		)
		require.True(t, errs.Is(err, errs.InvalidRequest), amount)
	}
	for _, back := range []string{
		"shop.example", "/back", "//shop.example", "http://shop.example", "javascript:alert(1)", "data:text/html,x",
		"https://", "https:shop", "https:/shop",
		"https://u:p@shop.example", "https://shop.example/\nX: y", "https://shop.example/ x", "ftp://shop.example",
		"https://" + strings.Repeat("x", 2048),
		"https://a;script-src", "https://a,b", "https://shop.example\\@evil", `https://shop.example/"><script>`,
	} {
		_, err := w.service.Open(
			t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: money.USD, ReturnURL: back},
		)
		require.True(t, errs.Is(err, errs.InvalidRequest), back)
		_, err = payment.New(payment.Config{ReturnURL: back}, payment.Deps{})
		require.Error(t, err, back)
	}
	require.Empty(t, w.provider.opened)
	w.provider.err = errs.New(errs.UpstreamError, "down")
	_, err = w.service.Open(
		t.Context(), u,
		payment.CheckoutRequest{Advertiser: u.ID, Amount: money.USD, ReturnURL: "http://localhost:3000/back"},
	)
	require.True(t, errs.Is(err, errs.UpstreamError))
	_, err = w.store.Payments.Deposit(t.Context(), w.provider.opened[0].DepositID)
	require.True(t, errs.Is(err, errs.NotFound), "a checkout that nobody can open is no deposit")

	none, err := payment.New(payment.Config{}, payment.Deps{Store: w.store.Payments, Now: time.Now})
	require.NoError(t, err)
	_, err = none.Open(t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: money.USD, ReturnURL: ""})
	require.True(t, errs.Is(err, errs.Unavailable))
}

func TestReturnURLs(t *testing.T) {
	w := newWorld(t, payment.Config{ReturnURL: "https://configured.example/"})
	u, admin := w.user(t, account.RoleAdvertiser), w.user(t, account.RoleAdmin)
	_, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	require.Contains(t, w.provider.opened[0].ReturnURL, "https://configured.example/?deposit_id=")
	w = newWorld(t, payment.Config{})
	u = w.user(t, account.RoleAdvertiser)
	_, err = w.service.Open(
		t.Context(), admin, payment.CheckoutRequest{Advertiser: u.ID, Amount: money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	require.Contains(t, w.provider.opened[0].ReturnURL, "https://ads.example/checkout/done?deposit_id=")
	require.Empty(t, w.provider.opened[0].Email, "the administrator is not the payer")
}

func TestConfirm(t *testing.T) {
	w := newWorld(t, payment.Config{})
	u, other, admin := w.user(
		t, account.RoleAdvertiser,
	), w.user(t, account.RoleAdvertiser), w.user(t, account.RoleAdmin)
	opened, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: 25 * money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	claim := payment.DepositReference{DepositID: opened.Deposit.ID}

	_, _, err = w.service.Confirm(t.Context(), other, claim)
	require.True(t, errs.Is(err, errs.Forbidden))
	_, _, err = w.service.Confirm(t.Context(), u, payment.DepositReference{DepositID: uuid.New()})
	require.True(t, errs.Is(err, errs.NotFound))
	_, _, err = w.service.Confirm(
		t.Context(), u, payment.DepositReference{Provider: ledger.Stripe, Reference: "pi_unheard"},
	)
	require.True(t, errs.Is(err, errs.NotFound))
	require.Zero(t, w.provider.requests)

	d, deduped, err := w.service.Confirm(t.Context(), u, claim) // the provider knows of no payment
	require.NoError(t, err)
	require.Equal(t, ledger.DepositOpen, d.Status())
	require.False(t, deduped)
	require.Zero(t, w.cash(t, u))

	// The provider's amount counts, and the payment belongs to this deposit whichever ids come with
	// it.
	w.provider.paid[opened.Deposit.CheckoutID] = ledger.Notice{
		Provider: ledger.Stripe, EventID: "verified", Kind: ledger.NoticePaid, PaymentID: "pi_1",
		Amount: 20 * money.USD, Names: []uuid.UUID{other.ID},
	}
	d, deduped, err = w.service.Confirm(t.Context(), u, claim)
	require.NoError(t, err)
	require.False(t, deduped)
	require.Equal(t, 20*money.USD, d.Paid)
	require.Equal(t, 20*money.USD, w.cash(t, u))
	requests := w.provider.requests
	for _, again := range []payment.DepositReference{
		claim, {Provider: ledger.Stripe, Reference: "pi_1"},
		{Provider: ledger.Stripe, Reference: opened.Deposit.CheckoutID},
	} {
		for _, caller := range []account.User{u, admin} {
			same, deduped, err := w.service.Confirm(t.Context(), caller, again)
			require.NoError(t, err)
			require.True(t, deduped)
			require.Equal(t, d, same)
		}
	}
	require.Equal(t, requests, w.provider.requests)
	require.Equal(t, 20*money.USD, w.cash(t, u))

	second, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	w.provider.err = errs.New(errs.UpstreamError, "down")
	_, _, err = w.service.Confirm(t.Context(), u, payment.DepositReference{DepositID: second.Deposit.ID})
	require.True(t, errs.Is(err, errs.UpstreamError))
}

func TestReceive(t *testing.T) {
	w := newWorld(t, payment.Config{})
	u := w.user(t, account.RoleAdvertiser)
	_, err := w.service.Receive(t.Context(), ledger.PayPal, nil, nil)
	require.True(t, errs.Is(err, errs.InvalidRequest), "a provider that is not configured")
	w.hook.err = errs.New(errs.InvalidRequest, "not signed")
	_, err = w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.True(t, errs.Is(err, errs.InvalidRequest))
	w.hook.err, w.hook.Ignored = nil, "type"
	got, err := w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.NoError(t, err)
	require.Equal(t, payment.Receipt{Ignored: "type"}, got)

	w.hook.Delivery = payment.Delivery{Notice: ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_1", Kind: ledger.NoticePaid, PaymentID: "pi_1", Amount: 3 * money.USD,
		Names: []uuid.UUID{uuid.New()},
	}}
	got, err = w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.NoError(t, err)
	require.Equal(t, payment.Receipt{Outcome: ledger.NoticeUnattributed}, got)
	require.Contains(t, w.log.String(), "pi_1", "somebody must look at it")

	w.hook.Notice.Names = []uuid.UUID{u.ID}
	got, err = w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.NoError(t, err)
	require.Equal(t, ledger.NoticeCredited, got.Outcome)
	require.False(t, got.Deduped)
	again, err := w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.NoError(t, err)
	require.True(t, again.Deduped)
	require.Equal(t, got.DepositID, again.DepositID)
	w.hook.Notice.EventID = "evt_2" // the same payment in another event
	again, err = w.service.Receive(t.Context(), ledger.Stripe, nil, nil)
	require.NoError(t, err)
	require.True(t, again.Deduped)
	require.Equal(t, 3*money.USD, w.cash(t, u))
}

func TestDemo(t *testing.T) {
	w := newWorld(t, payment.Config{})
	u := w.user(t, account.RoleAdvertiser)
	demo := payment.NewDemo(
		w.store.Payments, func() string { return "http://localhost" }, func() time.Time { return now },
	)
	service, err := payment.New(
		payment.Config{},
		payment.Deps{
			Store: w.store.Payments, Checkouts: []payment.Checkouts{demo},
			BaseURL: func() string { return "http://localhost" },
			Now:     time.Now,
		},
	)
	require.NoError(t, err)
	opened, err := service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	require.Equal(t, "http://localhost/checkout/"+opened.Deposit.ID.String(), opened.URL)
	d, deduped, err := service.Confirm(t.Context(), u, payment.DepositReference{DepositID: opened.Deposit.ID})
	require.NoError(t, err)
	require.False(t, deduped)
	require.Equal(t, ledger.DepositOpen, d.Status())
	for range 3 {
		d, err = demo.Complete(t.Context(), opened.Deposit.ID)
		require.NoError(t, err)
		require.Equal(t, ledger.DepositPaid, d.Status())
	}
	require.Equal(t, 5*money.USD, w.cash(t, u))
	// It pays its own checkouts only.
	real, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD, ReturnURL: ""},
	)
	require.NoError(t, err)
	_, err = demo.Complete(t.Context(), real.Deposit.ID)
	require.True(t, errs.Is(err, errs.NotFound))
}

// second is a provider beside the first.
type second struct{ *provider }

func (second) Provider() ledger.Provider { return ledger.PayPal }

func TestProvidersAndCurrencies(t *testing.T) {
	w := newWorld(t, payment.Config{})
	var err error
	w.service, err = payment.New(payment.Config{}, payment.Deps{
		Store: w.store.Payments, Checkouts: []payment.Checkouts{w.provider, second{w.provider}},
		Webhooks: map[ledger.Provider]payment.Webhook{ledger.PayPal: w.hook},
		Alarm:    w.logger(), BaseURL: func() string { return "https://ads.example" },
		Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	u := w.user(t, account.RoleAdvertiser)
	wish := payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD}
	opened, err := w.service.Open(t.Context(), u, wish)
	require.NoError(t, err)
	require.Equal(t, ledger.Stripe, opened.Deposit.Provider, "the first is the default")
	wish.Provider = "bank"
	_, err = w.service.Open(t.Context(), u, wish)
	require.True(t, errs.Is(err, errs.InvalidRequest))
	wish.Provider = ledger.Demo
	_, err = w.service.Open(t.Context(), u, wish)
	require.True(t, errs.Is(err, errs.Unavailable), "not configured here")
	wish.Provider, wish.Currency = "", "USD"
	_, err = w.service.Open(t.Context(), u, wish)
	require.NoError(t, err)
	for _, currency := range []string{"EUR", "usd", "USDT"} {
		wish.Currency = currency
		_, err = w.service.Open(t.Context(), u, wish)
		require.True(t, errs.Is(err, errs.InvalidRequest), currency)
	}
}
