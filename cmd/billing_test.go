package cmd_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adnet/cmd"
	"adnet/cmd/backends"
	"adnet/cmd/load/visitor"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres"
	"adnet/internal/stream"
	"adnet/internal/testenv"
)

// customer talks to a running service.
type customer struct {
	t           *testing.T
	base, token string
	id          string
}

// asks sends JSON, requires a status, and returns the reply's object.
func (c *customer) asks(status int, method, path string, body any) map[string]any {
	c.t.Helper()
	return client{c.t, c.base}.object(visitor.Request{Method: method, Path: path, Bearer: c.token, JSON: body}, status)
}

func registered(t *testing.T, base, email string) *customer {
	t.Helper()
	c := &customer{t: t, base: base}
	login := c.asks(
		201, "POST", "/api/auth?action=register", map[string]any{"email": email, "password": "a long password"},
	)
	c.token, c.id = login["token"].(string), login["user"].(map[string]any)["id"].(string)
	return c
}

func (c *customer) draft(more map[string]any) map[string]any {
	body := map[string]any{
		"advertiser_id": c.id, "headline": "Chess lessons for curious beginners",
		"cta_url":    "https://chess.shop.example/start",
		"bid_amount": 900, "target_intent_tokens": []string{"chess"},
	}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// TestDepositStartsDelivery follows a deposit from start to end where deposits are required: a
// campaign that says it is unfunded and does not deliver, a checkout, its page, and ads.
func TestDepositStartsDelivery(t *testing.T) {
	_, base, admin := standalone(t, "--prepaid", "required", "--demo", "off")
	advertiser, publisher := registered(t, base, "me@shop.example"), registered(t, base, "bot@example.com")
	created := advertiser.asks(201, "POST", "/api/campaigns?action=create", advertiser.draft(nil))
	require.Equal(t, true, created["unfunded"])
	require.Equal(t, true, created["auto_approved"])
	advertiser.asks(
		503, "POST", "/api/campaigns?action=create", advertiser.draft(map[string]any{"use_ad_credit": true}),
	)

	key := publisher.asks(201, "POST", "/api/keys", map[string]any{"kind": "publisher", "name": "bot"})["key"].(string)
	reader := &customer{t: t, base: base, token: key}
	ask := func() any {
		return reader.asks(
			200, "POST", "/v1/ad-request", map[string]any{"context": "Explain the Sicilian opening in chess"},
		)["ad"]
	}
	// A node delivers a new campaign only once it knows the campaign's room, 200 ms later.
	require.Eventually(t, func() bool { return ask() == nil }, 20*time.Second, 20*time.Millisecond)
	for range 20 {
		require.Nil(t, ask(), "nothing delivers without a deposit")
	}
	checkout := advertiser.asks(200, "POST", "/api/billing?action=create_checkout", map[string]any{"amount": 1})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Post(
		checkout["checkout_url"].(string), "application/x-www-form-urlencoded", strings.NewReader(""),
	)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, http.StatusSeeOther, reply.StatusCode)
	require.True(t, strings.HasPrefix(reply.Header.Get("Location"), base+"/checkout/done?"))
	require.EqualValues(t, 1, advertiser.asks(200, "GET", "/api/billing?action=balance", nil)["available"])

	var ad map[string]any
	paid := time.Now()
	require.Eventually(
		t, func() bool { found, ok := ask().(map[string]any); ad = found; return ok }, 20*time.Second,
		20*time.Millisecond,
	)
	t.Logf("the first ad came %s after the deposit", time.Since(paid))
	beacon, err := http.Get(ad["impression_url"].(string))
	require.NoError(t, err)
	require.NoError(t, beacon.Body.Close())
	var left float64
	require.Eventually(t, func() bool {
		left, _ = advertiser.asks(200, "GET", "/api/billing?action=balance", nil)["available"].(float64)
		return left < 1
	}, 20*time.Second, 50*time.Millisecond)
	require.GreaterOrEqual(t, left, 0.1, "an impression costs at most the stated bid")
	entries := advertiser.asks(200, "GET", "/api/billing?action=history", nil)["entries"].([]any)
	require.Len(t, entries, 2)
	require.InDelta(t, left-1, entries[0].(map[string]any)["amount"], 1e-9)
	require.EqualValues(t, 1, entries[1].(map[string]any)["balance"])
	require.EqualValues(t, 1, publisher.asks(200, "GET", "/api/billing?action=earnings", nil)["total"])
	created = advertiser.asks(201, "POST", "/api/campaigns?action=create", advertiser.draft(nil))
	require.Equal(t, true, created["unfunded"], "what is left pays for no impression at the bid")
	requireVerified(t, admin)
}

// TestPaymentSecretsAreMasked checks that the payment settings are masked as secrets.
func TestPaymentSecretsAreMasked(t *testing.T) {
	p := start(
		t, "ingress", "--stripe-key", "sk_live_canary", "--stripe-webhook-secret", "whsec_canary", "--print-config",
	)
	require.Zero(t, p.ends(t, 5*time.Second))
	require.Contains(t, p.out.String(), "ADNET_STRIPE_KEY=****")
	require.NotContains(t, p.out.String(), "canary")
}

