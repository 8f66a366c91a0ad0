package serve

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/token"
)

const page = "https://app.example.com"

// cors lists the headers by which a page could read a reply.
func cors(w *httptest.ResponseRecorder) (names []string) {
	for name := range w.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			names = append(names, name)
		}
	}
	return names
}

// lookAlikes are pages outside the key's origins.
var lookAlikes = []string{
	"", "null", "https://app.example.com.evil", "http://app.example.com", "https://app.example.com:8443",
	"https://evil.example", "https://example.com",
	"https://app.example.com/", "HTTPS://APP.EXAMPLE.COM",
}

// A browser key works only on pages of its origins, and only they may read the reply. A secret key
// never works on pages.
func TestBrowserKeysOnTheirPages(t *testing.T) {
	f := newFixture(t, 0)
	key, other := f.PageKey(page, "https://*.shop.example.com"), f.PageKey("https://other.example")
	ask := func(key, origin, body string) *httptest.ResponseRecorder {
		if origin == "" {
			return f.send(body, "Authorization", "Bearer "+key)
		}
		return f.send(body, "Authorization", "Bearer "+key, "Origin", origin)
	}
	const body = `{"context":"chess"}`
	for _, origin := range []string{page, "https://a.shop.example.com"} {
		w := ask(key, origin, body)
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, []string{origin}, w.Header().Values("Access-Control-Allow-Origin"))
		require.Equal(t, "Origin", w.Header().Get("Vary"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
		require.Equal(
			t, origin, ask(key, origin, `{`).Header().Get("Access-Control-Allow-Origin"), "a page reads its errors",
		)
	}
	for _, origin := range append(lookAlikes, "https://other.example", "https://shop.example.com") {
		w := ask(key, origin, body)
		ingresstest.RequireError(t, w, 403, "forbidden", "")
		require.Empty(t, cors(w), origin)
	}
	require.Equal(t, 200, ask(other, "https://other.example", body).Code)
	twice := httptest.NewRequest("POST", "/v1/ad-request", strings.NewReader(body))
	twice.Header = http.Header{"Authorization": {"Bearer " + key}, "Origin": {page, page}}
	require.Equal(t, 403, f.Send(t, twice).Code)

	unknown, _, err := account.GenerateKey(account.KindBrowser)
	require.NoError(t, err)
	for _, wrong := range []string{unknown, key[:len(key)-1] + "_", f.Key(account.KindConversion)} {
		w := ask(wrong, page, body)
		require.Equal(t, 401, w.Code)
		require.Empty(t, cors(w))
	}
	for _, secret := range []string{f.key, account.PublicSandboxKey} {
		w := ask(secret, page, body)
		require.Equal(t, 200, w.Code)
		require.Empty(t, cors(w), "no page reads what a secret key gets")
	}
}

func TestPreflight(t *testing.T) {
	f := newFixture(t, 0)
	f.PageKey(page, "https://*.shop.example.com")
	preflight := func(origin string) *httptest.ResponseRecorder {
		header := []string{
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type",
		}
		if origin != "" {
			header = append(header, "Origin", origin)
		}
		return f.Do(http.MethodOptions, "/v1/ad-request", "", header...)
	}
	for _, origin := range []string{page, "https://x.shop.example.com"} {
		w := preflight(origin)
		require.Equal(t, 204, w.Code, w.Body)
		require.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"))
		require.Equal(t, "POST", w.Header().Get("Access-Control-Allow-Methods"))
		require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Authorization")
		require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "7200", w.Header().Get("Access-Control-Max-Age"))
	}
	for _, origin := range append(lookAlikes, "https://shop.example.com") {
		w := preflight(origin)
		require.Equal(t, 403, w.Code, origin)
		require.Empty(t, cors(w), origin)
	}
	f.PageKey("https://late.example")
	require.Equal(t, 204, preflight("https://late.example").Code)
}

// token reads what the ad's links say of the auction.
func (f *fixture) auction(w *httptest.ResponseRecorder) token.Auction {
	f.T.Helper()
	var r reply
	require.NoError(f.T, json.Unmarshal(w.Body.Bytes(), &r))
	require.NotNil(f.T, r.Ad, w.Body)
	auction, err := f.Ring.Verify(token.PurposeReport.Only(), r.Ad.AuctionID, f.Now)
	require.NoError(f.T, err)
	return auction
}

