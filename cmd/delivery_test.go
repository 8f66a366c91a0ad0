package cmd_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// campaign makes an active campaign of a new advertiser for one intent token.
func (c client) campaign(owner login, token, more string) (id string) {
	c.t.Helper()
	created := c.do("POST", "/api/campaigns?action=create", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"About `+token+`",
		"cta_url":"https://`+token+`.example.com/","target_intent_tokens":["`+token+`"]`+more+`}`, 201)
	require.Equal(c.t, true, created["auto_approved"])
	return created["campaign"].(map[string]any)["id"].(string)
}

func (c client) publisherKey(email string) string {
	c.t.Helper()
	return c.do("POST", "/api/keys", c.register(email).token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
}

// ad repeats the request until the node knows the campaign.
func (c client) firstAd(key, body string) (ad map[string]any) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		ad, _ = c.do("POST", "/v1/ad-request", key, body, 200)["ad"].(map[string]any)
		return ad != nil
	}, 5*time.Second, 20*time.Millisecond)
	return ad
}

// TestFrequencyCapsOnEverySurface checks that REST, MCP and OpenRTB share one session's cap.
func TestFrequencyCapsOnEverySurface(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off")
	api := client{t, base}
	owner := api.register("owner@shop.example")
	id := api.campaign(owner, "chess", "")
	key := api.publisherKey("pub@bot.example")
	ask := func(session string) map[string]any {
		return api.do("POST", "/v1/ad-request", key, `{"context":"teach me chess","session_id":"`+session+`"}`, 200)
	}
	displayed := api.do("GET", "/api/campaigns?id="+id, owner.token, "", 200)["campaigns"].([]any)[0].(map[string]any)
	require.Equal(t, "even", displayed["pacing"])
	require.Equal(t, 3.0, displayed["frequency_cap"])
	for _, wrong := range []string{`{"frequency_cap":-1}`, `{"frequency_cap":1001}`, `{"pacing":"fast"}`} {
		require.Equal(t, "invalid_request", api.do("PATCH", "/api/campaigns/"+id, owner.token, wrong, 400)["code"])
	}

	served := api.firstAd(key, `{"context":"teach me chess","session_id":"s 1"}`)
	api.get(served["impression_url"].(string), 200)
	api.get(served["impression_url"].(string), 200) // again: the same event
	require.NotNil(t, ask("s 1")["ad"])
	mcp := func(session string) map[string]any {
		reply := api.do(
			"POST", "/api/mcp", key,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"teach me chess","session_id":"`+session+`"}}}`, 200,
		)
		return reply["result"].(map[string]any)["structuredContent"].(map[string]any)
	}
	require.Equal(t, id, mcp("s 1")["campaign_id"])
	for range 2 {
		full := ask("s 1")
		require.Nil(t, full["ad"])
		require.Equal(t, "frequency_capped", full["reason"])
		require.InDelta(
			t, 600, full["retry_after"], 600,
			"two ads that were not shown stop counting in ten minutes, or the day ends",
		)
		require.Equal(t, "frequency_capped", mcp("s 1")["reason"])
	}
	require.NotNil(t, ask("s 2")["ad"], "another session")
	for range 5 {
		require.NotNil(
			t, api.do("POST", "/v1/ad-request", key, `{"context":"teach me chess"}`, 200)["ad"],
			"without a session nothing is capped",
		)
	}
	other := api.publisherKey("pub2@bot.example")
	require.NotNil(
		t, api.do("POST", "/v1/ad-request", other, `{"context":"teach me chess","session_id":"s 1"}`, 200)["ad"],
		"another publisher's session",
	)

	require.Equal(
		t, 4.0,
		api.do(
			"PATCH", "/api/campaigns/"+id, owner.token, `{"frequency_cap":4}`, 200,
		)["campaign"].(map[string]any)["frequency_cap"],
	)
	require.NotNil(t, ask("s 1")["ad"])
	require.Nil(t, ask("s 1")["ad"])
	api.do("PATCH", "/api/campaigns/"+id, owner.token, `{"frequency_cap":0}`, 200)
	require.NotNil(t, ask("s 1")["ad"], "0 is no cap")

	require.Eventually(
		t, func() bool { return api.cause(owner, id, "frequency_capped") >= 4 }, 10*time.Second, 100*time.Millisecond,
	)
}

