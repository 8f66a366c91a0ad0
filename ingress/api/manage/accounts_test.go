package manage_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/token"
)

func TestRegisterAndLogin(t *testing.T) {
	w := newWorld(t)
	wanted := object{"email": " Ads@Example.com ", "password": "correct horse", "role": "admin"}
	refused := w.nobody().Post(t, "/api/auth?action=register", wanted).Fails(400, "invalid_request")
	require.Equal(t, "role", refused["field"])
	delete(wanted, "role")
	registered := w.nobody().Post(t, "/api/auth?action=register", wanted).As(201)
	for _, path := range []string{"/api/auth", "/api/auth?action=login"} {
		in := w.nobody().Post(t, path, object{"email": "ADS@example.com", "password": "correct horse"}).As(200)
		for _, body := range []object{registered, in} {
			// The interface description's form and the other description's form.
			require.Equal(t, "advertiser", body["role"], "nobody signs up as an administrator")
			require.Equal(t, "ads@example.com", body["email"])
			require.Equal(t, body["token"], at(body, "session", "access_token"))
			require.EqualValues(t, 2592000, at(body, "session", "expires_in"))
			require.Equal(t, "Bearer", at(body, "session", "token_type"))
			require.Equal(t, "advertiser", at(body, "user", "role"))
			require.Equal(t, "ads@example.com", at(body, "user", "email"))
			require.NotEqual(t, at(body, "user", "id"), at(body, "user", "developer_id"))
			require.Equal(t, at(registered, "user", "id"), at(body, "user", "id"))
		}
		// Clients may read their identity from the token.
		part := strings.Split(in["token"].(string), ".")
		payload, err := base64.RawURLEncoding.DecodeString(part[1])
		require.NoError(t, err)
		var claims object
		require.NoError(t, json.Unmarshal(payload, &claims))
		require.Equal(t, at(in, "user", "id"), claims["sub"])
		require.Equal(t, "advertiser", claims["role"])

		me := w.caller(in["token"].(string))
		me.Get(t, "/api/campaigns").As(200)
	}
}

func TestCredentialsRefused(t *testing.T) {
	w := newWorld(t)
	w.nobody().Post(
		t, "/api/auth?action=register", object{"email": "taken@example.com", "password": "correct horse"},
	).As(201)
	w.nobody().Post(
		t, "/api/auth?action=register", object{"email": "Taken@Example.com", "password": "another one!"},
	).Fails(409, "conflict")
	for name, tc := range map[string]struct{ email, password any }{
		"wrong password":    {"taken@example.com", "correct horsf"},
		"unknown":           {"nobody@example.com", "correct horse"},
		"no address":        {"nobody", "correct horse"},
		"long password":     {"taken@example.com", strings.Repeat("x", 10_000)},
		"text of an attack": {"' or 1=1 --", "correct horse"},
	} {
		t.Run("login, "+name, func(t *testing.T) {
			got := w.nobody().Post(
				t, "/api/auth", object{"email": tc.email, "password": tc.password},
			).Fails(401, "invalid_credentials")
			require.Equal(t, "the e-mail or the password is wrong", got["error"], "the same words whatever is wrong")
		})
	}
	for name, body := range map[string]any{
		"no email":      object{"password": "correct horse"},
		"no password":   object{"email": "a@example.com"},
		"empty":         object{"email": "", "password": ""},
		"number":        object{"email": 5, "password": "correct horse"},
		"list":          object{"email": []string{"a@example.com"}, "password": "correct horse"},
		"object":        object{"email": "a@example.com", "password": object{"$ne": ""}},
		"NUL":           object{"email": "a@example.com\x00", "password": "correct horse"},
		"no body":       nil,
		"no object":     `"a@example.com"`,
		"duplicate key": `{"email":"a@example.com","password":"correct horse","email":"b@example.com"}`,
		"other case":    `{"email":"a@example.com","Email":"b@example.com","password":"correct horse"}`,
		"invalid UTF-8": "{\"email\":\"a@example.com\xff\",\"password\":\"correct horse\"}",
		"more than one": `{"email":"a@example.com","password":"correct horse"}{}`,
	} {
		t.Run(name, func(t *testing.T) {
			w.nobody().Post(t, "/api/auth", body).Fails(400, "invalid_request")
			w.nobody().Post(t, "/api/auth?action=register", body).Fails(400, "invalid_request")
		})
	}
	for name, body := range map[string]object{
		"no address":     {"email": "example.com", "password": "correct horse"},
		"name and mail":  {"email": "A <a@example.com>", "password": "correct horse"},
		"two addresses":  {"email": "a@example.com, b@example.com", "password": "correct horse"},
		"long address":   {"email": strings.Repeat("a", 250) + "@example.com", "password": "correct horse"},
		"short password": {"email": "a@example.com", "password": "1234567"},
		"long password":  {"email": "a@example.com", "password": strings.Repeat("x", 257)},
	} {
		t.Run("register, "+name, func(t *testing.T) {
			w.nobody().Post(t, "/api/auth?action=register", body).Fails(400, "invalid_request")
		})
	}
	w.nobody().Post(t, "/api/auth", `{"email":"`+strings.Repeat("x", 64<<10)+`"}`).Fails(413, "payload_too_large")
	unknown := w.nobody().Post(
		t, "/api/auth?action=become_admin", object{"email": "a@example.com", "password": "correct horse"},
	).Fails(400, "invalid_request")
	require.Contains(t, unknown["error"], "demo, forgot, login, logout, register, reset, verify")
	require.Equal(t, 405, w.nobody().Get(t, "/api/auth").Code)
}

