package track

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

const (
	page   = "https://app.example.com"
	reader = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)

// freed records the budget that ads of browser keys release.
type freed struct{ all []traffic.Unseen }

func (f *freed) Seen(u *traffic.Unseen, _ time.Time) { f.all = append(f.all, *u) }

// pageAd is an auction of a browser key.
func pageAd(at time.Time) token.Auction {
	a := auction(at)
	a.IntegrationMethod, a.Browser = "js_snippet", true
	a.Asker = token.Asker{Key: 7, Network: 8, Held: 3 * money.USD / 1000}
	return a
}

func reportOf(f *fixture, a token.Auction) string {
	return `{"event":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` +
		f.Ring.Sign(token.PurposeReport, a) + `"}`
}

// A browser key can report events of the ads that its account requested with browser keys, from its
// pages.
func TestBrowserKeysReportTheirAds(t *testing.T) {
	f := newFixture(t)
	key := f.PageKey(page)
	post := func(path, body, origin string) *httptest.ResponseRecorder {
		return f.Do(http.MethodPost, path, body, "Authorization", "Bearer "+key, "Origin", origin, "User-Agent", reader)
	}
	w := post("/api/track", reportOf(f, pageAd(f.Now)), page)
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, page, w.Header().Get("Access-Control-Allow-Origin"))
	require.Empty(t, f.last().InvalidTraffic)

	foreign, secret := pageAd(f.Now), auction(f.Now)
	foreign.DeveloperID = uuid.New()
	taken := len(f.Log.Requests())
	for _, body := range []string{
		reportOf(f, foreign), reportOf(f, secret), `{"event":"impression","campaign_id":"` + campaignID.String() + `"}`,
		conversion(t, f.clickID(), nil),
	} {
		w := post("/api/track", body, page)
		ingresstest.RequireError(t, w, 403, "forbidden", "")
		require.Contains(t, post("/api/track?action=batch", `{"events":[`+body+`]}`, page).Body.String(), `"forbidden"`)
	}
	for _, origin := range []string{"null", "https://evil.example", "https://app.example.com.evil"} {
		w := post("/api/track", reportOf(f, pageAd(f.Now)), origin)
		require.Equal(t, 403, w.Code)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
	require.Len(t, f.Log.Requests(), taken, "nothing of it was recorded")
	w = f.Do(http.MethodPost, "/api/track", reportOf(f, auction(f.Now)), "Origin", page)
	require.Equal(t, 200, w.Code)
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "only with a key that names the page")

	require.Equal(
		t, 204,
		f.Do(http.MethodOptions, "/api/track", "", "Origin", page, "Access-Control-Request-Method", "POST").Code,
	)
	require.Equal(t, 403, f.Do(http.MethodOptions, "/api/track", "", "Origin", "https://evil.example").Code)
}

