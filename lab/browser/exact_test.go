package browser_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// heard has a page keep what it sends: each body, as it is on the wire.
const heard = `(() => { const real = fetch; window.sent = []; window.fetch = async (r, more) => {
	if (r instanceof Request && r.method !== 'GET') sent.push(new URL(r.url).pathname + ' ' + await r.clone().text());
	return real(r, more); }; })()`

// write puts a text into a field, as if it was typed.
func write(t *testing.T, tab *browser.Tab, where, text string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	require.NoError(t, tab.Do(chromedp.WaitVisible(where, chromedp.ByQuery),
		chromedp.Evaluate(`(() => { const f = document.querySelector('`+where+`');
		f.value = `+string(quoted)+`; for (const kind of ['input', 'change']) f.dispatchEvent(new Event(kind, {bubbles: true})); })()`, nil)))
}

// Amounts go to the API digit by digit: what a number of JavaScript would round stays as it was
// typed, in the wizard, in the form of a campaign and in a deposit; and what cannot be a number is
// refused by the API, at its field.
func TestAmountsAreExact(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Before(heard))
	tab.Expect(`400 .*/api/campaigns/(check|forecast)`)
	tab.Expect(`400 .*/api/billing/create_checkout`)
	sent := func(path, want string) {
		t.Helper()
		require.NoError(
			t, tab.Await(`sent.some((s) => s.startsWith('`+path+` ') && s.includes('`+want+`'))`), "%s %s", path, want,
		)
	}
	require.NoError(t, tab.Open(w.base+"/console/campaigns/new?step=creative"))
	write(t, tab, `input[name=headline]`, "Exact chess")
	write(t, tab, `input[name=cta_url]`, "https://exact-shop.example/")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	at(t, tab, "check")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	at(t, tab, "budget")
	write(t, tab, `input[name=bid_amount]`, "0.123457")
	write(t, tab, `input[name=daily_budget]`, "999999.999999")
	write(t, tab, `input[name=total_budget]`, "9999999.999999")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	at(t, tab, "forecast")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	at(t, tab, "summary")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=save-draft]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('.status.draft')`))
	sent("/api/campaigns/create", `"bid_amount":0.123457,"daily_budget":999999.999999,"total_budget":9999999.999999`)
	var id string
	require.NoError(t, tab.Do(chromedp.Evaluate(`location.pathname.split('/').pop()`, &id)))
	token, _ := w.login(t, "advertiser")
	stored := string(w.send(t, "GET", token, "/api/campaigns/"+id, nil))
	require.Contains(t, stored, `"bid_amount":0.123457`)
	require.Contains(t, stored, `"total_budget":9999999.999999`)

	// Beyond 2^53 micro-USD: the API refuses it, but what it refuses is what was typed.
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id+"/edit"))
	write(t, tab, `input[name=total_budget]`, "90071992547409.93")
	sent("/api/campaigns/check", `"total_budget":90071992547409.93`)
	require.NoError(t, tab.Await(`document.getElementById('total_budget-found')?.textContent.includes('Total budget')`))
	write(t, tab, `input[name=total_budget]`, "1000")
	write(t, tab, `input[name=bid_amount]`, "")
	sent("/api/campaigns/check", `"bid_amount":""`)
	require.NoError(
		t, tab.Await(`document.getElementById('bid_amount-found')?.textContent.includes('must be a plain number')`),
	)

	require.NoError(t, tab.Open(w.base+"/console/billing"))
	write(t, tab, `input[name=amount]`, "90071992547409.93")
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const f = document.querySelector('input[name=amount]').form; f.noValidate = true; f.requestSubmit(); })()`, nil,
		)),
	)
	sent("/api/billing/create_checkout", `"amount":90071992547409.93`)
	require.NoError(t, tab.Await(`!!document.querySelector('[role=alert]')`))
}

// A video with its picture and the second from which it may be skipped, from the wizard to the
// form.
func TestVideoCampaign(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns/new?step=creative"))
	require.NoError(t, tab.Await(`!document.querySelector('input[name=poster_url]')`))
	write(t, tab, `input[name=headline]`, "Moving chess")
	write(t, tab, `input[name=cta_url]`, "https://moving-shop.example/")
	write(t, tab, `select[name=format]`, "video")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(`document.activeElement.matches('input[name=media_url][aria-invalid]')`), "a video has a film",
	)
	write(t, tab, `input[name=media_url]`, w.base+"/demo/media/video.mp4")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(`document.activeElement.matches('input[name=media_url][aria-invalid]')`), "links are https",
	)
	write(t, tab, `input[name=media_url]`, "https://moving-shop.example/film.mp4")
	write(t, tab, `input[name=poster_url]`, "https://moving-shop.example/film.jpg")
	write(t, tab, `input[name=skippable_after_sec]`, "7")
	for _, v := range []browser.View{phone, desk} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	for _, step := range []string{"check", "budget", "forecast", "summary"} {
		require.NoError(t, tab.Do(chromedp.Click(`[data-act=next]`, chromedp.ByQuery)))
		at(t, tab, step)
	}
	require.NoError(t, tab.Await(`document.querySelector('dl.facts').innerText.includes('film.jpg')`))
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=save-draft]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('.status.draft')`))
	var id string
	require.NoError(t, tab.Do(chromedp.Evaluate(`location.pathname.split('/').pop()`, &id)))
	token, _ := w.login(t, "advertiser")
	type creative struct {
		Format, Name string
		Media        string `json:"media_url"`
		Poster       string `json:"poster_url"`
		Skip         int    `json:"skippable_after_sec"`
	}
	var read struct{ Campaign creative }
	w.get(t, token, "/api/campaigns/"+id, &read)
	want := creative{
		"video", "Moving chess", "https://moving-shop.example/film.mp4", "https://moving-shop.example/film.jpg", 7,
	}
	require.Equal(t, want, read.Campaign)

	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id+"/edit"))
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('input[name=skippable_after_sec]').value === '7' && document.querySelector('input[name=poster_url]').value.endsWith('film.jpg')`,
		),
	)
	write(t, tab, `select[name=format]`, "image")
	write(t, tab, `input[name=media_url]`, "https://moving-shop.example/film.png")
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=save]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`location.pathname.endsWith('`+id+`') && !!document.querySelector('.status.draft')`))
	w.get(t, token, "/api/campaigns/"+id, &read)
	require.Equal(t, "image", read.Campaign.Format)
	require.True(t, strings.HasSuffix(read.Campaign.Media, ".png"))
}
