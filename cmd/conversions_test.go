package cmd_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/cmd/load/visitor"
)

// shop is a running node with an advertiser whose campaign pays for conversions, and a publisher.
type shop struct {
	client
	admin     string
	owner     login
	publisher login
	campaign  string
	key       string // the publisher's
}

// newShop starts a node as production would: what has no token is not billed. The campaign pays
// 1,000 USD for a conversion.
func newShop(t *testing.T, args ...string) *shop {
	_, base, admin := standalone(t, append([]string{
		"--demo=off", "--unsigned-beacons=record", "--click-min-delay=0", "--click-rates=off",
	}, args...)...)
	m := &shop{client: client{t, base}, admin: admin}
	m.owner, m.publisher = m.register("owner@shop.example"), m.register("pub@bot.example")
	m.key = m.do("POST", "/api/keys", m.publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	m.campaign = m.sell("chess", `"billing_model":"cpa","bid_amount":1000,"daily_budget":50000,"total_budget":50000`)
	return m
}

// sell creates a campaign for one word.
func (m *shop) sell(word, more string) string {
	m.t.Helper()
	created := m.do("POST", "/api/campaigns?action=create", m.owner.token,
		`{"advertiser_id":"`+m.owner.id+`","headline":"Chess lessons",
		"cta_url":"https://chess.example.com/start?a=1&adnet_click=old&b=%20#top","target_intent_tokens":["`+word+`"],"pacing":"asap",`+more+`}`, 201)
	return created["campaign"].(map[string]any)["id"].(string)
}

// ad asks until the campaign of a word is served, which it is some moments after its creation.
func (m *shop) ad(word, method string) (ad map[string]any) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		ad, _ = m.do(
			"POST", "/v1/ad-request", m.key, `{"context":"`+word+`","integration_method":"`+method+`"}`, 200,
		)["ad"].(map[string]any)
		return ad != nil
	}, 10*time.Second, 20*time.Millisecond)
	return ad
}

// follow loads a link as a browser, or as a robot, and gives the status and the landing page.
func (m *shop) follow(link any, agent string) (int, string) {
	m.t.Helper()
	reply := m.send(visitor.Request{Method: "GET", Path: link.(string), Agent: agent})
	return reply.Status, reply.Header.Get("Location")
}

const reader = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"

// click shows and clicks an ad, and gives the click id that the landing page gets.
func (m *shop) click(ad map[string]any, agent string) string {
	m.t.Helper()
	status, _ := m.follow(ad["impression_url"], reader)
	require.Equal(m.t, 200, status)
	status, page := m.follow(ad["click_url"], agent)
	require.Equal(m.t, 302, status)
	landing, err := url.Parse(page)
	require.NoError(m.t, err)
	id := landing.Query().Get("adnet_click")
	require.Greater(m.t, len(id), 80, page)
	require.True(
		m.t,
		strings.HasPrefix(page, "https://chess.example.com/start?a=1&b=%20&adnet_click=") &&
			strings.HasSuffix(page, "#top"), page,
	)
	return id
}

// convert posts a conversion and gives the status and the reply.
func (m *shop) convert(bearer string, fields map[string]any) (int, map[string]any) {
	m.t.Helper()
	fields["event"], fields["conversion_type"], fields["value"], fields["currency"] = "conversion", "sale", 10, "USD"
	reply := m.send(visitor.Request{Method: "POST", Path: "/api/track", Bearer: bearer, JSON: fields})
	var out map[string]any
	require.NoError(m.t, json.Unmarshal(reply.Body, &out), "%s", reply.Body)
	return reply.Status, out
}

// unverified posts a conversion that is taken and proves nothing.
func (m *shop) unverified(bearer string, fields map[string]any) {
	m.t.Helper()
	status, reply := m.convert(bearer, fields)
	require.Equal(m.t, 200, status, reply)
	require.Equal(m.t, false, reply["verified"])
}

