package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// failedRefund: the money of a failed refund is back, and can be refunded again.
func failedRefund(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("pi_1", 50*money.USD, u.ID), ledger.NoticeCredited)
	applyNotice(t, l, refundedTo("pi_1", 30*money.USD), ledger.NoticeReversed)
	requireCash(t, l, u.ID, 20*money.USD)
	got := applyNotice(t, l, refundFailed("pi_1", "re_1", 30*money.USD), ledger.NoticeReleased)
	require.Equal(t, ledger.DepositPaid, got.Deposit.Status())
	requireCash(t, l, u.ID, 50*money.USD)
	require.True(t, applyNotice(t, l, refundFailed("pi_1", "re_1", 30*money.USD), ledger.NoticeReleased).Repeated)
	older := refundFailed("pi_1", "re_1", 30*money.USD)
	older.EventID = "evt_older_type"
	applyNotice(t, l, older, ledger.NoticeNothing)
	applyNotice(t, l, refunded("pi_1", "re_1", 30*money.USD), ledger.NoticeNothing) // an older state of it
	requireCash(t, l, u.ID, 50*money.USD)
	again := refundedTo("pi_1", 30*money.USD)
	again.EventID, again.SentAt = "evt_again", now.Add(time.Minute)
	applyNotice(t, l, again, ledger.NoticeReversed)
	requireCash(t, l, u.ID, 20*money.USD)
	fell := refundedTo("pi_1", 0)
	fell.Kind, fell.SentAt = ledger.NoticeRefundTotal, now.Add(time.Hour)
	applyNotice(t, l, fell, ledger.NoticeReleased)
	requireCash(t, l, u.ID, 50*money.USD)

	lines, err := l.Deposits.History(
		t.Context(), ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: 9},
	)
	require.NoError(t, err)
	require.Len(t, lines, 5)
	for i, kind := range []ledger.Kind{ledger.KindRefundFailed, ledger.KindRefund, ledger.KindRefundFailed} {
		require.Equal(t, kind, lines[i].Kind)
		require.NotEqual(t, lines[i].Transaction, lines[i+1].Transaction)
	}
	require.Equal(t, lines[1].Transaction, lines[0].Reverses)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})

	// Money that was spent meanwhile is owed no more.
	applyNotice(t, l, refunded("pi_2", "re_2", money.USD), ledger.NoticeParked)
	applyNotice(t, l, refundFailed("pi_2", "re_2", money.USD), ledger.NoticeParked)
	applyNotice(t, l, paid("pi_2", money.USD, u.ID), ledger.NoticeCredited)
	requireCash(t, l, u.ID, 51*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// failedRefundAndDispute: a dispute takes what the failed refund gave back.
func failedRefundAndDispute(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	applyNotice(t, l, refunded("pi_1", "re_1", 6*money.USD), ledger.NoticeReversed)
	held := applyNotice(t, l, disputed("pi_1", "dp_1", 10*money.USD, ledger.NoticeDisputed), ledger.NoticeHeld)
	require.Equal(t, 4*money.USD, held.Deposit.Disputed)
	got := applyNotice(t, l, refundFailed("pi_1", "re_1", 6*money.USD), ledger.NoticeHeld)
	require.Equal(t, 10*money.USD, got.Deposit.Disputed)
	requireCash(t, l, u.ID, 0)
	applyNotice(t, l, disputed("pi_1", "dp_1", 10*money.USD, ledger.NoticeDisputeWon), ledger.NoticeReleased)
	requireCash(t, l, u.ID, 10*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func parkedEvent(id string) ledger.Parked {
	return ledger.Parked{
		Provider: ledger.Stripe, EventID: id, PaymentID: "pi_" + id, Type: "charge.odd", Amount: 3 * money.USD,
		Reason: "odd", At: now,
	}
}

func park(t *testing.T, l Ledger, p ledger.Parked) {
	t.Helper()
	require.NoError(t, l.Deposits.Park(t.Context(), p))
}

func parked(t *testing.T, l Ledger, q ledger.ParkedQuery) []ledger.Parked {
	t.Helper()
	list, err := l.Deposits.Parked(t.Context(), q)
	require.NoError(t, err)
	return list
}

// parkOne parks p and returns it with its id.
func parkOne(t *testing.T, l Ledger, p ledger.Parked) ledger.Parked {
	t.Helper()
	park(t, l, p)
	for _, stored := range parked(t, l, ledger.ParkedQuery{Limit: 2000}) {
		if stored.EventID == p.EventID {
			return stored
		}
	}
	t.Fatalf("%s is not parked", p.EventID)
	return p
}

func parkedDeliveries(t *testing.T, l Ledger) {
	require.Empty(t, parked(t, l, ledger.ParkedQuery{Limit: 5}))
	older, newer := parkedEvent("e1"), parkedEvent("e1")
	newer.Provider, newer.PaymentID, newer.Amount, newer.At = ledger.PayPal, "", 0, now.Add(time.Hour)
	for _, p := range []ledger.Parked{older, newer, older} {
		park(t, l, p)
	}
	list := parked(t, l, ledger.ParkedQuery{Limit: 5})
	require.Len(t, list, 2)
	for i, want := range []ledger.Parked{newer, older} {
		require.NotEqual(t, uuid.Nil, list[i].ID)
		want.ID, want.Count = list[i].ID, 1
		require.Equal(t, want, list[i])
	}
	require.Len(t, parked(t, l, ledger.ParkedQuery{Limit: 1}), 1)
}

// parkedBounded: 20 rows a type, then one that counts, and at most 1,000 rows in all.
func parkedBounded(t *testing.T, l Ledger) {
	for i := range 25 {
		p := parkedEvent(fmt.Sprint("e", i))
		p.At = now.Add(time.Duration(i) * time.Second)
		park(t, l, p)
		park(t, l, p) // sent again
	}
	list := parked(t, l, ledger.ParkedQuery{Open: true, Limit: 2000})
	require.Len(t, list, ledger.MaxParkedOfType+1)
	require.True(t, list[0].Shared)
	require.EqualValues(t, 5, list[0].Count)
	require.Equal(t, "e24", list[0].EventID)
	require.Equal(t, "charge.odd", list[0].Type)

	// A decided row makes room.
	_, err := l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
		ID: list[1].ID, Decision: ledger.ParkedDismissed, Note: "no", At: now,
	})
	require.NoError(t, err)
	require.False(t, parkOne(t, l, parkedEvent("e99")).Shared)

	for i := range 1100 {
		p := parkedEvent(fmt.Sprint("m", i))
		p.Type = fmt.Sprint("type.", i)
		park(t, l, p)
	}
	list = parked(t, l, ledger.ParkedQuery{Open: true, Limit: 2000})
	require.LessOrEqual(t, len(list), ledger.MaxParked)
	require.Greater(t, len(list), 990)
	var pages []ledger.Parked
	for range 5 {
		q := ledger.ParkedQuery{Open: true, Limit: 300, Offset: len(pages)}
		pages = append(pages, parked(t, l, q)...)
	}
	require.Equal(t, list, pages)
	events := int64(0)
	for _, p := range list {
		events += p.Count
	}
	require.EqualValues(t, 25+1100, events, "every event is counted")
	p := parkedEvent("p1")
	p.Provider, p.Type = ledger.PayPal, "X"
	require.Equal(t, ledger.ParkedOther, parkOne(t, l, p).Type)
	require.LessOrEqual(t, len(parked(t, l, ledger.ParkedQuery{Open: true, Limit: 2000})), ledger.MaxParked)
}

func parkedDecided(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	decide := func(p ledger.Parked, decision ledger.ParkedDecision, amount money.Micros) (ledger.Parked, error) {
		return l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
			ID: p.ID, Decision: decision, AccountID: u.ID, Amount: amount, Note: " because ", At: now,
		})
	}
	credit, debit, dismiss := parkOne(t, l, parkedEvent("a")), parkOne(t, l, parkedEvent("b")), parkOne(t, l, parkedEvent("c"))
	for range 2 {
		got, err := decide(credit, ledger.ParkedCredited, 0)
		require.NoError(t, err)
		want := credit
		want.Decision, want.AccountID, want.Applied, want.Note, want.DecidedAt = ledger.ParkedCredited, u.ID,
			3*money.USD, "because", got.DecidedAt
		require.Equal(t, want, got)
		require.True(t, got.DecidedAt.Equal(now))
		requireCash(t, l, u.ID, 3*money.USD)
	}
	for range 2 {
		_, err := decide(debit, ledger.ParkedDebited, 5*money.USD)
		require.NoError(t, err)
		requireCash(t, l, u.ID, -2*money.USD)
	}
	got, err := decide(dismiss, ledger.ParkedDismissed, 5*money.USD)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, got.AccountID)
	requireCash(t, l, u.ID, -2*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
	require.Empty(t, parked(t, l, ledger.ParkedQuery{Open: true, Limit: 9}))
	require.Len(t, parked(t, l, ledger.ParkedQuery{Limit: 9}), 3)

	// Another decision comes too late, and an event that was decided does nothing when it comes again.
	for _, late := range []ledger.ParkedVerdict{
		{Decision: ledger.ParkedDebited, AccountID: u.ID}, {Decision: ledger.ParkedDismissed},
		{Decision: ledger.ParkedCredited, AccountID: u.ID, Amount: 4 * money.USD},
		{Decision: ledger.ParkedCredited, AccountID: newID(t)},
	} {
		late.ID, late.Note, late.At = credit.ID, "late", now
		_, err := l.Deposits.DecideParked(t.Context(), late)
		requireCode(t, err, errs.Conflict)
	}
	known := paid("pi_a", 3*money.USD, u.ID)
	known.EventID = "a"
	require.True(t, applyNotice(t, l, known, ledger.NoticeNothing).Repeated)
	park(t, l, parkedEvent("a"))
	require.Empty(t, parked(t, l, ledger.ParkedQuery{Open: true, Limit: 9}))
	requireCash(t, l, u.ID, -2*money.USD)

	// Refused: it waits as before.
	p := parkedEvent("d")
	p.Amount = 0
	open := parkOne(t, l, p)
	for name, c := range map[string]struct {
		v    ledger.ParkedVerdict
		code errs.Code
	}{
		"no such event":   {ledger.ParkedVerdict{ID: newID(t), Decision: "dismiss", Note: "x"}, errs.NotFound},
		"no note":         {ledger.ParkedVerdict{Decision: "dismiss", Note: " "}, errs.InvalidRequest},
		"no decision":     {ledger.ParkedVerdict{Note: "x"}, errs.InvalidRequest},
		"superseded":      {ledger.ParkedVerdict{Decision: "superseded", Note: "x"}, errs.InvalidRequest},
		"no account":      {ledger.ParkedVerdict{Decision: "credit", Amount: 1, Note: "x"}, errs.InvalidRequest},
		"no amount":       {ledger.ParkedVerdict{Decision: "credit", AccountID: u.ID, Note: "x"}, errs.InvalidRequest},
		"negative":        {ledger.ParkedVerdict{Decision: "debit", AccountID: u.ID, Amount: -1, Note: "x"}, errs.InvalidRequest},
		"beyond all":      {ledger.ParkedVerdict{Decision: "debit", AccountID: u.ID, Amount: money.Max + 1, Note: "x"}, errs.InvalidRequest},
		"unknown account": {ledger.ParkedVerdict{Decision: "credit", AccountID: newID(t), Amount: 1, Note: "x"}, errs.NotFound},
	} {
		if c.v.At = now; c.v.ID == uuid.Nil {
			c.v.ID = open.ID
		}
		_, err := l.Deposits.DecideParked(t.Context(), c.v)
		require.Error(t, err, name)
		requireCode(t, err, c.code)
	}
	require.Len(t, parked(t, l, ledger.ParkedQuery{Open: true, Limit: 9}), 1)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func parkedAtOnce(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	payment := parkedEvent("pay")
	payment.Kind = ledger.NoticePaid
	for _, p := range []ledger.Parked{parkOne(t, l, parkedEvent("a")), parkOne(t, l, payment)} {
		var failed atomic.Int32
		together(10, func(i int) {
			if i == 9 && p.Kind == ledger.NoticePaid { // the provider sends it again meanwhile
				n := paid(p.PaymentID, p.Amount, u.ID)
				n.EventID = p.EventID
				if _, err := l.Deposits.ApplyNotice(t.Context(), n); err != nil {
					t.Error(err)
				}
				return
			}
			_, err := l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
				ID: p.ID, Decision: ledger.ParkedCredited, AccountID: u.ID, Note: "x", At: now,
			})
			if err != nil {
				failed.Add(1)
				if !errs.Is(err, errs.Conflict) {
					t.Error(err)
				}
			}
		})
		if p.Kind == "" {
			require.Zero(t, failed.Load())
		}
	}
	requireCash(t, l, u.ID, 6*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// parkedPayment: a parked payment that is credited is a payment: its refunds find it.
func parkedPayment(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	p := parkedEvent("e1")
	p.Kind, p.Amount = ledger.NoticePaid, 0 // in another currency
	stored := parkOne(t, l, p)
	applyNotice(t, l, refunded("pi_e1", "re_1", 2*money.USD), ledger.NoticeParked)
	_, err := l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
		ID: stored.ID, Decision: ledger.ParkedCredited, AccountID: u.ID, Amount: 9 * money.USD, Note: "10 EUR", At: now,
	})
	require.NoError(t, err)
	requireCash(t, l, u.ID, 7*money.USD)
	d, err := l.Deposits.DepositByReference(t.Context(), ledger.Stripe, "pi_e1")
	require.NoError(t, err)
	require.Equal(t, u.ID, d.AdvertiserID)
	again := paid("pi_e1", 10*money.USD, u.ID)
	again.EventID = "e1"
	require.True(t, applyNotice(t, l, again, ledger.NoticeCredited).Repeated)
	requireCash(t, l, u.ID, 7*money.USD)

	// A payment that another event credited meanwhile is not credited again.
	p = parkedEvent("e2")
	p.Kind = ledger.NoticePaid
	stored = parkOne(t, l, p)
	applyNotice(t, l, paid("pi_e2", money.USD, u.ID), ledger.NoticeCredited)
	_, err = l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
		ID: stored.ID, Decision: ledger.ParkedCredited, AccountID: u.ID, Note: "x", At: now,
	})
	requireCode(t, err, errs.Conflict)
	requireCash(t, l, u.ID, 8*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func parkedSuperseded(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	p := parkedEvent("e1")
	p.Kind = ledger.NoticePaid
	stored := parkOne(t, l, p)
	n := paid("pi_e1", 3*money.USD, newID(t))
	n.EventID = "e1"
	applyNotice(t, l, n, ledger.NoticeUnattributed) // as before: it waits
	require.Len(t, parked(t, l, ledger.ParkedQuery{Open: true, Limit: 9}), 1)
	n.Names = []uuid.UUID{u.ID}
	applyNotice(t, l, n, ledger.NoticeCredited)
	require.Empty(t, parked(t, l, ledger.ParkedQuery{Open: true, Limit: 9}))
	require.Equal(t, ledger.ParkedSuperseded, parked(t, l, ledger.ParkedQuery{Limit: 9})[0].Decision)
	_, err := l.Deposits.DecideParked(t.Context(), ledger.ParkedVerdict{
		ID: stored.ID, Decision: ledger.ParkedCredited, AccountID: u.ID, Note: "x", At: now,
	})
	requireCode(t, err, errs.Conflict)
	requireCash(t, l, u.ID, 3*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// closedAccount tests a payment that completes after its account was closed: it cannot be spent.
func closedAccount(t *testing.T, l Ledger) {
	u, other := AddUser(t, l.Stores), AddUser(t, l.Stores)
	d := ledger.Deposit{ID: newID(t), AdvertiserID: u.ID, Provider: ledger.Stripe, CheckoutID: "cs_1", CreatedAt: now}
	require.NoError(t, l.Deposits.CreateDeposit(t.Context(), d))
	applyNotice(t, l, paid("pi_0", money.USD, u.ID), ledger.NoticeCredited)
	_, err := l.Users.UpdateUser(t.Context(), u.ID, func(u *account.User) error { return u.Erase() })
	require.NoError(t, err)
	for payment, to := range map[string]uuid.UUID{"pi_1": d.ID, "pi_2": u.ID} {
		require.Zero(t, applyNotice(t, l, paid(payment, money.USD, to), ledger.NoticeClosed).Deposit)
	}
	applyNotice(t, l, refunded("pi_0", "re_0", money.USD), ledger.NoticeReversed) // the books go on
	requireCash(t, l, u.ID, 0)
	p := parkedEvent("e1")
	p.Kind = ledger.NoticePaid
	for _, stored := range []ledger.Parked{parkOne(t, l, p), parkOne(t, l, parkedEvent("e2"))} {
		v := ledger.ParkedVerdict{
			ID: stored.ID, Decision: ledger.ParkedCredited, AccountID: u.ID, Note: "x", At: now,
		}
		_, err = l.Deposits.DecideParked(t.Context(), v)
		requireCode(t, err, errs.Conflict)
		v.AccountID = other.ID
		_, err = l.Deposits.DecideParked(t.Context(), v)
		require.NoError(t, err)
	}
	requireCash(t, l, other.ID, 6*money.USD)
	v := ledger.ParkedVerdict{
		ID: parkOne(t, l, parkedEvent("e3")).ID, Decision: ledger.ParkedDebited, AccountID: u.ID, Note: "x", At: now,
	}
	_, err = l.Deposits.DecideParked(t.Context(), v)
	require.NoError(t, err, "the provider took the money of the closed account")
	requireCash(t, l, u.ID, -3*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}
