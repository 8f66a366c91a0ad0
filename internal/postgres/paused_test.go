package postgres

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/storetest"
)

// What an administrator paused before pauses were kept as findings its owner cannot resume either:
// 0041 reads it from the audit log. What the owner paused, then or later, stays the owner's.
func TestOldPausesOfAdministratorsHold(t *testing.T) {
	s := openStore(t)
	stores := storesOf(s)
	owner, boss := storetest.AddUser(t, stores), storetest.AddUser(t, stores)
	boss.Role = account.RoleAdmin
	// As builds did before: the status changes, and the audit log says by whom.
	set := func(id uuid.UUID, by account.User, status campaign.Status) {
		t.Helper()
		ctx := auditlog.With(
			t.Context(),
			auditlog.Actor{AccountID: by.ID, Role: string(by.Role), Via: auditlog.API, Action: "POST /api/campaigns"},
		)
		_, err := s.UpdateCampaign(
			ctx, id, func(c *campaign.Campaign) error { c.Status, c.PolicyViolations = status, nil; return nil },
		)
		require.NoError(t, err)
	}
	type step struct {
		by     account.User
		status campaign.Status
	}
	stopped := map[string]bool{
		"by an administrator": true, "by its owner": false, "by its owner, after an administrator resumed it": false,
		"by an administrator, and edited": true, "an administrator's own": false, "resumed": false,
	}
	steps := map[string][]step{
		"by an administrator": {{boss, campaign.Paused}},
		"by its owner":        {{owner, campaign.Paused}},
		"by its owner, after an administrator resumed it": {
			{boss, campaign.Paused}, {boss, campaign.Active}, {owner, campaign.Paused},
		},
		"by an administrator, and edited": {{boss, campaign.Paused}},
		"an administrator's own":          {{boss, campaign.Paused}},
		"resumed":                         {{boss, campaign.Paused}, {owner, campaign.Active}},
	}
	ids := make(map[string]uuid.UUID)
	for name := range stopped {
		advertiser := owner.ID
		if name == "an administrator's own" {
			advertiser = boss.ID
		}
		ids[name] = storetest.AddCampaign(t, stores, advertiser, campaign.Active).ID
		for _, one := range steps[name] {
			set(ids[name], one.by, one.status)
		}
	}
	_, err := s.UpdateCampaign(
		t.Context(), ids["by an administrator, and edited"],
		func(c *campaign.Campaign) error { c.BidAmount = 2 * money.USD; return nil },
	)
	require.NoError(t, err)

	conn, err := pgx.ConnectConfig(t.Context(), asOwner(t, s).pool.Config().ConnConfig)
	require.NoError(t, err)
	service := campaign.NewService(campaign.Deps{Store: s, Announcer: nobody{}, CreditValue: 5_000})
	for run := range 2 { // a second run finds nothing more
		convert(t, conn, "0041_paused_before.sql", "WITH stopped AS (")
		versions := make(map[int64]bool)
		for name, want := range stopped {
			c, err := s.Campaign(t.Context(), ids[name])
			require.NoError(t, err)
			versions[c.ConfigVersion] = true
			held := len(c.PolicyViolations) == 1 && c.PolicyViolations[0].Rule == campaign.RuleStopped &&
				c.PolicyViolations[0].Holds
			require.Equal(t, want, held, "%s, run %d: %v", name, run, c.PolicyViolations)
		}
		require.Len(t, versions, len(stopped))
	}
	_, err = service.Resume(t.Context(), owner, ids["by an administrator"])
	require.ErrorIs(t, err, campaign.ErrStopped)
	_, err = service.Resume(t.Context(), owner, ids["by its owner"])
	require.NoError(t, err)
	got, err := service.Resume(t.Context(), boss, ids["by an administrator"])
	require.NoError(t, err)
	require.True(t, got.Campaign.Delivers())
}

// nobody is an Announcer without nodes.
type nobody struct{}

func (nobody) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }
