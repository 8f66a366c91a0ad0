package browser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// An administrator suspends an account and restores it, each with a reason; what the API answers
// the account follows within 2 s.
func TestSuspendAndRestore(t *testing.T) {
	w := shared
	email := fmt.Sprintf("owner@suspended-%d.example", time.Now().UnixNano())
	w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": "some words with spaces"})
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/users?q="+email))
	decide := func(act, state string) {
		require.NoError(
			t,
			tab.Do(
				chromedp.Click(`[data-act="`+act+`"]`, chromedp.ByQuery),
				chromedp.WaitVisible(`[data-form=ask] textarea`, chromedp.ByQuery),
			),
		)
		w.examine(t, tab, desk)
		require.NoError(
			t,
			tab.Do(
				chromedp.SendKeys(`[data-form=ask] textarea`, "A test decides.", chromedp.ByQuery),
				chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery),
			),
		)
		require.NoError(t, tab.Await(`document.querySelector('tbody .status')?.textContent === '`+state+`'`))
	}
	decide("suspend", "Suspended")
	decide("restore", "Active")
	require.Empty(t, tab.Problems())
}

// Who is suspended signs in, reads why, and appeals; an administrator takes the decision back, and
// the outcome stands on the statement.
func TestAppeal(t *testing.T) {
	w := shared
	email := fmt.Sprintf("owner@appeals-%d.example", time.Now().UnixNano())
	created := struct{ User struct{ ID string } }{}
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": "some words with spaces"}),
			&created,
		),
	)
	boss, _ := w.login(t, "admin")
	w.post(t, boss, "/api/admin/users/"+created.User.ID+"/suspend", map[string]any{"reason": "Cards that were not yours."})
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns"))
	require.NoError(
		t,
		tab.Do(
			chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery),
			chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery),
		),
	)
	require.NoError(
		t,
		tab.Await(
			`location.pathname === '/console/decisions' && document.body.innerText.includes('Cards that were not yours.')`,
		),
	)
	w.examine(t, tab, desk)
	require.NoError(
		t,
		tab.Do(
			chromedp.Click(`[data-act=appeal]`, chromedp.ByQuery),
			chromedp.SendKeys(`[data-form=ask] textarea`, "They were mine.", chromedp.ByQuery),
		),
	)
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.body.innerText.includes('Waits for an administrator')`))

	admin := w.tab(t, "admin", desk)
	require.NoError(t, admin.Open(w.base+"/console/appeals"))
	require.NoError(t, admin.Await(`document.body.innerText.includes('They were mine.')`))
	w.examine(t, admin, desk)
	require.NoError(t, admin.Do(chromedp.Click(`[data-act=reverse]`, chromedp.ByQuery), chromedp.SendKeys(
		`[data-form=ask] textarea`, "They were.", chromedp.ByQuery,
	),
		chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, admin.Await(`document.body.innerText.includes('No appeal waits')`))

	again := w.tab(t, "", desk)
	require.NoError(t, again.Open(w.base+"/console/decisions"))
	require.NoError(
		t,
		again.Do(
			chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery),
			chromedp.SendKeys(`input[name=password]`, "some words with spaces\r", chromedp.ByQuery),
		),
	)
	require.NoError(
		t,
		again.Await(
			`document.body.innerText.includes('The decision was taken back') && !!document.querySelector('nav.side a[href$="/console/keys"]')`,
		),
	)
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
	require.NoError(
		t, json.Unmarshal(w.post(t, token, "/api/keys", map[string]any{"kind": "publisher", "name": "reports"}), &key),
	)
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, key.Key, "/v1/ad-request", map[string]any{"context": "chess openings for beginners"}), &ad,
		),
	)
	require.NotEmpty(t, ad.Ad.ReceiptURL)
	tab := w.tab(t, "", phone)
	require.NoError(t, tab.Do(chromedp.Navigate(ad.Ad.ReceiptURL)))
	w.examine(t, tab, phone)
	w.germanReceipt(t, ad.Ad.ReceiptURL)
	require.NoError(
		t,
		tab.Do(
			chromedp.SetValue(`#reason`, "misleading", chromedp.ByQuery),
			chromedp.SendKeys(`#text`, "It promises what it is not.", chromedp.ByQuery),
			chromedp.Click(`form button`, chromedp.ByQuery),
		),
	)
	require.NoError(t, tab.Await(`document.body.innerText.includes('Thank you.')`))
	w.examine(t, tab, phone)

	admin := w.tab(t, "admin", desk)
	require.NoError(t, admin.Open(w.base+"/console/reports"))
	require.NoError(t, admin.Await(`document.body.innerText.includes('It promises what it is not.')`))
	w.examine(t, admin, desk)
	require.NoError(t, admin.Do(chromedp.Click(`[data-act=keep]`, chromedp.ByQuery), chromedp.SendKeys(
		`[data-form=ask] textarea`, "It is what it says.", chromedp.ByQuery,
	),
		chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, admin.Await(`document.body.innerText.includes('No reports wait')`))
	require.Empty(t, admin.Problems())
}

