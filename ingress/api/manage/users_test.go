package manage_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
)

// rule has p decide about an account.
func (p *person) rule(t *testing.T, id uuid.UUID, what string, more ...any) reply {
	t.Helper()
	body := object{"reason": "stolen cards"}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return p.Post(t, "/api/admin/users/"+id.String()+"/"+what, body)
}

func TestSuspension(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	id := owner.creates(t)
	require.Equal(t, "active", owner.status(t, id))
	plain, material, err := account.GenerateKey(account.KindPublisher)
	require.NoError(t, err)
	require.NoError(
		t,
		w.Store.Accounts.CreateKey(
			t.Context(),
			account.Key{
				ID: uuid.New(), OwnerID: owner.ID, DeveloperID: owner.DeveloperID, Kind: account.KindPublisher,
				Hash: material.Hash,
			},
		),
	)
	stats := "/api/stats?type=developer"
	w.caller(plain).Get(t, stats).As(200)

	boss.rule(t, owner.ID, "suspend", "reason", " ").Fails(400, "invalid_request")
	boss.rule(t, owner.ID, "suspend", "reason", strings.Repeat("x", account.MaxReason+1)).Fails(400, "invalid_request")
	got := boss.rule(t, owner.ID, "suspend").As(200)
	require.Equal(t, true, at(got, "user", "suspended"))
	boss.rule(t, owner.ID, "suspend").Fails(400, "invalid_state")

	// At once on this node, which asks the store for the key again within 2 s.
	owner.Get(t, "/api/campaigns").Fails(403, "forbidden")
	w.Now = w.Now.Add(3e9)
	owner.Get(t, "/api/campaigns").Fails(401, "invalid_token")
	refused := w.caller(plain).Get(t, stats).Fails(403, "forbidden")
	require.Contains(t, refused["error"], "suspended")
	stored, err := w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
	require.NoError(t, err)
	require.Equal(t, campaign.Active, stored.Status)
	require.False(t, stored.Delivers())
	require.False(t, stored.Waits(), "a reviewer cannot let it go")

	// Edits and approvals by an administrator meanwhile do not resume it either.
	boss.Call(t, "PATCH", "/api/campaigns/"+id, object{"headline": "Another text"}).As(200)
	stored, err = w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
	require.NoError(t, err)
	require.False(t, stored.Delivers())
	boss.Post(t, "/api/campaigns", owner.draft()).Fails(403, "forbidden")

	boss.rule(t, owner.ID, "restore").As(200)
	boss.rule(t, owner.ID, "restore").Fails(400, "invalid_state")
	w.Now = w.Now.Add(3e9)
	w.caller(plain).Get(t, stats).As(200)
	stored, err = w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
	require.NoError(t, err)
	require.True(t, stored.Delivers())
	owner.Get(t, "/api/campaigns").Fails(401, "invalid_token") // a session does not come back
}

// A suspended user can sign in, but only to read the decisions and sign out.
func TestASuspendedAccountSignsInToReadWhy(t *testing.T) {
	w := newWorld(t)
	email, password := "held@example.com", "some words with spaces"
	u, err := w.accounts.Register(t.Context(), email, password)
	require.NoError(t, err)
	w.admin(t).rule(t, u.ID, "suspend").As(200)
	in := w.nobody().Post(t, "/api/auth", object{"email": email, "password": password}).As(200)
	held := w.caller(in["token"].(string))
	require.Equal(t, true, at(held.Get(t, "/api/info").As(200), "user", "suspended"))
	for _, path := range []string{
		"/api/campaigns", "/api/keys", "/api/stats", "/api/audit", "/api/account/sessions",
		"/api/account/second_factor",
	} {
		held.Get(t, path).Fails(403, "forbidden")
	}
	held.Post(t, "/api/keys", object{"kind": "publisher", "name": "x"}).Fails(403, "forbidden")
	held.Post(
		t, "/api/account/password", object{"current_password": password, "new_password": "other words with spaces"},
	).Fails(403, "forbidden")
	held.Post(t, "/api/auth?action=logout", nil).As(200)
	held.Get(t, "/api/campaigns").Fails(401, "invalid_token")
	// An erased account has no owner to notify.
	_, err = w.Store.Accounts.UpdateUser(t.Context(), u.ID, (*account.User).Erase)
	require.NoError(t, err)
	w.nobody().Post(
		t, "/api/auth", object{"email": account.ErasedEmail(u.ID), "password": password},
	).Fails(401, "invalid_credentials")
}

func TestAdministratorsCannotLockThemselvesOut(t *testing.T) {
	w := newWorld(t)
	boss := w.admin(t)
	boss.rule(t, boss.ID, "suspend").Fails(403, "forbidden")
	boss.rule(t, boss.ID, "role", "role", "advertiser").Fails(403, "forbidden")
	other := w.admin(t)
	boss.rule(t, other.ID, "role", "role", "advertiser").As(200)
	other.Get(t, "/api/campaigns").Fails(401, "invalid_token")
	user := w.advertiser(t)
	user.rule(t, boss.ID, "suspend").Fails(403, "forbidden")
	user.Get(t, "/api/admin/users").Fails(403, "forbidden")
	boss.rule(t, user.ID, "role", "role", "root").Fails(400, "invalid_request")
	boss.rule(t, user.ID, "role", "role", "advertiser").Fails(400, "invalid_state")
	boss.rule(t, user.ID, "role", "role", "admin").As(200)
	boss.rule(t, uuid.New(), "suspend").Fails(404, "not_found")
}

func TestAccountsAreFound(t *testing.T) {
	w := newWorld(t)
	boss, first := w.admin(t), w.advertiser(t)
	for query, want := range map[string]int{
		"": 2, "?q=" + first.ID.String(): 1, "?q=" + first.DeveloperID.String(): 1, "?q=" + strings.ToUpper(first.Email): 1,
		"?role=admin": 1, "?role=seat": 0, "?state=suspended": 0, "?q=%25": 0, "?limit=1": 2,
	} {
		got := boss.Get(t, "/api/admin/users"+query).As(200)
		require.EqualValues(t, want, got["total"], query)
	}
	boss.Get(t, "/api/admin/users?q="+strings.Repeat("%C3%A4", 200)).Fails(400, "invalid_request")
	w.nobody().Get(t, "/api/admin/users").Fails(401, "invalid_token")
}
