package browser_test

import (
	"encoding/json"
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

// Who is suspended signs in, reads why, and appeals; an administrator takes the decision back, and the
// outcome stands on the statement.
func TestAppeal(t *testing.T) {
	w := shared
	email := fmt.Sprintf("appeals-%d@shop.example", time.Now().UnixNano())
	made := struct{ User struct{ ID string } }{}
	require.NoError(t, json.Unmarshal(w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": "some words with spaces"}), &made))
	boss, _ := w.login(t, "admin")
	w.post(t, boss, "/api/admin/users/"+made.User.ID+"/suspend", map[string]any{"reason": "Cards that were not yours."})
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns"))
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`location.pathname === '/console/decisions' && document.body.innerText.includes('Cards that were not yours.')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(`[data-act=appeal]`, chromedp.ByQuery), chromedp.SendKeys(`[data-form=ask] textarea`, "They were mine.", chromedp.ByQuery)))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Waits for an administrator')`))

	admin := w.tab(t, "admin", desk)
	require.NoError(t, admin.Open(w.base+"/console/appeals"))
	require.NoError(t, admin.Await(`document.body.innerText.includes('They were mine.')`))
	w.examine(t, admin, desk)
	require.NoError(t, admin.Do(chromedp.Click(`[data-act=reverse]`, chromedp.ByQuery), chromedp.SendKeys(`[data-form=ask] textarea`, "They were.", chromedp.ByQuery),
		chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, admin.Await(`document.body.innerText.includes('No appeal waits')`))

	again := w.tab(t, "", desk)
	require.NoError(t, again.Open(w.base+"/console/decisions"))
	require.NoError(t, again.Do(chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery)))
	require.NoError(t, again.Await(`document.body.innerText.includes('The decision was taken back') && !!document.querySelector('nav.side a[href$="/console/keys"]')`))
	require.Empty(t, append(admin.Problems(), again.Problems()...))
}

// A reader reports an ad by its receipt, without an account; an administrator sees who and why, and
// keeps it.
func TestReportAnAd(t *testing.T) {
	w := shared
	var ad struct {
		Ad struct {
			ReceiptURL string `json:"receipt_url"`
		}
	}
	token, _ := w.login(t, "publisher")
	key := struct{ Key string }{}
	require.NoError(t, json.Unmarshal(w.post(t, token, "/api/keys", map[string]any{"kind": "publisher", "name": "reports"}), &key))
	require.NoError(t, json.Unmarshal(w.post(t, key.Key, "/v1/ad-request", map[string]any{"context": "chess openings for beginners"}), &ad))
	require.NotEmpty(t, ad.Ad.ReceiptURL)
	tab := w.tab(t, "", phone)
	require.NoError(t, tab.Do(chromedp.Navigate(ad.Ad.ReceiptURL)))
	w.examine(t, tab, phone)
	require.NoError(t, tab.Do(chromedp.SetValue(`#reason`, "misleading", chromedp.ByQuery), chromedp.SendKeys(`#text`, "It promises what it is not.", chromedp.ByQuery), chromedp.Click(`form button`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Thank you.')`))
	w.examine(t, tab, phone)

	admin := w.tab(t, "admin", desk)
	require.NoError(t, admin.Open(w.base+"/console/reports"))
	require.NoError(t, admin.Await(`document.body.innerText.includes('It promises what it is not.')`))
	w.examine(t, admin, desk)
	require.NoError(t, admin.Do(chromedp.Click(`[data-act=keep]`, chromedp.ByQuery), chromedp.SendKeys(`[data-form=ask] textarea`, "It is what it says.", chromedp.ByQuery),
		chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, admin.Await(`document.body.innerText.includes('No reports wait')`))
	require.Empty(t, admin.Problems())
}
