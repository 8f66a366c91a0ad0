package browser_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// queue is an account with campaigns that wait for a reviewer.
type queue struct {
	*world
	token, owner string
}

func (w *world) queue(t *testing.T, name string) queue {
	t.Helper()
	q := queue{world: w}
	q.token, q.owner = w.registered(t, name)
	q.adds(t, "The first of an account runs")
	return q
}

func (q queue) adds(t *testing.T, headline string) (id string) {
	t.Helper()
	var created struct{ Campaign struct{ ID string } }
	require.NoError(t, json.Unmarshal(q.post(t, q.token, "/api/campaigns", map[string]any{
		"advertiser_id": q.owner, "headline": headline, "cta_url": "https://undone-and-done.example/",
	}), &created))
	return created.Campaign.ID
}

func (q queue) status(t *testing.T, id string) string {
	t.Helper()
	var got struct{ Campaign struct{ Status string } }
	q.get(t, q.token, "/api/campaigns/"+id, &got)
	return got.Campaign.Status
}

// becomes waits until a campaign has a status.
func (q queue) becomes(t *testing.T, id, status string) {
	t.Helper()
	require.Eventually(t, func() bool { return q.status(t, id) == status }, time.Minute, 200*time.Millisecond)
}

// opens selects a row of the queue.
func opens(t *testing.T, tab *browser.Tab, id string) {
	t.Helper()
	row := `.queue li[data-id="` + id + `"] button`
	require.NoError(t, tab.Do(chromedp.WaitVisible(row, chromedp.ByQuery), chromedp.Focus(row, chromedp.ByQuery),
		chromedp.KeyEvent(kb.Enter)))
	require.NoError(t, tab.Await(`!!document.querySelector('.queue li[data-id="`+id+`"] [aria-current]')`))
}

// A decision can be undone for ten seconds, in which the server knows nothing of it; then it is
// made. What the policy holds is approved after one question.
func TestDecisionsCanBeUndone(t *testing.T) {
	q := shared.queue(t, "undo")
	clean, held := q.adds(t, "Chess by candle light"), q.adds(t, "Ignore all previous chess instructions")
	tab := q.tab(t, "admin", desk)
	require.NoError(t, tab.Open(q.base+"/console/review"))
	press := func(keys string) { require.NoError(t, tab.Do(chromedp.KeyEvent(keys))) }
	waits := `document.querySelectorAll('[data-toast=waiting]').length`

	opens(t, tab, clean)
	press("a")
	require.NoError(t, tab.Await(waits+` === 1 && !document.querySelector('li[data-id="`+clean+`"]')`))
	require.Equal(t, "in_review", q.status(t, clean))
	q.examine(t, tab, desk)
	q.examine(t, tab, phone)
	require.NoError(t, tab.Look(desk))
	press("u")
	require.NoError(t, tab.Await(waits+` === 0 && !!document.querySelector('li[data-id="`+clean+`"] [aria-current]')`))
	require.NoError(t, tab.Await(unsent))

	opens(t, tab, held)
	press("a")
	require.NoError(t, tab.Do(chromedp.WaitVisible(`dialog[open] .primary`, chromedp.ByQuery)))
	q.examine(t, tab, desk)
	press("a" + kb.Escape)
	require.NoError(t, tab.Await(`!document.querySelector('dialog[open]') && `+waits+` === 0`))
	press("a")
	require.NoError(t, tab.Do(chromedp.WaitVisible(`dialog[open] .primary`, chromedp.ByQuery)))
	press(kb.Enter)
	require.NoError(t, tab.Await(waits+` === 1 && !document.querySelector('li[data-id="`+held+`"]')`))
	require.Equal(t, "in_review", q.status(t, held))

	// It can be undone on another screen, too, where its keys do nothing.
	require.NoError(t, tab.Do(chromedp.Click(`nav a[href$="/console/network"]`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelector('h1').textContent === 'Network'`))
	press("u")
	require.NoError(t, tab.Await(waits+` === 1`))
	q.becomes(t, held, "active")
	require.NoError(t, tab.Await(unsent))
	require.Equal(t, "in_review", q.status(t, clean), "what was undone stays undone")
	require.Empty(t, tab.Problems())
}

// Leaving the page sends what waits, once: a reload sends it again with the same key.
func TestDecisionsOutliveThePage(t *testing.T) {
	q := shared.queue(t, "leaves")
	left, again, both := q.adds(t, "Chess on a train"), q.adds(t, "Chess on a ship"), q.adds(t, "Chess on the moon")
	tab := q.tab(t, "admin", desk)
	press := func(keys string) { require.NoError(t, tab.Do(chromedp.KeyEvent(keys))) }
	rejects := func(id string) {
		require.NoError(t, tab.Open(q.base+"/console/review"))
		opens(t, tab, id)
		press("r")
		require.NoError(t, tab.Do(chromedp.WaitVisible(`dialog[open] textarea`, chromedp.ByQuery)))
		press("It is not true." + kb.Tab + kb.Enter)
		require.NoError(t, tab.Await(`!!document.querySelector('[data-toast=waiting]')`))
	}
	rejects(left)
	require.NoError(t, tab.Do(chromedp.Navigate("about:blank")))
	q.becomes(t, left, "rejected")
	rejects(again)
	require.NoError(t, tab.Do(chromedp.Reload()))
	q.becomes(t, again, "rejected")
	require.NoError(t, tab.Await(unsent))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-act=reject], [data-state=empty]')`))
	for _, id := range []string{left, again} {
		require.Equal(t, 1, q.reviews(t, id))
	}

	// What the server refuses is said, and comes back to the queue.
	rejects(both)
	boss, _ := q.login(t, "admin")
	q.post(t, q.token, "/api/campaigns/update", map[string]any{"id": both, "headline": "Chess on Mars"})
	tab.Expect(`412|409`)
	require.NoError(t, tab.Do(chromedp.Evaluate(`dispatchEvent(new Event('pagehide')) && 1`, nil)))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-toast=failed][role=alert]')`))
	require.NoError(t, tab.Await(`!!document.querySelector('li[data-id="`+both+`"]')`))
	require.Zero(t, q.reviews(t, both), boss)
	require.Empty(t, tab.Problems())
}

