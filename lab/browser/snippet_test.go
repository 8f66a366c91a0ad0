package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// strict is the policy of a page that allows adnet at base and nothing else.
func strict(base string) string {
	return fmt.Sprintf("default-src 'none'; script-src %s; connect-src %s; img-src https:", base, base)
}

// site is a publisher's: every path is the same page.
func site(t *testing.T, body func(origin string) string, policy string) (origin string) {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title>`+
			`<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">%s</html>`, body(s.URL))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// observed is what a page under test notes, before any of its scripts: breaches of the policy,
// errors, shifts of the layout, what the element says, and a reference for viewability.
const observed = `
window.seen = {policy: [], errors: [], shift: 0, events: [], viewed: [], reference: []};
addEventListener('securitypolicyviolation', (e) => seen.policy.push(e.violatedDirective + ' ' + e.blockedURI));
addEventListener('error', (e) => seen.errors.push(String(e.message)));
addEventListener('unhandledrejection', (e) => seen.errors.push(String(e.reason)));
new PerformanceObserver((list) => { for (const e of list.getEntries()) seen.shift += e.value; }).observe({type: 'layout-shift', buffered: true});
for (const name of ['filled', 'empty', 'viewable']) addEventListener(name, (e) => {
	if (e.target.localName !== 'adnet-ad') return;
	seen.events.push(name + (e.detail.reason ? ' ' + e.detail.reason : ''));
	if (name === 'viewable') seen.viewed.push(performance.now());
}, true);
// Half of it, or 30 % of a large one, for a second in a visible tab.
addEventListener('filled', (e) => {
	const fine = Array.from({length: 101}, (_, i) => i / 100);
	let last, since = 0, timer = 0;
	const judge = () => {
		const r = last.boundingClientRect;
		const on = !document.hidden && last.isIntersecting && last.intersectionRatio >= (r.width * r.height >= 242500 ? 0.3 : 0.5);
		if (on && !since) { since = performance.now(); timer = setTimeout(() => seen.reference.push(performance.now()), 1000); }
		if (!on) { since = 0; clearTimeout(timer); }
	};
	new IntersectionObserver((es) => { last = es.at(-1); judge(); }, {threshold: fine}).observe(e.target);
	document.addEventListener('visibilitychange', () => last && judge());
}, {capture: true, once: true});`

// notes is what was observed.
type notes struct {
	Policy, Errors, Events []string
	Shift                  float64
	Viewed, Reference      []float64
}

func noted(t *testing.T, tab *browser.Tab) (n notes) {
	t.Helper()
	require.NoError(t, tab.Do(chromedp.Evaluate(`seen`, &n)))
	return n
}

// reader opens a page of its own, and waits until its element has said something.
func (w *world) reader(t *testing.T, address string) *browser.Tab {
	t.Helper()
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Before(observed))
	require.NoError(t, tab.Do(chromedp.Navigate(address)))
	return tab
}

// pageKey is a new publisher's, for pages of origin.
func (w *world) pageKey(t *testing.T, origin string) (key, token string) {
	t.Helper()
	var account struct {
		Token string
	}
	email := fmt.Sprintf("page%d@bot.example", time.Now().UnixNano())
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": "some words with spaces"}),
			&account,
		),
	)
	var created struct{ Key string }
	require.NoError(
		t,
		json.Unmarshal(
			w.post(
				t, account.Token, "/api/keys",
				map[string]any{"kind": "browser", "name": "page", "origins": []string{origin}},
			), &created,
		),
	)
	return created.Key, account.Token
}

const topic = "How do I cache the dependencies of a monorepo pipeline?"

// element is a page with one ad between two paragraphs.
func element(base, key, more string) string {
	return fmt.Sprintf(`<script src="%s/sdk/adnet.js"></script><main><h1>Chat</h1><p>An answer.</p><adnet-ad publisher-key="%s" context="%s" %s></adnet-ad><p id="after">More.</p></main>`,
		base, key, topic, more)
}

