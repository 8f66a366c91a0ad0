package browser_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// A conversion that an advertiser reports stands on its screen, by type and campaign, with its
// value.
func TestConversionTypesAreShown(t *testing.T) {
	w := shared
	token, _ := w.login(t, "advertiser")
	var mine struct {
		Campaigns []struct{ ID, Status, Headline, Subtext string }
	}
	w.get(t, token, "/api/campaigns/list?status=active", &mine)
	publisher, _ := w.login(t, "publisher")
	key := struct{ Key string }{}
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, publisher, "/api/keys", map[string]any{"kind": "publisher", "name": "conversions"}), &key,
		),
	)
	var displayed []string
	for _, c := range mine.Campaigns[:min(6, len(mine.Campaigns))] {
		if click := w.displayed(t, key.Key, c.Headline+" "+c.Subtext); click != "" {
			displayed = append(displayed, click)
		}
	}
	time.Sleep(3 * time.Second) // a person reads before the click, else it is invalid traffic
	reports := struct{ Key string }{}
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, token, "/api/keys", map[string]any{"kind": "conversion", "name": "conversions"}), &reports,
		),
	)
	for _, click := range displayed {
		if id := w.clicked(t, token, click); id != "" {
			w.post(
				t, reports.Key, "/api/track",
				map[string]any{
					"event": "conversion", "click_id": id, "conversion_type": "browser_signup", "value": 12.5,
					"currency": "USD",
				},
			)
		}
	}
	require.Eventually(t, func() bool {
		var counted struct {
			Conversions []struct {
				Type string `json:"conversion_type"`
			}
		}
		w.get(t, token, "/api/stats/conversions", &counted)
		for _, c := range counted.Conversions {
			if c.Type == "browser_signup" {
				return true
			}
		}
		return false
	}, 20*time.Second, 300*time.Millisecond)
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Before(saves))
	require.NoError(t, tab.Open(w.base+"/console/conversions"))
	var row string
	require.NoError(t, tab.Await(`!!document.querySelector('[data-table=types]')`))
	require.NoError(
		t, tab.Do(chromedp.Evaluate(`document.querySelector('tr[data-type=browser_signup]').innerText`, &row)),
	)
	require.Regexp(t, `\$(12\.50|25\.00|37\.50|50\.00|62\.50|75\.00)`, row)
	var saved string
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=csv]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`typeof window.saved === 'string'`))
	require.NoError(t, tab.Do(chromedp.Evaluate(`window.saved`, &saved)))
	require.Regexp(
		t, `(?m)^campaign_id,conversion_type,conversions,value_usd,last_received_at$(.|\n)*,browser_signup,\d`, saved,
	)
	for _, v := range []browser.View{desk, phone} {
		w.examine(t, tab, v)
	}
	require.Empty(t, tab.Problems())
}

// displayed asks for an ad, shows it, and gives its link; empty without an ad.
func (w *world) displayed(t *testing.T, key, context string) string {
	t.Helper()
	var ad struct {
		Ad *struct {
			Impression string `json:"impression_url"`
			Click      string `json:"click_url"`
		}
	}
	require.NoError(t, json.Unmarshal(w.post(t, key, "/v1/ad-request", map[string]any{"context": context}), &ad))
	if ad.Ad == nil {
		return ""
	}
	w.sees(t, ad.Ad.Impression)
	return ad.Ad.Click
}

// clicked follows a link and gives the click id that its landing page got; empty where the ad is
// not of token's account.
func (w *world) clicked(t *testing.T, token, address string) string {
	t.Helper()
	click, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	click.Header.Set("User-Agent", browser.Agent)
	// From a network of its own: that of the other tests has clicked as often as people do.
	from := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, 0, 1)}}).DialContext}
	defer from.CloseIdleConnections()
	reply, err := from.RoundTrip(click)
	require.NoError(t, err)
	reply.Body.Close()
	landing, err := url.Parse(reply.Header.Get("Location"))
	require.NoError(t, err)
	id := landing.Query().Get("adnet_click")
	var text struct{ Accepted bool }
	if id == "" || json.Unmarshal(w.post(t, token, "/api/track/check", map[string]any{"click_id": id}), &text) != nil ||
		!text.Accepted {
		return ""
	}
	return id
}
