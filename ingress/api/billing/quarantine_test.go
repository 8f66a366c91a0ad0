package billing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// held puts a publisher into quarantine and mints n Credits into the case.
func (w *world) held(t *testing.T, admin, publisher *person, n int64) (id string) {
	t.Helper()
	opened := admin.does(
		t, "quarantine", object{"decision": "hold", "developer_id": publisher.DeveloperID, "note": "odd"},
	).As(200)["case"].(object)
	id = opened["id"].(string)
	require.NoError(t, w.Store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		ref := "test:" + id
		return tx.Write(t.Context(), ledger.Effects{Transactions: []ledger.Transaction{
			{ID: uuid.New(), Kind: ledger.KindMint, Ref: ref, Subject: publisher.DeveloperID, At: w.Now,
				Entries: []ledger.Entry{
					{Account: ledger.HeldCredits(uuid.MustParse(id)), Asset: ledger.Credit, Amount: n},
					{Account: ledger.Mint, Asset: ledger.Credit, Amount: -n},
				}},
		}})
	}))
	return id
}

func TestQuarantineIsDecidedOnce(t *testing.T) {
	w := newWorld(t, options{})
	admin, publisher := w.person(t, account.RoleAdmin), w.advertiser(t)
	for decision, want := range map[string]float64{"release": 5, "clawback": 0} {
		id := w.held(t, admin, publisher, 5)
		before := publisher.does(t, "balance", nil).As(200)
		require.EqualValues(t, 5, before["credits_held"])
		require.EqualValues(t, 5, before["credits_quarantined"])
		require.EqualValues(t, 5, publisher.does(t, "earnings", nil).As(200)["held"])
		list := admin.Call(t, "GET", "/api/billing?action=quarantine&state=open", nil).As(200)["cases"].([]any)
		require.Len(t, list, 1)
		require.Equal(t, "manual", list[0].(object)["rule"])
		require.Equal(t, admin.ID.String(), list[0].(object)["evidence"].(object)["by"])
		again := admin.does(
			t, "quarantine", object{"decision": "hold", "developer_id": publisher.DeveloperID, "note": "again"},
		).As(200)
		require.Equal(t, id, again["case"].(object)["id"], "one case at a time")

		first := admin.does(t, "quarantine", object{"decision": decision, "id": id, "note": "looked at it"}).As(200)
		require.Equal(
			t, first, admin.does(t, "quarantine", object{"decision": decision, "id": id, "note": "again"}).As(200),
		)
		ended := first["case"].(object)
		require.Equal(t, "looked at it", ended["note"])
		require.Equal(t, admin.ID.String(), ended["decided_by"])
		other := map[string]string{"release": "clawback", "clawback": "release"}[decision]
		admin.does(t, "quarantine", object{"decision": other, "id": id, "note": "x"}).Fails(409, "conflict")
		after := publisher.does(t, "balance", nil).As(200)
		require.EqualValues(t, 0, after["credits_held"])
		require.EqualValues(t, before["credits_pending"].(float64)+want, after["credits_pending"])
		w.Now = w.Now.AddDate(0, 0, 1)
	}
	require.Len(
		t,
		admin.Call(
			t, "GET", "/api/billing?action=quarantine&developer_id="+publisher.DeveloperID.String(), nil,
		).As(200)["cases"], 2,
	)
}

// A case about a campaign's acts is beside one about Credits: the reply names the campaign, and both
// are decided by the same request.
func TestCaseAboutActs(t *testing.T) {
	w := newWorld(t, options{})
	admin, publisher := w.person(t, account.RoleAdmin), w.advertiser(t)
	acts := ledger.Quarantine{
		ID: uuid.New(), DeveloperID: publisher.DeveloperID, OpenedAt: w.Now.Add(time.Minute),
		Evidence: traffic.Evidence{
			Rule: traffic.QuarantineActs, Campaign: uuid.New(),
			Today: traffic.PublisherDay{DeveloperID: publisher.DeveloperID, Day: day.Of(w.Now), Clicks: 7},
		},
	}
	opened, err := w.Store.Publishers.OpenQuarantine(t.Context(), acts)
	require.NoError(t, err)
	require.True(t, opened)
	manual := w.held(t, admin, publisher, 5)
	require.NotEqual(t, acts.ID.String(), manual)
	list := admin.Call(t, "GET", "/api/billing?action=quarantine&state=open", nil).As(200)["cases"].([]any)
	require.Len(t, list, 2)
	require.Equal(t, "many_acts", list[0].(object)["rule"])
	require.Equal(t, acts.Evidence.Campaign.String(), list[0].(object)["evidence"].(object)["campaign_id"])
	require.NotContains(t, list[1].(object)["evidence"], "campaign_id")
	before := publisher.does(t, "balance", nil).As(200)
	ended := admin.does(
		t, "quarantine", object{"decision": "clawback", "id": acts.ID.String(), "note": "robots"},
	).As(200)["case"].(object)
	require.Equal(t, "clawed_back", ended["state"])
	require.Equal(t, before, publisher.does(t, "balance", nil).As(200), "no Credit moves")
}

