package browser_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// message is what a receiver of webhooks got.
type message struct {
	header http.Header
	body   []byte
}

// receiver accepts messages of webhooks.
func receiver(t *testing.T) (address string, got chan message) {
	t.Helper()
	got = make(chan message, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- message{r.Header, body}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/hook", got
}

func next(t *testing.T, got chan message) message {
	t.Helper()
	select {
	case m := <-got:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no message came")
		return message{}
	}
}

// An advertiser makes a webhook and keeps its secret, sees a delivery and sends it again, replaces the
// secret, and deletes the webhook.
func TestWebhooksOfTheConsole(t *testing.T) {
	w := shared
	token, owner := w.login(t, "advertiser")
	address, got := receiver(t)
	tab := w.tab(t, "advertiser", desk)
	tab.Expect(`400 .*/api/webhooks`)
	require.NoError(t, tab.Open(w.base+"/console/webhooks"))
	require.NoError(t, tab.Await(`!!document.querySelector('input[name=url]')`))
	click := func(where string) {
		t.Helper()
		require.NoError(t, tab.Do(chromedp.Click(where, chromedp.ByQuery, chromedp.NodeVisible)))
	}
	secret := func() (text string) {
		t.Helper()
		require.NoError(t, tab.Await(`!!document.querySelector('dialog[open] code')`))
		require.NoError(t, tab.Do(chromedp.Text(`dialog[open] code`, &text, chromedp.ByQuery)))
		w.examine(t, tab, desk)
		click(`dialog[open] .primary`)
		require.NoError(t, tab.Await(`!document.body.textContent.includes('whsec_')`), "it is shown once")
		return text
	}
	write(t, tab, `input[name=url]`, "https://10.0.0.1/hook")
	click(`form [data-act=save]`)
	require.NoError(t, tab.Await(`!!document.querySelector('form .problem[role=alert]')`))
	write(t, tab, `input[name=url]`, address)
	click(`input[name=events][value="campaign.ended"]`)
	click(`form [data-act=save]`)
	first := secret()
	require.Contains(t, first, "whsec_")
	require.NoError(t, tab.Await(`document.querySelector('section[data-id]').textContent.includes('Campaign ended')`))

	var created struct{ Campaign struct{ ID string } }
	require.NoError(t, json.Unmarshal(w.post(t, token, "/api/campaigns", map[string]any{
		"advertiser_id": owner, "headline": "Bells for bicycles", "cta_url": "https://bell-shop.example/",
	}), &created))
	w.send(t, http.MethodPost, token, "/api/campaigns/archive?id="+created.Campaign.ID, bytes.NewReader(nil))
	sent := next(t, got)
	by, err := standard.NewWebhook(first)
	require.NoError(t, err)
	require.NoError(t, by.Verify(sent.body, sent.header))

	click(`[data-act=deliveries]`)
	require.NoError(t, tab.Await(`!!document.querySelector('[data-state=delivered]')`))
	require.NoError(t, tab.Await(`document.querySelector('[data-delivery] td:nth-of-type(3)').textContent === '200'`))
	for _, v := range []browser.View{desk, phone, {Width: phone.Width, Height: phone.Height, Dark: true}} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	require.NoError(t, tab.Look(desk))
	click(`[data-act=replay]`)
	again := next(t, got)
	require.Equal(t, sent.header.Get("Webhook-Id"), again.header.Get("Webhook-Id"))

	require.NoError(t, tab.Accept())
	confirmed := func(where string) {
		t.Helper()
		require.NoError(t, tab.Do(chromedp.Evaluate(
			`setTimeout(() => document.querySelector('`+where+`').click());0`, nil,
		)))
	}
	confirmed(`[data-act=rotate]`)
	second := secret()
	require.NotEqual(t, first, second)
	require.NoError(t, tab.Await(`document.querySelector('section[data-id]').textContent.includes('Both secrets')`))
	click(`[data-act=turn]`)
	require.NoError(t, tab.Await(`!!document.querySelector('section[data-id] .status.paused')`))
	confirmed(`[data-act=remove]`)
	require.NoError(t, tab.Await(`!document.querySelector('section[data-id]')`))
}

// Refusals are in the language of the page, and name a field by its label.
func TestGermanRefusals(t *testing.T) {
	w, e := shared, newEdited(t)
	tab := e.tab
	tab.Expect(`400 .*/api/webhooks`)
	tab.Expect(`400 .*/api/campaigns/check`)
	require.NoError(t, tab.Open(w.base+"/console/webhooks"))
	require.NoError(t, tab.Do(chromedp.Evaluate(`localStorage.setItem('adnet.lang', 'de')`, nil)))
	t.Cleanup(func() { _ = tab.Do(chromedp.Evaluate(`localStorage.removeItem('adnet.lang')`, nil)) })
	require.NoError(t, tab.Open(w.base+"/console/webhooks"))
	require.NoError(t, tab.Await(`!!document.querySelector('input[name=url]')`))
	write(t, tab, `input[name=url]`, "https://10.0.0.1/hook")
	require.NoError(t, tab.Do(chromedp.Click(`form [data-act=save]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(
		`document.querySelector('form .problem')?.textContent.startsWith('Diese Adresse nimmt der Server nicht an')`,
	))
	e.open()
	write(t, tab, `input[name=regions]`, "Germany, Wonderland")
	require.NoError(t, tab.Await(
		`document.querySelector('#regions-found')?.textContent.startsWith('Regionen: Nötig sind Codes nach ISO 3166')`,
	))
}
