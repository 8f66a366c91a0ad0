package cmd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// page asks for an ad as a reader's page does.
func (m *shop) page(key, origin, word string) (ad map[string]any) {
	m.t.Helper()
	request, err := http.NewRequest("POST", m.base+"/v1/ad-request", strings.NewReader(`{"context":"`+word+`"}`))
	require.NoError(m.t, err)
	request.Header = http.Header{
		"Authorization": {"Bearer " + key}, "Origin": {origin}, "User-Agent": {reader},
		"Content-Type": {"application/json"},
	}
	reply, err := http.DefaultClient.Do(request)
	require.NoError(m.t, err)
	defer reply.Body.Close()
	raw, err := io.ReadAll(reply.Body)
	require.NoError(m.t, err)
	require.Equal(m.t, 200, reply.StatusCode, "%s", raw)
	var out map[string]any
	require.NoError(m.t, json.Unmarshal(raw, &out))
	ad, _ = out["ad"].(map[string]any)
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