// The whole way on a page that allows nothing but adnet: shown with its label, nothing breaks the
// policy, nothing moves, axe-core finds nothing, and a view and an impression are counted.
func TestSnippet(t *testing.T) {
	w := shared
	var key, token string
	origin := site(t, func(string) string { return element(w.base, key, "") }, strict(w.base))
	key, token = w.pageKey(t, origin)
	tab := w.reader(t, origin+"/")
	require.NoError(t, tab.Await(`seen.events.includes('viewable')`), "%+v %q", noted(t, tab), tab.Problems())
	var ad struct {
		Label, Name, Role, Rel, Why, Click string
		Height                             float64
		Stored                             int
	}
	require.NoError(t, tab.Do(chromedp.Evaluate(`(() => {
		const root = document.querySelector('adnet-ad').shadowRoot, box = root.querySelector('[role]'), label = root.querySelector('.label');
		const [cta, why] = root.querySelectorAll('a');
		return {Label: label.checkVisibility({checkOpacity: true}) && label.textContent, Name: box.ariaLabel, Role: box.role, Rel: cta.rel, Why: why.href, Click: cta.href,
			Height: box.getBoundingClientRect().height, Stored: localStorage.length + sessionStorage.length + document.cookie.length};
	})()`, &ad)))
	require.Regexp(t, `^Sponsored · \S+`, ad.Label, "and who paid")
	require.Equal(t, "group", ad.Role)
	require.True(t, strings.HasPrefix(ad.Name, "Sponsored: "), ad.Name)
	require.Equal(t, "sponsored noopener", ad.Rel)
	require.Contains(t, ad.Click, w.base+"/s/")
	require.Contains(t, ad.Why, w.base+"/r/")
	require.Positive(t, ad.Height)
	require.Zero(t, ad.Stored)
	n := noted(t, tab)
	require.Empty(t, n.Policy)
	require.Empty(t, n.Errors)
	require.Zero(t, n.Shift)
	require.Equal(t, []string{"filled", "viewable"}, n.Events)
	for _, v := range []browser.View{desk, phone, {Width: 1280, Height: 900, Dark: true}} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	require.Empty(t, noted(t, tab).Policy)
	var stats struct{ Impressions, Viewable, Requests int64 }
	require.Eventually(t, func() bool {
		w.get(t, token, "/api/stats?type=developer", &stats)
		return stats.Viewable == 1
	}, 10*time.Second, 200*time.Millisecond, "%+v", &stats)
	require.EqualValues(t, 1, stats.Impressions)
}

// fake is an adnet that answers as a test says, with the script that is built.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any // bodies of ad requests
	events []string
	answer func(n int, w http.ResponseWriter)
}

func newFake(t *testing.T, answer func(n int, w http.ResponseWriter)) *fake {
	t.Helper()
	script, err := os.ReadFile("../../ingress/web/snippet/dist/adnet.js")
	require.NoError(t, err)
	f := &fake{answer: answer}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /net/sdk/adnet.js", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "late" {
			time.Sleep(700 * time.Millisecond)
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("/net/v1/ad-request", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
		if r.Method == http.MethodOptions {
			return
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		f.mu.Lock()
		f.bodies = append(f.bodies, body)
		n := len(f.bodies)
		f.mu.Unlock()
		f.answer(n, w)
	})
	mux.HandleFunc("POST /net/api/track", func(_ http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.events = append(f.events, r.FormValue("event"))
		f.mu.Unlock()
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) base() string { return f.URL + "/net" }

func (f *fake) requests() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]map[string]any(nil), f.bodies...)
}

func (f *fake) reports() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.events...)
}

// hears waits until these events have come, and no others.
func (f *fake) hears(t *testing.T, events ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(f.reports()) >= len(events) }, 5*time.Second, 20*time.Millisecond)
	require.Equal(t, events, f.reports())
}

