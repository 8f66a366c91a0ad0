package track

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"adnet/ingress/track/spool"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/schemas/event"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestWhereAnEventGoes(t *testing.T) {
	for name, c := range map[string]struct {
		producer, spool *sink
		wait            time.Duration
		status, spooled int
	}{
		"Kafka has it":                 {&sink{}, &sink{err: errDown}, time.Minute, 200, 0},
		"Kafka refuses it":             {&sink{err: errDown}, &sink{}, time.Minute, 200, 1},
		"Kafka is late":                {&sink{silent: true}, &sink{}, time.Millisecond, 200, 1},
		"neither takes it":             {&sink{err: errDown}, &sink{err: errDown}, time.Minute, 503, 1},
		"late and the spool is broken": {&sink{silent: true}, &sink{err: errDown}, time.Millisecond, 503, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range []string{http.MethodGet, http.MethodPost} {
				f := newFixture(t, func(cfg *Config) { cfg.AckWait = c.wait })
				spool := &sink{err: c.spool.err}
				f.tracker.recorder.producer, f.tracker.recorder.spool = c.producer, spool
				body := `{"event":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() + `"}`
				w := f.do(form, "/api/track?event=impression&auction_id="+f.token(), body)
				require.Equal(t, c.status, w.Code)
				require.Len(t, spool.taken(), c.spooled)
				require.Equal(t, c.status == 200, f.tracker.CanRecord(t.Context()))
				if c.status == 200 {
					continue
				}
				requireError(t, w, 503, string(errs.Unavailable), "")
				require.Equal(t, "2", w.Header().Get("Retry-After"))
				require.NotContains(t, w.Body.String(), "down", "nothing internal leaves")
				f.now = f.now.Add(sickFor + 1)
				require.True(t, f.tracker.CanRecord(t.Context()), "it tries again")
			}
			for _, done := range c.producer.held {
				done(errDown) // a late answer hurts nobody
			}
		})
	}
}

func TestRedirect(t *testing.T) {
	f := newFixture(t)
	signed := f.token()
	for _, query := range []string{"", "?event=click", "?dest=https://evil.example", "?url=https://evil.example&u=https://evil.example&event=skip&campaign_id=x"} {
		w := f.do(http.MethodGet, "/s/"+signed+query, "")
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, []string{landing}, w.Header().Values("Location"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Body.String())
		require.Equal(t, event.Type_CLICK, f.last().Type)
	}
	require.Len(t, f.producer.taken(), 4)

	w := f.do(http.MethodHead, "/s/"+signed, "")
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, landing, w.Header().Get("Location"))
	require.Len(t, f.producer.taken(), 4, "HEAD is no click")

	f.now = start.Add(365 * 24 * time.Hour)
	w = f.do(http.MethodGet, "/s/"+signed, "")
	require.Equal(t, http.StatusFound, w.Code, "a link works for ever")
	require.Equal(t, event.Proof_EXPIRED, f.last().Proof)

	delete(f.creatives, campaignID)
	require.Equal(t, http.StatusNotFound, f.do(http.MethodGet, "/s/"+signed, "").Code)
}

// The producer answers never, refuses at once, and so does the spool: the reader gets to the page.
func TestARedirectNeverWaits(t *testing.T) {
	f := newFixture(t)
	f.producer.silent, f.spool.silent = true, true
	require.Equal(t, http.StatusFound, f.do(http.MethodGet, "/s/"+f.token(), "").Code)
	require.Len(t, f.producer.held, 1)
	require.Empty(t, f.spool.taken())
	f.producer.held[0](errDown)
	require.Len(t, f.spool.taken(), 1, "a refused click is in the spool's hands when the producer has answered")
	require.True(t, f.tracker.CanRecord(t.Context()))
	f.spool.held[0](errDown)
	require.False(t, f.tracker.CanRecord(t.Context()))
	f.producer.silent, f.producer.err = false, errDown
	require.Equal(t, http.StatusFound, f.do(http.MethodGet, "/s/"+f.token(), "").Code)
	require.Len(t, f.spool.taken(), 2)
}

// At a stop the producer gives back what it still holds, then the spool ends: no click falls between them.
func TestClicksThatTheProducerGivesBackAtItsStopAreKept(t *testing.T) {
	const clicks = 500
	kept := &sink{}
	open := func() *spool.Spool {
		s, err := spool.New(spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 20}, spool.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Producer: kept,
		})
		require.NoError(t, err)
		require.NoError(t, s.Open())
		return s
	}
	f := newFixture(t)
	disk := open()
	f.producer.silent, f.tracker.recorder.spool = true, disk
	for range clicks {
		require.Equal(t, http.StatusFound, f.do(http.MethodGet, "/s/"+f.token(), "").Code)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- disk.Run(ctx) }()
	for _, done := range f.producer.held {
		done(errDown)
	}
	stop()
	require.NoError(t, <-ended)
	require.False(t, disk.Empty())
	require.True(t, f.tracker.CanRecord(t.Context()), "every click was kept")
}

func TestReceipt(t *testing.T) {
	f := newFixture(t)
	f.creatives[campaignID].Headline = `"><img src=x onerror=alert(1)></script>]]>${AUCTION_PRICE}`
	a := auction(start)
	w := f.do(http.MethodGet, "/r/"+f.ring.Sign(token.PurposeAuction, a), "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/html")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	page := w.Body.String()
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, "</script>")
	for _, fact := range []string{advertiserID.String(), campaignID.String(), "shop.example", "2026-03-04 12:00:00", "paid for it"} {
		require.Contains(t, page, fact)
	}
	a.Sandbox = true
	require.Contains(t, f.do(http.MethodGet, "/r/"+f.ring.Sign(token.PurposeAuction, a), "").Body.String(), "nobody paid")
}
