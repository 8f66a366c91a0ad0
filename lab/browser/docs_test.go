package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// The guide and the reference are usable at every size, their search asks no server for results, and
// a figure of the console leads to its definition.
func TestDocs(t *testing.T) {
	w := shared
	for _, v := range []browser.View{desk, {Width: 390, Height: 844, Dark: true}} {
		tab := w.tab(t, "", v)
		for _, path := range []string{
			"/docs", "/docs/guide", "/docs/guide/integrating", "/docs/guide/settings", "/docs/guide/operate/monitor",
			"/docs/api/serving", "/docs/schemas", "/docs/schemas/Campaign",
		} {
			require.NoError(t, tab.Open(w.base+path))
			var wide bool
			require.NoError(t, tab.Do(chromedp.Evaluate(
				`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide,
			)))
			require.False(t, wide, "%s flows over at %d px", path, v.Width)
			w.examine(t, tab, v)
		}
		require.NoError(t, tab.Do(chromedp.SendKeys(`#search`, "retention", chromedp.ByQuery)))
		require.NoError(t, tab.Await(`[...document.querySelectorAll('#found a')].some((a) => a.textContent.startsWith('Retention'))`))
		w.examine(t, tab, v)
		require.NoError(t, tab.Do(chromedp.SendKeys(`#search`, "\r", chromedp.ByQuery)))
		require.NoError(t, tab.Await(`location.pathname.startsWith('/docs/guide/') && location.hash !== ''`))
	}
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Await(`!!document.querySelector('[data-figure=days-left] dt a')`))
	require.NoError(t, tab.Do(chromedp.Click(`[data-figure=days-left] dt a`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelector(':target')?.textContent === 'Days left'`))
}
