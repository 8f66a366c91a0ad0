package track

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/track/spool"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/schemas/event"
)

func TestEventsGoToKafkaOrTheSpool(t *testing.T) {
	for name, c := range map[string]struct {
		producer, spool *ingresstest.Sink
		wait            time.Duration
		status, spooled int
	}{
		"Kafka has it": {
			&ingresstest.Sink{}, &ingresstest.Sink{Err: ingresstest.ErrDown}, time.Minute, 200, 0,
		},
		"Kafka refuses it": {
			&ingresstest.Sink{Err: ingresstest.ErrDown}, &ingresstest.Sink{}, time.Minute, 200, 1,
		},
		"Kafka is late": {
			&ingresstest.Sink{Silent: true}, &ingresstest.Sink{}, time.Millisecond, 200, 1,
		},
		"neither takes it": {
			&ingresstest.Sink{Err: ingresstest.ErrDown}, &ingresstest.Sink{Err: ingresstest.ErrDown}, time.Minute, 503,
			1,
		},
		"late and the spool is broken": {
			&ingresstest.Sink{Silent: true}, &ingresstest.Sink{Err: ingresstest.ErrDown}, time.Millisecond, 503, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range []string{http.MethodGet, http.MethodPost} {
				f := newFixture(t, func(cfg *Config) { cfg.AckWait = c.wait })
				spool := &ingresstest.Sink{Err: c.spool.Err}
				f.tracker.recorder.producer, f.tracker.recorder.spool = c.producer, spool
				body := `{"event":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() +
					`"}`
				w := f.Do(form, "/api/track?event=impression&auction_id="+f.token(), body)
				require.Equal(t, c.status, w.Code)
				require.Len(t, spool.Requests(), c.spooled)
				require.Equal(t, c.status == 200, f.tracker.CanRecord(t.Context()))
				if c.status == 200 {
					continue
				}
				ingresstest.RequireError(t, w, 503, string(errs.Unavailable), "")
				require.Equal(t, "2", w.Header().Get("Retry-After"))
				require.NotContains(t, w.Body.String(), "down", "nothing internal leaves")
				f.Now = f.Now.Add(sickFor + 1)
				require.True(t, f.tracker.CanRecord(t.Context()), "it tries again")
			}
			for _, done := range c.producer.Held {
				done(ingresstest.ErrDown) // a late answer does no harm
			}
		})
	}
}

// withoutClickID checks the click id of a landing page and takes it out.
func (f *fixture) withoutClickID(page string) string {
	f.T.Helper()
	before, id, found := strings.Cut(page, ClickParam+"=")
	require.True(f.T, found, page)
	a, err := f.Ring.Verify(token.ForConversion, id, f.Now)
	require.NoError(f.T, err)
	require.Equal(f.T, campaignID, a.CampaignID)
	require.Equal(f.T, f.Now, a.ClickedAt())
	return strings.TrimRight(before, "?&")
}

// The click id is added to the landing page's address, which otherwise stays unchanged.
func TestClickIDsOfLandingPages(t *testing.T) {
	for page, want := range map[string]string{
		"https://a.example":                                "https://a.example?adnet_click=ID",
		"https://a.example/":                               "https://a.example/?adnet_click=ID",
		"https://a.example/?":                              "https://a.example/?adnet_click=ID",
		"https://a.example/x?a=1":                          "https://a.example/x?a=1&adnet_click=ID",
		"https://a.example/x?a=%20+b&&c#f?g=h#i":           "https://a.example/x?a=%20+b&&c&adnet_click=ID#f?g=h#i",
		"https://a.example/x#":                             "https://a.example/x?adnet_click=ID#",
		"https://a.example/?adnet_click=1&b=2&adnet_click": "https://a.example/?b=2&adnet_click=ID",
		"https://a.example/?%61dnet_click=1&adnet_clicks=2&=3#adnet_click=4": "https://a.example/?adnet_clicks=2&=3&adnet_click=ID#adnet_click=4",
		"https://a.example/?x%zz=1":                    "https://a.example/?x%zz=1&adnet_click=ID",
		"https://a.example/a?u=https://b.example/?q=1": "https://a.example/a?u=https://b.example/?q=1&adnet_click=ID",
	} {
		got := withClickID(page, "ID")
		require.Equal(t, want, got)
		require.Equal(t, got, withClickID(got, "ID"), "again")
	}
}

