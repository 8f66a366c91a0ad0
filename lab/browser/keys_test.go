package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// A publisher makes a browser key, pastes what the console shows into a page, and sees an ad there;
// the key is replaced with a grace, in which both work, and revoked.
func TestBrowserKeysOfTheConsole(t *testing.T) {
	w := shared
	html := ""
	origin := site(t, func(string) string { return "<main><h1>Chat</h1>" + html + "</main>" }, strict(w.base))
	tab := w.tab(t, "publisher", desk)
	tab.Expect(`400 .*/api/keys`)
	require.NoError(t, tab.Open(w.base+"/console/keys?kind=browser"))
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=name]`, "my page", chromedp.ByQuery), chromedp.SendKeys(
		`textarea[name=origins]`, "https://*.co.uk", chromedp.ByQuery,
	),
		chromedp.Click(`.card form button.primary`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(`document.querySelector('[role=alert]')?.textContent.includes('https://*.co.uk')`),
		"the API says what is wrong",
	)
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('textarea').select()`, nil), chromedp.SendKeys(
		`textarea[name=origins]`, "https://app.example.com\n"+origin, chromedp.ByQuery,
	),
		chromedp.Click(`.card form button.primary`, chromedp.ByQuery)))
	visible := func() (lines string) {
		t.Helper()
		require.NoError(t, tab.Await(`!!document.querySelector('dialog[open] .code + h3 + .code')`))
		require.NoError(
			t,
			tab.Do(chromedp.Evaluate(`[...document.querySelectorAll('dialog[open] code')].at(-1).textContent`, &lines)),
		)
		require.Regexp(t, `/sdk/adnet\.[0-9a-f]{16}\.js"\s+integrity="sha384-[^"]{64}"`, lines)
		return lines
	}
	first := visible()
	for _, v := range []browser.View{desk, phone, {Width: phone.Width, Height: phone.Height, Dark: true}} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	require.NoError(t, tab.Look(desk))
	filledIn := func(lines string) {
		t.Helper()
		html = lines
		reader := w.reader(t, origin+"/")
		require.NoError(t, reader.Await(`seen.events.includes('filled')`), "%+v", noted(t, reader))
		require.Empty(t, noted(t, reader).Policy)
	}
	filledIn(first)

	require.NoError(t, tab.Do(chromedp.Click(`dialog[open] button.primary`, chromedp.ByQuery)))
	row := `[...document.querySelectorAll('tbody tr')].filter((r) => r.textContent.includes('my page'))`
	require.NoError(t, tab.Await(row+`.length === 1 && document.body.innerText.includes(`+"`"+origin+"`"+`)`))
	require.NoError(t, tab.Do(chromedp.Evaluate(row+`[0].querySelector('[data-act=rotate]').click()`, nil)))
	require.NoError(t, tab.Await(`!!document.querySelector('dialog[open] select[name=grace]')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.SetValue(`select[name=grace]`, "3600", chromedp.ByQuery),
		chromedp.Evaluate(
			`document.querySelector('select[name=grace]').dispatchEvent(new Event('change', {bubbles: true}))`, nil,
		),
		chromedp.Click(`dialog[open] button.primary`, chromedp.ByQuery)))
	second := visible()
	require.NotEqual(t, first, second)
	require.NoError(t, tab.Do(chromedp.Click(`dialog[open] button.primary`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(row+`.length === 2 && document.querySelector('tbody').textContent.includes('works until')`),
	)
	filledIn(first)
	filledIn(second)

	// The new one is revoked: the question whether that is meant is answered by yes.
	require.NoError(t, tab.Accept())
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`setTimeout(() => `+row+
				`.find((r) => !r.textContent.includes('works until')).querySelector('[data-act=revoke]').click());0`,
			nil,
		)),
	)
	require.NoError(t, tab.Await(row+`.length === 1`))
	time.Sleep(2500 * time.Millisecond) // nodes keep a key for two seconds
	html = second
	reader := w.reader(t, origin+"/")
	reader.Expect(`/v1/ad-request`) // which a key that does not exist allows no page
	require.NoError(t, reader.Await(`seen.events.length > 0`))
	require.Equal(t, []string{"empty error"}, noted(t, reader).Events)
}

// The page of snippets has code that runs for each way, takes a key, makes one, and says when a
// request was seen.
func TestSnippetsOfTheConsole(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	require.NoError(t, tab.Open(w.base+"/console/integrate"))
	code := `[...document.querySelectorAll('.card code')].map((c) => c.textContent).join()`
	for method, want := range map[string]string{
		"mcp": "server.mts", "mcp-python": "MCPServer", "npm": "node ad.mjs", "python": "from adnet import", "rest": "curl",
		"discord": "adMessage",
	} {
		require.NoError(
			t, tab.Do(chromedp.Evaluate(`document.querySelector('input[name=method][value=`+method+`]').click()`, nil)),
		)
		require.NoError(t, tab.Await(code+`.includes('`+want+`') && `+code+`.includes('pub_test_sandbox')`))
		require.NoError(t, tab.Await(`!`+code+`.includes('…')`))
		w.examine(t, tab, desk)
	}
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=key]`, "pub_live_of_mine", chromedp.ByQuery)))
	require.NoError(t, tab.Await(code+`.includes('pub_live_of_mine')`))
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=make]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`/pub_live_[A-Za-z0-9]{20}/.test(`+code+`)`))
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('input[name=method][value=js]').click()`, nil)))
	require.NoError(t, tab.Await(code+`.includes('integrity="sha384-')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Await(`!!document.querySelector('.light.seen')`))
	require.Empty(t, tab.Problems())
}
