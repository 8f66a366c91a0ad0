package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adnet/cmd"
	"adnet/lab/browser"
)

// world is an adnet in memory with its demo and some traffic, and a browser before it. The tests of
// this package share it, since both take seconds to start.
type world struct {
	base    string
	browser *browser.Browser
	axe     string
}

var shared *world

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if _, err := browser.Find(); err != nil {
			fmt.Println(err)
			if os.Getenv("CI") == "true" {
				return 1
			}
			fmt.Println("skipped")
			return 0
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var err error
		if shared, err = begin(ctx); err != nil {
			fmt.Println(err)
			return 1
		}
		defer shared.browser.Close()
		return m.Run()
	}())
}

// address is where the console is found in what adnet says at its start.
var address = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)`)

// serve runs adnet in this process, and returns its base URL.
func serve(ctx context.Context, log io.Writer, args ...string) (base string, err error) {
	r, out := io.Pipe()
	go cmd.Main(ctx, cmd.Invocation{
		Args: append([]string{
			"standalone", "--http-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--rate-open", "0",
			"--rate-stats", "0", "--rate-reads", "0", "--demo-requests=0", // the tests make their own traffic
		}, args...),
		Stdout: out, Stderr: log,
	})
	reply := bufio.NewReader(r)
	for base == "" {
		line, err := reply.ReadString('\n')
		if err != nil {
			return "", err
		}
		base = address.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, reply) }()
	return base, nil
}

func begin(ctx context.Context) (*world, error) {
	w := &world{}
	var err error
	if w.base, err = serve(ctx, io.Discard, "--stripe-webhook-secret", stripeSecret); err != nil {
		return nil, err
	}
	if err := browser.Traffic(ctx, w.base, 60); err != nil {
		return nil, err
	}
	slog.Info("adnet is up", "base", w.base)
	if source, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js"); err == nil {
		w.axe = string(source)
	}
	time.Sleep(2 * time.Second) // settlement follows
	w.browser, err = browser.Start(ctx)
	return w, err
}

// tab is a page of its own, signed in as an account of the demo unless as is empty.
func (w *world) tab(t *testing.T, as string, v browser.View) *browser.Tab {
	t.Helper()
	tab, err := w.browser.Tab()
	require.NoError(t, err)
	t.Cleanup(func() {
		tab.Close()
		assert.Empty(
			t, tab.Problems(), "the console of a tab, or the policy, complained: a test that means it says so (Expect)",
		)
		assert.Empty(t, tab.Missed(), "expected, and did not come")
	})
	require.NoError(t, tab.Look(v))
	if as != "" {
		require.NoError(t, tab.Enter(w.base, as), "%q", tab.Problems())
	}
	return tab
}

// late is a page on a loaded machine: frames come late, and what waits for a paint with them. Where
// the keyboard stands must not depend on it.
const late = `{ const soon = requestAnimationFrame; requestAnimationFrame = (f) => soon(() => setTimeout(() => f(performance.now()), 300)) }`

var (
	desk  = browser.View{Width: 1280, Height: 900}
	phone = browser.View{Width: 320, Height: 700}
)

// screen is one screen of a role.
type screen struct {
	as, path string
	shows    string // of its text
}

func screens() []screen {
	return []screen{
		{"", "/", "Ads that belong in the conversation"},
		{"", "/console/campaigns", "Sign in to see this page"},
		{"", "/console/forgot", "Ask for a new password"},
		{"", "/console/reset#x", "Set a new password"},
		{"", "/console/verify#x", "Confirm your e-mail"},
		{"advertiser", "/console/overview", "Spent today"},
		{"advertiser", "/console/campaigns", "Total spend"},
		{"advertiser", "/console/campaigns?status=archived&q=x", "Nothing matches"},
		{"advertiser", "/console/campaigns/FIRST", "Why does it not deliver?"},
		{"advertiser", "/console/campaigns/FIRST/edit", "Edit campaign"},
		{"advertiser", "/console/campaigns/new", "Step 1 of 7"},
		{"advertiser", "/console/creatives", "Creatives"},
		{"advertiser", "/console/conversions", "Try a click id"},
		{"advertiser", "/console/profile", "Delete my account"},
		{"advertiser", "/console/answers", "Compare with the period before"},
		{"advertiser", "/console/auctions", "Id of the auction"},
		{"advertiser", "/console/billing", "Balance after"},
		{"advertiser", "/console/publisher", "No ads shown yet"},
		{"advertiser", "/console/review", "Only administrators"},
		{"advertiser", "/console/users", "Only administrators"},
		{"advertiser", "/console/nothing", "There is nothing at this address"},
		// another's, or none: 404 in the console
		{"advertiser", "/console/campaigns/00000000-0000-4000-8000-000000000000", ""},
		{"advertiser", "/console/appeals", "Only administrators"},
		{"publisher", "/console/publisher", "Credits earned"},
		{"publisher", "/console/publisher", "Credits that wait"},
		{"publisher", "/console/placements", "card: beside an answer"},
		{"advertiser", "/console/placements", "No requests yet"},
		{"publisher", "/console/decisions", "Nothing was decided against you"},
		{"publisher", "/console/integrate", "Requests of yours have been seen"},
		{"publisher", "/console/keys", "chat app"},
		{"publisher", "/console/blocks", "Words and phrases"},
		{"publisher", "/console/suitability", "Pregnancy loss and grief"},
		{"publisher", "/console/security", "this one"},
		{"publisher", "/console/webhooks", "New webhook"},
		{"admin", "/console/review", "Review queue"},
		{"admin", "/console/campaigns", "Total spend"},
		{"admin", "/console/appeals", "Appeals"},
		{"admin", "/console/cases", "Parked payments"},
		{"admin", "/console/audit", "Audit log"},
		{"advertiser", "/console/audit", "What happened to your account"},
		{"advertiser", "/console/cases", "Only administrators"},
		{"admin", "/console/reports", "Reported ads"},
		{"admin", "/console/network", "Invalid traffic by reason"},
		{"admin", "/console/network?days=7", "By publisher"},
		{"admin", "/console/refusals", "Refused requests by publisher"},
		{"publisher", "/console/refusals", "Only administrators"},
		{"admin", "/console/letters", "No dead letters wait"},
		{"admin", "/console/health", "Serving nodes"},
		{"publisher", "/console/health", "Only administrators"},
		{"admin", "/console/settings", "ADNET_HTTP_ADDR"},
		{"advertiser", "/console/settings", "Only administrators"},
		{"publisher", "/console/network", "Only administrators"},
		{"publisher", "/console/letters", "Only administrators"},
		{"admin", "/console/ledger", "Chain heads"},
		{"admin", "/console/ledger?kind=charge", "house:revenue"},
		{"admin", "/console/ledger?account=advertiser:nobody", "No movement matches"},
		{"advertiser", "/console/ledger", "Only administrators"},
		{"admin", "/console/users", "Make administrator"},
		{"admin", "/console/users?q=nobody-has-this", "No such account"},
	}
}

// first is the id of the demo advertiser's newest campaign that was shown.
func (w *world) first(t *testing.T, tab *browser.Tab) string {
	t.Helper()
	require.NoError(t, tab.Open(w.base+"/console/campaigns?sort=spent"))
	var id string
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('tbody tr').dataset.id`, &id)))
	return id
}

