package settle_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/consumers/settle"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// Clicks of a campaign with an open case wait through a restart, however often they come. A decision
// settles or rejects each once, beside a second settler and without new records.
func TestActsOfACaseThroughTheWholeRoad(t *testing.T) {
	for decision, charged := range map[ledger.QuarantineDecision]money.Micros{
		ledger.QuarantineRelease: 3 * 5_000, ledger.QuarantineClawback: 0,
	} {
		w := newWorld(t, 100*money.USD)
		open := ledger.Quarantine{
			ID: uuid.New(), DeveloperID: w.publisher, OpenedAt: time.Now(),
			Evidence: traffic.Evidence{
				Rule: traffic.QuarantineActs, Campaign: w.campaign,
				Today: traffic.PublisherDay{DeveloperID: w.publisher, Day: day.Of(time.Now())},
			},
		}
		opened, err := w.store.Publishers.OpenQuarantine(t.Context(), open)
		require.NoError(t, err)
		require.True(t, opened)
		var views, clicks [][]byte
		for range 3 {
			view := w.impression()
			view.BillingModel = event.BillingModel_CPC
			views = append(views, marshal(t, view))
			click := w.impression()
			click.AuctionId, click.Type, click.BillingModel = view.AuctionId, event.Type_CLICK, event.BillingModel_CPC
			clicks = append(clicks, marshal(t, click))
		}
		// One click overtakes its impression, and each comes again in another batch.
		through(t, config, newScripted(records(0, clicks[0], views[0], views[1], clicks[1], clicks[1])), w.store.Ledger)
		through(t, config, newScripted(records(5, views[2], clicks[2]), records(7, clicks...)), w.store.Ledger)
		c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
		require.NoError(t, err)
		require.Zero(t, c.SpentTotal)
		held, err := w.store.Publishers.HeldActs(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[ledger.Acts]int64{{CampaignID: w.campaign, DeveloperID: w.publisher}: 3}, held)

		_, err = w.store.Publishers.EndQuarantine(t.Context(), ledger.QuarantineVerdict{
			Case: open.ID, Decision: decision, By: uuid.New(), Note: "checked", At: time.Now(),
		})
		require.NoError(t, err)
		for range 2 { // settlers
			s, err := settle.New(config, settle.Deps{
				Records: newScripted(), Store: w.store.Ledger, Keys: ring, Log: quiet(),
				Metrics: prometheus.NewRegistry(),
			})
			require.NoError(t, err)
			s.SweepEvery(time.Millisecond)
			run(t, s.Run)
		}
		require.Eventually(t, func() bool {
			held, err = w.store.Publishers.HeldActs(t.Context())
			require.NoError(t, err)
			return len(held) == 0
		}, 5*time.Second, time.Millisecond)
		through(t, config, newScripted(records(10, clicks...)), w.store.Ledger)

		_, verdicts := applied(t, w.store, []stream.Partition{partition, earlyPartition, {Stream: ledger.EarlyStream}})
		want := map[ledger.Verdict]int{ledger.OK: 6, ledger.Duplicate: 7, ledger.VerdictEarly: 3}
		if decision == ledger.QuarantineClawback {
			want[ledger.OK] = 3
			want[ledger.InvalidTraffic+traffic.RuleManyActs] = 3
		}
		require.Equal(t, want, verdicts)
		c, err = w.store.Campaigns.Campaign(t.Context(), w.campaign)
		require.NoError(t, err)
		require.Equal(t, charged, c.SpentTotal)
		credits, err := w.store.Ledger.CreditBalance(t.Context(), w.publisher)
		require.NoError(t, err)
		require.EqualValues(t, 3, credits.Pending, "the impressions' Credits wait for charges")
	}
}
