package billing_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"slices"
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
)

var actions = []string{"create_checkout", "deposit", "balance", "history", "earnings"}

func TestActions(t *testing.T) {
	w := newWorld(t, options{})
	for _, path := range []string{
		"/api/billing", "/api/billing?action=", "/api/billing?action=withdraw", "/api/billing?action=Balance",
	} {
		for _, method := range []string{"GET", "POST"} {
			require.Equal(
				t, "action", w.advertiser(t).Call(t, method, path, nil).Fails(400, "invalid_request")["field"],
			)
		}
	}
	for _, p := range []*person{w.nobody(), w.advertiser(t)} {
		p.does(t, "payout", object{"amount": 5}).Fails(410, "retired")
	}
	w.advertiser(t).Call(t, "DELETE", "/api/billing", nil).Fails(405, "method_not_allowed")
}

func TestLoginIsNeeded(t *testing.T) {
	w := newWorld(t, options{})
	for _, action := range actions {
		for _, body := range []any{nil, object{}, "{", strings.Repeat("x", 70_000)} {
			w.nobody().does(t, action, body).Fails(401, "invalid_token")
		}
		w.caller("pub_live_x").does(t, action, object{}).Fails(401, "invalid_token")
	}
}

func TestForeignAccounts(t *testing.T) {
	w := newWorld(t, options{})
	victim, attacker, admin := w.advertiser(t), w.advertiser(t), w.person(t, account.RoleAdmin)
	require.Equal(
		t, 200,
		w.deliver(
			t, stripeSigned(stripePaid("e1", "pi_1", 777, victim.ID), w.Now), stripePaid("e1", "pi_1", 777, victim.ID),
		).Code,
	)
	opened := victim.does(t, "create_checkout", object{"amount": 5}).As(200)
	for _, ids := range []object{
		{"advertiser_id": victim.ID}, {"developer_id": victim.DeveloperID},
		{"advertiser_id": victim.ID, "developer_id": victim.DeveloperID},
		{"advertiser_id": attacker.ID, "developer_id": victim.DeveloperID},
		{"advertiser_id": victim.ID, "developer_id": attacker.DeveloperID},
		{"advertiser_id": uuid.New()}, {"developer_id": uuid.New()}, {"advertiser_id": attacker.DeveloperID},
		{"developer_id": attacker.ID},
	} {
		for _, action := range actions {
			body := object{"amount": 5}
			if action == "deposit" {
				body["deposit_id"] = opened["deposit_id"]
			}
			query, whole := "", maps.Clone(body)
			for name, id := range ids {
				body[name] = id
				query += fmt.Sprintf("&%s=%s", name, id)
			}
			attacker.does(t, action, body).Fails(403, "forbidden")
			if action == "deposit" || action == "create_checkout" { // the body names the account
				attacker.does(t, action+query, whole).Fails(400, "invalid_request")
			} else {
				attacker.does(t, action+query, whole).Fails(403, "forbidden")
			}
			if action == "balance" || action == "history" || action == "earnings" {
				attacker.Call(t, "GET", "/api/billing?action="+action+query, nil).Fails(403, "forbidden")
			}
		}
	}
	for _, claim := range []object{{"deposit_id": opened["deposit_id"]}, {"payment_intent": "pi_1"}} {
		require.NotContains(t, attacker.does(t, "deposit", claim).Fails(403, "forbidden"), "amount")
	}
	attacker.does(t, "deposit", object{"session_id": "cs_unheard"}).Fails(404, "not_found")
	attacker.does(t, "balance", object{"advertiser_id": "1"}).Fails(400, "invalid_request")
	require.Empty(t, attacker.does(t, "history", nil).As(200)["entries"])

	// An administrator may read any account, and pay in for any account.
	got := admin.does(t, "balance", object{"advertiser_id": victim.ID}).As(200)
	require.EqualValues(t, 7.77, got["balance"])
	require.Equal(t, victim.DeveloperID.String(), got["developer_id"])
	require.NotContains(t, admin.does(t, "balance", object{"developer_id": victim.DeveloperID}).As(200), "balance")
	require.Len(
		t,
		admin.Call(t, "GET", "/api/billing?action=history&advertiser_id="+victim.ID.String(), nil).As(200)["entries"],
		1,
	)
	admin.does(t, "balance", object{"advertiser_id": uuid.New()}).Fails(404, "not_found")
	admin.does(t, "create_checkout", object{"advertiser_id": victim.ID, "amount": 5}).As(200)
	admin.does(
		t, "create_checkout", object{"developer_id": victim.DeveloperID, "amount": 5},
	).Fails(400, "invalid_request")
	admin.does(t, "deposit", object{"deposit_id": opened["deposit_id"]}).As(200)
}