// filled answers with an ad, whose fields change says.
func filled(change map[string]any) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) {
		ad := map[string]any{
			"ad_id": "5f0c1f0e-0000-4000-8000-000000000000", "type": "native", "headline": fmt.Sprintf("Ad %d", n),
			"body": "What it is.", "image_url": "",
			"cta_label": "Learn more", "click_url": "https://ads.example/s/x",
			"impression_url": "https://ads.example/api/track?event=impression&auction_id=i",
			"viewable_url":   "https://ads.example/api/track?event=viewable&auction_id=v",
			"receipt_url":    "https://ads.example/r/x", "disclosure_label": "Sponsored", "sandbox": false,
		}
		for name, value := range change {
			ad[name] = value
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ad": ad})
	}
}

func says(status int, body string) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const folded = `(() => { const e = document.querySelector('adnet-ad'); return e.offsetHeight === 0 && e.offsetWidth === 0; })()`

// Whatever is wrong, there is no ad, no space and no error in the page.
func TestSnippetWithoutAnAd(t *testing.T) {
	w := shared
	for name, c := range map[string]struct {
		answer func(int, http.ResponseWriter)
		reason string
	}{
		"no fill": {says(200, `{"ad":null,"reason":"no_match"}`), "no_match"},
		"no ad belongs there": {
			says(200, `{"ad":null,"auction_id":"01993a5c-4f00-7a11-8b52-3d1f0c7e9a44","reason":"unsuitable"}`),
			"unsuitable",
		},
		"a sensitive subject": {
			says(200, `{"ad":null,"auction_id":"01993a5c-4f00-7a11-8b52-3d1f0c7e9a44","reason":"sensitive"}`),
			"sensitive",
		},
		"an error":     {says(403, `{"error":"not here","code":"forbidden"}`), "forbidden"},
		"no JSON":      {says(502, `<html>`), "error"},
		"nothing":      {says(200, ``), "error"},
		"another JSON": {says(200, `[]`), "error"},
		"null":         {says(200, `null`), "error"},
		"too slow":     {func(_ int, w http.ResponseWriter) { time.Sleep(2 * time.Second) }, "timeout"},
		"half an answer": {func(_ int, w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"ad":`))
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Second)
		}, "timeout"},
		"a link that runs":     {filled(map[string]any{"click_url": "javascript:alert(1)"}), "error"},
		"a link in plain text": {filled(map[string]any{"click_url": "http://shop.example/"}), "error"},
		"no link":              {filled(map[string]any{"click_url": nil}), "error"},
		"an ad that is a text": {says(200, `{"ad":"x"}`), "error"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, c.answer)
			origin := site(
				t, func(string) string { return element(f.base(), "pk_live_x", `timeout="400"`) }, strict(f.URL),
			)
			tab := w.reader(t, origin+"/")
			if name == "an error" || name == "no JSON" {
				tab.Expect(`/net/v1/ad-request`) // browsers say each failed request
			}
			require.NoError(t, tab.Await(`seen.events.length > 0`))
			n := noted(t, tab)
			require.Equal(t, []string{"empty " + c.reason}, n.Events)
			require.Empty(t, n.Errors)
			require.Empty(t, n.Policy)
			require.Empty(t, f.reports())
			var gone bool
			require.NoError(t, tab.Do(chromedp.Evaluate(folded, &gone)))
			require.True(t, gone)
		})
	}
}

// The server goes away: before the script, and after an ad.
func TestSnippetOfADeadServer(t *testing.T) {
	w := shared
	f := newFake(t, filled(nil))
	origin := site(t, func(string) string { return element(f.base(), "pk_live_x", "") }, strict(f.URL))
	tab := w.reader(t, origin+"/")
	require.NoError(t, tab.Await(`seen.events.includes('filled')`))
	tab.Expect(`ERR_CONNECTION_REFUSED`)
	f.CloseClientConnections()
	f.Close()
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(`void document.querySelector('adnet-ad').dispatchEvent(new Event('refresh'))`, nil)),
	)
	require.NoError(t, tab.Await(`seen.events.includes('empty error') && `+folded))
	require.Empty(t, noted(t, tab).Errors)
	require.NoError(t, tab.Do(chromedp.Navigate(origin+"/?again")))
	require.NoError(t, tab.Await(`document.querySelector('#after')?.textContent === 'More.' && `+folded))
	n := noted(t, tab)
	require.Empty(t, n.Errors)
	require.Zero(t, n.Shift)
}

// Words of an ad are words; its picture and its receipt are left out where they are not encrypted.
func TestSnippetTrustsNoAd(t *testing.T) {
	w := shared
	evil := `<img src=x onerror="seen.errors.push('ran')"><script>seen.errors.push('ran')</script>`
	f := newFake(
		t,
		filled(map[string]any{
			"headline": evil, "body": evil, "cta_label": evil, "disclosure_label": evil,
			"advertiser": map[string]any{"name": evil}, "image_url": "http://tracker.example/x.png",
			"receipt_url": "javascript:1",
		}),
	)
	origin := site(t, func(string) string { return element(f.base(), "pk_live_x", "") }, strict(f.URL))
	tab := w.reader(t, origin+"/")
	require.NoError(t, tab.Await(`seen.events.includes('filled')`))
	var created string
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`[...document.querySelector('adnet-ad').shadowRoot.querySelectorAll('*')].map((e) => e.localName).join(' ')`, &created,
		)),
	)
	require.Equal(t, "div div div div div a", created)
	n := noted(t, tab)
	require.Empty(t, n.Errors)
	require.Empty(t, n.Policy)
}

// A long ad with a picture that cannot be had is as high as a short one: nothing moves, in either
// direction of writing and on a phone.
func TestSnippetKeepsItsPlace(t *testing.T) {
	w := shared
	long := map[string]any{"headline": strings.Repeat("Long head ", 6), "body": strings.Repeat("many words ", 25),
		"image_url": "https://127.0.0.1:9/x.png", "cta_label": strings.Repeat("button ", 5),
		"advertiser": map[string]any{"name": strings.Repeat("Company ", 12), "verified": true}}
	for _, v := range []browser.View{desk, phone} {
		heights := map[float64]bool{}
		for name, change := range map[string]map[string]any{
			"long": long, "short": {"body": "", "advertiser": map[string]any{"name": "Example Ltd"}},
			"Hebrew": {"headline": "מודעה", "body": "טקסט"},
		} {
			f := newFake(t, filled(change))
			origin := site(
				t, func(string) string { return `<body dir="rtl">` + element(f.base(), "pk_live_x", "") },
				strict(f.URL),
			)
			tab := w.tab(t, "", v)
			if name == "long" {
				tab.Expect(`/x\.png`)
			}
			require.NoError(t, tab.Before(observed))
			require.NoError(t, tab.Do(chromedp.Navigate(origin+"/")))
			require.NoError(t, tab.Await(`seen.events.includes('filled')`))
			require.NoError(t, tab.Do(chromedp.Sleep(300*time.Millisecond)))
			n := noted(t, tab)
			require.Zero(t, n.Shift, "%s at %d", name, v.Width)
			require.Empty(t, n.Policy)
			var at struct {
				Height, Label, Left, Right, Over float64
				Text                             string
			}
			require.NoError(t, tab.Do(chromedp.Evaluate(`(() => { const e = document.querySelector('adnet-ad'), l = e.shadowRoot.querySelector('.label'), r = e.getBoundingClientRect(), s = getComputedStyle(l);
				const range = document.createRange(); range.selectNodeContents(l); const text = range.getBoundingClientRect();
				return {Height: r.height, Text: l.textContent, Label: l.getBoundingClientRect().height, Left: text.left - r.left, Right: r.right - text.right, Over: document.documentElement.scrollWidth - document.documentElement.clientWidth}; })()`, &at)))
			heights[at.Height] = true
			if name == "short" {
				require.Equal(t, "Sponsored · Example Ltd", at.Text)
			}
			require.Positive(t, at.Label)
			if name != "long" { // whose name is cut off, so that it begins and ends at the edges
				require.Less(t, at.Right, at.Left, "the label begins at the right")
			}
			require.Zero(t, at.Over)
			w.examine(t, tab, v)
		}
		require.Len(t, heights, 1)
	}
}

// A script that comes after the first paint moves nothing where the page has kept the ad's place as
// the documents say, and takes none before there is an ad where it has not.
func TestSnippetThatComesLate(t *testing.T) {
	w := shared
	manual, err := os.ReadFile("../../docs/integrating.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(manual), "```css\n")
	style, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	for name, css := range map[string]string{
		"kept": style, "not kept": "", "too low": "main { display: flex } adnet-ad { flex: 1 }",
	} {
		t.Run(name, func(t *testing.T) {
			stored := css == style
			answer := make(chan struct{})
			f := newFake(t, func(n int, w http.ResponseWriter) {
				<-answer
				filled(nil)(n, w)
			})
			release := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(release)
			origin := site(t, func(string) string {
				return "<style>" + css + "</style>" + strings.Replace(
					element(f.base(), "pk_live_x", `timeout="5000"`), `adnet.js"`, `adnet.js?late" async`, 1,
				)
			}, strict(f.URL)+"; style-src 'unsafe-inline'")
			tab := w.reader(t, origin+"/")
			require.NoError(
				t, tab.Await(`!!customElements.get('adnet-ad') && performance.getEntriesByType('paint').length > 0`),
			)
			var before float64
			require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('adnet-ad').offsetHeight`, &before)))
			require.Equal(t, stored, before > 100)
			release()
			require.NoError(t, tab.Await(`seen.events.includes('filled')`))
			require.NoError(t, tab.Do(chromedp.Sleep(300*time.Millisecond)))
			n := noted(t, tab)
			require.Equal(t, []string{"filled"}, n.Events[:1])
			require.Equal(t, stored, n.Shift == 0, "%v", n.Shift)
			require.Empty(t, n.Errors)
		})
	}
}

// Attributes that cannot mean what they say do not cost the ad: a consent that is not JSON is read
// as a TC string, and the longest time limit of a browser is 24 days.
func TestSnippetReadsItsAttributes(t *testing.T) {
	f := newFake(t, filled(nil))
	origin := site(t, func(string) string {
		return element(
			f.base(), "pk_live_x",
			`consent="CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA" timeout="99999999999" turn="x" suitability-flags="self-harm, hate," suitability-age="13"`,
		)
	}, strict(f.URL))
	tab := shared.reader(t, origin+"/")
	require.NoError(t, tab.Await(`seen.events.length > 0`))
	require.Equal(t, []string{"filled"}, noted(t, tab).Events[:1])
	bodies := f.requests()
	require.Equal(t, map[string]any{"tcf": "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA"}, bodies[0]["consent"])
	require.NotContains(t, bodies[0], "turn")
	require.Equal(
		t, map[string]any{"flags": []any{"self-harm", "hate"}, "age": "13"}, bodies[0]["suitability"],
		"the server reads it",
	)
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`{ const e = document.querySelector('adnet-ad'); e.suitability = {age: 'adult'}; e.context = 'chess \ud83d'; void e.refresh() }`, nil,
		)),
	)
	require.NoError(t, tab.Await(`seen.events.filter((s) => s === 'filled').length === 2`))
	require.Equal(t, "chess ", f.requests()[1]["context"], "half of an emoji is none")
	require.Equal(t, map[string]any{"age": "adult"}, f.requests()[1]["suitability"])
}

// Turns ask again, no sooner than the server said; another context does not; a framework's
// properties, moves and removals do what they should.
func TestSnippetOfAConversation(t *testing.T) {
	w := shared
	f := newFake(t, func(n int, w http.ResponseWriter) {
		if n == 2 {
			says(200, `{"ad":null,"reason":"frequency_capped","retry_after":40,"retry_after_turns":2}`)(n, w)
			return
		}
		filled(nil)(n, w)
	})
	origin := site(t, func(string) string {
		return fmt.Sprintf(
			`<script src="%s/sdk/adnet.js" async></script><main><h1>Chat</h1><p>An answer.</p></main>`, f.base(),
		)
	}, strict(f.URL))
	tab := w.reader(t, origin+"/")
	run := func(script string) {
		t.Helper()
		require.NoError(t, tab.Do(chromedp.Evaluate(`{`+script+`}`, nil), chromedp.Sleep(250*time.Millisecond)))
	}
	// Properties before the script is there, as frameworks set them.
	run(
		`window.ad = document.createElement('adnet-ad'); ad.consent = {gpc: true}; ad.publisherKey = 'pk_live_x'; ad.sessionId = 's1'; document.querySelector('main').append(ad)`,
	)
	require.NoError(t, tab.Await(`!!customElements.get('adnet-ad')`))
	require.Empty(t, f.requests(), "nothing to say yet")
	run(`ad.turn = 1; ad.context = 'chess'; ad.activeTools = 'git fetch'`)
	require.NoError(t, tab.Await(`seen.events.length === 1`))
	bodies := f.requests()
	require.Len(t, bodies, 1)
	require.Equal(t, map[string]any{
		"context": "chess", "turn": 1.0, "session_id": "s1", "consent": map[string]any{"gpc": true},
		"integration_method": "js_snippet", "user_language": "en",
		"active_tools": []any{"git", "fetch"},
	}, bodies[0])
	run(`ad.context = 'openings'`)
	require.Len(t, f.requests(), 1, "only on demand")
	run(`document.body.append(ad)`)
	require.Len(t, f.requests(), 1, "a move is no demand")
	run(`ad.turn = 2`)
	require.NoError(t, tab.Await(`seen.events.at(-1) === 'empty frequency_capped' && ad.offsetHeight === 0`))
	run(`ad.turn = 3`)
	require.Len(t, f.requests(), 2, "two turns after the second")
	run(
		`window.second = document.createElement('adnet-ad'); second.setAttribute('publisher-key', 'pk_live_x'); second.sessionId = 's1'; second.turn = 3; second.context = 'x'; document.body.append(second)`,
	)
	require.Len(t, f.requests(), 2, "of the whole page")
	run(`ad.turn = 4`)
	require.NoError(t, tab.Await(`seen.events.at(-1) === 'filled'`))
	require.Len(t, f.requests(), 3)
	run(`ad.refresh()`)
	require.Len(t, f.requests(), 4)
	id := "5f0c1f0e-0000-4000-8000-000000000000"
	require.Equal(t, []any{id, id}, f.requests()[3]["seen"], "the page says what it has shown")
	run(`ad.remove()`)
	run(`ad.turn = 5`)
	require.Len(t, f.requests(), 4, "it is not in the page")
	run(`document.body.append(ad)`)
	require.Len(t, f.requests(), 5)
	n := noted(t, tab)
	require.Empty(t, n.Errors)
	require.Empty(t, n.Policy)
}

// A key in the wrong place shows nothing, and the page reads nothing: a secret one, that of other
// pages, and none that there is.
func TestSnippetWithAWrongKey(t *testing.T) {
	w := shared
	var key string
	origin := site(t, func(string) string { return element(w.base, key, "") }, strict(w.base))
	foreign, token := w.pageKey(t, "https://other.example")
	_, _ = w.pageKey(t, origin) // so that the preflight is answered
	var secret struct{ Key string }
	require.NoError(
		t,
		json.Unmarshal(w.post(t, token, "/api/keys", map[string]any{"kind": "publisher", "name": "secret"}), &secret),
	)
	for name, wrong := range map[string]string{
		"another page's": foreign, "a secret": secret.Key, "the sandbox's": "pub_test_sandbox",
		"nobody's": "pk_live_000000000000000000000000000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			key = wrong
			tab := w.reader(t, origin+"/")
			tab.Expect(`/v1/ad-request.* blocked by CORS policy`)
			tab.Expect(`ERR_FAILED .*/v1/ad-request`)
			require.NoError(t, tab.Await(`seen.events.length > 0 && `+folded))
			require.Equal(t, []string{"empty error"}, noted(t, tab).Events)
			require.Empty(t, noted(t, tab).Errors)
		})
	}
}
