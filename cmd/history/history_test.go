package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/cmd/backends"
	"adnet/cmd/history"
	"adnet/consumers/settle/settletest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/store/memory"
	"adnet/internal/store/memory/analytics"
)

// alone announces to no serving node.
type alone struct{}

func (alone) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }

// world is the stores of in-memory mode with a demo of a size.
type world struct {
	stores  *memory.Stores
	reports *analytics.Store
	marks   demo.Marks
	events  int
	logs    []demo.Log
}

var evening = time.Date(2026, 9, 16, 20, 30, 0, 0, time.UTC)

// past invents a history that ends in the evening of a Wednesday.
func past(t testing.TB, requests int) *world {
	t.Helper()
	clock := new(backends.Clock)
	w := &world{stores: memory.New(clock.Now), reports: analytics.New()}
	ring := settletest.NewRing()
	all := &backends.All{Stores: backends.InMemory(w.stores), Analytics: w.reports, ShowRates: w.reports}
	replay, err := history.New(history.Deps{Stores: all, Keys: ring, Value: money.USD / 200, Now: clock.Now})
	require.NoError(t, err)
	_, err = demo.Past(t.Context(), demo.PastDeps{
		Deps: demo.Deps{
			Accounts: account.NewService(account.Deps{
				Users: w.stores.Accounts, Keys: w.stores.Accounts, Marks: ring.Marks, Now: clock.Now,
			}),
			Campaigns: campaign.NewService(campaign.Deps{
				Store: w.stores.Campaigns, Announcer: alone{}, Now: clock.Now, CreditValue: money.USD / 200,
			}),
			Marks: &w.marks,
		},
		Deposits: w.stores.Payments, Reports: w.stores.AdReports, Decisions: w.stores.Audit, Keys: ring, Set: clock.Set,
		Apply: func(ctx context.Context, l demo.Log) error {
			w.events += len(l.Auctions) + len(l.Events)
			w.logs = append(w.logs, l)
			return replay.Apply(ctx, l)
		},
		Now: func() time.Time { return evening }, Requests: requests,
	})
	require.NoError(t, err)
	return w
}

// TestThePastIsBounded counts the work: about 20,000 events and a few rows of the ledger a day.
func TestThePastIsBounded(t *testing.T) {
	w := past(t, demo.UsualRequests)
	require.Greater(t, w.events, 17_000)
	require.Less(t, w.events, 23_000)
	require.Len(t, w.logs, demo.Days)
	require.Len(t, w.marks.Accounts(), 12)
	require.Len(t, w.marks.Developers(), 12)
	lines, err := w.stores.Ledger.Verify(t.Context(), ledger.VerifyOptions{})
	require.NoError(t, err)
	for _, line := range lines {
		require.True(t, line.OK(), "%+v", line)
		if line.Name == "every transaction has entries that sum to zero" {
			require.Less(t, line.Got, int64(demo.Days*80))
		}
	}
	archived, err := w.stores.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	totals, err := w.reports.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, archived, totals)
	require.Positive(t, totals.ByVerdict[ledger.OK])
}

// TestThePastHasItsOwnDates: nothing is after its end, and each day has its own events.
func TestThePastHasItsOwnDates(t *testing.T) {
	w := past(t, 600)
	end := evening.Add(time.Second)
	for i, l := range w.logs {
		require.Equal(t, evening.AddDate(0, 0, i-demo.Days+1).Format(time.DateOnly), l.Until.Format(time.DateOnly))
		for _, r := range append(l.Auctions, l.Events...) {
			require.Equal(t, l.Until.Format(time.DateOnly), r.Time.UTC().Format(time.DateOnly))
			require.False(t, r.Time.After(l.Until))
		}
	}
	result, err := w.reports.Stats(t.Context(), report.Query{Since: 0, Until: 1 << 20})
	require.NoError(t, err)
	require.True(t, result.AsOf.Before(end))
}

// TestThePastIsTheSame: two processes on one day show the same numbers.
func TestThePastIsTheSame(t *testing.T) {
	one, two := past(t, 300), past(t, 300)
	require.Equal(t, one.events, two.events)
	a, err := one.reports.Totals(t.Context())
	require.NoError(t, err)
	b, err := two.reports.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, a, b)
}

// BenchmarkPast is the demo's start, of which accounts and campaigns are a part that it always had:
// see the sub-benchmark without a history.
func BenchmarkPast(b *testing.B) {
	for name, requests := range map[string]int{"history": demo.UsualRequests, "none": 0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				past(b, requests)
			}
		})
	}
}
