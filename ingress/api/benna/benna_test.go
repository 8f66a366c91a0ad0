package benna

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/process/obs"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestExchanges(t *testing.T) {
	apitest.Replay(t, "benna", func(t *testing.T) (http.Handler, map[string]string) {
		h, err := httpapi.New(httpapi.Config{}, httpapi.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
		})
		require.NoError(t, err)
		d, now := new(Diagnostics), start
		for range 3 {
			d.Observe("", 20*time.Microsecond, now)
		}
		d.Observe(auction.NoMatch, 60*time.Microsecond, now)
		clock := func() time.Time { // every look takes a quarter of a millisecond
			now = now.Add(250 * time.Microsecond)
			return now
		}
		empty := index.Build(ranker.Version2(), nil)
		New(Deps{
			Snapshot:     func() *auction.Snapshot { return empty },
			MinRelevance: func() ranker.PPM { return ranker.DefaultFloor },
			Diagnostics:  d, Now: clock,
		}).Mount(h)
		return h, nil
	})
}

func TestDiagnosticsAreOfTheLastHour(t *testing.T) {
	d := new(Diagnostics)
	d.Observe("", time.Millisecond, start)
	d.Observe(auction.Budget, 3*time.Millisecond, start.Add(59*time.Minute))
	d.scored(4*time.Millisecond, start.Add(59*time.Minute))
	r := d.Report(start.Add(59 * time.Minute))
	require.Equal(t, Report{Scope: "node", Window: 3600, Requests: 2, Filled: 1, FillRate: 0.5, Latency: 2,
		Reasons: map[string]int64{"budget": 1}, Scores: scoresReport{Requests: 1, Latency: 4}}, r)
	r = d.Report(start.Add(60 * time.Minute))
	require.Equal(t, int64(1), r.Requests)
	require.Zero(t, r.Filled)
	require.Zero(t, d.Report(start.Add(3*time.Hour)).Requests)
	d.Observe(auction.Paced, 0, start.Add(120*time.Minute)) // the place of the first minute
	require.Equal(t, map[string]int64{"paced": 1}, d.Report(start.Add(121*time.Minute)).Reasons)
	require.Zero(t, new(Diagnostics).Report(start).FillRate)
}

// The endpoint scores like an auction: a campaign that it calls eligible wins an auction against no
// other campaign, at the score that it returns.
func TestScoreEqualsTheAuctionsScore(t *testing.T) {
	words := []string{"chess", "Flights", "flight", "hotel", "visa", "café", "C++", ""}
	names := []string{"editor", "Editor", "assistant", "chat", ""}
	some := func(t *rapid.T, from []string, what string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(from), 0, 5).Draw(t, what)
	}
	rapid.Check(t, func(t *rapid.T) {
		host, surface := rapid.SampledFrom(names).Draw(t, "host"), rapid.SampledFrom(names).Draw(t, "surface")
		in := scoreRequest{
			Context: &contextBody{
				IntentTokens: some(t, words, "tokens"), ActiveTools: some(t, names, "tools"), HostApp: &host,
				Surface: &surface,
			},
			Campaign: &campaignBody{
				IntentTokens: some(t, words, "targeted tokens"), ActiveTools: some(t, names, "targeted tools"),
				HostApps: some(t, names, "targeted hosts"), Surfaces: some(t, names, "targeted surfaces"),
			},
		}
		c := auction.Campaign{ID: auction.ID{1}, Bid: 5_000_000, Targeting: &auction.Targeting{
			Exact: true, IntentTokens: in.Campaign.IntentTokens, ActiveTools: in.Campaign.ActiveTools,
			HostApps: in.Campaign.HostApps,
			Surfaces: in.Campaign.Surfaces,
		}}
		snap := index.Build(ranker.Version2(), []auction.Campaign{c})
		predicted, mismatch := in.predict(snap, auction.Campaign{Billing: c.Billing, Bid: c.Bid})
		got := auction.Decide(&auction.Request{
			Tokens: in.Context.IntentTokens, ActiveTools: in.Context.ActiveTools, HostApp: host, Surface: surface,
		},
			snap, nil, new(auction.Scratch))
		require.Equal(t, got.Winner != nil, mismatch == "", mismatch)
		if got.Winner != nil {
			require.Equal(t, got.Prediction, predicted)
		}
	})
}