// walk is how the screens are looked at in one language: each view, with or without axe-core.
type walk struct {
	lang  string
	views []view
}

type view struct {
	browser.View
	axe bool
}

// zoomed is a desk at 400 %.
var zoomed = browser.View{Width: 320, Height: 256}

// walks are the languages of readers and those of tests: accented and 40 % longer, and from right
// to left. German differs from English by its words alone, so that the narrow views tell.
func walks() []walk {
	return []walk{
		{"en", []view{{desk, true}, {dark(desk), true}, {phone, true}, {dark(phone), true}, {zoomed, false}}},
		{"de", []view{{phone, true}, {zoomed, false}}},
		{"en-XA", []view{{desk, true}, {phone, true}}},
		{"he-XB", []view{{desk, true}, {phone, true}}},
	}
}

func dark(v browser.View) browser.View {
	v.Dark = true
	return v
}

// moves notes each animation and transition that begins, and each screen's that would.
const moves = `window.moved = []; for (const kind of ['animationstart', 'transitionrun']) addEventListener(kind, (e) => moved.push(kind + ' ' + e.target.className), true);`

// misfits lists what does not fit: a page that is wider than its window, a text that is cut off or
// out of the window, and what scrolls sideways and is neither a table nor code nor the stage of a
// preview, whose layout has a meaning of its own.
const misfits = `(() => {
	const found = [], page = document.documentElement, wide = page.scrollWidth - page.clientWidth;
	if (wide > 0) found.push('the page is ' + wide + ' px too wide');
	const says = (e) => e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 40);
	const sideways = (e) => e && e !== document.body && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) ? e : sideways(e.parentElement));
	for (const e of document.querySelectorAll('#app *')) {
		if (!e.checkVisibility() || e.closest('svg, option, .hidden, .skip')) continue;
		const s = getComputedStyle(e), scrolls = sideways(e);
		if (scrolls === e && e.scrollWidth > e.clientWidth && !e.matches('.scroll, pre, .stage, textarea')) found.push('scrolls sideways: ' + says(e));
		if (!e.matches('input, select, textarea, progress, iframe') && ['hidden', 'clip'].includes(s.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.textContent.trim() && !e.matches('.plot, .plot *')) found.push('cut off: ' + says(e));
		if (scrolls) continue;
		for (const n of e.childNodes) {
			if (n.nodeType !== 3 || !n.textContent.trim()) continue;
			const range = document.createRange();
			range.selectNodeContents(n);
			for (const r of range.getClientRects()) if (r.width && (r.left < -1 || r.right > page.clientWidth + 1)) { found.push('out of the window: ' + says(e)); break; }
		}
	}
	return found.slice(0, 6);
})()`

