package cmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAStrangerHarmsNobody gives a stranger one link of an honest publisher. The stranger repeats
// its pixel 300 times with a program, half of them with another parameter; a chat previews its
// click.
func TestAStrangerHarmsNobody(t *testing.T) {
	_, base, admin := standalone(
		t, "--demo=off", "--click-min-delay=0", "--quarantine-every=100ms", "--quarantine-min-events=20",
		"--unsigned-beacons=record",
	)
	api := client{t, base}
	owner, publisher := api.register("owner@shop.example"), api.register("pub@bot.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	created := api.do("POST", "/api/campaigns?action=create", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Chess lessons",
		"cta_url":"https://chess.example.com/start","billing_model":"cpc","bid_amount":1,"target_intent_tokens":["chess"],"pacing":"asap","frequency_cap":0}`, 201)
	id := created["campaign"].(map[string]any)["id"].(string)
	sold := func(method string) (ad map[string]any) {
		require.Eventually(t, func() bool {
			ad, _ = api.do(
				"POST", "/v1/ad-request", key, `{"context":"teach me chess","integration_method":"`+method+`"}`, 200,
			)["ad"].(map[string]any)
			return ad != nil
		}, 5*time.Second, 20*time.Millisecond)
		return ad
	}
	var pixel string
	for range 20 {
		pixel = sold("js_snippet")["impression_url"].(string)
		api.get(pixel, 200)
	}
	for range 150 {
		api.getAs(pixel, "curl/8.7.1", 200)
		api.getAs(pixel+"&integration_method=npm_sdk", "", 200)
	}
	// An ad in a chat: the application reads its link before any person does.
	posted := sold("rest")
	api.getAs(posted["impression_url"].(string), "python-requests/2.32", 200)
	api.getAs(posted["click_url"].(string), "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", 302)

	var stats map[string]any
	require.Eventually(t, func() bool {
		stats = api.do("GET", "/api/stats?type=campaign&campaign_id="+id, owner.token, "", 200)
		return stats["impressions"] == 21.0 && stats["duplicates"] == 300.0 && stats["invalid_traffic"] == 1.0
	}, 20*time.Second, 100*time.Millisecond, "%v", &stats)
	require.Zero(t, stats["clicks"])
	require.Zero(t, stats["spend_usd"])
	time.Sleep(500 * time.Millisecond) // the rules look meanwhile
	require.Zero(t, api.do("GET", "/api/billing?action=balance", publisher.token, "", 200)["credits_held"])

	// The person comes after the preview.
	api.get(posted["click_url"].(string), 302)
	require.Eventually(t, func() bool {
		stats = api.do("GET", "/api/stats?type=campaign&campaign_id="+id, owner.token, "", 200)
		return stats["clicks"] == 1.0 && stats["spend_usd"] == 1.0
	}, 20*time.Second, 100*time.Millisecond, "%v", &stats)
	requireVerified(t, admin)
}
