package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// amounts are the texts of amounts of the figures, gauges and tables of a page. The entries of a
// history are different amounts, of which one may be near another.
const amounts = `[...new Set(
	[...document.querySelectorAll('[data-figure] dd, .gauge-text, tr:not([data-entry]) td, .facts dd')]
		.flatMap((e) => e.textContent.match(/-?\$[\d,]+\.\d+/g) ?? [])
)]`

// One amount has one form on a page: none is another one with fewer digits. No link of a page leads
// to the API, where a browser without the console's header is nobody.
func TestAmountsHaveOneForm(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	first := w.first(t, tab)
	whose := map[string]*browser.Tab{
		"advertiser": tab, "publisher": w.tab(t, "publisher", desk), "admin": w.tab(t, "admin", desk),
	}
	for _, s := range []struct{ as, path string }{
		{"advertiser", "overview"}, {"advertiser", "campaigns"}, {"advertiser", "campaigns/" + first},
		{"advertiser", "billing"}, {"advertiser", "conversions"}, {"publisher", "publisher"}, {"publisher", "placements"}, {"admin", "network"},
	} {
		tab := whose[s.as]
		require.NoError(t, tab.Open(w.base+"/console/"+s.path))
		var found []string
		links := -1
		require.NoError(t, tab.Do(
			chromedp.Evaluate(amounts, &found),
			chromedp.Evaluate(`document.querySelectorAll('a[href*="/api/"]').length`, &links),
		))
		require.Zero(t, links, s.path)
		for _, a := range found {
			for _, b := range found {
				_, digits, _ := strings.Cut(a, ".")
				if n := reads(t, b).FloatString(len(digits)); a != b && reads(t, a).Sign() != 0 && reads(t, a).FloatString(len(digits)) == n {
					t.Errorf("%s has %s and %s", s.path, a, b)
				}
			}
		}
	}
	publisher := whose["publisher"]
	require.NoError(t, publisher.Open(w.base+"/console/publisher"))
	require.NoError(t, publisher.Await(fmt.Sprintf(
		`document.querySelector('[data-figure=credits]').textContent.includes(%q) && !!document.querySelector('[data-figure=own-ecpm]')`,
		"A Credit is worth $0.005",
	)))
}
