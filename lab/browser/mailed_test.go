package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Strangers guess an owner's password from many networks. On the road, from a network that the
// account does not know, the right password alone is refused; the login then has a field for the
// link of a mail, and both together open the console.
func TestMailedLinkSignsIn(t *testing.T) {
	w, links := logging(t, "--rate-bad-logins", "2", "--trusted-proxies", "127.0.0.1/32")
	const email, password = "owner@brewer-shop.example", "some words with spaces"
	from := func(address, path, password string) int {
		body := fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Forwarded-For", address)
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		return reply.StatusCode
	}
	require.Equal(t, http.StatusCreated, from("192.0.2.1", "/api/auth/register", password))
	for i := range 40 { // twenty times the limit of a network
		require.Equal(
			t, http.StatusUnauthorized, from(fmt.Sprintf("198.51.%d.1", i), "/api/auth", "battery staple wins"), i,
		)
	}

	tab := w.tab(t, "", desk)
	tab.Expect(`429 .*/api/auth/login`)
	require.NoError(t, tab.Open(w.base+"/"))
	require.NoError(t, tab.Do(
		chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=password]`, password+"\r", chromedp.ByQuery),
		chromedp.WaitVisible(`input[name=mailed]`, chromedp.ByQuery),
	))
	w.examine(t, tab, desk)
	w.post(t, "", "/api/auth/forgot", map[string]any{"email": email})
	require.NoError(t, tab.Do(chromedp.SendKeys(`input[name=mailed]`, logged(t, links)+"\r", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`location.pathname === '/console/overview'`))
	require.NoError(t, tab.Settle())
}
