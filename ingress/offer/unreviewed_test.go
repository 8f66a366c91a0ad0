package offer_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
)

func TestModelsReadApprovedTextsOnly(t *testing.T) {
	store, auth := doors()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, store, auth, options{unreviewed: campaign.Pages})
		defer w.stop()
		w.spend(func(*reserve.Room) {}) // pages are served only with a known budget
		page := w.key(account.KindBrowser)
		w.models = true
		read := w.key(account.KindBrowser)
		ask := func(key, method string) string {
			body := `{"context":"chess lessons for beginners","integration_method":"` + method + `"}`
			return w.send("/v1/ad-request", key, body).Body.String()
		}
		state := func(edit func(*campaign.Campaign)) {
			w.change(func(c *campaign.Campaign) {
				c.FrequencyCap = 0
				edit(c)
			})
		}
		const unfilled = `"reason":"no_match"`
		state(func(*campaign.Campaign) {})
		for _, method := range []string{"rest", "js_snippet", "npm_sdk"} {
			require.Contains(t, ask(w.publisher, method), unfilled, "a statement of the body does not count")
			require.Contains(t, ask(read, method), unfilled)
			require.Contains(t, ask(page, method), "Chess lessons")
		}
		require.Equal(t, "no_match", askMCP(w, query{}).reason)
		require.True(t, askRTB(w, query{}).filled)

		before := campaign.Creative{
			Format: campaign.Image, Headline: "Chess for all", CTAURL: "https://shop.example/old",
			MediaURL: "https://cdn.shop.example/o.png",
		}
		state(func(c *campaign.Campaign) { c.Approved = &before })
		require.Contains(t, ask(page, "rest"), "Chess lessons")
		for _, got := range []string{ask(w.publisher, "rest"), ask(read, "js_snippet")} {
			require.Contains(t, got, "Chess for all")
			require.NotContains(t, got, "Chess lessons")
		}
		require.True(t, askMCP(w, query{}).filled)
		require.Contains(t, w.last, "Chess for all")
		require.Zero(t, strings.Count(w.last, "Chess lessons"))

		state(func(c *campaign.Campaign) { c.Reviewed = true })
		require.Contains(t, ask(w.publisher, "rest"), "Chess lessons")
	})
}
