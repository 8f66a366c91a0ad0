package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// A shop with a template variable in place of the click id finds its conversions in stats, although
// they have no record: those of its campaigns, on the days on which they came.
func TestStatsCountUnreadableClickIDs(t *testing.T) {
	w := newWorld(t)
	me, publisher, other := w.advertiser(t), w.advertiser(t), w.advertiser(t)
	id := me.creates(t)
	w.busy(t, me, publisher, id)
	add := func(campaign, reason string, daysAgo day.Minute, n int64) {
		require.NoError(t, w.Store.Traffic.AddUnproven(t.Context(), []traffic.Unproven{{
			CampaignID: uuid.MustParse(campaign), Reason: reason, Minute: day.MinuteOf(w.Now) - daysAgo*24*60, Events: n,
		}}))
	}
	add(id, traffic.ReasonClickID, 0, 3)
	add(id, traffic.ReasonClickID, 5, 4)
	add(id, traffic.ReasonForged, 0, 50)
	for _, query := range []string{"", "type=campaign&campaign_id=" + id, "breakdown=day"} {
		body := me.Get(t, "/api/stats?"+query).As(200)
		require.Equal(t, 7.0, body["conversions_unverified"], query)
		require.Equal(t, 4.0, body["impressions"])
		days := body["daily"].([]any)
		require.Len(t, days, 3, "a day without other events, too")
		require.Equal(t, "2026-03-05", at(body, "daily", 0, "date"))
		require.Equal(t, 4.0, at(body, "daily", 0, "conversions_unverified"))
		require.Equal(t, 3.0, at(body, "daily", 2, "conversions_unverified"))
		if query == "breakdown=day" {
			require.Len(t, body["breakdown"], 3)
		}
	}
	require.Equal(t, 7.0, at(me.Get(t, "/api/stats?type=campaign&campaign_id="+id).As(200), "unproven", "bad_click_id"))
	require.Equal(t, 3.0, me.Get(t, "/api/stats?since=2026-03-10").As(200)["conversions_unverified"])
	require.Zero(t, other.Get(t, "/api/stats").As(200)["conversions_unverified"])
	require.Zero(t, publisher.Get(t, "/api/stats?type=developer").As(200)["conversions_unverified"])
}