// Bodies of navigator.sendBeacon: without a key, and of a type that needs no preflight.
func TestBeaconBodies(t *testing.T) {
	f := newFixture(t)
	for _, kind := range []string{
		"text/plain;charset=UTF-8", "application/json", "", "application/octet-stream",
		"application/x-www-form-urlencoded",
	} {
		w := f.Do(
			http.MethodPost, "/api/track", reportOf(f, pageAd(f.Now)), "Content-Type", kind, "Origin", page,
			"User-Agent", reader,
		)
		require.Equal(t, 200, w.Code, "%s: %s", kind, w.Body)
		require.Equal(t, event.Proof_SIGNED, f.last().Proof)
		require.Empty(t, f.last().InvalidTraffic)
	}
	form := url.Values{
		"event": {"impression"}, "campaign_id": {campaignID.String()},
		"auction_id": {f.Ring.Sign(token.PurposeReport, pageAd(f.Now))}, "other": {"x"},
	}
	post := func(body string) *httptest.ResponseRecorder {
		return f.Do(
			http.MethodPost, "/api/track", body, "Content-Type", "application/x-www-form-urlencoded;charset=UTF-8",
			"User-Agent", reader,
		)
	}
	require.Equal(t, 200, post(form.Encode()).Code)
	require.Equal(t, event.Proof_SIGNED, f.last().Proof)
	for kind, body := range map[string]string{
		"text/plain":                            form.Encode(), // sendBeacon with a string
		"multipart/form-data; boundary=----xyz": parts("----xyz", form),
		"multipart/form-data":                   parts("----WebKitFormBoundaryA1", form), // set by the page itself
		`multipart/form-data; boundary="a b"`:   parts("a b", form),
		"":                                      "\ufeff" + reportOf(f, pageAd(f.Now)),
		"application/json":                      `{"consent":[],"session":7,"external_id":null,` + reportOf(f, pageAd(f.Now))[1:],
		"application/x-www-form-urlencoded; junk": form.Encode(),
	} {
		w := f.Do(http.MethodPost, "/api/track", body, "Content-Type", kind, "User-Agent", reader)
		require.Equal(t, 200, w.Code, "%s: %s", kind, w.Body)
		require.Equal(t, event.Proof_SIGNED, f.last().Proof, kind)
	}
	cut := parts("xyz", form)
	for _, body := range []string{cut[:len(cut)-20], "--xyz", "--", "--xyz\r\n", parts("zyx", form)} {
		w := f.Do(http.MethodPost, "/api/track", body, "Content-Type", "multipart/form-data; boundary=xyz")
		require.Equal(t, 400, w.Code, "%q: %s", body, w.Body)
	}
	ingresstest.RequireError(t, post(form.Encode()+"&event=click"), 400, "invalid_request", "event")
	ingresstest.RequireError(t, post("event=%zz"), 400, "invalid_request", "event_type")
	ingresstest.RequireError(t, post(""), 400, "invalid_request", "event_type")
}

// parts writes a form as multipart/form-data, with a file that no field is.
func parts(boundary string, form url.Values) string {
	var text strings.Builder
	for name := range form {
		fmt.Fprintf(
			&text, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, form.Get(name),
		)
	}
	fmt.Fprintf(
		&text, "--%s\r\nContent-Disposition: form-data; name=\"f\"; filename=\"event\"\r\n\r\n\x00\r\n--%s--\r\n",
		boundary, boundary,
	)
	return text.String()
}

// An ad of a browser key releases its budget when a reader saw it, and only once: a stranger can
// repeat a beacon in every form.
func TestSeenAdsGiveBackOnce(t *testing.T) {
	f := newFixture(t)
	back := &freed{}
	f.tracker.deps.Unseen = back
	ad := pageAd(f.Now)
	pixel := "/api/track?event=impression&auction_id=" + f.Ring.Sign(token.PurposeImpression, ad)
	for range 3 {
		require.Equal(t, 200, f.Do(http.MethodGet, pixel, "", "User-Agent", reader).Code)
		require.Equal(t, 200, f.Do(http.MethodPost, "/api/track", reportOf(f, ad), "User-Agent", reader).Code)
		require.Equal(
			t, 200,
			f.Do(
				http.MethodPost, "/api/track?action=batch", `{"events":[`+reportOf(f, ad)+`]}`, "User-Agent", reader,
			).Code,
		)
	}
	require.Equal(
		t,
		[]traffic.Unseen{{
			Ad: ad.AuctionID, Campaign: campaignID, Publisher: traffic.PublisherMark(developerID), Page: true, Key: 7,
			Network: 8, Surface: traffic.SurfaceOf("chat", ad.IntegrationMethod, true), Amount: 3 * money.USD / 1000,
		}},
		back.all,
	)

	f.Do(http.MethodPost, "/api/track", reportOf(f, pageAd(f.Now.Add(-2*time.Hour))), "User-Agent", reader) // expired
	f.Do(http.MethodPost, "/api/track", reportOf(f, pageAd(f.Now)), "User-Agent", "curl/8")                 // a tool is not a reader
	require.Len(t, back.all, 1)
}

