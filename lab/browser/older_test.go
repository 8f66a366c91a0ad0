package browser_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// removed takes functions from a page before its scripts run. Safari 15 has none of them.
const removed = `(() => {
	const gone = [
		[Object, 'hasOwn', 'groupBy'], [URL, 'canParse'], [Promise, 'withResolvers'], [AbortSignal, 'timeout', 'any'],
		[AbortSignal.prototype, 'reason', 'throwIfAborted'], [Crypto.prototype, 'randomUUID', 'subtle'],
		[Element.prototype, 'checkVisibility'], [Document.prototype, 'prerendering', 'adoptedStyleSheets'],
		[ShadowRoot.prototype, 'adoptedStyleSheets'], [CSSStyleSheet.prototype, 'replaceSync'],
		[window, 'structuredClone', 'requestIdleCallback'], [Array.prototype, 'findLast', 'toSorted'],
	];
	for (const [holder, ...names] of gone) for (const name of names) delete holder[name];
	window.CSSStyleSheet = function () { throw new TypeError('Illegal constructor'); };
})()`

// The element of an older browser shows the ad in its style, reports it, and has no size without
// one, also where the page's policy permits no style.
func TestSnippetOnOlderBrowsers(t *testing.T) {
	w := shared
	const (
		height = `document.querySelector('adnet-ad').offsetHeight`
		box    = `document.querySelector('adnet-ad').shadowRoot.querySelector('[role]')`
		border = `getComputedStyle(` + box + `).borderTopStyle`
	)
	for name, c := range map[string]struct {
		policy, border string
	}{
		"with styles":    {"; style-src 'unsafe-inline'", "solid"},
		"without styles": {"", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(n int, w http.ResponseWriter) {
				if n == 1 {
					filled(nil)(n, w)
					return
				}
				says(200, `{"ad":null,"reason":"no_match"}`)(n, w)
			})
			origin := site(
				t, func(string) string { return element(f.base(), "pk_live_x", "") }, strict(f.URL)+c.policy,
			)
			tab := w.tab(t, "", desk)
			if c.policy == "" {
				tab.Expect(`style-src`)
			}
			require.NoError(t, tab.Before(observed))
			require.NoError(t, tab.Before(removed))
			require.NoError(t, tab.Do(chromedp.Navigate(origin+"/")))
			require.NoError(t, tab.Await(`seen.events.includes('viewable')`), "%+v %q", noted(t, tab), tab.Problems())
			f.hears(t, "impression", "viewable")
			var style string
			var high int
			require.NoError(t, tab.Do(chromedp.Evaluate(border, &style), chromedp.Evaluate(height, &high)))
			require.Equal(t, c.border, style)
			require.Positive(t, high)
			require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('adnet-ad').refresh()`, nil)))
			require.NoError(t, tab.Await(`seen.events.includes('empty no_match')`))
			require.NoError(t, tab.Do(chromedp.Evaluate(height, &high)))
			require.Zero(t, high)
			require.Empty(t, noted(t, tab).Errors)
		})
	}
}

// Where nothing measures what is in view, there is no ad and no error.
func TestSnippetWithoutIntersectionObserver(t *testing.T) {
	w := shared
	f := newFake(t, filled(nil))
	origin := site(t, func(string) string { return element(f.base(), "pk_live_x", "") }, strict(f.URL))
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Before(observed))
	require.NoError(t, tab.Before(`delete window.IntersectionObserver`))
	require.NoError(t, tab.Do(chromedp.Navigate(origin+"/")))
	require.NoError(t, tab.Await(`seen.events.length > 0`))
	n := noted(t, tab)
	require.Equal(t, []string{"empty error"}, n.Events)
	require.Empty(t, n.Errors)
	require.Empty(t, f.reports())
	var gone bool
	require.NoError(t, tab.Do(chromedp.Evaluate(folded, &gone)))
	require.True(t, gone)
}