func TestADisabledAccountLogsInToNothing(t *testing.T) {
	w := newWorld(t)
	w.nobody().Post(
		t, "/api/auth?action=register", object{"email": "a@example.com", "password": "correct horse"},
	).As(201)
	_, err := w.accounts.Disable(t.Context(), "a@example.com", true)
	require.NoError(t, err)
	in := w.nobody().Post(t, "/api/auth", object{"email": "a@example.com", "password": "correct horse"}).As(200)
	w.caller(in["token"].(string)).Get(t, "/api/keys").Fails(403, "forbidden")
}

func TestKeys(t *testing.T) {
	w := newWorld(t)
	me, admin := w.advertiser(t), w.admin(t)
	require.Empty(t, me.Get(t, "/api/keys").As(200)["keys"])

	created := me.Post(t, "/api/keys", object{"kind": "publisher", "name": " my bot "}).As(201)
	key := created["key"].(string)
	require.Regexp(t, `^pub_live_[0-9A-Za-z]{36}$`, key)
	require.True(t, strings.HasPrefix(key, created["prefix"].(string)))
	require.Equal(t, "publisher", created["kind"])
	require.Equal(t, "my bot", created["name"])
	require.Equal(t, me.DeveloperID.String(), created["developer_id"])

	seat := admin.Post(t, "/api/keys", object{"kind": "seat", "name": "exchange"}).As(201)
	require.Regexp(t, `^seat_live_`, seat["key"])
	me.Post(t, "/api/keys", object{"kind": "seat"}).Fails(403, "forbidden")

	list := me.Get(t, "/api/keys")
	require.Equal(t, created["id"], at(list.As(200), "keys", 0, "id"))
	require.NotContains(t, list.Text, key, "a key is shown once")
	require.NotContains(t, list.Text, "exchange", "and only the owner's are listed")

	for name, body := range map[string]any{
		"no kind": object{"name": "x"}, "unknown kind": object{"kind": "admin"}, "wrong type": object{"kind": 1},
		"long name":         object{"kind": "publisher", "name": strings.Repeat("é", 101)},
		"control character": object{"kind": "publisher", "name": "a\x1b[2J"}, "no body": nil,
	} {
		t.Run(name, func(t *testing.T) { me.Post(t, "/api/keys", body).Fails(400, "invalid_request") })
	}
}

func TestRevokeKey(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	for name, revoke := range map[string]func(p *person, id string) reply{
		"path":  func(p *person, id string) reply { return p.Call(t, "DELETE", "/api/keys/"+id, nil) },
		"query": func(p *person, id string) reply { return p.Call(t, "DELETE", "/api/keys?id="+id, nil) },
		"body":  func(p *person, id string) reply { return p.Call(t, "DELETE", "/api/keys", object{"id": id}) },
	} {
		t.Run(name, func(t *testing.T) {
			created := me.Post(t, "/api/keys", object{"kind": "publisher"}).As(201)
			id, holder := created["id"].(string), w.caller(created["key"].(string))
			holder.Get(t, "/api/stats?type=developer").As(200)

			revoke(other, id).Fails(404, "not_found")
			revoke(me, uuid.NewString()).Fails(404, "not_found")
			revoke(me, "x").Fails(400, "invalid_request")
			holder.Get(t, "/api/stats?type=developer").As(200)

			require.Equal(t, object{"id": id, "revoked": true}, revoke(me, id).As(200))
			w.Now = w.Now.Add(5 * time.Second)
			holder.Get(t, "/api/stats?type=developer").Fails(401, "invalid_token")
			require.Empty(t, me.Get(t, "/api/keys").As(200)["keys"])
			revoke(me, id).As(200)
		})
	}
	me.Call(t, "DELETE", "/api/keys", nil).Fails(400, "invalid_request")
	me.Call(t, "DELETE", "/api/keys", object{}).Fails(400, "invalid_request")
}