func TestCheckoutInput(t *testing.T) {
	w := newWorld(t, options{})
	p := w.advertiser(t)
	for _, body := range []any{
		nil, "", "[]", "{", object{}, object{"amount": nil}, object{"amount": "25"}, object{"amount": -5},
		object{"amount": 0}, object{"amount": 0.99},
		object{"amount": 1_000_000}, object{"amount": 5.001}, `{"amount":1e400}`, `{"amount":NaN}`,
		`{"amount":5,"amount":6}`, `{"Amount":5}`,
		object{"amount": 5, "return_url": "http://shop.example"},
		object{"amount": 5, "return_url": "javascript:alert(1)"}, object{"amount": 5, "return_url": 5},
		"{\"amount\":5,\"return_url\":\"https://a\xff\"}", object{"amount": 5, "return_url": "https://a.example/\x00"},
	} {
		p.does(t, "create_checkout", body).Fails(400, "invalid_request")
	}
	p.does(t, "create_checkout", `{"amount":5,"x":"`+strings.Repeat("x", 70_000)+`"}`).Fails(413, "payload_too_large")
	got := p.does(t, "create_checkout", object{"amount": 5.25, "return_url": "https://shop.example/back"}).As(200)
	require.Equal(t, "https://ads.example/checkout/"+got["deposit_id"].(string), got["checkout_url"])
	require.EqualValues(t, 5.25, got["amount"])
	require.Zero(t, p.cash(t))

	newWorld(t, options{noDemo: true}).advertiser(t).does(
		t, "create_checkout", object{"amount": 5},
	).Fails(503, "unavailable")
	down := newWorld(t, options{checkouts: &failing{}})
	got = down.advertiser(t).does(t, "create_checkout", object{"amount": 5}).Fails(502, "upstream_error")
	require.NotContains(t, got["error"], "canary")
}

// failing is a provider that is unavailable.
type failing struct{}

func (failing) Provider() ledger.Provider { return ledger.Stripe }
func (failing) Open(context.Context, payment.Request) (payment.Session, error) {
	return payment.Session{}, errs.Wrap(fmt.Errorf("canary"), errs.UpstreamError, "the payment provider is down")
}
func (failing) Verify(context.Context, string) (ledger.Notice, bool, error) {
	return ledger.Notice{}, false, nil
}

// The amount in the client's request is never credited, with or without a deposit id.
func TestDepositNeedsEvidence(t *testing.T) {
	w := newWorld(t, options{})
	p := w.advertiser(t)
	p.does(t, "deposit", object{"amount": 1000}).Fails(400, "invalid_request")
	p.does(t, "deposit", object{"amount": 1000, "deposit_id": uuid.New()}).Fails(404, "not_found")
	p.does(t, "deposit", object{"amount": 1000, "capture_id": "CAP-1"}).Fails(404, "not_found")
	claimed := p.does(t, "deposit", object{"capture_id": "CAP-1", "status": "COMPLETED"}).Fails(400, "invalid_request")
	require.Equal(t, "status", claimed["field"])
	p.does(t, "deposit", object{"deposit_id": "1"}).Fails(400, "invalid_request")
	opened := p.does(t, "create_checkout", object{"amount": 5}).As(200)
	for range 2 {
		got := p.does(t, "deposit", object{"deposit_id": opened["deposit_id"], "amount": 1000}).As(200)
		require.Equal(t, "open", got["status"])
		require.Equal(t, false, got["deduped"])
		require.EqualValues(t, 0, got["amount"])
	}
	require.Zero(t, p.cash(t))
	// After the confirmation the record is the same, whatever the client claims.
	body := paypalPaid("WH-2", "CAP-1", "5.00", p.ID)
	w.deliver(t, paypalSigned(body, w.Now), body).As(200)
	first := p.does(t, "deposit", object{"capture_id": "CAP-1", "amount": 1000}).As(200)
	require.Equal(t, true, first["deduped"])
	require.EqualValues(t, 5, first["amount"])
	require.Equal(t, first, p.does(t, "deposit", object{"deposit_id": first["deposit_id"]}).As(200))
	require.Equal(t, 5*money.USD, p.cash(t))
}

