package storetest

import (
	"strings"
	"sync/atomic"
	"testing"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func disabled(yes bool) func(*account.User) error {
	return func(u *account.User) error { u.Disabled = yes; return nil }
}

// While an account is disabled its campaigns are held, each under a version of its own that
// followers see, and so are those of its seats; no account can add one.
func suspensionHoldsCampaigns(t *testing.T, s Stores) {
	u, other := AddUser(t, s), AddUser(t, s)
	seat := account.User{ID: newID(t), DeveloperID: newID(t), Email: "seat@seats.invalid", Role: account.RoleSeat, TokenVersion: 1, CreatedAt: keyTime, ParentID: u.ID}
	require.NoError(t, s.Keys.CreateSeat(t.Context(), seat, account.Key{ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat, Hash: [32]byte{7}, CreatedAt: keyTime}))
	var own []uuid.UUID
	for _, owner := range []uuid.UUID{u.ID, u.ID, seat.ID} {
		own = append(own, AddCampaign(t, s, owner, campaign.Active).ID)
	}
	gone, foreign := AddCampaign(t, s, u.ID, campaign.Archived), AddCampaign(t, s, other.ID, campaign.Active)
	before, err := s.Campaigns.Campaign(t.Context(), own[0])
	require.NoError(t, err)
	_, head, err := s.Changes.ChangedCampaigns(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, on := range []bool{true, true, false, false} {
		_, err := s.Users.RuleUser(t.Context(), account.Ruling{UserID: u.ID, Edit: disabled(on), Reason: "why"})
		require.NoError(t, err)
		for _, id := range own {
			c, err := s.Campaigns.Campaign(t.Context(), id)
			require.NoError(t, err)
			held := len(c.PolicyViolations) > 0 && c.PolicyViolations[len(c.PolicyViolations)-1] == campaign.Suspended()
			require.Equal(t, on, held)
			require.Len(t, c.PolicyViolations, len(before.PolicyViolations)+map[bool]int{true: 1}[on])
			require.Equal(t, campaign.Active, c.Status)
		}
		for _, untouched := range []campaign.Campaign{gone, foreign} {
			c, err := s.Campaigns.Campaign(t.Context(), untouched.ID)
			require.NoError(t, err)
			require.Equal(t, untouched.ConfigVersion, c.ConfigVersion)
		}
		if on {
			_, err = s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: NewCampaign(t, u.ID)})
			requireCode(t, err, errs.Forbidden)
		}
	}
	changed, _, err := s.Changes.ChangedCampaigns(t.Context(), head, 100)
	require.NoError(t, err)
	require.Len(t, changed, len(own))
	versions := map[int64]bool{}
	for _, c := range changed {
		versions[c.ConfigVersion] = true
	}
	require.Len(t, versions, len(own))
	c := AddCampaign(t, s, u.ID, campaign.Active)
	require.Greater(t, c.ConfigVersion, changed[len(changed)-1].ConfigVersion)
}

// Administrators who suspend each other at one time leave one.
func theLastAdministratorStays(t *testing.T, s Stores) {
	admins := make([]account.User, 4)
	for i := range admins {
		admins[i] = AddUser(t, s)
		_, err := s.Users.UpdateUser(t.Context(), admins[i].ID, func(u *account.User) error { u.Role = account.RoleAdmin; return nil })
		require.NoError(t, err)
	}
	var done, refused atomic.Int32
	together(len(admins), func(i int) {
		edit := disabled(true)
		if i%2 == 0 {
			edit = func(u *account.User) error { u.Role = account.RoleAdvertiser; return nil }
		}
		switch _, err := s.Users.RuleUser(t.Context(), account.Ruling{UserID: admins[i].ID, Edit: edit, KeepAdmin: true}); {
		case err == nil:
			done.Add(1)
		case errs.Is(err, errs.Conflict):
			refused.Add(1)
		}
	})
	require.EqualValues(t, len(admins)-1, done.Load())
	require.EqualValues(t, 1, refused.Load())
}

func usersAreFound(t *testing.T, s Stores) {
	one, two := AddUser(t, s), AddUser(t, s)
	_, err := s.Users.UpdateUser(t.Context(), two.ID, disabled(true))
	require.NoError(t, err)
	yes, no := true, false
	for _, c := range []struct {
		f    account.UserFilter
		want []uuid.UUID
	}{
		{account.UserFilter{Text: strings.ToUpper(one.Email)}, []uuid.UUID{one.ID}},
		{account.UserFilter{Text: two.DeveloperID.String()}, []uuid.UUID{two.ID}},
		{account.UserFilter{Suspended: &yes}, []uuid.UUID{two.ID}},
		{account.UserFilter{Suspended: &no}, []uuid.UUID{one.ID}},
		{account.UserFilter{Role: account.RoleAdmin}, nil},
		{account.UserFilter{Text: "%"}, nil},
		{account.UserFilter{Offset: 5}, nil},
		{account.UserFilter{Limit: 1, Offset: 1}, []uuid.UUID{one.ID}},
	} {
		if c.f.Limit == 0 {
			c.f.Limit = 10
		}
		list, total, err := s.Users.Users(t.Context(), c.f)
		require.NoError(t, err)
		var ids []uuid.UUID
		for _, u := range list {
			ids = append(ids, u.ID)
			require.True(t, c.f.Selects(&u))
		}
		require.Equal(t, c.want, ids, "%+v", c.f)
		require.GreaterOrEqual(t, total, len(ids))
	}
	all, total, err := s.Users.Users(t.Context(), account.UserFilter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, 2, total)
}