func TestAKeyMayForbidLearning(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	require.Equal(t, true, me.Post(t, "/api/keys", object{"kind": "publisher"}).As(201)["learning"])
	require.Equal(t, false, me.Post(t, "/api/keys", object{"kind": "publisher", "learning": false}).As(201)["learning"])
	me.Post(t, "/api/keys", object{"kind": "publisher", "learning": "no"}).Fails(400, "invalid_request")
	keys := me.Get(t, "/api/keys").As(200)["keys"].([]any)
	require.NotEqual(t, keys[0].(object)["learning"], keys[1].(object)["learning"])
}

func TestTooManyKeys(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	for range 100 {
		_, err := w.accounts.CreateKey(t.Context(), me.User, account.KeyRequest{Kind: account.KindPublisher})
		require.NoError(t, err)
	}
	me.Post(t, "/api/keys", object{"kind": "publisher"}).Fails(409, "conflict")
}

// A session ends with the account or its rights, although the token is valid for 30 days.
func TestSessionEndsEarly(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	me.Get(t, "/api/campaigns").As(200)
	_, err := w.accounts.Disable(t.Context(), me.Email, true)
	require.NoError(t, err)
	w.Now = w.Now.Add(5 * time.Second)
	me.Get(t, "/api/campaigns").Fails(401, "invalid_token")
	_, err = w.accounts.Disable(t.Context(), me.Email, false)
	require.NoError(t, err)
	w.Now = w.Now.Add(5 * time.Second)
	me.Get(t, "/api/campaigns").Fails(401, "invalid_token")
	w.Now = w.Now.Add(token.SessionLife)
	w.admin(t).Get(t, "/api/campaigns").As(200)
}

// A browser key is made with its origins; a rotated one works on for its grace, beside the next.
func TestBrowserKeysAndRotation(t *testing.T) {
	w := everything(t)
	owner, stranger := w.advertiser(t), w.advertiser(t)
	origins := []string{"https://app.example.com", "https://*.example.org"}
	created := owner.Post(t, "/api/keys", object{"kind": "browser", "name": "page", "origins": origins}).As(201)
	require.Equal(t, []any{"https://app.example.com", "https://*.example.org"}, created["origins"])
	require.Contains(t, created["key"], "pk_live_")
	owner.Post(t, "/api/keys", object{"kind": "browser"}).Fails(400, "invalid_request")
	owner.Post(
		t, "/api/keys", object{"kind": "browser", "origins": []string{"http://example.com"}},
	).Fails(400, "invalid_request")
	owner.Post(t, "/api/keys", object{"kind": "publisher", "origins": origins}).Fails(400, "invalid_request")

	path := "/api/keys/" + created["id"].(string) + "/rotate"
	stranger.Post(t, path, nil).Fails(404, "not_found")
	for _, grace := range []any{-1, 2592001, 1 << 62} {
		owner.Post(t, path, object{"grace_seconds": grace}).Fails(400, "invalid_request")
	}
	next := owner.Post(t, path, object{"grace_seconds": 3600}).As(201)
	require.NotEqual(t, created["key"], next["key"])
	require.Equal(t, created["origins"], next["origins"])
	require.Equal(t, created["id"], next["replaces"].(object)["id"])
	owner.Post(t, path, nil).Fails(409, "conflict")
	keys := owner.Get(t, "/api/keys").As(200)["keys"].([]any)
	require.Len(t, keys, 2)
	require.Equal(t, next["replaces"].(object)["ends_at"], keys[1].(object)["ends_at"])
	again := owner.Post(t, "/api/keys/"+next["id"].(string)+"/rotate", nil).As(201)
	ends, err := time.Parse(time.RFC3339, again["replaces"].(object)["ends_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.Clock().Add(24*time.Hour), ends, time.Minute)
}
