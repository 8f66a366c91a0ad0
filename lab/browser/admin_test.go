package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// An administrator suspends an account and restores it, each with a reason; what the API answers the
// account follows within 2 s.
func TestSuspendAndRestore(t *testing.T) {
	w := shared
	email := fmt.Sprintf("suspended-%d@shop.example", time.Now().UnixNano())
	w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": "some words with spaces"})
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/users?q="+email))
	decide := func(act, state string) {
		require.NoError(t, tab.Do(chromedp.Click(`[data-act="`+act+`"]`, chromedp.ByQuery), chromedp.WaitVisible(`[data-form=ask] textarea`, chromedp.ByQuery)))
		w.examine(t, tab, desk)
		require.NoError(t, tab.Do(chromedp.SendKeys(`[data-form=ask] textarea`, "A test decides.", chromedp.ByQuery), chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
		require.NoError(t, tab.Await(`document.querySelector('tbody .status')?.textContent === '`+state+`'`))
	}
	decide("suspend", "Suspended")
	decide("restore", "Working")
	require.Empty(t, tab.Problems())
}
