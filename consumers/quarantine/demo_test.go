package quarantine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/memory"
	"adnet/internal/traffic"
)

// TestTheDemoRaisesNoCases: a publisher with clicks that stand out from the demo's alone gets no
// case, neither for its clicks nor for acts of a campaign, and its own traffic raises none against
// the demo.
func TestTheDemoRaisesNoCases(t *testing.T) {
	now, today := noon, day.Of(noon)
	clock := func() time.Time { return now }
	mine, ad := uuid.UUID{9}, uuid.UUID{77}
	store := &days{
		Publishers: memory.New(clock).Publishers,
		young:      map[uuid.UUID]uuid.UUID{mine: mine}, models: map[uuid.UUID]campaign.BillingModel{ad: campaign.CPC},
		campaign: []traffic.AdCount{{CampaignID: ad, Impressions: 1_005_000, Clicks: 1500}},
		shownAt:  []traffic.AdCount{{CampaignID: ad, DeveloperID: mine, Impressions: 5000, Clicks: 500}},
	}
	var shown []uuid.UUID
	for n := range 6 {
		demo := uuid.UUID{byte(n + 1)}
		shown = append(shown, demo)
		store.list = append(store.list, traffic.PublisherDay{
			DeveloperID: demo, Day: today, Impressions: 100_000, Clicks: 100, Minted: 100_000,
		})
	}
	store.shownAt = append(store.shownAt, traffic.AdCount{
		CampaignID: ad, DeveloperID: shown[0], Impressions: 1_000_000, Clicks: 1000,
	})
	store.list = append(store.list, traffic.PublisherDay{
		DeveloperID: mine, Day: today, Impressions: 5000, Clicks: 500, Minted: 5000,
	})
	d := newDetector(t, store, clock)
	opened, err := d.Judge(t.Context())
	require.NoError(t, err)
	require.Positive(t, opened, "without marks it is compared with all")

	store.Publishers = memory.New(clock).Publishers
	d = newDetector(t, store, clock)
	d.demo = func() []uuid.UUID { return shown }
	opened, err = d.Judge(t.Context())
	require.NoError(t, err)
	cases, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
	require.NoError(t, err)
	require.Zero(t, opened, "%+v", cases)
}