// Each screen of each role, light and dark, on a phone, on a desk and at 400 %, in the languages of
// tests, too: it shows what it is for, its console is silent, nothing breaks the policy, nothing is
// cut off or runs out of the page, nothing moves for who asked for that, and axe-core finds
// nothing.
func TestScreens(t *testing.T) {
	w := shared
	if w.axe == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("axe-core is not installed: run deploy/web.sh")
		}
		t.Log("axe-core is not installed (deploy/web.sh): accessibility is not checked")
	}
	tabs := map[string]*browser.Tab{}
	first := ""
	for _, s := range screens() {
		if tabs[s.as] == nil {
			tabs[s.as] = w.tab(t, s.as, desk)
			if s.as == "advertiser" {
				first = w.first(t, tabs[s.as])
			}
			require.NoError(t, tabs[s.as].Before(moves))
		}
		tab := tabs[s.as]
		if s.shows == "" { // what is not there is a 404, which browsers report
			tab.Expect(`404 .*` + s.path[strings.LastIndex(s.path, "/")+1:])
		}
		t.Run(s.as+" "+s.path, func(t *testing.T) {
			before := len(tab.Problems())
			for _, walk := range walks() {
				w.speak(t, tab, walk.lang)
				require.NoError(t, tab.Look(walk.views[0].View))
				require.NoError(t, tab.Open(w.base+strings.Replace(s.path, "FIRST", first, 1)), "%q", tab.Problems())
				for _, v := range walk.views {
					require.NoError(t, tab.Look(v.View))
					require.NoError(t, tab.Settle())
					w.fits(t, tab, s, walk.lang, v)
				}
			}
			require.Empty(t, tab.Problems()[before:])
		})
	}
}

