package browser_test

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A publisher blocks a word, and reads it again after a reload; the API has it, too.
func TestBlocksOfAPublisher(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	require.NoError(t, tab.Open(w.base+"/console/blocks"))
	require.NoError(
		t,
		tab.Do(
			chromedp.SendKeys(`textarea[name=words]`, "Zeppelin rides", chromedp.ByQuery),
			chromedp.Click(`form[data-form=blocks] .primary`, chromedp.ByQuery),
		),
	)
	require.NoError(
		t,
		tab.Await(
			`!!document.querySelector('.good') && document.querySelector('textarea[name=words]').value === 'zeppelin rides'`,
		),
	)
	require.NoError(t, tab.Open(w.base+"/console/blocks"))
	require.NoError(t, tab.Await(`document.querySelector('textarea[name=words]').value === 'zeppelin rides'`))
	token, _ := w.login(t, "publisher")
	var read struct{ Words []string }
	w.get(t, token, "/api/account/blocks", &read)
	require.Equal(t, []string{"zeppelin rides"}, read.Words)
	tab.Expect(`400 .*/api/account/blocks`)
	require.NoError(
		t,
		tab.Do(
			chromedp.SendKeys(`textarea[name=categories]`, "games", chromedp.ByQuery),
			chromedp.Click(`form[data-form=blocks] .primary`, chromedp.ByQuery),
		),
	)
	require.NoError(t, tab.Await(`!!document.querySelector('textarea[name=categories][aria-invalid]')`))
}

// A publisher allows a sensitive subject and reads it again; the form of the blocks, which keeps
// another setting of the same document, leaves it.
func TestSensitiveSubjectsOfAPublisher(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	require.NoError(t, tab.Open(w.base+"/console/suitability"))
	require.NoError(
		t,
		tab.Await(
			`document.body.innerText.includes('fewer than 100') && document.querySelector('[data-table=refusals]').innerText.includes('<10')`,
		),
	)
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('[data-part=never]').innerText.includes('Suicide') && !document.querySelector('input[value=suicide]')`,
		),
	)
	require.NoError(
		t,
		tab.Do(
			chromedp.Click(`input[value=grief]`, chromedp.ByQuery),
			chromedp.Click(`input[name=remember]`, chromedp.ByQuery),
			chromedp.Click(`form[data-form=sensitive] .primary`, chromedp.ByQuery),
		),
	)
	require.NoError(t, tab.Await(`!!document.querySelector('form[data-form=sensitive] .good')`))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Open(w.base+"/console/blocks"))
	require.NoError(t, tab.Await(`!!document.querySelector('form[data-form=floor]')`))
	require.NoError(t, tab.Do(chromedp.Click(`form[data-form=floor] .primary`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('form[data-form=floor] .good')`))
	require.NoError(t, tab.Open(w.base+"/console/suitability"))
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('input[value=grief]').checked && !document.querySelector('input[value=debt]').checked && !document.querySelector('input[name=remember]').checked`,
		),
	)
	token, _ := w.login(t, "publisher")
	var read struct {
		Contexts []string `json:"sensitive_contexts"`
		Remember bool
	}
	w.get(t, token, "/api/account/publishing", &read)
	require.Equal(t, []string{"grief"}, read.Contexts)
	require.False(t, read.Remember)
	require.Empty(t, tab.Problems())
}

// A campaign is copied, given dates, and says on its page that it has not started.
func TestCopyAndDates(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	id := w.first(t, tab)
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id))
	require.NoError(t, tab.Do(chromedp.Click(`[data-act="copy"]`, chromedp.ByQuery)))
	require.NoError(
		t,
		tab.Await(
			`location.pathname.endsWith('/edit') && !location.pathname.includes('`+id+
				`') && !!document.querySelector('input[name=start_at]')`,
		),
	)
	starts := time.Now().UTC().Add(48 * time.Hour).Format("2006-01-02T15:04")
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const f = document.querySelector('input[name=start_at]'); f.value = '`+starts+
				`'; f.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil,
		)),
	)
	require.NoError(t, tab.Do(chromedp.Click(`[data-act="save"]`, chromedp.ByQuery)))
	require.NoError(
		t, tab.Await(`!location.pathname.endsWith('/edit') && document.body.innerText.includes('Change the dates')`),
	)
	token, _ := w.login(t, "advertiser")
	var path string
	require.NoError(t, tab.Do(chromedp.Evaluate(`location.pathname.split('/').pop()`, &path)))
	var read struct {
		Campaign struct {
			Status  string
			StartAt time.Time `json:"start_at"`
		}
	}
	w.get(t, token, "/api/campaigns/"+path, &read)
	require.Equal(t, "draft", read.Campaign.Status)
	require.Equal(t, starts, read.Campaign.StartAt.Format("2006-01-02T15:04"))
	// The same chart by hours.
	require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id))
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const s = document.querySelector('select[name=step]'); s.value = 'hour'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil,
		)),
	)
	require.NoError(
		t, tab.Await(`document.body.innerText.includes('By hour') && !!document.querySelector('.plot canvas')`),
	)
	w.examine(t, tab, desk)
	require.Empty(t, tab.Problems())
}

// A publisher asks why an auction of its own went as it did: the price that won, and of the others
// how many there were.
func TestAnAuctionExplained(t *testing.T) {
	w := shared
	token, _ := w.login(t, "publisher")
	var created struct{ Key string }
	require.NoError(
		t,
		json.Unmarshal(w.post(t, token, "/api/keys", map[string]any{"kind": "publisher", "name": "explained"}), &created),
	)
	type sold struct {
		AuctionID string `json:"auction_id"`
	}
	var requests struct {
		sold
		Ad sold
	}
	require.NoError(
		t,
		json.Unmarshal(
			w.post(
				t, created.Key, "/v1/ad-request",
				map[string]any{"context": "how do I back up a postgres database to the cloud", "format": "card"},
			), &requests,
		),
	)
	id := cmp.Or(requests.AuctionID, requests.Ad.AuctionID)
	require.NotEmpty(t, id)
	tab := w.tab(t, "publisher", desk)
	require.Eventually(t, func() bool {
		require.NoError(t, tab.Open(w.base+"/console/auctions?id="+id))
		var text string
		require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('main').innerText`, &text)))
		return strings.Contains(text, "The request") && !strings.Contains(text, "not kept")
	}, 20*time.Second, 500*time.Millisecond)
	w.examine(t, tab, desk)
}