func TestBalance(t *testing.T) {
	for funding, prepaid := range map[string]bool{"prepaid": true, "postpaid": false} {
		w := newWorld(t, options{prepaid: prepaid})
		p := w.advertiser(t)
		require.Equal(t, object{
			"advertiser_id": p.ID.String(), "developer_id": p.DeveloperID.String(), "balance": 0.0, "available": 0.0,
			"owed": 0.0, "credits": 0.0, "credits_pending": 0.0, "credits_held": 0.0, "credits_quarantined": 0.0,
			"currency": "USD", "funding": funding,
		}, p.does(t, "balance", nil).As(200))
		body := stripePaid("e1", "pi_1", 1050, p.ID)
		w.deliver(t, stripeSigned(body, w.Now), body).As(200)
		got := p.Call(t, "GET", "/api/billing?action=balance", nil).As(200)
		require.EqualValues(t, 10.5, got["balance"])
		require.EqualValues(t, 10.5, got["available"])
		require.EqualValues(t, 0, got["owed"])
	}
}

// spend charges p what an impression costs and mints its Credit for publisher.
func (w *world) moves(t *testing.T, from, publisher *person, amount int64) {
	t.Helper()
	n := uuid.NewString()
	for _, x := range []ledger.Transaction{
		{ID: uuid.New(), Kind: ledger.KindCharge, Ref: n, Subject: uuid.New(), At: w.Now, Entries: []ledger.Entry{
			{Account: ledger.AdvertiserCash(from.ID), Asset: ledger.USD, Amount: -amount},
			{Account: ledger.Revenue, Asset: ledger.USD, Amount: amount}}},
		{ID: uuid.New(), Kind: ledger.KindMint, Ref: n, Subject: publisher.DeveloperID, At: w.Now,
			Entries: []ledger.Entry{
				{Account: ledger.Mint, Asset: ledger.Credit, Amount: -1},
				{Account: ledger.PendingCredits(publisher.DeveloperID), Asset: ledger.Credit, Amount: 1}}},
	} {
		err := w.Store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
			return tx.Write(t.Context(), ledger.Effects{Transactions: []ledger.Transaction{x}, At: w.Now})
		})
		require.NoError(t, err)
	}
}

func TestHistoryAndEarnings(t *testing.T) {
	w := newWorld(t, options{})
	p, publisher := w.advertiser(t), w.advertiser(t)
	body := stripePaid("e1", "pi_1", 100, p.ID)
	w.deliver(t, stripeSigned(body, w.Now), body).As(200)
	w.moves(t, p, p, 250_000)
	w.moves(t, p, publisher, 1_000_000)
	body = stripeRefunded("e2", "pi_1", 40)
	w.deliver(t, stripeSigned(body, w.Now), body).As(200)
	got := p.does(t, "balance", nil).As(200)
	require.EqualValues(t, -0.65, got["balance"])
	require.EqualValues(t, 0.65, got["owed"])
	require.EqualValues(t, 0, got["available"])
	require.EqualValues(t, 1, got["credits_pending"])

	all := p.does(t, "history", nil).As(200)
	require.Nil(t, all["next"])
	entries := all["entries"].([]any)
	require.Len(t, entries, 5)
	var short []string
	for _, e := range entries {
		e := e.(object)
		short = append(short, fmt.Sprint(e["kind"], " ", e["asset"], " ", e["amount"], " ", e["balance"]))
	}
	require.Equal(
		t,
		[]string{
			"refund USD -0.4 -0.65", "charge USD -1 -0.25", "mint CREDIT 1 1", "charge USD -0.25 0.75",
			"deposit USD 1 1",
		}, short,
	)
	require.Equal(t, entries[4].(object)["id"], entries[0].(object)["reverses"])
	require.Equal(t, "stripe:pi_1", entries[4].(object)["reference"])
	require.NotEmpty(t, entries[1].(object)["campaign_id"])

	var paged []any
	for from, more := "", true; more; {
		page := p.Call(t, "GET", "/api/billing?action=history&limit=2"+from, nil).As(200)
		require.LessOrEqual(t, len(page["entries"].([]any)), 2)
		paged, more = append(paged, page["entries"].([]any)...), page["next"] != nil
		from = fmt.Sprint("&before=", page["next"])
	}
	require.Equal(t, entries, paged)
	require.Len(t, p.Call(t, "GET", "/api/billing?action=history&asset=CREDIT", nil).As(200)["entries"], 1)
	for _, bad := range []string{
		"limit=0", "limit=501", "limit=x", "asset=usd", "asset=EUR", "before=0", "before=-1", "before=x",
		"before=99999999999999999999",
	} {
		p.Call(t, "GET", "/api/billing?action=history&"+bad, nil).Fails(400, "invalid_request")
	}

	today := w.Now.Format(time.DateOnly)
	e := publisher.does(t, "earnings", nil).As(200)
	require.Len(t, e["daily"], 30)
	require.Equal(t, object{"date": today, "credits": 1.0}, e["daily"].([]any)[29])
	require.EqualValues(t, 1, e["total"])
	require.EqualValues(t, 0, e["available"], "nothing was released")
	require.EqualValues(t, 0.005, e["credit_value_usd"])
	require.EqualValues(t, 1, e["credits_pending"])
	require.Equal(t, "UTC", e["timezone"])
	e = publisher.Call(t, "GET", "/api/billing?action=earnings&since=2026-01-01&until=2026-01-02", nil).As(200)
	require.Equal(
		t, []any{object{"date": "2026-01-01", "credits": 0.0}, object{"date": "2026-01-02", "credits": 0.0}},
		e["daily"],
	)
	for _, bad := range []string{
		"since=x", "until=2026-02-30", "since=2026-01-02&until=2026-01-01", "since=2020-01-01",
		"since=1969-12-31&until=1970-01-01", "until=9999-12-31x", "since='%20OR%201=1--",
	} {
		publisher.Call(t, "GET", "/api/billing?action=earnings&"+bad, nil).Fails(400, "invalid_request")
	}
	w.clean2(t)
}

