package cmd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// through signs in by a door of the landing page.
func (c client) through(as string) string {
	return c.do("POST", "/api/auth/demo", "", `{"as":"`+as+`"}`, 200)["token"].(string)
}

func (c client) list(path, bearer, of string) []any {
	c.t.Helper()
	list, _ := c.do("GET", path, bearer, "", 200)[of].([]any)
	return list
}

// lively requires that most of the days of a chart have impressions.
func lively(t *testing.T, stats map[string]any) {
	t.Helper()
	days := 0
	for _, d := range stats["daily"].([]any) {
		if d.(map[string]any)["impressions"].(float64) > 0 {
			days++
		}
	}
	require.GreaterOrEqual(t, days, 25)
}

// TestDemoIsAlive opens each door of the demo and finds a month of history, with something of
// everything that a screen shows.
func TestDemoIsAlive(t *testing.T) {
	_, base, admin := standalone(t)
	api := client{t, base}
	require.Equal(t, true, api.do("GET", "/api/info", "", "", 200)["invented"])
	advertiser, publisher, boss := api.through("advertiser"), api.through("publisher"), api.through("admin")

	mine := api.do("GET", "/api/stats?type=overview", advertiser, "", 200)
	lively(t, mine)
	require.Positive(t, mine["conversions"])
	require.Positive(t, mine["viewable"])
	earned := api.do("GET", "/api/stats?type=developer", publisher, "", 200)
	lively(t, earned)
	all := api.do("GET", "/api/stats?type=overview", boss, "", 200)
	lively(t, all)
	require.Positive(t, all["invalid_traffic"])
	require.Positive(t, all["conversions"])

	require.GreaterOrEqual(t, len(api.list("/api/campaigns/review_queue?reason=pending", boss, "campaigns")), 3)
	require.Len(t, api.list("/api/admin/users?state=name_waiting", boss, "users"), 1)
	require.NotEmpty(t, api.list("/api/admin/reports", boss, "reported"))
	require.NotEmpty(t, api.list("/api/decisions?appeal=open", boss, "decisions"))
	require.NotEmpty(t, api.list("/api/billing/quarantine?state=open", boss, "cases"))
	require.NotEmpty(t, api.list("/api/campaigns?status=paused", advertiser, "campaigns"))
	require.NotEmpty(t, api.list("/api/campaigns?status=rejected", advertiser, "campaigns"))
	require.NotEmpty(t, api.list("/api/decisions?kind=rejection", advertiser, "decisions"))
	require.GreaterOrEqual(t, len(api.list("/api/stats/requests", publisher, "no_fill")), 3)
	require.GreaterOrEqual(t, len(api.list("/api/admin/requests", boss, "no_fill")), 3)

	credits := api.do("GET", "/api/billing/credits", publisher, "", 200)
	for _, state := range []string{"credits", "credits_held", "credits_pending"} {
		require.Positive(t, credits[state], state)
	}
	kinds := map[any]int{}
	for _, line := range api.list("/api/billing/history?limit=500", advertiser, "entries") {
		kinds[line.(map[string]any)["kind"]]++
	}
	require.Equal(t, 2, kinds["deposit"])
	require.Equal(t, 1, kinds["refund"])
	require.Positive(t, kinds["charge"])
	requireVerified(t, admin)
}

// TestDemoNumbersAreEqual compares what different screens read.
func TestDemoNumbersAreEqual(t *testing.T) {
	_, base, admin := standalone(t, "--demo-requests=1500")
	api := client{t, base}
	advertiser, publisher, boss := api.through("advertiser"), api.through("publisher"), api.through("admin")

	mine := api.do("GET", "/api/stats?type=overview&breakdown=campaign", advertiser, "", 200)
	var byCampaign, byDay, charged float64
	for _, row := range mine["breakdown"].([]any) {
		byCampaign += row.(map[string]any)["spend_usd"].(float64)
	}
	for _, row := range mine["daily"].([]any) {
		byDay += row.(map[string]any)["spend_usd"].(float64)
	}
	for _, line := range api.list("/api/billing/history?limit=500", advertiser, "entries") {
		if l := line.(map[string]any); l["kind"] == "charge" {
			charged -= l["amount"].(float64)
		}
	}
	require.InDelta(t, mine["spend_usd"], byCampaign, 1e-6)
	require.InDelta(t, mine["spend_usd"], byDay, 1e-6)
	require.InDelta(t, mine["spend_usd"], charged, 1e-6, "the statement shows what the chart shows")

	earned := api.do("GET", "/api/stats?type=developer", publisher, "", 200)
	credits := api.do("GET", "/api/billing/credits", publisher, "", 200)
	expired := 0.0
	for _, line := range api.list("/api/billing/history?limit=500&asset=CREDIT", publisher, "entries") {
		if l := line.(map[string]any); l["kind"] == "credit_expire" {
			expired -= l["amount"].(float64)
		}
	}
	sum := expired
	for _, state := range []string{"credits", "credits_held", "credits_pending", "credits_quarantined"} {
		sum += credits[state].(float64)
	}
	require.InDelta(t, earned["credits"], sum, 0)

	requests := api.do("GET", "/api/admin/requests", boss, "", 200)
	sum = requests["filled"].(float64)
	for _, row := range requests["no_fill"].([]any) {
		sum += row.(map[string]any)["requests"].(float64)
	}
	require.InDelta(t, requests["requests"], sum, 0)
	requireVerified(t, admin)
}