// settles waits for counts of the campaign, and gives its stats.
func (m *shop) settles(campaign string, want map[string]float64) (stats map[string]any) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		stats = m.do("GET", "/api/stats?type=campaign&campaign_id="+campaign, m.owner.token, "", 200)
		for name, n := range want {
			if stats[name] != n {
				return false
			}
		}
		return true
	}, 15*time.Second, 100*time.Millisecond, "want %v, stats %v", want, &stats)
	return stats
}

// A publisher shows, clicks and converts ads by itself, with everything that it was given. Nobody
// pays for it.
func TestPublishersCannotConvert(t *testing.T) {
	m := newShop(t)
	const ads = 5
	for range ads {
		ad := m.ad("chess", "rest")
		id := m.click(ad, reader)
		m.unverified("", map[string]any{"campaign_id": m.campaign, "auction_id": ad["auction_id"]})
		m.unverified(m.publisher.token, map[string]any{"click_id": id})
		m.unverified("", map[string]any{"click_id": id, "external_id": "again"})
	}
	own := m.do("POST", "/api/keys", m.publisher.token, `{"kind":"conversion"}`, 201)["key"].(string)
	status, reply := m.convert(own, map[string]any{"click_id": m.click(m.ad("chess", "rest"), reader)})
	require.Equal(t, 403, status, reply)
	require.Equal(t, "forbidden", reply["code"])
	stats := m.settles(m.campaign, map[string]float64{
		"impressions": ads + 1, "clicks": ads + 1, "conversions": 0, "conversions_unverified": 2 * ads,
		"duplicates": ads, "rejected": 0,
	})
	require.Equal(t, 0.0, stats["spend_usd"])
	require.Equal(t, 0.0, stats["billed"])
	requireVerified(t, m.admin)
}

// A stranger has the receipt of an ad, which is made to be shared, or one link of it. Each serves
// its purpose and no other.
func TestLinksServeOnePurpose(t *testing.T) {
	m := newShop(t)
	ad := m.ad("chess", "rest")
	pixel, err := url.Parse(ad["impression_url"].(string))
	require.NoError(t, err)
	path := func(link any) string { return strings.Split(strings.Split(link.(string), "?")[0], "/")[4] }
	tokens := map[string]string{
		"report": ad["auction_id"].(string), "impression": pixel.Query().Get("auction_id"),
		"click": path(ad["click_url"]), "receipt": path(ad["receipt_url"]),
	}
	for name, text := range tokens {
		if name != "click" {
			status, page := m.follow(m.base+"/s/"+text, reader)
			require.Equal(t, 404, status, name)
			require.Empty(t, page)
		}
		if name != "receipt" {
			status, _ := m.follow(m.base+"/r/"+text, reader)
			require.Equal(t, 404, status, name)
		}
	}
	status, _ := m.follow(ad["receipt_url"], reader)
	require.Equal(t, 200, status)
	fire := func(token, event string) {
		m.get(m.base+"/api/track?event="+event+"&campaign_id="+m.campaign+"&auction_id="+token, 200)
	}
	// The pixel shows, and shows only. What the others say counts nowhere.
	fire(tokens["impression"], "click")
	fire(tokens["click"], "impression")
	for _, event := range []string{"impression", "click", "close", "skip", "video_complete"} {
		fire(tokens["receipt"], event)
	}
	for _, text := range tokens {
		m.unverified("", map[string]any{"campaign_id": m.campaign, "auction_id": text})
		status, reply := m.convert(m.owner.token, map[string]any{"click_id": text})
		require.Equal(t, 400, status, reply)
		require.Equal(t, "click_id", reply["field"], reply)
	}
	fire(tokens["impression"], "impression")
	stats := m.settles(
		m.campaign, map[string]float64{"impressions": 1, "clicks": 0, "conversions": 0, "conversions_unverified": 1},
	)
	require.Equal(t, 0.0, stats["spend_usd"])
	m.click(ad, reader) // the links are good for what they are
	m.settles(m.campaign, map[string]float64{"clicks": 1, "skips": 0, "closes": 0, "video_completes": 0})
	requireVerified(t, m.admin)
}

