package track

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// counted returns how many events of campaignID were counted for a reason.
func (f *fixture) counted(reason string) (n int64) {
	f.tracker.unproven.mu.Lock()
	defer f.tracker.unproven.mu.Unlock()
	for key, c := range f.tracker.unproven.counts {
		if key.reason == reason && key.campaign == campaignID {
			n += c.Events
		}
	}
	return n
}

// stored is a store of counts.
type stored struct {
	err  error
	sums map[string]int64
	rows []traffic.Unproven
}

func (k *stored) AddUnproven(_ context.Context, counts []traffic.Unproven) error {
	if k.err != nil {
		return k.err
	}
	for _, c := range counts {
		k.sums[c.CampaignID.String()+" "+c.Reason] += c.Events
	}
	k.rows = append(k.rows, counts...)
	return nil
}

// Ten thousand events of a stranger in batches, each with different words: no record, no mark, two
// counts, ten samples.
func TestUnverifiedEventsAreNotStored(t *testing.T) {
	f := newFixture(t)
	store := &stored{sums: map[string]int64{}}
	f.tracker.deps.Unproven = store
	for b := range 20 {
		var events []string
		for i := range 500 {
			campaign, signed := campaignID.String(), ""
			if i%2 == 1 {
				signed = `"auction_id":"forged",`
			}
			if i%10 == 9 {
				campaign = uuid.NewString() // one that does not exist
			}
			events = append(events,
				fmt.Sprintf(`{"event":"impression",%s"campaign_id":"%s","format":"w%d","integration_method":"m%d","dev":"%s"}`,
					signed, campaign, b*500+i, i, uuid.New()))
		}
		w := f.Do(http.MethodPost, "/api/track?action=batch", `{"events":[`+strings.Join(events, ",")+`]}`)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.JSONEq(t, `{"tracked":500}`, w.Body.String())
	}
	require.Empty(t, f.Log.Requests(), "no record")
	require.Empty(t, f.seen.keys, "no mark")
	f.tracker.FlushUnproven(t.Context())
	require.Equal(t, map[string]int64{
		campaignID.String() + " unsigned": 5_000, campaignID.String() + " bad_signature": 4_000,
		uuid.Nil.String() + " bad_signature": 1_000,
	}, store.sums)
	require.Len(t, store.rows, 3, "one for each campaign, reason and minute")
	samples := 0
	for _, row := range store.rows {
		require.Equal(t, day.MinuteOf(f.Now), row.Minute)
		if row.Sample != nil {
			samples++
			require.Equal(t, "impression", row.Sample.Type)
			require.Empty(t, row.Sample.Format, "a word of no list")
			require.Empty(t, row.Sample.Method)
		}
	}
	require.Equal(t, 1, samples, "one of a thousand, and the newest of a row")
}

// Memory and rows are bounded for any number of campaigns and minutes, even during an outage of the
// store.
func TestCountsOfStrangersAreBounded(t *testing.T) {
	f := newFixture(t)
	store := &stored{err: ingresstest.ErrDown, sums: map[string]int64{}}
	f.tracker.deps.Unproven = store
	u := &f.tracker.unproven
	const events = 10_000
	for i := range events {
		u.note(traffic.Unproven{
			CampaignID: uuid.New(), Reason: traffic.ReasonUnsigned, Minute: day.Minute(i / 1_000), Events: 1,
		})
		if i%1_000 == 0 {
			f.tracker.FlushUnproven(t.Context())
		}
		require.LessOrEqual(t, len(u.counts), 2*unprovenMost)
	}
	store.err = nil
	f.tracker.FlushUnproven(t.Context())
	total := int64(0)
	for _, n := range store.sums {
		total += n
	}
	require.EqualValues(t, events, total, "none is forgotten")
	require.LessOrEqual(t, len(store.rows), 2*unprovenMost)
}