func TestQuarantineIsForAdministrators(t *testing.T) {
	w := newWorld(t, options{})
	admin, other := w.person(t, account.RoleAdmin), w.advertiser(t)
	id := w.held(t, admin, other, 1)
	for _, body := range []object{
		{"decision": "release", "id": id, "note": "mine"},
		{"decision": "hold", "developer_id": other.DeveloperID, "note": "x"},
	} {
		other.does(t, "quarantine", body).Fails(403, "forbidden")
		w.nobody().does(t, "quarantine", body).Fails(401, "invalid_token")
	}
	other.Call(t, "GET", "/api/billing?action=quarantine", nil).Fails(403, "forbidden")
	other.does(
		t, "mint_cap", object{"developer_id": other.DeveloperID, "cap": 1 << 40, "note": "please"},
	).Fails(403, "forbidden")

	for name, c := range map[string]struct {
		body  object
		field string
	}{
		"no note":    {object{"decision": "release", "id": id}, "note"},
		"long note":  {object{"decision": "release", "id": id, "note": strings.Repeat("ä", 501)}, "note"},
		"no case":    {object{"decision": "release", "note": "x"}, "id"},
		"decision":   {object{"decision": "maybe", "id": id, "note": "x"}, "decision"},
		"hold whom?": {object{"decision": "hold", "note": "x"}, "developer_id"},
	} {
		require.Equal(t, c.field, admin.does(t, "quarantine", c.body).Fails(400, "invalid_request")["field"], name)
	}
	admin.does(t, "quarantine", object{"decision": "release", "id": uuid.New(), "note": "x"}).Fails(404, "not_found")
	require.Equal(
		t, "cap",
		admin.does(
			t, "mint_cap", object{"developer_id": other.DeveloperID, "cap": -1, "note": "x"},
		).Fails(400, "invalid_request")["field"],
	)
	for _, limit := range []any{0, 7, nil} {
		set := admin.does(t, "mint_cap", object{"developer_id": other.DeveloperID, "cap": limit, "note": "x"}).As(200)
		if limit == nil {
			require.Nil(t, set["cap"])
		} else {
			require.EqualValues(t, limit, set["cap"])
		}
	}
}

// Every amount of Credits that cannot be spent has a reason and, except for a case, a time. An
// account cannot read another publisher's.
func TestWaitingCredits(t *testing.T) {
	w := newWorld(t, options{})
	p, publisher := w.advertiser(t), w.advertiser(t)
	none := publisher.Call(t, "GET", "/api/billing/credits", nil).As(200)
	require.Empty(t, none["waits"])
	require.Equal(t, false, none["frozen"])
	require.Equal(t, 0.005, none["credit_value_usd"])
	today := day.Of(w.Now)
	paid := func(n int64, payer uuid.UUID) ledger.Effects {
		return ledger.Effects{
			At:         w.Now,
			Publishers: []traffic.PublisherDay{{DeveloperID: publisher.DeveloperID, Day: today, Minted: n}},
			Sources: []ledger.PublisherCharge{{
				DeveloperID: publisher.DeveloperID, Day: today, AdvertiserID: payer, Amount: money.Micros(n) * 4_000,
			}},
			Transactions: []ledger.Transaction{{ID: uuid.New(), Kind: ledger.KindMint, Ref: uuid.NewString(),
				Subject: publisher.DeveloperID, At: w.Now, Entries: []ledger.Entry{
					{Account: ledger.PendingCredits(publisher.DeveloperID), Asset: ledger.Credit, Amount: n},
					{Account: ledger.Mint, Asset: ledger.Credit, Amount: -n},
				}}},
		}
	}
	require.NoError(
		t, w.Store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error { return tx.Write(t.Context(), paid(100, p.ID)) }),
	)
	rules := ledger.CreditRules{Value: 5_000, Hold: 7 * 24 * time.Hour, LongHold: 28 * 24 * time.Hour, Now: w.Now}
	_, err := w.Store.Ledger.ReleaseCredits(t.Context(), rules)
	require.NoError(t, err)
	got := publisher.Call(t, "GET", "/api/billing/credits", nil).As(200)
	require.EqualValues(t, 20, got["credits_pending"])
	require.EqualValues(t, 80, got["credits_held"])
	reasons := map[string]object{}
	for _, row := range got["waits"].([]any) {
		reasons[row.(object)["reason"].(string)] = row.(object)
	}
	require.EqualValues(t, 20, reasons["hold"]["credits"], "a quarter of what was charged")
	require.EqualValues(t, 60, reasons["concentration"]["credits"])
	require.EqualValues(t, 20, reasons["not_charged"]["credits"])
	require.Equal(t, true, reasons["not_charged"]["expires"])
	require.Equal(t, (today + 29).Time().Format(time.RFC3339), reasons["not_charged"]["until"])
	for reason, hold := range map[string]time.Duration{"hold": rules.Hold, "concentration": rules.LongHold} {
		until, err := time.Parse(time.RFC3339, reasons[reason]["until"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, w.Now.Add(hold), until, 5*time.Hour)
		require.NotContains(t, reasons[reason], "expires")
	}
	p.Call(t, "GET", "/api/billing/credits?developer_id="+publisher.DeveloperID.String(), nil).Fails(403, "forbidden")
	w.nobody().Call(t, "GET", "/api/billing/credits", nil).Fails(401, "invalid_token")
	admin := w.person(t, account.RoleAdmin)
	admin.does(
		t, "quarantine", object{"decision": "hold", "developer_id": publisher.DeveloperID, "note": "odd"},
	).As(200)
	require.Equal(
		t, true,
		admin.Call(
			t, "GET", "/api/billing/credits?developer_id="+publisher.DeveloperID.String(), nil,
		).As(200)["frozen"],
	)
}