// mint gives a publisher Credits in the only possible way: by impressions that an advertiser pays
// for.
func mint(
	t *testing.T, store *postgres.Stores, host campaign.Campaign, developer uuid.UUID, n int, price money.Micros,
) {
	t.Helper()
	at := time.Now().UTC()
	run := ledger.Run{Range: stream.Range{Partition: stream.Partition{Stream: uuid.NewString()}, Next: int64(n)}}
	for range n {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		run.Records = append(run.Records, ledger.Record{Event: ledger.Event{
			Type: ledger.Impression, Proof: ledger.Signed, ReceivedAt: at, AuctionID: id, CampaignID: host.ID,
			AdvertiserID: host.AdvertiserID,
			DeveloperID:  developer, Price: price, BillingModel: campaign.CPM,
		}})
	}
	b := ledger.Batch{Runs: []ledger.Run{run}, At: at}
	require.NoError(t, store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		if err := tx.AdvanceOffsets(t.Context(), []stream.Range{run.Range}); err != nil {
			return err
		}
		fresh, err := tx.MarkFirst(t.Context(), ledger.Candidates(b))
		if err != nil {
			return err
		}
		books, err := tx.Books(t.Context(), ledger.NeedOf(b))
		if err != nil {
			return err
		}
		return tx.Write(t.Context(), ledger.Decide(b, fresh, books))
	}))
}

// TestCreditsFundCampaigns checks that, with the database, earned Credits pay for a budget at the
// configured value (2 USD a Credit here), that a shortfall is reported, and that the deduction is a
// row.
func TestCreditsFundCampaigns(t *testing.T) {
	owned := testenv.Postgres(t)
	url := testenv.PostgresApp(t, owned)
	require.NoError(t, postgres.Migrate(t.Context(), owned, func(string) {}))
	require.NoError(t, postgres.Grant(t.Context(), owned, url, func(string) {}))
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	base := cmd.ServeOver(
		t, func(b *backends.All) {
			b.Stores, b.Rooms = backends.InPostgres(store), backends.RoomsOf(store, backends.Money{})
		},
		"--credit-value-usd", "2",
	)
	owner, host := registered(t, base, "me@shop.example"), registered(t, base, "host@example.com")
	host.asks(201, "POST", "/api/campaigns", host.draft(map[string]any{"daily_budget": 100, "total_budget": 100}))
	hosted, _, err := store.Campaigns.Campaigns(t.Context(), campaign.Filter{})
	require.NoError(t, err)
	user, err := store.Accounts.User(t.Context(), uuid.MustParse(owner.id))
	require.NoError(t, err)

	credit := owner.draft(map[string]any{"use_ad_credit": true, "total_budget": 41, "daily_budget": 5})
	refused := owner.asks(400, "POST", "/api/campaigns", credit)
	require.Equal(t, "insufficient_credit", refused["code"])
	require.EqualValues(t, 0, refused["available"])
	require.EqualValues(t, 21, refused["requested"], "half a Credit is a Credit")
	spendable := func(n int) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			require.EqualValues(c, n, owner.asks(200, "GET", "/api/billing?action=balance", nil)["credits"])
		}, 20*time.Second, 100*time.Millisecond)
	}
	mint(t, store, hosted[0], user.DeveloperID, 20, 2*money.USD)
	spendable(20)
	refused = owner.asks(400, "POST", "/api/campaigns", credit)
	require.EqualValues(t, 20, refused["available"])
	require.EqualValues(t, 21, refused["requested"])
	require.Empty(t, owner.asks(200, "GET", "/api/campaigns", nil)["campaigns"])
	require.EqualValues(t, 20, owner.asks(200, "GET", "/api/billing?action=balance", nil)["credits"])

	mint(t, store, hosted[0], user.DeveloperID, 5, 2*money.USD)
	spendable(25)
	created := owner.asks(201, "POST", "/api/campaigns", credit)["campaign"].(map[string]any)
	require.Equal(t, true, created["credit_funded"])
	require.Equal(t, "in_review", created["status"], "also the account's first")
	require.EqualValues(t, 4, owner.asks(200, "GET", "/api/billing?action=balance", nil)["credits"])
	row := owner.asks(200, "GET", "/api/billing?action=history&limit=1", nil)["entries"].([]any)[0].(map[string]any)
	require.Equal(t, "credit_fund", row["kind"])
	require.Equal(t, created["id"], row["campaign_id"])
	require.EqualValues(t, -21, row["amount"])
	require.EqualValues(t, 4, row["balance"])
	earned := owner.asks(200, "GET", "/api/billing?action=earnings", nil)
	require.EqualValues(t, 25, earned["total"])
	require.EqualValues(t, 4, earned["available"])
	checks, err := store.Ledger.Verify(t.Context(), ledger.VerifyOptions{})
	require.NoError(t, err)
	for _, c := range checks {
		require.True(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

// TestCreditsNeedTheDatabase expects demo_mode as the answer in memory, whatever was earned.
func TestCreditsNeedTheDatabase(t *testing.T) {
	base := cmd.ServeOver(t, nil)
	owner := registered(t, base, "me@shop.example")
	refused := owner.asks(503, "POST", "/api/campaigns", owner.draft(map[string]any{"use_ad_credit": true}))
	require.Equal(t, "demo_mode", refused["code"])
	require.Empty(t, owner.asks(200, "GET", "/api/campaigns", nil)["campaigns"])
}