// A publisher turns its house ads on and off: the API says so, and where nothing is sold an own
// campaign is shown, or nothing.
func TestHouseAdsOfAPublisher(t *testing.T) {
	w := shared
	p := w.joins(t, "house")
	var campaign struct{ Campaign struct{ ID, Status string } }
	require.NoError(t, json.Unmarshal(w.post(t, p.token, "/api/campaigns?action=create", map[string]any{
		"advertiser_id": p.id, "format": "native", "headline": "Zeppelin rides",
		"subtext": "Slow flights above the lake", "cta_url": "https://zeppelin.example/",
	}), &campaign))
	require.Equal(t, "active", campaign.Campaign.Status)
	var created struct{ Key string }
	require.NoError(
		t, json.Unmarshal(w.post(t, p.token, "/api/keys", map[string]any{"kind": "publisher", "name": "house"}), &created),
	)
	type ad struct {
		ID    string `json:"ad_id"`
		House bool
		Label string `json:"disclosure_label"`
	}
	// Nothing is sold to a request that wants certainty.
	requests := func() *ad {
		var reply struct{ Ad *ad }
		require.NoError(
			t,
			json.Unmarshal(
				w.post(t, created.Key, "/v1/ad-request", map[string]any{"context": "a zeppelin ride", "min_relevance": 1}),
				&reply,
			),
		)
		return reply.Ad
	}
	turned := func(on bool) {
		t.Helper()
		require.NoError(t, p.tab.Open(w.base+"/console/blocks"))
		box := `document.querySelector('input[name=house_ads]')`
		require.NoError(t, p.tab.Await(box+`?.checked === `+strconv.FormatBool(!on)))
		require.NoError(
			t,
			p.tab.Do(
				chromedp.Click(`input[name=house_ads]`, chromedp.ByQuery),
				chromedp.Click(`form[data-form=floor] .primary`, chromedp.ByQuery),
			),
		)
		require.NoError(
			t,
			p.tab.Await(
				`!!document.querySelector('form[data-form=floor] .good') && `+box+`.checked === `+
					strconv.FormatBool(on),
			),
		)
		var says struct {
			House bool `json:"house_ads"`
		}
		w.get(t, p.token, "/api/account/publishing", &says)
		require.Equal(t, on, says.House)
	}
	require.Nil(t, requests())
	turned(true)
	w.examine(t, p.tab, desk)
	want := &ad{ID: campaign.Campaign.ID, House: true, Label: "House ad"}
	require.Eventually(
		t, func() bool { displayed := requests(); return displayed != nil && *displayed == *want }, 10*time.Second,
		100*time.Millisecond,
	)
	turned(false)
	require.Eventually(t, func() bool { return requests() == nil }, 10*time.Second, 100*time.Millisecond)
	require.Empty(t, p.tab.Problems())
}