func TestStrangersAreLimitedByAddress(t *testing.T) {
	f := newFixture(t)
	rates, err := limits.New(limits.Config{Unproven: 10}, limits.Deps{Now: func() time.Time { return f.Now }})
	require.NoError(t, err)
	f.tracker.deps.Strangers = rates
	send := func(address, auction string) int {
		r := ingresstest.Request(
			http.MethodGet, "/api/track?event=impression&campaign_id="+campaignID.String()+"&auction_id="+auction, "",
		)
		r.RemoteAddr = address
		w := f.Send(t, r)
		if w.Code == http.StatusTooManyRequests {
			require.NotEmpty(t, w.Header().Get("Retry-After"))
		}
		return w.Code
	}
	for range 10 {
		require.Equal(t, http.StatusOK, send("203.0.113.1:1", "forged"))
	}
	require.Equal(t, http.StatusTooManyRequests, send("203.0.113.1:1", "forged"))
	require.Equal(t, http.StatusTooManyRequests, send("203.0.113.1:1", ""))
	require.Equal(t, http.StatusOK, send("203.0.113.1:1", f.token()), "what is proven is never refused")
	require.Equal(t, http.StatusOK, send("203.0.113.2:1", "forged"), "another address")
	batch := `{"events":[{"event":"impression","campaign_id":"` + campaignID.String() +
		`"},{"event":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() + `"}]}`
	r := ingresstest.Request(http.MethodPost, "/api/track?action=batch", batch)
	r.RemoteAddr = "203.0.113.1:1"
	w := f.Send(t, r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `"tracked":1`)
	require.Contains(t, w.Body.String(), `"code":"rate_limited"`)
}

// Conversion types from others than the advertiser are limited to a list.
func TestConversionTypesAreAList(t *testing.T) {
	f := newFixture(t)
	own := f.login(advertiserID, uuid.New())
	for kind, want := range map[string]string{"Purchase": "purchase", "w4711": "other", "": ""} {
		body := conversion(t, f.clickID(), map[string]any{"conversion_type": kind})
		require.Equal(t, http.StatusOK, f.Do(http.MethodPost, "/api/track", body).Code)
		require.Equal(t, want, f.last().Conversion.Type)
		require.Equal(t, http.StatusOK, f.Do(http.MethodPost, "/api/track", body, "Authorization", "Bearer "+own).Code)
		require.Equal(t, strings.ToLower(kind), f.last().Conversion.Type, "the advertiser's own")
	}
}

// A link leads to the page that was approved when its ad was shown, even if the campaign changes
// later.
func TestALinkLeadsToThePageThatWasApproved(t *testing.T) {
	f := newFixture(t)
	a := auction(f.Now.Add(-time.Second))
	a.Landing = landing
	link := "/s/" + f.Ring.Sign(token.PurposeClick, a)
	changed, _ := f.Shelf.Creative(campaignID)
	changed.CTAURL = "https://phishing.example/"
	changed.ClickID = campaign.ClickIDOff
	f.Shelf.Put(*changed)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := f.Do(method, link, "")
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, landing, w.Header().Get("Location"))
	}
}

// A header is ASCII, so the page is a URI of RFC 3986 there. Its encodings stay.
func TestALinkIsARedirectToAURI(t *testing.T) {
	f := newFixture(t)
	for page, want := range map[string]string{
		"https://läden.example/käse?x=ä&y=%C3%A4&z=a b|c#ö": "https://xn--lden-loa.example/" +
			"k%C3%A4se?x=%C3%A4&y=%C3%A4&z=a%20b%7Cc&adnet_click=ID#%C3%B6",
		"https://shop.example/?q=\"{<>}\"&r[]=100%": "https://shop.example/" +
			"?q=%22%7B%3C%3E%7D%22&r%5B%5D=100%25&adnet_click=ID",
	} {
		a := auction(f.Now.Add(-time.Second))
		a.Landing = page
		location := f.Do(http.MethodGet, "/s/"+f.Ring.Sign(token.PurposeClick, a), "").Header().Get("Location")
		require.Equal(t, want, regexp.MustCompile(`adnet_click=[^&#]+`).ReplaceAllString(location, "adnet_click=ID"))
	}
}
