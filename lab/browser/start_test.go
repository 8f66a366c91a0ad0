package browser_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// seen has the screen looked at in both colours and widths: it fits, and holds to the rules of
// accessibility. ADNET_SHOTS names a folder for the pictures.
func (w *world) seen(t *testing.T, tab *browser.Tab, name string) {
	t.Helper()
	for _, v := range []browser.View{
		{Width: 390, Height: 844}, {Width: 390, Height: 844, Dark: true}, dark(desk), desk,
	} {
		require.NoError(t, tab.Look(v))
		var over int
		require.NoError(t, tab.Do(chromedp.Evaluate(
			`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over,
		)))
		require.Zero(t, over, "%s is wider than %d px", name, v.Width)
		w.examine(t, tab, v)
		if folder := os.Getenv("ADNET_SHOTS"); folder != "" {
			var picture []byte
			require.NoError(t, tab.Do(chromedp.FullScreenshot(&picture, 100)))
			file := name + map[int64]string{390: "-390", 1280: "-1280"}[v.Width] + map[bool]string{true: "-dark"}[v.Dark]
			require.NoError(t, os.WriteFile(filepath.Join(folder, file+".png"), picture, 0o600))
		}
	}
}

// registers makes an account by clicks, with the role.
func (h *hand) registers(base, email, role string) {
	h.t.Helper()
	require.NoError(h.t, h.tab.Open(base+"/"))
	h.click(`.door .link`)
	h.click(`input[name=role][value=` + role + `]`)
	h.types(`input[name=email]`, email)
	h.types(`input[name=password]`, passphrase+"\r")
}

// drafts goes through the wizard up to its summary.
func (h *hand) drafts() {
	h.t.Helper()
	at(h.t, h.tab, "goal")
	h.click(`[data-act=next]`)
	at(h.t, h.tab, "audience")
	h.types(`textarea[name=tokens]`, "chess\nopening")
	h.click(`[data-act=next]`)
	at(h.t, h.tab, "creative")
	h.types(`input[name=headline]`, "Chess lessons for beginners")
	h.types(`input[name=cta_url]`, "https://chess-shop.example/")
	for _, step := range []string{"check", "budget", "forecast", "summary"} {
		h.click(`[data-act=next]`)
		at(h.t, h.tab, step)
	}
}

// pays pays in the usual amount from the form of the page, at the test provider.
func (h *hand) pays() {
	h.t.Helper()
	h.click(`[data-form=deposit] .primary`)
	require.NoError(h.t, h.tab.Await(
		`location.pathname.startsWith('/checkout/') && !!document.querySelector('form[method=post] button')`,
	))
	h.click(`form[method=post] button`)
}

func (h *hand) await(expression string) {
	h.t.Helper()
	err := h.tab.Await(expression)
	if err == nil {
		return
	}
	var shown string
	_ = h.tab.Do(chromedp.Evaluate(`location.href + ' ' + document.body.innerText`, &shown))
	require.NoError(h.t, err, "%s: %q: %s", expression, h.tab.Problems(), shown)
}

const (
	text = `(document.querySelector('main')?.innerText ?? '')`
	// saved is the page of a campaign.
	saved = `/\/campaigns\/[0-9a-f-]{36}$/.test(location.pathname)`
	paths = `[...document.querySelectorAll('#side .group')].slice(0, 2).map((g) => g.firstChild?.textContent).join()`
)

// Where deposits are required, a newcomer reads before the end of the wizard what the balance pays
// for, pays in, and returns to the draft. The impression that a reader then has in a page is paid
// within a minute of the registration; the steps tick themselves, and go.
func TestDepositOnTheWay(t *testing.T) {
	w, _ := logging(t, "--prepaid", "required", "--unreviewed", "pages")
	begun := time.Now()
	h := hand{t: t, tab: w.tab(t, "", desk)}
	h.registers(w.base, "owner@chess-shop.example", "advertise")
	h.await(`location.pathname === '/console/overview' && document.querySelectorAll('[data-begin]').length === 4`)
	h.await(paths + ` === 'Advertise,Publish'`)
	h.await(`!document.querySelector('#side details.group')?.open`)
	h.click(`[data-begin=campaign] a`)
	h.drafts()
	h.await(`document.querySelector('[data-part=funds]')?.innerText.includes('$0.00')`)
	h.pays()
	at(t, h.tab, "summary")
	h.await(`document.querySelector('[data-part=funds]')?.innerText.match(/\$25\.00.*less than a day/)`)
	h.await(text + `.includes('Chess lessons for beginners')`)
	h.click(`[data-act=save]`)
	h.await(saved + ` && !!document.querySelector('.status.active')`)

	p := hand{t: t, tab: w.tab(t, "", desk)}
	html := ""
	origin := site(t, func(string) string {
		return "<main><h1>Chat</h1>" + html + "</main>"
	}, strict(w.base))
	p.registers(w.base, "owner@board-games.example", "publish")
	p.await(`location.pathname === '/console/publisher' && document.querySelectorAll('[data-begin]').length === 4`)
	p.await(paths + ` === 'Publish,Advertise'`)
	p.click(`[data-begin=key] a`)
	require.NoError(t, p.tab.Open(w.base+"/console/keys?kind=browser"))
	p.types(`input[name=name]`, "my page")
	p.types(`textarea[name=origins]`, origin)
	p.click(`.card form button.primary`)
	p.await(`!!document.querySelector('dialog[open] .code + h3 + .code')`)
	require.NoError(t, p.tab.Do(chromedp.Evaluate(
		`[...document.querySelectorAll('dialog[open] code')].at(-1).textContent`, &html,
	)))
	html = regexp.MustCompile(`context="[^"]*"`).ReplaceAllString(html, `context="How do I learn a chess opening?"`)
	require.Eventually(t, func() bool { // nodes learn of campaign and deposit within two seconds
		reader := w.reader(t, origin+"/")
		require.NoError(t, reader.Await(`seen.events.length > 0`))
		return strings.Contains(strings.Join(noted(t, reader).Events, " "), "filled")
	}, 30*time.Second, time.Second)
	require.Eventually(t, func() bool {
		require.NoError(t, h.tab.Open(w.base+"/console/overview"))
		var spent string
		require.NoError(t, h.tab.Do(chromedp.Evaluate(
			`document.querySelector('[data-figure="spend-today"] dd').textContent`, &spent,
		)))
		return spent == "$0.005"
	}, 30*time.Second, 250*time.Millisecond)
	took := time.Since(begun)
	t.Logf("%s, %d and %d clicks", took, h.clicks, p.clicks)
	require.Less(t, took, time.Minute)
	h.await(`!document.querySelector('[data-begin]')`)
	w.seen(t, h.tab, "overview-after")
	require.NoError(t, p.tab.Open(w.base+"/console/publisher"))
	p.await(`!document.querySelector('[data-begin]')`)
}

// A campaign without funds is not said to be active, by the console and the API, and the first card
// of the overview has the act that cures it.
func TestUnfundedIsNamed(t *testing.T) {
	w, _ := logging(t, "--prepaid", "required")
	h := hand{t: t, tab: w.tab(t, "", desk)}
	require.NoError(t, h.tab.Open(w.base+"/"))
	h.click(`.door .link`)
	w.seen(t, h.tab, "register")
	h.registers(w.base, "owner@go-shop.example", "advertise")
	h.await(`document.querySelectorAll('[data-begin]').length === 4`)
	w.seen(t, h.tab, "start-advertiser")
	h.click(`[data-begin=campaign] a`)
	h.drafts()
	w.seen(t, h.tab, "wizard-funds")
	h.click(`[data-act=save]`)
	h.await(saved + ` && document.querySelector('.status.unfunded')?.textContent === 'Waiting for funds'`)
	w.seen(t, h.tab, "campaign-unfunded")
	var id string
	require.NoError(t, h.tab.Do(chromedp.Evaluate(`location.pathname.split('/').pop()`, &id)))
	var session struct{ Token string }
	require.NoError(t, json.Unmarshal(w.post(t, "", "/api/auth", map[string]any{
		"email": "owner@go-shop.example", "password": passphrase,
	}), &session))
	delivery := func() string {
		var read struct {
			Campaign struct{ Status, Delivery string }
		}
		w.get(t, session.Token, "/api/campaigns/"+id, &read)
		require.Equal(t, "active", read.Campaign.Status)
		return read.Campaign.Delivery
	}
	require.Equal(t, "unfunded", delivery())
	require.NoError(t, h.tab.Open(w.base+"/console/campaigns"))
	h.await(`!!document.querySelector('tbody .status.unfunded')`)
	require.NoError(t, h.tab.Open(w.base+"/console/overview"))
	h.await(`document.querySelector('main .card')?.matches('[data-part=unfunded]')`)
	h.await(`document.querySelector('main .card')?.innerText.includes('Chess lessons for beginners')`)
	w.seen(t, h.tab, "overview-unfunded")
	w.speak(t, h.tab, "de")
	require.NoError(t, h.tab.Open(w.base+"/console/overview"))
	h.await(`document.querySelector('main .card')?.innerText.includes('wartet auf Guthaben')`)
	w.seen(t, h.tab, "overview-unfunded-de")
	w.speak(t, h.tab, "en")
	require.NoError(t, h.tab.Open(w.base+"/console/overview"))
	h.click(`main .card .primary`)
	h.await(`location.pathname === '/console/billing' && !!document.querySelector('[data-form=deposit]')`)
	h.pays()
	h.await(`location.pathname === '/console/billing' && location.search.startsWith('?deposit=done')`)
	require.Equal(t, "delivering", delivery())
	require.NoError(t, h.tab.Open(w.base+"/console/campaigns/"+id))
	h.await(`!!document.querySelector('.status.active')`)

	// The side is changed in the settings, and the menu follows.
	require.NoError(t, h.tab.Open(w.base+"/console/profile"))
	require.NoError(t, h.tab.Do(chromedp.Evaluate(
		`(() => { const s = document.querySelector('select[name=side]'); s.value = 'publish'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil,
	)))
	h.click(`[data-form=profile] .primary`)
	h.await(paths + ` === 'Publish,Advertise'`)
	w.seen(t, h.tab, "profile")
	require.NoError(t, h.tab.Open(w.base+"/console"))
	h.await(`location.pathname === '/console/publisher'`)
	w.seen(t, h.tab, "start-publisher")
}