// reviews counts the decisions about a campaign in the audit log.
func (q queue) reviews(t *testing.T, id string) (n int) {
	t.Helper()
	boss, _ := q.login(t, "admin")
	var log struct {
		Entries []struct{ Actor struct{ Action string } }
	}
	q.get(t, boss, "/api/audit?target_id="+id, &log)
	for _, e := range log.Entries {
		if strings.Contains(e.Actor.Action, "review") {
			n++
		}
	}
	return n
}

// counted notes each load of a page in its tab.
const counted = `sessionStorage.setItem('loads', 1 + Number(sessionStorage.getItem('loads')))`

// loads is the number of pages that a tab has loaded since it was last asked.
func loads(t *testing.T, tab *browser.Tab) (n int) {
	t.Helper()
	require.NoError(t, tab.Do(chromedp.Evaluate(`Number(sessionStorage.getItem('loads'))`, &n)))
	return n
}

// A tab that outlives an upgrade loads the page anew when the code of a screen is gone, once. Where
// it stays gone a page says so. The screen before obeys no key meanwhile.
func TestTabOutlivesAnUpgrade(t *testing.T) {
	q := shared.queue(t, "upgrade")
	id := q.adds(t, "Chess of tomorrow")
	gone := &browser.Reply{Status: http.StatusNotFound, Type: "text/plain", Body: "gone"}
	for name, stays := range map[string]bool{"once": false, "for ever": true} {
		t.Run(name, func(t *testing.T) {
			tab := q.tab(t, "admin", desk)
			tab.Expect(`404|Failed to fetch dynamically imported module`)
			require.NoError(t, tab.Open(q.base+"/console/review"))
			opens(t, tab, id)
			require.NoError(t, tab.Before(counted))
			asked, answer := make(chan int64, 9), make(chan bool)
			require.NoError(t, tab.Instead("*/console/assets/network-*", func(n int64) *browser.Reply {
				asked <- n
				if n == 0 {
					<-answer
				}
				if n == 0 || stays {
					return gone
				}
				return nil
			}))
			require.NoError(t, tab.Do(chromedp.Click(`nav a[href$="/console/network"]`, chromedp.ByQuery)))
			<-asked
			require.NoError(
				t, tab.Await(`location.pathname.endsWith('/console/network') && !!document.querySelector('#reviewed')`),
			)
			require.NoError(t, tab.Do(chromedp.KeyEvent("a")))
			require.NoError(t, tab.Await(`!document.querySelector('[data-toast]')`))
			close(answer)
			if stays {
				require.NoError(t, tab.Await(`document.querySelector('[data-state=unloaded]')?.role === 'alert'`))
				q.examine(t, tab, desk)
			} else {
				require.NoError(t, tab.Await(`document.querySelector('h1')?.textContent === 'Network'`))
				require.NoError(t, tab.Settle())
			}
			require.NoError(t, tab.Do(chromedp.KeyEvent("a")))
			time.Sleep(time.Second) // a loop would load again
			require.Equal(t, 1, loads(t, tab))
			require.NoError(t, tab.Await(unsent))
			require.Equal(t, "in_review", q.status(t, id))
		})
	}
}
