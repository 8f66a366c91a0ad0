package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// A reviewer decides by the keyboard alone: a approves the row, r asks why and rejects it, the
// focus goes on to the next, and what differs from what was approved before is marked. Chosen rows
// are decided together.
func TestReviewByKeyboard(t *testing.T) {
	w := shared
	token, owner := w.registered(t, "review")
	create := func(headline string) (id string) {
		created := struct{ Campaign struct{ ID string } }{}
		require.NoError(
			t,
			json.Unmarshal(
				w.post(
					t, token, "/api/campaigns",
					map[string]any{
						"advertiser_id": owner, "headline": headline, "cta_url": "https://review-by-keyboard.example/",
					},
				), &created,
			),
		)
		return created.Campaign.ID
	}
	status := func(id, want string) {
		t.Helper()
		var got struct{ Campaign struct{ Status string } }
		w.get(t, token, "/api/campaigns/"+id, &got)
		require.Equal(t, want, got.Campaign.Status)
	}
	changed := create("Chess by the sea")
	w.post(t, token, "/api/campaigns/update", map[string]any{"id": changed, "headline": "Chess by the lake"})
	var ids []string
	for i := range 4 {
		ids = append(ids, create(fmt.Sprintf("Review row %d", i)))
	}
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Before(late))
	require.NoError(t, tab.Open(w.base+"/console/review"))
	press := func(keys string) { require.NoError(t, tab.Do(chromedp.KeyEvent(keys))) }
	at := func(text string) {
		t.Helper()
		require.NoError(t, tab.Await(`document.querySelector('#reviewed').textContent.includes('`+text+`')`))
	}
	focused := func(text string) {
		t.Helper()
		require.NoError(
			t,
			tab.Await(
				`document.activeElement.matches('.queue [aria-current]') && document.activeElement.textContent.includes('`+text+`')`,
			),
		)
	}
	// Other tests leave campaigns in the queue, so each part starts at its own row.
	opens := func(id string) {
		t.Helper()
		row := `.queue li[data-id="` + id + `"] button`
		require.NoError(t, tab.Do(chromedp.Focus(row, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter)))
	}
	opens(ids[3])
	at("Review row 3")
	press("a")
	focused("Review row 2")
	decided(t, tab)
	status(ids[3], "active")
	press("r")
	require.NoError(t, tab.Do(chromedp.WaitVisible(`dialog[open] textarea`, chromedp.ByQuery)))
	w.examine(t, tab, desk)
	press("It says nothing." + kb.Tab + kb.Enter)
	focused("Review row 1")
	decided(t, tab)
	status(ids[2], "rejected")

	// Two rows at once: the boxes by Space, the button by Enter.
	for _, id := range ids[:2] {
		require.NoError(
			t, tab.Do(chromedp.Focus(`.queue li[data-id="`+id+`"] input`, chromedp.ByQuery), chromedp.KeyEvent(" ")),
		)
	}
	require.NoError(t, tab.Do(chromedp.Focus(`[data-act=approve-all]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter)))
	require.NoError(t, tab.Await(`document.querySelector('.bulk output').textContent.includes('2 approved')`))
	decided(t, tab)
	status(ids[0], "active")
	status(ids[1], "active")

	opens(changed)
	at("Chess by the sea") // its name stays
	require.NoError(
		t, tab.Await(`document.querySelector('tr[data-field=headline] del')?.textContent === 'Chess by the sea'`),
	)
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('tr[data-field=headline] ins').textContent === 'Chess by the lake' && document.querySelectorAll('tr.differs').length === 1`,
		),
	)
	for _, v := range []browser.View{desk, phone} {
		w.examine(t, tab, v)
	}
	press("a")
	require.NoError(t, tab.Do(chromedp.WaitVisible(`dialog[open] .primary`, chromedp.ByQuery)))
	press(kb.Enter) // a change of what was approved is a finding
	require.NoError(t, tab.Await(`!document.querySelector('li[data-id="`+changed+`"]')`))
	require.Empty(t, tab.Problems())
}