// germanReceipt looks at a receipt, its complaint and its thanks as a German reader's browser does.
func (w *world) germanReceipt(t *testing.T, receipt string) {
	t.Helper()
	tab := w.tab(t, "", phone)
	require.NoError(
		t,
		tab.Do(
			network.Enable(), network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": "de"}),
			chromedp.Navigate(receipt),
		),
	)
	looks := func(says string) {
		t.Helper()
		require.NoError(
			t, tab.Await(`document.documentElement.lang === 'de' && document.body.innerText.includes('`+says+`')`),
		)
		for _, v := range []browser.View{phone, desk, zoomed} {
			require.NoError(t, tab.Look(v))
			w.examine(t, tab, v)
			var wide int
			require.NoError(
				t,
				tab.Do(chromedp.Evaluate(
					`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide,
				)),
			)
			require.Zero(t, wide, "%d px", v.Width)
		}
	}
	looks("Diese Anzeige melden")
	tab.Expect(`400 .*/r/`)
	require.NoError(t, tab.Do(chromedp.SetValue(`#reason`, "misleading", chromedp.ByQuery), chromedp.Evaluate(
		`document.querySelector('form').noValidate = true`, nil,
	),
		chromedp.SendKeys(`#email`, "niemand", chromedp.ByQuery), chromedp.Click(`form button`, chromedp.ByQuery)))
	looks("Das ist keine E-Mail-Adresse")
}

// An administrator lets ads say the name of an account: what the policy finds in it stands beside
// it, the next ad has it, and its owner reads so.
func TestNameInAds(t *testing.T) {
	w := shared
	token, id := w.registered(t, "named")
	const name = `Guaranteed profits <img src=x onerror=alert(1)>`
	profile := func(company string) {
		w.send(t, "PATCH", token, "/api/account/profile", strings.NewReader(`{"company":"`+company+`"}`))
	}
	profile(name)
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/review"))
	require.NoError(
		t, tab.Await(`!!document.querySelector('[data-part=names] a[href$="/console/users?state=name_waiting"]')`),
		"the queue says that names wait",
	)
	w.examine(t, tab, desk)
	require.NoError(t, tab.Open(w.base+"/console/users?state=name_waiting&q="+id))
	row := `document.querySelector('tr[data-id="` + id + `"]')`
	require.NoError(
		t,
		tab.Await(
			row+`?.innerText.includes('claims of guaranteed gain') && `+row+
				`.innerText.includes('onerror=alert(1)') && !document.querySelector('img[src=x]')`,
		),
	)
	for _, v := range []browser.View{desk, phone} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	require.NoError(t, tab.Look(desk))
	require.NoError(
		t,
		tab.Do(
			chromedp.Click(`[data-act=name-reject]`, chromedp.ByQuery),
			chromedp.SendKeys(`[data-form=ask] textarea`, "It is no name.", chromedp.ByQuery),
		),
	)
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!`+row))
	profile("Honest Chess Ltd")
	require.NoError(t, tab.Open(w.base+"/console/users?q="+id))
	require.NoError(
		t,
		tab.Do(
			chromedp.Click(`[data-act=name-approve]`, chromedp.ByQuery),
			chromedp.Click(`[data-form=ask] input[name=checked]`, chromedp.ByQuery),
		),
	)
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(`[data-form=ask] button:not([type])`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(row+`.innerText.includes('Verified') && !`+row+`.querySelector('[data-act=name-approve]')`),
	)
	var seen struct {
		State    string `json:"name_state"`
		Verified bool   `json:"name_verified"`
	}
	w.get(t, token, "/api/account/profile", &seen)
	require.Equal(t, "approved", seen.State)
	require.True(t, seen.Verified)
	require.Empty(t, tab.Problems())
}

// An administrator has verify run, by the keyboard, and reads every promise; the ledger's own
// numbers lead from a movement to its account and to the head of its chain.
func TestLedgerAndVerify(t *testing.T) {
	w := shared
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/ledger"))
	require.NoError(t, tab.Do(chromedp.Focus(`[data-act=verify]`, chromedp.ByQuery), chromedp.KeyEvent("\r")))
	require.NoError(
		t,
		tab.Await(
			`document.querySelectorAll('[data-table=checks] tbody tr').length > 20 && !!document.querySelector('[data-run=clean]')`,
		),
	)
	w.examine(t, tab, desk)
	boss, _ := w.login(t, "admin")
	var page struct {
		Movements []struct {
			ID      string
			Entries []struct{ Account, Hash string }
		}
	}
	w.get(t, boss, "/api/admin/ledger?kind=charge&limit=1", &page)
	require.NoError(t, tab.Open(w.base+"/console/ledger?account="+page.Movements[0].Entries[0].Account))
	require.NoError(t, tab.Await(`!!document.querySelector('tr[data-id="`+page.Movements[0].ID+`"]')`))
	var heads struct{ Heads []struct{ Hash string } }
	w.get(t, boss, "/api/admin/ledger/heads?account="+page.Movements[0].Entries[0].Account, &heads)
	require.NoError(
		t, tab.Await(`document.querySelector('[data-table=heads]').innerText.includes('`+heads.Heads[0].Hash+`')`),
	)
	require.Empty(t, tab.Problems())
}

// The numbers of the network are those of the API, and of today what the demo's traffic made.
func TestNetworkShowsTheAPIsNumbers(t *testing.T) {
	w := shared
	boss, _ := w.login(t, "admin")
	today := time.Now().UTC().Format(time.DateOnly)
	var requests struct{ Requests int64 }
	w.get(t, boss, "/api/admin/requests?since="+today, &requests)
	require.Positive(t, requests.Requests)
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/network"))
	visible := func(name string) (n int64) {
		var text string
		require.NoError(
			t,
			tab.Do(chromedp.Evaluate(
				`document.querySelector('[data-part=today] [data-figure=`+name+`] dd').textContent.replaceAll(',', '')`,
				&text,
			)),
		)
		_, err := fmt.Sscan(text, &n)
		require.NoError(t, err, text)
		return n
	}
	// Other tests ask for ads meanwhile: never fewer than before.
	require.GreaterOrEqual(t, visible("requests"), requests.Requests)
	var stats struct{ Impressions int64 }
	w.get(t, boss, "/api/stats?type=overview&since="+today, &stats)
	require.Positive(t, stats.Impressions)
	require.GreaterOrEqual(t, stats.Impressions, visible("impressions"))
	require.Empty(t, tab.Problems())
}

// Settings say where each value came from, hide what is secret, and are found by the keyboard.
func TestSettingsOfTheNode(t *testing.T) {
	w := shared
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/settings"))
	require.NoError(t, tab.Await(`document.querySelector('tr[data-id=ADNET_HTTP_ADDR]').innerText.includes('Flag')`))
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[type=search]`, "ADNET_RATE_OPEN", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelectorAll('[data-table=settings] tbody tr').length === 1`))
	w.examine(t, tab, desk)
	require.Empty(t, tab.Problems())
}

// The screen of health shows every process and recurring job that the API names, in both languages.
func TestHealthShowsProcessesAndJobs(t *testing.T) {
	w := shared
	boss, _ := w.login(t, "admin")
	var seen struct {
		Processes []struct {
			Name, Version string
			Serving       struct{ Model string }
		}
		Jobs []struct{ Name string }
	}
	w.get(t, boss, "/api/admin/health", &seen)
	require.Len(t, seen.Processes, 1)
	require.NotEmpty(t, seen.Jobs)
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/health"))
	row := `document.querySelector('[data-process="` + seen.Processes[0].Name + `"]').innerText`
	require.NoError(
		t,
		tab.Await(
			`!!document.querySelector('[data-process]') && `+row+`.includes('`+seen.Processes[0].Serving.Model+`') && `+
				row+`.includes('0 bytes')`,
		),
	)
	for _, j := range seen.Jobs {
		require.NoError(t, tab.Await(`!!document.querySelector('[data-job="`+j.Name+`"]')`), j.Name)
	}
	w.examine(t, tab, desk)
	require.Empty(t, tab.Problems())
}
