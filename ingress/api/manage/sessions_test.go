package manage_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// login is a program's login by password.
func (w *world) login(t *testing.T, email, password string) *person {
	t.Helper()
	got := w.nobody().Post(t, "/api/auth", object{"email": email, "password": password}).As(200)
	return w.caller(got["token"].(string))
}

// member registers an account with a known password.
func (w *world) member(t *testing.T, email string) *person {
	t.Helper()
	got := w.nobody().Post(t, "/api/auth/register", object{"email": email, "password": "correct horse"}).As(201)
	return w.caller(got["token"].(string))
}

func (p *person) sessions(t *testing.T) []any {
	t.Helper()
	return p.Get(t, "/api/account/sessions").As(200)["sessions"].([]any)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	w := newWorld(t)
	first := w.member(t, "a@example.com")
	second := w.login(t, "a@example.com", "correct horse")
	stranger := w.member(t, "b@example.com")
	listed := second.sessions(t)
	require.Len(t, listed, 2)
	require.Equal(t, true, at(listed, 0, "current"))
	require.Equal(t, false, at(listed, 1, "current"))
	require.NotContains(t, second.Get(t, "/api/account/sessions").Text, second.Token)
	id := at(listed, 1, "id").(string)
	stranger.Call(t, "DELETE", "/api/account/sessions/"+id, nil).Fails(404, "not_found")
	first.Get(t, "/api/keys").As(200)

	require.Equal(t, true, second.Call(t, "DELETE", "/api/account/sessions/"+id, nil).As(200)["ended"])
	first.Get(t, "/api/keys").Fails(401, "invalid_token")
	second.Get(t, "/api/keys").As(200)
	second.Call(t, "DELETE", "/api/account/sessions/"+id, nil).Fails(404, "not_found")

	third := w.login(t, "a@example.com", "correct horse")
	require.EqualValues(t, 1, third.Call(t, "DELETE", "/api/account/sessions?keep=current", nil).As(200)["ended"])
	third.Get(t, "/api/keys").As(200)
	require.EqualValues(t, 1, third.Call(t, "DELETE", "/api/account/sessions", nil).As(200)["ended"])
	third.Get(t, "/api/keys").Fails(401, "invalid_token")
	w.Now = w.Now.Add(2 * time.Second) // this node believed in the second session until now
	second.Get(t, "/api/keys").Fails(401, "invalid_token")
	stranger.Get(t, "/api/keys").As(200)
	entries := stranger.Get(t, "/api/audit").As(200)["entries"].([]any)
	for _, e := range entries {
		require.NotContains(t, e.(object)["changes"], "session")
	}
}

// A copied token or cookie is worthless after its owner has signed out.
func TestLogoutEndsTheSession(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	other := w.login(t, "a@example.com", "correct horse")
	p.Post(t, "/api/auth/logout", nil).As(200)
	p.Get(t, "/api/keys").Fails(401, "invalid_token")
	p.Post(t, "/api/auth/logout", nil).As(200) // again
	other.Get(t, "/api/keys").As(200)

	s := newSite(t, "https://ads.example")
	cookie := s.signIn(t, "ads@example.com")
	require.Equal(t, 200, s.page("GET", "/api/account/sessions", "", cookie).Code)
	require.Equal(t, 200, s.page("POST", "/api/auth/logout", "", cookie).Code)
	require.Equal(t, 401, s.page("GET", "/api/account/sessions", "", cookie).Code, "the copy of a cookie")
	var log []string
	entries := s.admin(t).Get(t, "/api/audit").As(200)["entries"].([]any)
	for _, e := range entries {
		log = append(log, at(e, "actor", "action").(string))
	}
	require.Contains(t, log, "POST /api/auth?action=logout")
}

func TestPasswordChange(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	thief := w.login(t, "a@example.com", "correct horse")
	p.Post(t, "/api/keys", object{"kind": "publisher", "name": "x"}).As(201)
	change := func(more ...any) object {
		body := object{"current_password": "correct horse", "new_password": "battery staple wins"}
		for i := 0; i < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return body
	}
	thief.Post(t, "/api/account/password", change("current_password", "wrong horse")).Fails(401, "invalid_credentials")
	p.Post(t, "/api/account/password", change("new_password", "password1234")).Fails(400, "invalid_request")
	p.Post(t, "/api/account/password", object{}).Fails(400, "invalid_request")
	got := p.Post(t, "/api/account/password", change()).As(200)
	require.EqualValues(t, 1, got["sessions_ended"])
	require.EqualValues(t, 0, got["keys_revoked"])
	p.Get(t, "/api/keys").As(200)
	w.Now = w.Now.Add(2 * time.Second)
	thief.Get(t, "/api/keys").Fails(401, "invalid_token")
	p.Get(t, "/api/keys").As(200)
	w.nobody().Post(
		t, "/api/auth", object{"email": "a@example.com", "password": "correct horse"},
	).Fails(401, "invalid_credentials")
	again := w.login(t, "a@example.com", "battery staple wins")
	got = again.Post(
		t, "/api/account/password",
		object{"current_password": "battery staple wins", "new_password": "another long phrase", "revoke_keys": true},
	).As(200)
	require.EqualValues(t, 1, got["keys_revoked"])
	require.Empty(t, again.Get(t, "/api/keys").As(200)["keys"])
}

// A program's user agent is stored as a short text.
func TestAgentsAreTexts(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest(
		"POST", "/api/auth/register", strings.NewReader(`{"email":"a@example.com","password":"correct horse"}`),
	)
	r.Header.Set("User-Agent", "x\x01<b>\u202e"+strings.Repeat("é", 300))
	require.Equal(t, 201, w.Send(t, r).Code)
	u, err := w.Store.Accounts.UserByEmail(t.Context(), "a@example.com")
	require.NoError(t, err)
	all, err := w.Store.Logins.Sessions(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, "x<b>"+strings.Repeat("é", 196), all[0].Agent)
}
