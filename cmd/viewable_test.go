package cmd_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/cmd/load/visitor"
)

// page asks for an ad as a reader's page does.
func (m *shop) page(key, origin, word string) (ad map[string]any) {
	m.t.Helper()
	ad, _ = m.object(visitor.Request{
		Method: "POST", Path: "/v1/ad-request", Bearer: key, Agent: reader, Header: http.Header{"Origin": {origin}},
		JSON: visitor.Object{"context": word},
	}, 200)["ad"].(map[string]any)
	return ad
}

// A campaign that pays for views is shown where views can be reported, and nowhere else; the view
// is charged once, at the bid that won, and earns the Credit; the impression does neither.
func TestViewsArePaidFor(t *testing.T) {
	const origin = "https://page.example"
	m := newShop(t)
	sold := m.campaign
	m.do(
		"PATCH", "/api/campaigns", m.owner.token,
		`{"id":"`+sold+
			`","billing_model":"cpm","billing_event":"viewable","bid_amount":10,"daily_budget":100,"total_budget":100}`,
		200,
	)
	stored := m.do("GET", "/api/campaigns?id="+sold, m.owner.token, "", 200)
	require.Contains(t, mustText(t, stored), `"billing_event":"viewable"`)
	for _, wrong := range []string{
		`"billing_event":"click"`, `"billing_event":"viewable","billing_model":"cpc"`,
		`"billing_event":"viewable","optimization_goal":"target_cpa","target_cpa":1`,
	} {
		m.do(
			"POST", "/api/campaigns?action=create", m.owner.token,
			`{"advertiser_id":"`+m.owner.id+`","headline":"x","cta_url":"https://chess.example.com/",`+wrong+`}`, 400,
		)
	}
	key := m.do(
		"POST", "/api/keys", m.publisher.token, `{"kind":"browser","name":"page","origins":["`+origin+`"]}`, 201,
	)["key"].(string)

	var ad map[string]any
	require.Eventually(t, func() bool {
		ad = m.page(key, origin, "chess")
		return ad != nil
	}, 10*time.Second, 50*time.Millisecond)
	require.Equal(t, sold, ad["ad_id"])
	other := m.do(
		"POST", "/v1/ad-request", m.key, `{"context":"chess","min_relevance":0,"integration_method":"js_snippet"}`, 200,
	)
	require.Nil(t, other["ad"], "a server that says that its ads are in pages is not believed")

	_, _ = m.follow(ad["impression_url"], reader)
	m.settles(sold, map[string]float64{"impressions": 1, "viewable": 0, "spend_usd": 0})
	time.Sleep(time.Second) // an earlier view is too fast
	for range 3 {
		status, _ := m.follow(ad["viewable_url"], reader)
		require.Equal(t, 200, status)
	}
	stats := m.settles(sold, map[string]float64{"impressions": 1, "viewable": 1})
	require.InDelta(t, 0.01, stats["spend_usd"], 0.005, "the bid that won, for one view")
	require.Positive(t, stats["spend_usd"])
	earned := m.do("GET", "/api/stats?type=developer", m.publisher.token, "", 200)
	require.Equal(t, 1.0, earned["credits"], "%v", earned)

	seen := m.page(key, origin, "chess")
	require.NotNil(t, seen)
	_, _ = m.follow(seen["viewable_url"], "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)")
	time.Sleep(time.Second)
	require.Equal(
		t, stats["spend_usd"], m.settles(sold, map[string]float64{"viewable": 1})["spend_usd"],
		"a preview views nothing",
	)
}

func mustText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