func TestRedirect(t *testing.T) {
	f := newFixture(t)
	link := f.link()
	for _, query := range []string{
		"", "?event=click", "?dest=https://evil.example",
		"?url=https://evil.example&u=https://evil.example&event=skip&campaign_id=x",
	} {
		w := f.Do(http.MethodGet, link+query, "")
		require.Equal(t, http.StatusFound, w.Code)
		require.Len(t, w.Header().Values("Location"), 1)
		require.Equal(t, landing, f.withoutClickID(w.Header().Get("Location")))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Body.String())
		require.Equal(t, event.Type_CLICK, f.last().Type)
	}
	require.Len(t, f.Log.Requests(), 4)

	w := f.Do(http.MethodHead, link, "")
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, landing, w.Header().Get("Location"))
	require.Len(t, f.Log.Requests(), 4, "HEAD is no click")

	f.Now = start.Add(365 * 24 * time.Hour)
	w = f.Do(http.MethodGet, link, "")
	require.Equal(t, http.StatusFound, w.Code, "a link works for ever")
	require.Equal(t, event.Proof_EXPIRED, f.last().Proof)
	require.Equal(t, landing, w.Header().Get("Location"), "a click that does not count has no id")

	f.Now, f.Shelf.Campaigns[campaignID].ClickID = start, campaign.ClickIDOff
	require.Equal(t, landing, f.Do(http.MethodGet, link, "").Header().Get("Location"))

	delete(f.Shelf.Campaigns, campaignID)
	require.Equal(t, http.StatusNotFound, f.Do(http.MethodGet, link, "").Code)
}

// The producer never answers or refuses at once, and so does the spool: the redirect still works.
func TestARedirectNeverWaits(t *testing.T) {
	f := newFixture(t)
	f.Log.Silent, f.spool.Silent = true, true
	require.Equal(t, http.StatusFound, f.Do(http.MethodGet, f.link(), "").Code)
	require.Len(t, f.Log.Held, 1)
	require.Empty(t, f.spool.Requests())
	f.Log.Held[0](ingresstest.ErrDown)
	require.Len(t, f.spool.Requests(), 1, "a refused click is in the spool's hands when the producer has answered")
	require.True(t, f.tracker.CanRecord(t.Context()))
	f.spool.Held[0](ingresstest.ErrDown)
	require.False(t, f.tracker.CanRecord(t.Context()))
	f.Log.Silent, f.Log.Err = false, ingresstest.ErrDown
	require.Equal(t, http.StatusFound, f.Do(http.MethodGet, f.link(), "").Code)
	require.Len(t, f.spool.Requests(), 2)
}

// At shutdown the producer returns its records, then the spool ends: no click is lost in between.
func TestClicksReturnedByAStoppedProducerAreSpooled(t *testing.T) {
	const clicks = 500
	stored := &ingresstest.Sink{}
	open := func() *spool.Spool {
		s, err := spool.New(spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 20}, spool.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Producer: stored,
		})
		require.NoError(t, err)
		require.NoError(t, s.Open())
		return s
	}
	f := newFixture(t)
	disk := open()
	f.Log.Silent, f.tracker.recorder.spool = true, disk
	for range clicks {
		require.Equal(t, http.StatusFound, f.Do(http.MethodGet, f.link(), "").Code)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- disk.Run(ctx) }()
	for _, done := range f.Log.Held {
		done(ingresstest.ErrDown)
	}
	stop()
	require.NoError(t, <-ended)
	require.False(t, disk.Empty())
	require.True(t, f.tracker.CanRecord(t.Context()), "every click was kept")
}

func TestReceipt(t *testing.T) {
	f := newFixture(t)
	a := auction(start)
	a.Headline, a.Landing = `"><img src=x onerror=alert(1)></script>]]>${AUCTION_PRICE}`, landing
	w := f.Do(http.MethodGet, "/r/"+f.Ring.Sign(token.PurposeReceipt, a), "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/html")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
	page := w.Body.String()
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, "</script>")
	for _, fact := range []string{
		advertiserID.String(), campaignID.String(), "shop.example", "2026-03-04, 12:00–13:00 (UTC)", "paid for it",
	} {
		require.Contains(t, page, fact)
	}
	a.Sandbox = true
	require.Contains(
		t, f.Do(http.MethodGet, "/r/"+f.Ring.Sign(token.PurposeReceipt, a), "").Body.String(), "test ad that cost nothing",
	)
}

// A campaign that changes its text or page, or that is deleted, changes no receipt.
func TestAReceiptShowsWhatWasShown(t *testing.T) {
	f := newFixture(t)
	a := auction(start)
	a.Headline, a.Landing = "Fresh bread", landing
	link := "/r/" + f.Ring.Sign(token.PurposeReceipt, a)
	c := f.Shelf.Campaigns[campaignID]
	c.Headline, c.CTAURL = "Send us your password", "https://thief.example/"
	for _, gone := range []bool{false, true} {
		if gone {
			delete(f.Shelf.Campaigns, campaignID)
		}
		w := f.Do(http.MethodGet, link, "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), "Fresh bread")
		require.Contains(t, w.Body.String(), "shop.example")
		require.NotContains(t, w.Body.String(), "password")
		require.NotContains(t, w.Body.String(), "thief.example")
	}
}