// The owner of the campaign reports, by key or by session. Each click is paid for once, however
// often and with whatever orders it is reported, and only a click that counted.
func TestAdvertisersConvert(t *testing.T) {
	m := newShop(t, "--conversion-hourly-cap=3")
	key := m.do("POST", "/api/keys", m.owner.token, `{"kind":"conversion","name":"shop"}`, 201)["key"].(string)
	require.True(t, strings.HasPrefix(key, "conv_live_"))
	other := m.sell("checkers", `"billing_model":"cpa","bid_amount":1`)
	limited := m.do("POST", "/api/keys", m.owner.token, `{"kind":"conversion","campaign_id":"`+other+`"}`, 201)
	require.Equal(t, other, limited["campaign_id"])
	m.do("POST", "/api/keys", m.publisher.token, `{"kind":"conversion","campaign_id":"`+m.campaign+`"}`, 403)
	m.do("POST", "/api/keys", m.owner.token, `{"kind":"publisher","campaign_id":"`+m.campaign+`"}`, 400)

	id := m.click(m.ad("chess", "rest"), reader)
	status, reply := m.convert(limited["key"].(string), map[string]any{"click_id": id})
	require.Equal(t, 403, status, reply)
	status, reply = m.convert("conv_live_"+strings.Repeat("0", 36), map[string]any{"click_id": id})
	require.Equal(t, 401, status, reply)
	for n := range 100 {
		status, reply = m.convert(key, map[string]any{"click_id": id, "external_id": fmt.Sprint(n / 2)})
		require.Equal(t, 200, status, reply)
		require.Equal(t, true, reply["verified"])
		require.Equal(t, n%2 == 1, reply["deduped"] == true)
		require.Equal(t, n%2 == 0, reply["pending"] == true)
	}
	m.settles(
		m.campaign,
		map[string]float64{"conversions": 50, "conversions_unverified": 0, "duplicates": 50, "spend_usd": 1000},
	)

	// A robot's click is redirected and sells nothing; so does one whose ad was never shown. Their
	// conversions wait for a click that counts.
	robot := m.click(
		m.ad("chess", "js_snippet"), "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	)
	_, page := m.follow(m.ad("chess", "rest")["click_url"], reader)
	unseen, err := url.Parse(page)
	require.NoError(t, err)
	for _, id := range []string{robot, unseen.Query().Get("adnet_click")} {
		status, reply = m.convert(key, map[string]any{"click_id": id})
		require.Equal(t, 200, status, reply)
	}
	m.settles(
		m.campaign,
		map[string]float64{"conversions": 50, "conversions_unverified": 0, "invalid_traffic": 1, "spend_usd": 1000},
	)

	// By session, and up to the cap of the hour.
	for range 4 {
		status, reply = m.convert(m.owner.token, map[string]any{"click_id": m.click(m.ad("chess", "rest"), reader)})
		require.Equal(t, 200, status, reply)
		require.Equal(t, true, reply["verified"])
	}
	stats := m.settles(m.campaign, map[string]float64{"conversions": 54, "conversions_unverified": 0})
	require.Equal(t, 3000.0, stats["spend_usd"], "the cap is 3")
	require.Equal(t, 3.0, stats["billed"])
	requireVerified(t, m.admin)
}

// A campaign may keep its landing page as it signed it.
func TestClickIDsCanBeSwitchedOff(t *testing.T) {
	m := newShop(t)
	m.do("PATCH", "/api/campaigns/"+m.campaign, m.owner.token, `{"click_id":"maybe"}`, 400)
	m.do("PATCH", "/api/campaigns/"+m.campaign, m.owner.token, `{"click_id":"off"}`, 200)
	link := m.ad("chess", "rest")["click_url"]
	require.Eventually(t, func() bool {
		_, page := m.follow(link, reader)
		return page == "https://chess.example.com/start?a=1&adnet_click=old&b=%20#top"
	}, 10*time.Second, 20*time.Millisecond)
}