// Of a campaign that an administrator paused its owner sees why and where to appeal, not a button
// that the server refuses.
func TestStoppedCampaignShowsWhy(t *testing.T) {
	w := shared
	token, owner := w.login(t, "advertiser")
	created := struct{ Campaign struct{ ID string } }{}
	require.NoError(
		t,
		json.Unmarshal(
			w.post(
				t, token, "/api/campaigns",
				map[string]any{
					"advertiser_id": owner, "headline": "Stopped by hand", "cta_url": "https://stopped-shop.example/",
				},
			), &created,
		),
	)
	id := created.Campaign.ID
	boss, _ := w.login(t, "admin")
	w.post(t, boss, "/api/campaigns/review", map[string]any{"id": id, "decision": "approved"})
	w.post(t, boss, "/api/campaigns/pause", map[string]any{"id": id})
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id))
	require.NoError(
		t,
		tab.Await(
			`!!document.querySelector('[data-part=stopped] a[href*="/console/decisions#"]') && !!document.querySelector('.status.paused')`,
		),
	)
	require.NoError(t, tab.Await(`!document.querySelector('[data-act=resume], [data-cure=not_active]')`))
	w.examine(t, tab, desk)
	admin := w.tab(t, "admin", desk)
	require.NoError(t, admin.Open(w.base+"/console/campaigns/"+id))
	require.NoError(
		t,
		admin.Await(`!!document.querySelector('[data-act=resume]') && !document.querySelector('[data-part=stopped]')`),
	)
	require.Empty(t, append(tab.Problems(), admin.Problems()...))
}

// What readers report of a live ad waits in the review queue with its counts, and is decided there.
func TestReportedAdWaitsInTheQueue(t *testing.T) {
	w := shared
	ad := w.ad(t)
	reader := w.tab(t, "", desk)
	w.sees(t, ad.Impression)
	require.NoError(
		t,
		reader.Do(
			chromedp.Navigate(ad.Receipt), chromedp.SetValue(`#reason`, "misleading", chromedp.ByQuery),
			chromedp.Click(`form button`, chromedp.ByQuery),
		),
	)
	require.NoError(t, reader.Await(`document.body.innerText.includes('Thank you.')`))
	boss, _ := w.login(t, "admin")
	id := ""
	require.Eventually(t, func() bool {
		var queue struct {
			Reported []struct {
				Campaign string `json:"campaign_id"`
				Counted  int
			}
		}
		w.get(t, boss, "/api/campaigns/review_queue", &queue)
		for _, r := range queue.Reported {
			if id = r.Campaign; r.Counted == 1 {
				return true
			}
		}
		return false
	}, 15*time.Second, 200*time.Millisecond)
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/review"))
	row := `.queue li[data-id="` + id + `"] button`
	require.NoError(t, tab.Do(chromedp.Click(row, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelector('[data-part=reports]')?.innerText.includes('Misleading: 1')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Focus(row, chromedp.ByQuery), chromedp.KeyEvent("a")))
	require.NoError(t, tab.Await(`!document.querySelector('li[data-id="`+id+`"]')`))
	require.Empty(t, append(reader.Problems(), tab.Problems()...))
}

// decided has the decisions of a tab be sent now, as if the page were left, and waits for the
// server's answers.
func decided(t *testing.T, tab *browser.Tab) {
	t.Helper()
	require.NoError(t, tab.Do(chromedp.Evaluate(`dispatchEvent(new Event('pagehide')) && 1`, nil)))
	require.NoError(t, tab.Await(unsent))
}

// unsent is true when no decision of the page waits for an answer.
const unsent = `!sessionStorage.getItem('adnet.decided') && !document.querySelector('[data-toast]')`

// registered is a fresh account that is logged in: its token and its id.
func (w *world) registered(t *testing.T, name string) (token, id string) {
	t.Helper()
	login := map[string]any{
		"email": fmt.Sprintf("owner@%s-%d.example", name, time.Now().UnixNano()), "password": "some words with spaces",
	}
	w.post(t, "", "/api/auth/register", login)
	var in struct {
		Token string
		User  struct{ ID string }
	}
	require.NoError(t, json.Unmarshal(w.post(t, "", "/api/auth", login), &in))
	return in.Token, in.User.ID
}

// sees fires the beacon of an impression as a reader's browser does.
func (w *world) sees(t *testing.T, address string) {
	t.Helper()
	beacon, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	beacon.Header.Set("User-Agent", browser.Agent)
	reply, err := http.DefaultClient.Do(beacon)
	require.NoError(t, err)
	reply.Body.Close()
	require.Less(t, reply.StatusCode, 300)
}
