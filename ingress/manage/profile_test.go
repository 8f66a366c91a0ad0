package manage_test

import (
	"strings"
	"testing"
	"time"

	"adnet/internal/storetest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestProfile(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	require.Equal(t, "", me.Get(t, "/api/account/profile").As(200)["company"])
	got := me.Call(t, "PATCH", "/api/account/profile", object{"company": "  Example   Ltd "}).As(200)
	require.Equal(t, "Example Ltd", got["company"])
	me.Call(t, "PATCH", "/api/account/profile", object{"display_name": "Ada"}).As(200)
	got = me.Get(t, "/api/account/profile").As(200)
	require.Equal(t, []any{"Example Ltd", "Ada"}, []any{got["company"], got["display_name"]})
	require.Equal(t, "", other.Get(t, "/api/account/profile").As(200)["company"])
	for field, value := range map[string]any{"company": strings.Repeat("x", 101), "display_name": "a\u202eb"} {
		require.Equal(t, field, me.Call(t, "PATCH", "/api/account/profile", object{field: value}).Fails(400, "invalid_request")["field"])
	}
	held := me.Get(t, "/api/account/export").As(200)
	require.Equal(t, "Example Ltd", at(held, "profile", "company"))
	require.NotContains(t, me.Get(t, "/api/account/export").Text, other.Email)
	require.Contains(t, held, "decisions")
	me.Call(t, "PUT", "/api/account/publishing", object{"min_relevance": 0.3}).As(200)
	require.Equal(t, 0.3, at(me.Get(t, "/api/account/export").As(200), "publishing", "min_relevance"))
}

// An account is deleted by who knows its password, and by no other account; its login ends with it.
func TestDeletedAccount(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	p.Post(t, "/api/account/delete", object{"password": "wrong horse"}).Fails(401, "invalid_credentials")
	p.Post(t, "/api/account/delete", object{}).Fails(400, "invalid_request")
	secret, _ := p.factor(t)
	p.Post(t, "/api/account/delete", object{"password": "correct horse"}).Fails(403, "second_factor_required")
	w.Now = w.Now.Add(time.Minute)
	done := p.Post(t, "/api/account/delete", object{"password": "correct horse", "code": codeAt(t, secret, w.Now)}).As(200)
	p.Post(t, "/api/keys", object{"kind": "publisher"}).Fails(401, "invalid_token")
	require.Equal(t, true, done["deleted"])
	w.Now = w.Now.Add(3 * time.Second)
	p.Get(t, "/api/account/profile").Fails(401, "invalid_token")
	w.nobody().Post(t, "/api/auth", object{"email": "a@example.com", "password": "correct horse"}).Fails(401, "invalid_credentials")
}

// A balance is never lost unseen: it must be named, to the cent, as it is when the account ends.
func TestDeletionNamesTheBalance(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	id := uuid.MustParse(p.Get(t, "/api/account/profile").As(200)["id"].(string))
	require.NoError(t, storetest.Pay(t.Context(), w.Store, id, 12_500_000))
	for _, forfeit := range []any{nil, 0, 12.4, 13, 1000000} {
		body := object{"password": "correct horse"}
		if forfeit != nil {
			body["forfeit_usd"] = forfeit
		}
		refused := p.Post(t, "/api/account/delete", body).Fails(409, "conflict")
		require.Equal(t, 12.5, refused["balance_usd"])
		require.Equal(t, 0.0, refused["credits"])
	}
	p.Post(t, "/api/account/delete", object{"password": "correct horse", "forfeit_usd": "12.5"}).Fails(400, "invalid_request")
	p.Get(t, "/api/account/profile").As(200)
	done := p.Post(t, "/api/account/delete", object{"password": "correct horse", "forfeit_usd": 12.5}).As(200)
	require.Equal(t, 12.5, done["balance_left_usd"])
}
