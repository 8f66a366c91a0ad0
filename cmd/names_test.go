package cmd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who paid is said with the ad on REST and MCP as an administrator approved it, and within two
// seconds of a change no more.
func TestAdsSayWhoPaid(t *testing.T) {
	_, base, _ := standalone(
		t, "--demo=off", "--admin-email", "boss@example.com", "--admin-password", "a long password",
	)
	api := client{t, base}
	boss := api.do(
		"POST", "/api/auth", "", `{"email":"boss@example.com","password":"a long password"}`, 200,
	)["token"].(string)
	owner, publisher := api.register("owner@names.example"), api.register("pub@names.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	api.do("POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Wombat field guide","cta_url":"https://wombat.example.com/",
		"bid_amount":10,"pacing":"asap","daily_budget":1000,"total_budget":10000,"target_intent_tokens":["wombat"]}`, 201)
	ask := func() map[string]any {
		ad, _ := api.do("POST", "/v1/ad-request", key, `{"context":"wombat"}`, 200)["ad"].(map[string]any)
		return ad
	}
	says := func(want any) func() bool {
		return func() bool {
			ad := ask()
			return ad != nil && fmt.Sprint(ad["advertiser"]) == fmt.Sprint(want)
		}
	}
	require.Eventually(t, says(nil), 20*time.Second, 50*time.Millisecond)
	api.do("PATCH", "/api/account/profile", owner.token, `{"company":"Wombat & Sons"}`, 200)
	rule := func(body string) { api.do("POST", "/api/admin/users/"+owner.id+"/name", boss, body, 200) }
	rule(`{"name":"Wombat & Sons","decision":"approved","verified":true}`)
	require.Eventually(
		t, says(map[string]any{"name": "Wombat & Sons", "verified": true}), 2*time.Second, 20*time.Millisecond,
	)
	result := api.do(
		"POST", "/api/mcp", key,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"wombat"}}}`, 200,
	)["result"].(map[string]any)
	require.Equal(
		t, map[string]any{"name": "Wombat & Sons", "verified": true},
		result["structuredContent"].(map[string]any)["advertiser"],
	)
	text := result["content"].([]any)[1].(map[string]any)["text"].(string)
	require.True(t, strings.HasPrefix(text, "**Sponsored · Wombat &amp; Sons:** Wombat field guide"), text)

	api.do("PATCH", "/api/account/profile", owner.token, `{"company":"Quokka & Sons"}`, 200)
	require.Eventually(t, says(nil), 2*time.Second, 20*time.Millisecond)
	require.NotContains(t, fmt.Sprint(ask()), "Quokka")
}