// The rules for readers' browsers apply to a page's ads, whatever its request contains.
func TestBrowserAdsAreTheReaders(t *testing.T) {
	f := newFixture(t, 0)
	key := f.PageKey(page)
	for method, want := range map[string]string{
		"": "js_snippet", "rest": "js_snippet", "js_snippet": "js_snippet", "npm_sdk": "npm_sdk",
	} {
		auction := f.auction(f.send(
			fmt.Sprintf(`{"context":"chess","integration_method":%q}`, method), "Authorization", "Bearer "+key,
			"Origin", page,
		))
		require.Equal(t, want, auction.IntegrationMethod, method)
		require.True(t, auction.Browser)
		require.Equal(t, money.Micros(auction.Price), auction.Holds())
		mark := f.Ring.Network(token.NetworkOfAd, auction.CampaignID, day.Of(f.Now), "192.0.2.0/24")
		require.Equal(t, binary.BigEndian.Uint32(mark[:]), auction.Asker.Network, "the mark of the network is keyed")
	}
	require.False(t, f.auction(f.send(`{"context":"chess"}`, "Authorization", "Bearer "+f.key)).Browser)
}

// A caller that requests ads with a page's key without showing them holds at most a hundredth of
// the campaign's daily budget.
func TestBrowserKeysHoldAHundredthUnseen(t *testing.T) {
	f := newFixture(t, 0)
	f.Shelf.Daily = 5 * money.USD // 50,000 micro-USD may be held
	first, second := f.PageKey(page), f.PageKey(page)
	ask := func(key, address string) *httptest.ResponseRecorder {
		r := ingresstest.Request(
			"POST", "/v1/ad-request", `{"context":"chess"}`, "Authorization", "Bearer "+key, "Origin", page,
		)
		r.RemoteAddr = address + ":1"
		return f.Send(t, r)
	}
	sold := money.Micros(0)
	for !strings.Contains(ask(first, "192.0.2.7").Body.String(), `"reason":"unseen"`) {
		sold += f.price()
		require.LessOrEqual(t, sold, f.Shelf.Daily/100)
	}
	require.Greater(t, sold+f.price(), f.Shelf.Daily/100, "all of it")
	require.Contains(t, ask(second, "192.0.2.8").Body.String(), "unseen", "the same network")
	require.Contains(t, ask(first, "198.51.100.1").Body.String(), "unseen", "the same key")
	require.Contains(t, ask(second, "198.51.100.1").Body.String(), "headline")
	require.Contains(
		t, f.send(`{"context":"chess"}`, "Authorization", "Bearer "+f.key).Body.String(), "headline",
		"the account's other keys",
	)
	f.Now = f.Now.Add(62 * time.Minute)
	require.Contains(t, ask(first, "192.0.2.7").Body.String(), "headline", "reservations have ended")
}

// price is what an impression of the shelf's campaign costs.
func (f *fixture) price() money.Micros {
	return f.auction(f.send(`{"context":"chess"}`, "Authorization", "Bearer "+f.key)).Price
}

func TestBrowserLimitsAreApart(t *testing.T) {
	f := newFixture(t, 3)
	rate, err := limits.New(limits.Config{PerMinute: 3, Browser: 2}, limits.Deps{})
	require.NoError(t, err)
	f.limiter.Limits = rate
	key := f.PageKey(page)
	ask := func() *httptest.ResponseRecorder {
		return f.send(`{"context":"chess"}`, "Authorization", "Bearer "+key, "Origin", page)
	}
	require.Equal(t, 200, ask().Code)
	require.Equal(t, 200, ask().Code)
	limited := ask()
	require.Equal(t, 429, limited.Code)
	require.Equal(t, page, limited.Header().Get("Access-Control-Allow-Origin"))
	require.NotEmpty(t, limited.Header().Get("Retry-After"))
	for range 3 {
		require.Equal(t, 200, f.send(`{"context":"chess"}`, "Authorization", "Bearer "+f.key).Code)
	}
}