// The owner and an administrator get the month as CSV, others do not, and the text of a past month
// never changes.
func TestStatement(t *testing.T) {
	w := newWorld(t, options{})
	p, publisher, admin := w.advertiser(t), w.advertiser(t), w.person(t, account.RoleAdmin)
	body := stripePaid("e1", "pi_1", 100, p.ID)
	w.deliver(t, stripeSigned(body, w.Now), body).As(200)
	w.moves(t, p, publisher, 250_000)
	month := w.Now.Format("2006-01")
	path := "/api/billing?action=statement&format=csv&month=" + month
	got := p.Call(t, "GET", path, nil)
	require.Equal(t, 200, got.Code, got.Text)
	require.Equal(t, "text/csv; charset=utf-8", got.Header.Get("Content-Type"))
	require.Contains(t, got.Header.Get("Content-Disposition"), "adnet-"+month+".csv")
	records, err := csv.NewReader(strings.NewReader(got.Text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+4+2)
	require.Equal(
		t, []string{"opening", "deposit", "charge", "balance_to_date", "opening", "balance_to_date"},
		column(records[1:], "row", records[0]),
	)
	require.Equal(
		t, []string{"0", "1000000", "750000", "750000", "", ""}, column(records[1:], "balance_micro_usd", records[0]),
	)
	require.Equal(t, []string{"0", "1", "0.75", "0.75", "", ""}, column(records[1:], "balance_usd", records[0]))
	require.Equal(t, got.Text, p.does(t, "statement&month="+month, object{}).Text)
	require.Equal(t, got.Text, admin.Call(t, "GET", path+"&advertiser_id="+p.ID.String(), nil).Text)
	require.Contains(t, publisher.Call(t, "GET", path, nil).Text, "mint")

	w.Now = w.Now.AddDate(0, 2, 0)
	p.Token = w.Open(t, p.User)
	first := p.Call(t, "GET", path, nil)
	require.Equal(t, 200, first.Code)
	require.Contains(t, first.Text, "closing")
	w.moves(t, p, publisher, 10_000)
	require.Equal(t, first.Text, p.Call(t, "GET", path, nil).Text)

	publisher.Token = w.Open(t, publisher.User)
	publisher.Call(t, "GET", path+"&advertiser_id="+p.ID.String(), nil).Fails(403, "forbidden")
	publisher.Call(t, "GET", path+"&developer_id="+p.DeveloperID.String(), nil).Fails(403, "forbidden")
	w.nobody().Call(t, "GET", path, nil).Fails(401, "invalid_token")
	for _, bad := range []string{
		"", "&month=2026", "&month=2026-13", "&month=9999-01", "&month=2026-01-01", "&month=0001-01",
		"&month=2026-01&format=pdf",
	} {
		p.Call(t, "GET", "/api/billing?action=statement"+bad, nil).Fails(400, "invalid_request")
	}
	// Dates bound the history too.
	today := w.Now.Format(time.DateOnly)
	require.Len(t, p.Call(t, "GET", "/api/billing?action=history&since="+today, nil).As(200)["entries"], 1)
	require.Len(
		t,
		p.Call(
			t, "GET", "/api/billing?action=history&until="+w.Now.AddDate(0, 0, -1).Format(time.DateOnly), nil,
		).As(200)["entries"], 2,
	)
	require.Empty(
		t, p.Call(t, "GET", "/api/billing?action=history&since=2001-01-01&until=2001-12-31", nil).As(200)["entries"],
	)
	p.Call(t, "GET", "/api/billing?action=history&since=2026-02-02&until=2026-02-01", nil).Fails(400, "invalid_request")
}

// column is one column of CSV records.
func column(records [][]string, name string, header []string) (values []string) {
	at := slices.Index(header, name)
	for _, r := range records {
		values = append(values, r[at])
	}
	return values
}

// clean2 is like clean, for worlds whose charges did not come from events.
func (w *world) clean2(t *testing.T) {
	t.Helper()
	checks, err := w.Store.Ledger.Verify(t.Context(), ledger.VerifyOptions{})
	require.NoError(t, err)
	for _, c := range checks {
		if c.Name == ledger.CheckDeposits || c.Name == ledger.CheckBalances || c.Name == ledger.CheckSumUSD {
			require.True(t, c.OK(), c.Name)
		}
	}
}

// The page stands in for the provider: open, view, pay, return; then the balance has the payment.
func TestDemoCheckout(t *testing.T) {
	w := newWorld(t, options{prepaid: true})
	p := w.advertiser(t)
	opened := p.does(t, "create_checkout", object{"amount": 12.5, "return_url": "https://shop.example/back"}).As(200)
	path := strings.TrimPrefix(opened["checkout_url"].(string), "https://ads.example")
	got := w.nobody().Call(t, "GET", path, nil)
	require.Equal(t, 200, got.Code)
	require.Contains(t, got.Text, "12.50 USD")
	require.Contains(t, got.Text, `name="viewport"`)
	require.Contains(t, got.Text, `<form method="post">`)
	require.NotContains(t, got.Text, "<script")
	require.Contains(t, got.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, got.Header.Get("Content-Security-Policy"), "form-action 'self' https://shop.example")
	require.Zero(t, p.cash(t), "looking pays nothing")
	back := "https://shop.example/back?deposit_id=" + opened["deposit_id"].(string)
	for range 3 { // impatient payers press it again
		got = w.nobody().Call(t, "POST", path, nil)
		require.Equal(t, http.StatusSeeOther, got.Code)
		require.Equal(t, back, got.Header.Get("Location"))
	}
	require.Equal(t, money.Micros(12_500_000), p.cash(t))
	got = w.nobody().Call(t, "GET", path, nil)
	require.Contains(t, got.Text, "Paid")
	require.NotContains(t, got.Text, "<form")
	require.Contains(t, got.Text, back)
	require.EqualValues(t, 12.5, p.does(t, "balance", nil).As(200)["available"])
	record := p.does(t, "deposit", object{"deposit_id": opened["deposit_id"]}).As(200)
	require.Equal(t, "paid", record["status"])
	require.Equal(t, "demo", record["provider"])
	require.Equal(t, true, record["deduped"])

	for _, id := range []string{uuid.NewString(), "x", "done2", p.ID.String()} {
		w.nobody().Call(t, "GET", "/checkout/"+id, nil).Fails(404, "not_found")
		w.nobody().Call(t, "POST", "/checkout/"+id, nil).Fails(404, "not_found")
	}
	require.Contains(t, w.nobody().Call(t, "GET", "/checkout/done", nil).Text, "Thank you")
	w.clean(t)
}

// Without a provider, a deposit is refused where money is real.
func TestDemoCheckoutIsForMemoryOnly(t *testing.T) {
	real := newWorld(t, options{checkouts: &failing{}})
	p := real.advertiser(t)
	id := uuid.New()
	require.NoError(
		t,
		real.Store.Payments.CreateDeposit(
			t.Context(),
			ledger.Deposit{
				ID: id, AdvertiserID: p.ID, Provider: ledger.Demo, Requested: money.USD, CreatedAt: real.Now,
			},
		),
	)
	for _, method := range []string{"GET", "POST"} {
		p.Call(t, method, "/checkout/"+id.String(), nil).Fails(404, "not_found")
	}
	require.Zero(t, p.cash(t))
	require.Contains(t, p.Call(t, "GET", "/checkout/done", nil).Text, "Thank you")
}
