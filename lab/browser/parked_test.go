package browser_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/internal/payment/stripe/stripetest"
)

// stripeSecret signs the deliveries of Stripe to the world.
const stripeSecret = "whsec_of_the_browser_tests"

// stripe delivers an event as Stripe does.
func (w *world) stripe(t *testing.T, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/api/billing/webhook",
		strings.NewReader(body))
	require.NoError(t, err)
	r.Header = stripetest.Sign(body, stripeSecret, time.Now())
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Contains(t, string(text), `"parked"`)
}

// An administrator credits the amount of an event without a known effect to an account, and
// dismisses another one.
func TestParkedEventsAreDecided(t *testing.T) {
	w := shared
	token, payer := w.login(t, "advertiser")
	balance := func() (amount float64) {
		var reply struct {
			Balance float64 `json:"balance"`
		}
		w.get(t, token, "/api/billing/balance", &reply)
		return reply.Balance
	}
	before := balance()
	for _, id := range []string{"evt_parked_first", "evt_parked_second"} {
		w.stripe(t, `{"id":"`+id+`","type":"treasury.unheard_of","livemode":false,"data":{"object":{"id":"tr_`+id+
			`","amount":1234,"currency":"usd"}}}`)
	}
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/cases"))
	require.NoError(t, tab.Await(`document.querySelectorAll('[data-parked]').length === 2`))
	form := `[data-parked]:first-of-type [data-form=parked] `
	open := chromedp.Click(`[data-parked]:first-of-type summary`, chromedp.ByQuery)
	require.NoError(t, tab.Do(
		open, chromedp.SendKeys(form+`[name=account_id]`, payer, chromedp.ByQuery),
		chromedp.SendKeys(form+`[name=note]`, "A transfer of the bank.", chromedp.ByQuery),
	))
	w.examine(t, tab, desk)
	require.NoError(t, tab.Do(chromedp.Click(form+`button`, chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelectorAll('[data-parked]').length === 1`))
	require.InDelta(t, before+12.34, balance(), 1e-6)

	require.NoError(t, tab.Do(
		open, chromedp.SetValue(form+`select`, "dismiss", chromedp.ByQuery),
		chromedp.Evaluate(
			`document.querySelector('`+form+`select').dispatchEvent(new Event('change', {bubbles: true}))`, nil,
		),
		chromedp.SendKeys(form+`[name=note]`, "It moved nothing.", chromedp.ByQuery),
		chromedp.Click(form+`button`, chromedp.ByQuery),
	))
	require.NoError(t, tab.Await(`document.querySelectorAll('[data-parked]').length === 0`))
	require.InDelta(t, before+12.34, balance(), 1e-6)
}