// An ad of a secret key releases its budget once as well, whatever reports its impression. Without
// an amount in its token that is its price. A seat's ad releases that of its owner.
func TestSeenAdsOfServersGiveBackOnce(t *testing.T) {
	f := newFixture(t)
	back := &freed{}
	f.tracker.deps.Unseen = back
	ad := auction(f.Now)
	want := traffic.Unseen{
		Ad: ad.AuctionID, Campaign: campaignID, Publisher: traffic.PublisherMark(developerID),
		Surface: traffic.SurfaceOf("chat", "rest", false), Amount: ad.Price,
	}
	pixel := "/api/track?event=impression&auction_id=" + f.Ring.Sign(token.PurposeImpression, ad)
	for range 2 {
		require.Equal(t, 200, f.Do(http.MethodGet, pixel, "", "User-Agent", reader).Code)
		require.Equal(t, 200, f.Do(http.MethodPost, "/api/track", reportOf(f, ad), "User-Agent", reader).Code)
	}
	require.Equal(t, []traffic.Unseen{want}, back.all)

	clicks, seats := auction(f.Now), auction(f.Now)
	clicks.BillingModel, clicks.Asker.Held = "cpc", 700
	seats.Asker.Publisher, seats.IntegrationMethod = 9, traffic.MethodRTB
	for i, a := range []token.Auction{clicks, seats} {
		f.Do(
			http.MethodGet, "/api/track?event=impression&auction_id="+f.Ring.Sign(token.PurposeImpression, a), "",
			"User-Agent", reader,
		)
		require.Len(t, back.all, i+2)
	}
	require.Equal(t, money.Micros(700), back.all[1].Amount)
	require.Equal(t, uint32(9), back.all[2].Publisher)
	require.Equal(t, traffic.Bids, back.all[2].Surface)
}

// If views are billed, an ad of a browser key releases its budget with the view: with impressions
// alone a stranger could hold a campaign's daily budget.
func TestPaidViewsReleaseBudget(t *testing.T) {
	f := newFixture(t)
	back := &freed{}
	f.tracker.deps.Unseen = back
	ad := pageAd(f.Now)
	ad.BillingModel = "vcpm"
	for i, event := range []string{"impression", "viewable"} {
		text := f.Ring.Sign([]token.Purpose{token.PurposeImpression, token.PurposeViewable}[i], ad)
		require.Equal(
			t, 200,
			f.Do(
				http.MethodGet, "/api/track?event="+event+"&campaign_id="+campaignID.String()+"&auction_id="+text, "",
				"User-Agent", reader,
			).Code,
		)
		require.Len(t, back.all, i)
	}
}

// A view is recorded once, with the token of its own link. That token verifies nothing else, so its
// holder cannot cause other charges.
func TestViewable(t *testing.T) {
	f := newFixture(t)
	ad := pageAd(f.Now)
	text := f.Ring.Sign(token.PurposeViewable, ad)
	fire := func(event, text string) *event.Event {
		require.Equal(
			t, 200,
			f.Do(
				http.MethodGet, "/api/track?event="+event+"&campaign_id="+campaignID.String()+"&auction_id="+text, "",
				"User-Agent", reader,
			).Code,
		)
		if len(f.Log.Requests()) == 0 {
			return nil
		}
		return f.last()
	}
	for _, other := range []string{"impression", "click", "close"} {
		require.Nil(t, fire(other, text), other)
	}
	for _, purpose := range []token.Purpose{
		token.PurposeImpression, token.PurposeClick, token.PurposePlayback, token.PurposeReceipt,
	} {
		require.Nil(t, fire("viewable", f.Ring.Sign(purpose, ad)))
	}
	e := fire("viewable", text)
	require.Equal(t, event.Type_VIEWABLE, e.Type)
	require.Equal(t, event.Proof_SIGNED, e.Proof)
	require.Empty(t, e.InvalidTraffic)
	w := f.Do(
		http.MethodPost, "/api/track", strings.Replace(reportOf(f, ad), "impression", "viewable", 1), "User-Agent",
		reader,
	)
	require.Contains(t, w.Body.String(), `"deduped":true`)
	late := pageAd(f.Now.Add(-2 * time.Hour))
	require.Equal(t, event.Proof_EXPIRED, fire("viewable", f.Ring.Sign(token.PurposeViewable, late)).Proof)
}
