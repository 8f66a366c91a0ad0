package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/storetest"
)

// The campaigns that were there at the upgrade are listed until they are judged, those that came or
// changed since never.
func TestCampaignsOfEarlierBuilds(t *testing.T) {
	s := openStore(t)
	stores := storesOf(s)
	owner := storetest.AddUser(t, stores).ID
	first, second, third := storetest.AddCampaign(
		t, stores, owner, campaign.Active,
	), storetest.AddCampaign(
		t, stores, owner, campaign.Paused,
	), storetest.AddCampaign(t, stores, owner, campaign.Active)
	listed := func(limit int) (ids []any) {
		page, err := s.Unjudged(t.Context(), limit)
		require.NoError(t, err)
		for _, c := range page {
			ids = append(ids, c.ID)
		}
		return ids
	}
	require.Empty(t, listed(9), "a new database has none")
	conn, err := pgx.ConnectConfig(t.Context(), asOwner(t, s).pool.Config().ConnConfig)
	require.NoError(t, err)
	convert(t, conn, "0043_suitability.sql", "UPDATE config_head SET unjudged")
	storetest.AddCampaign(t, stores, owner, campaign.Active)
	_, err = s.UpdateCampaign(
		t.Context(), second.ID, func(c *campaign.Campaign) error { c.Name = "changed"; return nil },
	)
	require.NoError(t, err)
	require.Equal(t, []any{first.ID}, listed(1))
	require.Equal(t, []any{first.ID, third.ID}, listed(9))
	require.NoError(t, s.Judged(t.Context(), first.ConfigVersion))
	require.Equal(t, []any{third.ID}, listed(9))
	require.NoError(t, s.Judged(t.Context(), third.ConfigVersion))
	require.NoError(t, s.Judged(t.Context(), first.ConfigVersion), "a slower node")
	require.Empty(t, listed(9))
}
