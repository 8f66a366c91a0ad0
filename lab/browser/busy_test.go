package browser_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// A change of a breakdown asks for the breakdown alone, and for each only once a minute. A 429 keeps
// the numbers and the controls, and says when to try again.
func TestBreakdownsAskLittle(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	first := w.first(t, tab)
	busy := &browser.Reply{
		Status: http.StatusTooManyRequests, Type: "application/json",
		Body: `{"error":"too many requests","code":"rate_limited","retry_after":37}`,
	}
	tab.Expect(`429`)
	refuse := true
	require.NoError(t, tab.Instead("*/api/stats*breakdown=region*", func(int64) *browser.Reply {
		if refuse {
			return busy
		}
		return nil
	}))
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+first))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-table=host_app] tbody tr')`))
	var figures string
	read := chromedp.Evaluate(
		`[...document.querySelectorAll('[data-figure]')].map((f) => f.textContent).join()`, &figures,
	)
	require.NoError(t, tab.Do(read))
	before := figures
	var asked []string
	calls := func() []string {
		require.NoError(t, tab.Do(
			chromedp.Evaluate(
				`performance.getEntriesByType('resource').map((e) => e.name).filter((n) => n.includes('/api/'))`, &asked,
			), chromedp.Evaluate(`performance.clearResourceTimings()`, nil),
		))
		return asked
	}
	calls()
	for range 30 {
		write(t, tab, "select[name=by]", "format")
		require.NoError(t, tab.Await(`!!document.querySelector('[data-table=format] tbody tr')`))
		write(t, tab, "select[name=by]", "host_app")
		require.NoError(t, tab.Await(`!!document.querySelector('[data-table=host_app] tbody tr')`))
	}
	require.Len(t, calls(), 1, "%q", asked)
	require.Contains(t, asked[0], "breakdown=format")

	write(t, tab, "select[name=by]", "region")
	kept := `document.querySelector('[data-state=kept][role=alert]')`
	require.NoError(t, tab.Await(`/Try again in 37 seconds, at \d+:\d\d:\d\d/.test(`+kept+`?.textContent)`))
	for _, stays := range []string{"[data-table=host_app] tbody tr", "select[name=by]", ".plot"} {
		require.NoError(t, tab.Await(`!!document.querySelector('`+stays+`')`))
	}
	require.NoError(t, tab.Do(read))
	require.Equal(t, before, figures)
	for _, v := range []browser.View{desk, phone} {
		w.examine(t, tab, v)
	}
	refuse = false
	require.NoError(t, tab.Do(chromedp.Click(`[data-state=kept] button`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-table=region] tbody tr') && !`+kept))
	require.Empty(t, tab.Problems())
}