// speak has the pages of a tab be in a language from their next load on.
func (w *world) speak(t *testing.T, tab *browser.Tab, lang string) {
	t.Helper()
	require.NoError(
		t,
		tab.Do(
			chromedp.Navigate(w.base+"/favicon.ico"),
			chromedp.Evaluate(`localStorage.setItem('adnet.lang', '`+lang+`')`, nil),
		),
	)
}

// fits says that a screen holds in a view.
func (w *world) fits(t *testing.T, tab *browser.Tab, s screen, lang string, v view) {
	t.Helper()
	at := fmt.Sprintf("%s at %d × %d px", lang, v.Width, v.Height)
	var text, spoken string
	var moved []string
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`document.documentElement.lang + ' ' + getComputedStyle(document.body).direction`, &spoken,
		)),
	)
	require.Equal(t, lang+" "+map[bool]string{false: "ltr", true: "rtl"}[lang == "he-XB"], spoken)
	require.NoError(
		t,
		tab.Do(
			chromedp.Evaluate(`document.getElementById('app').innerText`, &text), chromedp.Evaluate(`moved`, &moved),
		),
	)
	if lang == "en" {
		require.Contains(t, text, s.shows)
		var undated bool // it has read from the API, and does not say how current that is
		require.NoError(
			t,
			tab.Do(chromedp.Evaluate(
				`!!document.querySelector('.proof .calls') && !/^As of .*\d/.test(document.querySelector('[data-part=as-of]')?.textContent)`, &undated,
			)),
		)
		require.False(t, undated, "as of")
	}
	w.misfit(t, tab, at)
	assert.Empty(t, moved, "%s, with reduced motion", at)
	if v.axe {
		w.examine(t, tab, v.View)
	}
}

// misfit says that everything of a page fits into its window.
func (w *world) misfit(t *testing.T, tab *browser.Tab, at string) {
	t.Helper()
	var wrong []string
	require.NoError(t, tab.Do(chromedp.Evaluate(misfits, &wrong)))
	assert.Empty(t, wrong, at)
}

// What does not fit is seen, each kind of it.
func TestMisfitsAreSeen(t *testing.T) {
	w := shared
	tab := w.tab(t, "", phone)
	for style, want := range map[string]string{
		"width: 900px":                                           "too wide",
		"white-space: nowrap; overflow: hidden":                  "cut off",
		"white-space: nowrap; overflow: auto":                    "scrolls sideways",
		"position: absolute; inset-inline-end: 900px; top: 20px": "out of the window",
	} {
		require.NoError(t, tab.Open(w.base+"/console/forgot"))
		var before, found []string
		require.NoError(t, tab.Do(chromedp.Evaluate(misfits, &before),
			chromedp.Evaluate(`(() => { const p = document.createElement('p');
			p.style.cssText = '`+style+`'; p.textContent = 'many words '.repeat(20); document.querySelector('main').append(p); })()`, nil), chromedp.Evaluate(misfits, &found)))
		require.Empty(t, before)
		require.Contains(t, strings.Join(found, "; "), want, style)
	}
}

// Something does move for who did not ask for less: the rule that stops it is seen at work. A
// screen of loading is put into the page, since the real one may be over before it is painted.
func TestMotion(t *testing.T) {
	w := shared
	for _, moving := range []bool{true, false} {
		tab := w.tab(t, "advertiser", browser.View{Width: desk.Width, Height: desk.Height, Moving: moving})
		require.NoError(t, tab.Before(moves))
		require.NoError(t, tab.Open(w.base+"/console/campaigns"))
		var moved []string
		require.NoError(t, tab.Do(chromedp.Evaluate(`(async () => {
			window.moved.length = 0;
			const loading = document.createElement('div');
			loading.className = 'skeleton';
			loading.append(document.createElement('i'));
			document.querySelector('main').append(loading);
			for (let i = 0; i < `+map[bool]string{true: "600 && !window.moved.length", false: "10"}[moving]+`; i++) await new Promise(requestAnimationFrame);
			return window.moved;
		})()`, &moved, awaited)))
		if moving {
			require.NotEmpty(t, moved, "the skeleton of a screen that loads")
		} else {
			require.Empty(t, moved, "with reduced motion")
		}
	}
}