// TestDemoOffHasNone starts without accounts, events and the notice on the pages.
func TestDemoOffHasNone(t *testing.T) {
	_, base, _ := standalone(
		t, "--demo=off", "--admin-email=root@adnet.example", "--admin-password=a long password",
	)
	api := client{t, base}
	info := api.do("GET", "/api/info", "", "", 200)
	require.NotContains(t, info, "invented")
	require.Empty(t, info["demo"])
	boss := api.do("POST", "/api/auth", "", `{"email":"root@adnet.example","password":"a long password"}`, 200)["token"].(string)
	require.Zero(t, api.do("GET", "/api/stats?type=overview", boss, "", 200)["impressions"])
	require.Len(t, api.list("/api/admin/users", boss, "users"), 1)
	require.Zero(t, api.do("GET", "/api/admin/requests", boss, "", 200)["requests"])
}

// TestDemoLeavesOthersAlone registers beside the demo: the accounts start as on an empty
// installation.
func TestDemoLeavesOthersAlone(t *testing.T) {
	_, base, admin := standalone(t, "--demo-requests=4000", "--standing-every=1s", "--quarantine-every=200ms")
	api := client{t, base}
	owner := api.register("owner@shop.example")
	stats := api.do("GET", "/api/stats?type=overview", owner.token, "", 200)
	require.Zero(t, stats["impressions"])
	require.Zero(t, stats["spend_usd"])
	require.Empty(t, api.list("/api/campaigns", owner.token, "campaigns"))
	require.Empty(t, api.list("/api/decisions", owner.token, "decisions"))
	require.Zero(t, api.do("GET", "/api/billing/balance", owner.token, "", 200)["balance"])
	require.Zero(t, api.do("GET", "/api/stats?type=developer", owner.token, "", 200)["credits"])
	created := api.do("POST", "/api/campaigns?action=create", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Chess lessons",
		"cta_url":"https://chess.example.com/start","bid_amount":1,"target_intent_tokens":["chess"]}`, 201)
	require.Equal(t, true, created["auto_approved"], "its first campaign goes live")
	boss := api.through("admin")
	require.Never(t, func() bool {
		return len(api.list("/api/billing/quarantine?state=open", boss, "cases")) != 1
	}, 1500*time.Millisecond, 300*time.Millisecond, "the case of the history alone")
	requireVerified(t, admin)
}

// TestDemoModesShareTheHistory compares the sums of two starts: ids differ, numbers do not.
func TestDemoModesShareTheHistory(t *testing.T) {
	sums := map[string]int{}
	for _, mode := range []string{"on", "still"} {
		_, base, _ := standalone(t, "--demo-requests=300", "--demo="+mode)
		api := client{t, base}
		yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
		stats := api.do("GET", "/api/stats?type=overview&until="+yesterday, api.through("admin"), "", 200)
		sums[fmt.Sprint(stats["impressions"], stats["clicks"], stats["spend_usd"], stats["conversions"])]++
	}
	require.Len(t, sums, 1, "%v", sums)
}

// TestDemoLives waits for a request that no visitor made.
func TestDemoLives(t *testing.T) {
	_, base, _ := standalone(t, "--demo-requests=0", "--demo=live")
	api := client{t, base}
	boss := api.through("admin")
	require.Eventually(t, func() bool {
		return api.do("GET", "/api/admin/requests", boss, "", 200)["requests"].(float64) > 0
	}, 30*time.Second, 300*time.Millisecond)
}
