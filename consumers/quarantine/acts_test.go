package quarantine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/store/memory"
	"adnet/internal/traffic"
)

// actsStore has four campaigns that pay per click, with 1 click of 100 impressions elsewhere.
func actsStore(now *time.Time) *days {
	s := &days{
		Publishers: memory.New(func() time.Time { return *now }).Publishers,
		models:     map[uuid.UUID]campaign.BillingModel{},
		young:      map[uuid.UUID]uuid.UUID{},
	}
	for n := range byte(4) {
		s.models[uuid.UUID{8, n}] = campaign.CPC
		s.campaign = append(s.campaign, traffic.AdCount{CampaignID: uuid.UUID{8, n}, Impressions: 10_000, Clicks: 100})
	}
	return s
}

// show counts events of a campaign at a young publisher.
func (d *days) show(of, developer uuid.UUID, impressions, clicks int64) {
	d.young[developer] = developer
	d.shownAt = append(d.shownAt, traffic.AdCount{
		CampaignID: of, DeveloperID: developer, Impressions: impressions, Clicks: clicks,
	})
	for i := range d.campaign {
		if d.campaign[i].CampaignID == of {
			d.campaign[i].Impressions += impressions
			d.campaign[i].Clicks += clicks
		}
	}
}

func TestJudgeActsOfACampaign(t *testing.T) {
	now := noon
	store := actsStore(&now)
	victim, thief, honest := uuid.UUID{8, 0}, uuid.UUID{1}, uuid.UUID{2}
	store.show(victim, thief, 500, 60)
	store.show(victim, honest, 500, 6)
	store.show(uuid.UUID{8, 1}, thief, 500, 5)
	d := newDetector(t, store, func() time.Time { return now })
	judge := func(want int) {
		t.Helper()
		opened, err := d.Judge(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, opened)
	}
	d.cfg.Network = "off"
	judge(0)
	d.cfg.Network = "on"
	judge(1)
	judge(0)
	list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, thief, list[0].DeveloperID)
	require.Equal(t, traffic.QuarantineActs, list[0].Evidence.Rule)
	require.Equal(t, victim, list[0].Evidence.Campaign)
	require.True(t, list[0].OfActs())

	end := func(decision ledger.QuarantineDecision) {
		_, err := store.EndQuarantine(
			t.Context(), ledger.QuarantineVerdict{Case: list[0].ID, Decision: decision, By: uuid.UUID{9}, At: now},
		)
		require.NoError(t, err)
		list, err = store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
		require.NoError(t, err)
		now = now.Add(time.Hour)
	}
	end(ledger.QuarantineClawback)
	judge(1) // the pattern goes on
	list, err = store.Quarantines(t.Context(), ledger.QuarantineQuery{Open: true, Limit: 10})
	require.NoError(t, err)
	end(ledger.QuarantineRelease)
	judge(0) // a person looked at these days

	store.show(uuid.UUID{8, 2}, thief, 500, 60)
	judge(1) // the release is about one campaign

	store.away = errors.New("away")
	_, err = d.Judge(t.Context())
	require.ErrorIs(t, err, store.away)
}

// Acts that wait are no longer counted by the analytics store and count nevertheless.
func TestHeldActsCount(t *testing.T) {
	now := noon
	store := actsStore(&now)
	victim, second := uuid.UUID{8, 0}, uuid.UUID{2}
	store.show(victim, second, 500, 5)
	d := newDetector(t, store, func() time.Time { return now })
	d.cfg.Network = "on"
	opened, err := d.Judge(t.Context())
	require.NoError(t, err)
	require.Zero(t, opened)
	store.held = map[ledger.Acts]int64{{CampaignID: victim, DeveloperID: second}: 60, {CampaignID: victim}: 5}
	opened, err = d.Judge(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, opened)
}

// One campaign has a bounded number of open cases. Others follow when these are decided.
func TestCasesOfACampaignAreBounded(t *testing.T) {
	now := noon
	store := actsStore(&now)
	for n := range byte(30) {
		store.show(uuid.UUID{8, 0}, uuid.UUID{1, n}, 100, 50+int64(n))
	}
	d := newDetector(t, store, func() time.Time { return now })
	d.cfg.Network = "on"
	for _, want := range []int{traffic.MaxActCases, 0} {
		opened, err := d.Judge(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, opened)
	}
	list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Open: true, Limit: 100})
	require.NoError(t, err)
	_, err = store.EndQuarantine(t.Context(), ledger.QuarantineVerdict{
		Case: list[0].ID, Decision: ledger.QuarantineRelease, By: uuid.UUID{9}, At: now,
	})
	require.NoError(t, err)
	opened, err := d.Judge(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, opened)
}