// Times are in UTC, or in the reader's zone if that is chosen, which this browser remembers; days
// stay UTC's and the page says so.
func TestZoneOfTimes(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	require.NoError(t, tab.Do(emulation.SetTimezoneOverride("America/New_York")))
	visible := func() (text string) {
		t.Helper()
		require.NoError(t, tab.Open(w.base+"/console/security"))
		require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('main tbody tr').innerText`, &text)))
		return text
	}
	require.Contains(t, visible(), "UTC")
	require.NoError(t, tab.Do(chromedp.Click(`.account summary`, chromedp.ByQuery)))
	write(t, tab, `select[name=zone]`, "local")
	require.NoError(t, tab.Await(`/E[SD]T/.test(document.querySelector('main tbody tr').innerText)`), "at once")
	text := visible()
	require.Regexp(t, `E[SD]T`, text, "after a reload")
	require.NotContains(t, text, "UTC")
	require.NoError(t, tab.Open(w.base+"/console/overview"))
	require.NoError(t, tab.Await(`document.querySelector('.proof').innerText.includes('Days begin at 00:00 UTC')`))
	var day string
	require.NoError(t, tab.Do(emulation.SetTimezoneOverride("Pacific/Kiritimati")))
	require.NoError(t, tab.Open(w.base+"/console/publisher"))
	require.NoError(
		t,
		tab.Do(
			chromedp.Click(`.chart button`, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelector('.chart tbody th').textContent`, &day),
		),
	)
	require.Contains(t, day, time.Now().UTC().Format("Jan 2, 2006"), "14 hours ahead the day is UTC's")
}

// examine has axe-core look at the page by the rules of WCAG 2.2 AA.
func (w *world) examine(t *testing.T, tab *browser.Tab, v browser.View) {
	t.Helper()
	if w.axe == "" {
		return
	}
	var found string
	require.NoError(t, tab.Do(chromedp.Evaluate(w.axe+`;0`, nil),
		chromedp.Evaluate(`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
		.then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary)])))`, &found, awaited)))
	require.Equal(t, "[]", found, "%d px, dark %v", v.Width, v.Dark)
}

// The way of a visitor: one click to the demo, the overview, the campaigns, one of them paused, and
// every number on the way is the API's.
func TestJourney(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Await(`location.pathname === '/console/overview'`))
	token, advertiser := w.login(t, "advertiser")
	var stats struct {
		Impressions int64
		CTR         float64
	}
	w.get(t, token, "/api/stats?type=overview", &stats)
	require.Positive(t, stats.Impressions)
	require.Equal(t, fmt.Sprint(stats.Impressions), figure(t, tab, "impressions"))

	require.NoError(t, tab.Do(chromedp.Click(`nav.side a[href$="/console/campaigns"]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelectorAll('tbody tr').length > 5`))
	var id string
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const row = [...document.querySelectorAll('tbody tr')].find((r) => r.querySelector('.status.active')); row.querySelector('input').click(); return row.dataset.id; })()`, &id,
		)),
	)
	require.NoError(t, tab.Do(chromedp.Click(`[data-act="pause"]:not(:disabled)`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('tr[data-id="`+id+`"] .status.paused')`))
	var read struct {
		Campaign struct {
			Status       string
			AdvertiserID string `json:"advertiser_id"`
		}
	}
	w.get(t, token, "/api/campaigns/"+id, &read)
	require.Equal(t, "paused", read.Campaign.Status)
	require.Equal(t, advertiser, read.Campaign.AdvertiserID)
	// It survives a reload, and goes on by the button of its own page.
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id))
	require.NoError(t, tab.Do(chromedp.Click(`[data-act="resume"]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('.status.active')`))
	require.Empty(t, tab.Problems())
}

