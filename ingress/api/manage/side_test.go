package manage_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The role of a registration is the side of the account, in every reply about it. It grants nothing,
// and its owner changes it.
func TestSideOfAnAccount(t *testing.T) {
	w := newWorld(t)
	register := func(email string, more ...any) reply {
		body := object{"email": email, "password": "some words with spaces"}
		for i := 0; i < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return w.nobody().Post(t, "/api/auth/register", body)
	}
	for role, want := range map[any]string{
		"advertise": "advertise", "publish": "publish", "both": "both", "": "both", nil: "both",
	} {
		got := register("of-"+want+"-"+text(role)+"@shop.example", "role", role).As(201)
		require.Equal(t, want, at(got, "user", "side"), role)
		require.Equal(t, "advertiser", at(got, "user", "role"), "the rights are those of every account")
	}
	require.Equal(t, "both", at(register("silent@shop.example").As(201), "user", "side"))
	for _, role := range []any{"admin", "advertiser", "Publish", " both", 1, []string{"both"}} {
		require.Equal(t, "role", register("odd@shop.example", "role", role).As(400)["field"], "%v", role)
	}
	w.nobody().Post(t, "/api/auth/login", object{
		"email": "silent@shop.example", "password": "some words with spaces", "role": "both",
	}).Fails(400, "invalid_request")

	token := at(register("mine@shop.example", "role", "publish").As(201), "token").(string)
	me := w.caller(token)
	require.Equal(t, "publish", at(me.Get(t, "/api/info").As(200), "user", "side"))
	profile := me.Get(t, "/api/account/profile").As(200)
	require.Equal(t, "publish", profile["side"])
	change := func(body object) reply { return me.Call(t, "PATCH", "/api/account/profile", body) }
	require.Equal(t, "publish", change(object{"company": "Mine"}).As(200)["side"], "what is left out stays")
	require.Equal(t, "advertise", change(object{"side": "advertise", "role": "admin"}).As(200)["side"])
	require.Equal(t, "advertiser", me.Get(t, "/api/account/profile").As(200)["role"], "read-only")
	require.Equal(t, "side", change(object{"side": "admin"}).As(400)["field"])
	require.Equal(t, "advertise", at(me.Get(t, "/api/info").As(200), "user", "side"))
	require.Equal(t, "both", change(object{"side": nil}).As(200)["side"])
}

func text(role any) string {
	if role == nil {
		return "null"
	}
	return role.(string)
}

// A registration that waits for its mailed link keeps its side.
func TestSideOfAConfirmedRegistration(t *testing.T) {
	w, mails := mailing(t)
	body := object{"email": "owner@shop.example", "password": "some words with spaces", "role": "publish"}
	w.nobody().Post(t, "/api/auth/register", body).As(202)
	confirmed := w.nobody().Post(t, "/api/auth/verify", object{
		"token": mails.token(t), "password": "some words with spaces",
	}).As(201)
	require.Equal(t, "publish", at(confirmed, "user", "side"))
}
