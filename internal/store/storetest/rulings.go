package storetest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
)

func disabled(yes bool) func(*account.User) error {
	return func(u *account.User) error { u.Disabled = yes; return nil }
}

// While an account is disabled its campaigns and those of its seats are held, each under its own
// version for followers, and no account can add one.
func suspensionHoldsCampaigns(t *testing.T, s Stores) {
	u, other := AddUser(t, s), AddUser(t, s)
	var own []uuid.UUID
	for _, owner := range []uuid.UUID{u.ID, u.ID, seatOf(t, s, u, 7)} {
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

// Campaigns carry the approved name of their advertiser, each under its own version for followers,
// until the account is renamed.
func namesReachCampaigns(t *testing.T, s Stores) {
	u, other := AddUser(t, s), AddUser(t, s) // called Example Ltd
	seat := seatOf(t, s, u, 8)
	own := []uuid.UUID{
		AddCampaign(t, s, u.ID, campaign.Active).ID, AddCampaign(t, s, u.ID, campaign.Paused).ID,
		AddCampaign(t, s, seat, campaign.Active).ID,
	}
	untouched := []campaign.Campaign{
		AddCampaign(t, s, u.ID, campaign.Archived), AddCampaign(t, s, other.ID, campaign.Active),
	}
	approve := func(u *account.User) error {
		u.Approved = account.Sponsor{Name: "Example Ltd", Verified: true}
		return nil
	}
	called := func(name string) func(*account.User) error {
		return func(u *account.User) error { u.Company = name; return nil }
	}
	var head int64
	for _, step := range []struct {
		edit    func(*account.User) error
		want    account.Sponsor
		updated int // campaigns with a new version
	}{
		{called("Example Ltd"), account.Sponsor{}, len(own)}, // since the beginning
		{approve, account.Sponsor{Name: "Example Ltd", Verified: true}, len(own)},
		{approve, account.Sponsor{Name: "Example Ltd", Verified: true}, 0},
		{called("Example Bank"), account.Sponsor{}, len(own)},
		{called("Example Ltd"), account.Sponsor{}, 0},
		// not its name
		{
			func(u *account.User) error { u.Approved = account.Sponsor{Name: "Example Bank"}; return nil },
			account.Sponsor{}, 0,
		},
		{approve, account.Sponsor{Name: "Example Ltd", Verified: true}, len(own)},
		{(*account.User).Erase, account.Sponsor{}, len(own)},
	} {
		_, err := s.Users.UpdateUser(t.Context(), u.ID, step.edit)
		require.NoError(t, err)
		changed, next, err := s.Changes.ChangedCampaigns(t.Context(), head, 100)
		require.NoError(t, err)
		if head == 0 {
			changed = changed[:len(own)]
		}
		require.Len(t, changed, step.updated)
		for _, c := range changed {
			require.Contains(t, []uuid.UUID{u.ID, seat}, c.AdvertiserID)
			require.Equal(t, step.want, c.Advertiser, "a seat's, too")
		}
		head = next
		for _, id := range own {
			c, err := s.Campaigns.Campaign(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, step.want, c.Advertiser)
		}
		stored, err := s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, step.want, stored.Approved)
		for _, was := range untouched {
			c, err := s.Campaigns.Campaign(t.Context(), was.ID)
			require.NoError(t, err)
			require.Equal(t, was.ConfigVersion, c.ConfigVersion)
		}
	}
	_, err := s.Users.UpdateUser(t.Context(), other.ID, approve)
	require.NoError(t, err)
	created := AddCampaign(t, s, other.ID, campaign.Active)
	require.Equal(t, "Example Ltd", created.Advertiser.Name, "new campaigns say it, too")
	edited, err := s.Campaigns.UpdateCampaign(t.Context(), created.ID, func(c *campaign.Campaign) error {
		c.Headline, c.Advertiser = "Another one", account.Sponsor{Name: "Example Bank", Verified: true}
		return nil
	})
	require.NoError(t, err)
	require.Equal(
		t, account.Sponsor{Name: "Example Ltd", Verified: true}, edited.Advertiser,
		"no edit of a campaign says who pays",
	)

	// An administrator's seats are exchanges of others.
	sold := AddCampaign(t, s, seatOf(t, s, other, 9), campaign.Active)
	require.Equal(t, "Example Ltd", sold.Advertiser.Name)
	_, head, err = s.Changes.ChangedCampaigns(t.Context(), 0, 100)
	require.NoError(t, err)
	_, err = s.Users.RuleUser(
		t.Context(),
		account.Ruling{
			UserID: other.ID, Reason: "why",
			Edit: func(u *account.User) error { u.Role = account.RoleAdmin; return nil },
		},
	)
	require.NoError(t, err)
	changed, _, err := s.Changes.ChangedCampaigns(t.Context(), head, 100)
	require.NoError(t, err)
	require.Len(t, changed, 1)
	require.Equal(t, sold.ID, changed[0].ID)
	require.Zero(t, changed[0].Advertiser)
}

// seatOf gives an account a seat, whose key has its own hash, and returns its id.
func seatOf(t *testing.T, s Stores, owner account.User, key byte) uuid.UUID {
	t.Helper()
	seat := account.User{
		ID: newID(t), DeveloperID: newID(t), Email: newID(t).String() + "@seats.invalid", Role: account.RoleSeat,
		TokenVersion: 1, CreatedAt: keyTime, ParentID: owner.ID,
	}
	require.NoError(
		t,
		s.Keys.CreateSeat(
			t.Context(), seat,
			account.Key{
				ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat,
				Hash: [32]byte{key}, CreatedAt: keyTime,
			},
		),
	)
	return seat.ID
}

// Concurrent changes of the name and of the campaign: whichever is last, the highest version of the
// campaign has the current name.
func namesAndEditsMeet(t *testing.T, s Stores) {
	u := AddUser(t, s)
	c := AddCampaign(t, s, u.ID, campaign.Active)
	edits := make([]campaign.Campaign, 24)
	together(len(edits), func(i int) {
		if i%2 == 0 {
			_, err := s.Users.UpdateUser(t.Context(), u.ID, func(u *account.User) error {
				u.Company = "Example " + string(rune('a'+i))
				u.Approved = account.Sponsor{Name: u.Company}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			return
		}
		var err error
		edits[i], err = s.Campaigns.UpdateCampaign(
			t.Context(), c.ID, func(c *campaign.Campaign) error { c.FrequencyCap = 100 + i; return nil },
		)
		if err != nil {
			t.Error(err)
		}
	})
	stored, err := s.Users.User(t.Context(), u.ID)
	require.NoError(t, err)
	last, err := s.Campaigns.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, stored.Approved, last.Advertiser)
	for _, a := range edits {
		if a.ConfigVersion == last.ConfigVersion {
			require.Equal(t, stored.Approved, a.Advertiser, "what nodes are told with the last version")
		}
	}
}

// Concurrent suspensions of each other leave one administrator.
func theLastAdministratorStays(t *testing.T, s Stores) {
	admins := make([]account.User, 4)
	for i := range admins {
		admins[i] = AddUser(t, s)
		_, err := s.Users.UpdateUser(
			t.Context(), admins[i].ID, func(u *account.User) error { u.Role = account.RoleAdmin; return nil },
		)
		require.NoError(t, err)
	}
	var done, refused atomic.Int32
	together(len(admins), func(i int) {
		edit := disabled(true)
		if i%2 == 0 {
			edit = func(u *account.User) error { u.Role = account.RoleAdvertiser; return nil }
		}
		switch _, err := s.Users.RuleUser(
			t.Context(), account.Ruling{UserID: admins[i].ID, Edit: edit, KeepAdmin: true},
		); {
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
	first, two := AddUser(t, s), AddUser(t, s)
	_, err := s.Users.UpdateUser(t.Context(), two.ID, disabled(true))
	require.NoError(t, err)
	_, err = s.Users.UpdateUser(
		t.Context(), first.ID, func(u *account.User) error { u.Approved.Name = u.Sponsor(); return nil },
	)
	require.NoError(t, err)
	yes, no := true, false
	for _, c := range []struct {
		f    account.UserFilter
		want []uuid.UUID
	}{
		{account.UserFilter{Text: strings.ToUpper(first.Email)}, []uuid.UUID{first.ID}},
		{account.UserFilter{Text: two.DeveloperID.String()}, []uuid.UUID{two.ID}},
		{account.UserFilter{Suspended: &yes}, []uuid.UUID{two.ID}},
		{account.UserFilter{Suspended: &no}, []uuid.UUID{first.ID}},
		{account.UserFilter{Role: account.RoleAdmin}, nil},
		{account.UserFilter{NameWaits: true}, []uuid.UUID{two.ID}},
		{account.UserFilter{Text: "%"}, nil},
		{account.UserFilter{Offset: 5}, nil},
		{account.UserFilter{Limit: 1, Offset: 1}, []uuid.UUID{first.ID}},
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