// Texts of an advertiser are texts: markup in them stays to be read.
func TestTextsAreInert(t *testing.T) {
	w := shared
	token, advertiser := w.login(t, "advertiser")
	text := `<img src=x onerror=alert(1)>"><script>alert(2)</script>`
	w.post(
		t, token, "/api/campaigns",
		map[string]any{
			"advertiser_id": advertiser, "headline": text, "subtext": text, "name": text,
			"cta_url": "https://shop.example/",
		},
	)
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/review"))
	require.NoError(t, tab.Await(`document.body.innerText.includes('onerror=alert(1)')`))
	var images int
	require.NoError(
		t, tab.Do(chromedp.Evaluate(`document.querySelectorAll('img[src=x], script:not([src])').length`, &images)),
	)
	require.Zero(t, images)
	require.Empty(t, tab.Problems())
	require.NoError(t, tab.Do(chromedp.Click(`[data-act="reject"]`, chromedp.ByQuery), chromedp.SendKeys(
		`[data-form=ask] textarea`, "markup", chromedp.ByQuery,
	),
		chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('main').innerText.includes('Rejected') || !!document.querySelector('[data-state=empty]')`,
		),
	)
}

// German is whole, and what is said is in German.
func TestGerman(t *testing.T) {
	w := shared
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Open(w.base+"/"))
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const s = document.querySelector('select'); s.value = 'de'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil,
		)),
	)
	require.NoError(
		t, tab.Await(`document.documentElement.lang === 'de' && document.body.innerText.includes('Anmelden')`),
	)
	require.NoError(t, tab.Do(chromedp.Reload(), chromedp.WaitVisible(`[data-demo="advertiser"]`, chromedp.ByQuery)))
	require.NoError(t, tab.Do(chromedp.Click(`[data-demo="advertiser"]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Heute ausgegeben')`))
	require.Empty(t, tab.Problems())
}

// The chart has a cursor for the keyboard, and a table with every value.
func TestChart(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	require.NoError(t, tab.Do(chromedp.Focus(`.plot`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowLeft)))
	require.NoError(t, tab.Await(`document.querySelector('.chart output').textContent.length > 8`))
	require.NoError(t, tab.Do(chromedp.Click(`.chart button`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelectorAll('.chart tbody tr').length === 30`))
	var total string // of all days: the traffic may have been yesterday's
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`String([...document.querySelectorAll('.chart tbody tr')].reduce((sum, row) => sum + Number(row.querySelector('td').textContent.replace(/\D/g, '')), 0))`, &total,
		)),
	)
	require.Equal(t, figure(t, tab, "impressions"), total)
}

// Signing out ends the session, and the cookie is out of reach of scripts.
func TestSignOut(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	var seen string
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.cookie`, &seen)))
	require.Empty(t, seen)
	require.NoError(
		t,
		tab.Do(chromedp.Click(`.account summary`, chromedp.ByQuery), chromedp.Click(`.sheet button`, chromedp.ByQuery)),
	)
	require.NoError(t, tab.Await(`location.pathname === '/' && !!document.querySelector('.door form')`))
	require.NoError(t, tab.Open(w.base+"/console/keys"))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Sign in to see this page')`))
	require.Empty(t, tab.Problems())
}

// A copied session is worth nothing once its owner has ended it: here from a second browser.
func TestSessionsEnd(t *testing.T) {
	w := shared
	first, two := w.tab(t, "publisher", desk), w.tab(t, "publisher", desk)
	require.NoError(t, two.Open(w.base+"/console/security"))
	require.NoError(t, two.Await(`document.querySelectorAll('tbody tr').length > 1`))
	require.NoError(t, two.Do(chromedp.Click(`[data-act="end-others"]`, chromedp.ByQuery)))
	require.NoError(t, two.Await(`document.querySelectorAll('tbody tr').length === 1`))
	time.Sleep(2 * time.Second)
	require.NoError(t, first.Open(w.base+"/console/keys"))
	require.NoError(t, first.Await(`document.body.innerText.includes('Sign in to see this page')`))
	require.Empty(t, two.Problems())
}

// A person changes the password: the session goes on, the old password is refused.
func TestPasswordIsChanged(t *testing.T) {
	w := shared
	tab := w.tab(t, "", desk)
	w.post(
		t, "", "/api/auth/register",
		map[string]any{"email": "owner@changes-shop.example", "password": "some words with spaces"},
	)
	require.NoError(t, tab.Open(w.base+"/console/security"))
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=email]`, "owner@changes-shop.example", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-form=password]')`))
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=current]`, "some words with spaces", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=new]`, "other words with spaces\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Changed.')`))
	require.NoError(t, tab.Open(w.base+"/console/keys"))
	require.NoError(t, tab.Await(`document.body.innerText.includes('No keys yet')`))
	w.post(t, "", "/api/auth", map[string]any{"email": "owner@changes-shop.example", "password": "other words with spaces"})
	require.Empty(t, tab.Problems())
}