// cause is how often diagnose counts a cause.
func (c client) cause(owner login, campaign, name string) (n float64) {
	c.t.Helper()
	for _, cause := range c.do("GET", "/api/campaigns/"+campaign+"/diagnose", owner.token, "", 200)["causes"].([]any) {
		if cause := cause.(map[string]any); cause["cause"] == name {
			n = cause["count"].(float64)
		}
	}
	return n
}

// TestConversationPacing asks through a conversation: not before turn 3, and two turns apart.
func TestConversationPacing(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off", "--first-ad-turn=3", "--turns-between-ads=2")
	api := client{t, base}
	api.campaign(api.register("owner@shop.example"), "chess", `,"frequency_cap":0`)
	key := api.publisherKey("pub@bot.example")
	api.firstAd(key, `{"context":"chess"}`)
	turn := func(more string) map[string]any {
		return api.do("POST", "/v1/ad-request", key, `{"context":"chess"`+more+`}`, 200)
	}
	var filled []int
	for n := 1; n <= 8; n++ {
		reply := turn(`,"session_id":"counted"`)
		if reply["ad"] != nil {
			filled = append(filled, n)
			continue
		}
		require.Equal(t, "frequency_capped", reply["reason"])
		require.Equal(t, 20*reply["retry_after_turns"].(float64), reply["retry_after"])
	}
	require.Equal(t, []int{3, 5, 7}, filled)
	require.Equal(t, 2.0, turn(`,"turn":1`)["retry_after_turns"])
	require.NotNil(t, turn(`,"turn":1,"first_ad_turn":1`)["ad"])
	require.NotNil(t, turn(`,"session_id":"stated","turn":9`)["ad"])
	require.Nil(t, turn(`,"session_id":"stated","turn":10`)["ad"])
	require.NotNil(t, turn(`,"session_id":"stated","turn":10,"turns_between_ads":1`)["ad"])
	require.Equal(t, "turn", api.do("POST", "/v1/ad-request", key, `{"context":"chess","turn":0}`, 400)["field"])
}

// TestPacingHoldsAFlood floods a campaign: it is paced long before its daily budget is spent, and
// says so; with pacing asap it is not paced.
func TestPacingHoldsAFlood(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off", "--rate-per-minute=0")
	api := client{t, base}
	owner := api.register("owner@shop.example")
	id := api.campaign(owner, "chess", "") // 50 USD at 5 USD CPM: 10,000 impressions
	key := api.publisherKey("pub@bot.example")
	api.firstAd(key, `{"context":"chess"}`)
	filled, paced := 0, 0
	for range 3_000 {
		reply := api.do("POST", "/v1/ad-request", key, `{"context":"chess"}`, 200)
		if ad, _ := reply["ad"].(map[string]any); ad != nil {
			api.get(ad["impression_url"].(string), 200) // unshown ads would be stopped first
			filled++
			continue
		}
		require.Equal(t, "paced", reply["reason"], fmt.Sprint(reply))
		require.Equal(t, 60.0, reply["retry_after"])
		if paced++; paced == 200 {
			break
		}
	}
	require.Equal(t, 200, paced, "filled %d", filled)
	require.Greater(t, filled, 10)
	require.Eventually(
		t, func() bool { return api.cause(owner, id, "paced") >= 100 }, 10*time.Second, 100*time.Millisecond,
	)
	changed := api.do("PATCH", "/api/campaigns/"+id, owner.token, `{"pacing":"asap"}`, 200)["campaign"].(map[string]any)
	require.Equal(t, "asap", changed["pacing"])
	require.Eventually(t, func() bool {
		for range 50 {
			ad, _ := api.do(http.MethodPost, "/v1/ad-request", key, `{"context":"chess"}`, 200)["ad"].(map[string]any)
			if ad == nil {
				return false
			}
			api.get(ad["impression_url"].(string), 200)
		}
		return true
	}, 20*time.Second, 500*time.Millisecond)
}