// The second factor from its QR code to a sign-in that asks for it.
func TestSecondFactor(t *testing.T) {
	w := shared
	tab := w.tab(t, "", desk)
	w.post(
		t, "", "/api/auth/register",
		map[string]any{"email": "owner@careful-shop.example", "password": "some words with spaces"},
	)
	signIn := func() {
		require.NoError(t, tab.Open(w.base+"/console/security"))
		require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=email]`, "owner@careful-shop.example", chromedp.ByQuery),
			chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery)))
	}
	signIn()
	require.NoError(t, tab.Await(`!!document.querySelector('[data-form=factor-begin]')`))
	require.NoError(
		t, tab.Do(chromedp.SendKeys(`[data-form=factor-begin] input`, "some words with spaces\r", chromedp.ByQuery)),
	)
	require.NoError(t, tab.Await(`!!document.querySelector('.qr path')`))
	w.examine(t, tab, desk)
	var secret, recovery string
	require.NoError(
		t, tab.Do(chromedp.Evaluate(`document.querySelector('[data-shown=qr] .mono').textContent`, &secret)),
	)
	code, err := totp.GenerateCode(secret, time.Now())
	require.NoError(t, err)
	require.NoError(t, tab.Do(chromedp.SendKeys(`[data-form=factor-confirm] input`, code+"\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-shown=codes] code')`))
	w.examine(t, tab, desk)
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`document.querySelector('[data-shown=codes] code').textContent.split('\n')[0]`, &recovery,
		)),
	)
	require.NoError(
		t,
		tab.Do(chromedp.Click(`.account summary`, chromedp.ByQuery), chromedp.Click(`.sheet button`, chromedp.ByQuery)),
	)
	require.NoError(t, tab.Await(`location.pathname === '/' && !!document.querySelector('.door form')`))
	tab.Expect(`403 .*/api/auth`) // it asks for the code
	signIn()
	require.NoError(t, tab.Await(`!!document.querySelector('input[name=code]')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=code]`, recovery+"\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-form=factor-on]')`))
}

// awaited waits for a promise's value.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

func figure(t *testing.T, tab *browser.Tab, id string) (text string) {
	t.Helper()
	require.NoError(
		t, tab.Do(chromedp.Evaluate(`document.querySelector('[data-figure="`+id+`"] dd').textContent`, &text)),
	)
	return text
}

// login is a program's, of the demo.
func (w *world) login(t *testing.T, as string) (token, id string) {
	t.Helper()
	var reply struct {
		Token string
		User  struct{ ID string }
	}
	require.NoError(t, json.Unmarshal(w.post(t, "", "/api/auth/demo", map[string]any{"as": as}), &reply))
	return reply.Token, reply.User.ID
}

func (w *world) post(t *testing.T, token, path string, body any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return w.send(t, http.MethodPost, token, path, strings.NewReader(string(text)))
}

func (w *world) get(t *testing.T, token, path string, reply any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(w.send(t, http.MethodGet, token, path, nil), reply))
}

func (w *world) send(t *testing.T, method, token, path string, body io.Reader) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.base+path, body)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.Less(t, reply.StatusCode, 300, "%s %s: %s", method, path, text)
	return text
}
