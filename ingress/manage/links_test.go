package manage_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/ingress/manage"
)

// box is a mailbox.
type box struct{ mails []letter }

type letter struct{ To, Subject, Text string }

func (b *box) Send(to, subject, text string) { b.mails = append(b.mails, letter{to, subject, text}) }

var tokenInMail = regexp.MustCompile(`#([\w-]{43})\n`)

// token is that of the newest mail.
func (b *box) token(t *testing.T) string {
	t.Helper()
	found := tokenInMail.FindStringSubmatch(b.mails[len(b.mails)-1].Text)
	require.Len(t, found, 2)
	return found[1]
}

// mailing is a world whose registrations are confirmed.
func mailing(t *testing.T) (*world, *box) {
	t.Helper()
	w, b := emptyWorld(t), &box{}
	manage.New(manage.Deps{
		Auth: w.Auth, Sessions: w.Sessions, Accounts: w.accounts, Campaigns: w.campaigns, Stats: w.Reports,
		Rollup: w.Reports, Audit: w.Store.Audit, Decisions: w.Store.Audit, Now: w.Clock,
		Mailer: b, Verify: true, BaseURL: func() string { return "https://ads.example" },
	}).Mount(w.HTTP)
	return w, b
}

func TestRegistrationsAreConfirmed(t *testing.T) {
	w, b := mailing(t)
	asks := func(password string) reply {
		return w.nobody().Post(t, "/api/auth/register", object{"email": "a@example.com", "password": password})
	}
	first := asks("correct horse")
	require.Equal(t, "sent", first.As(202)["verification"])
	require.Contains(t, b.mails[0].Text, "https://ads.example/console/verify#")
	require.Equal(t, "a@example.com", b.mails[0].To)
	w.nobody().Post(
		t, "/api/auth", object{"email": "a@example.com", "password": "correct horse"},
	).Fails(401, "invalid_credentials")
	owner := b.token(t)

	// A stranger registers the same e-mail: if the owner of the mailbox opens that link, the
	// account must not have the stranger's password.
	asks("strangers horse")
	stranger := b.token(t)
	verify := func(token, password string) reply {
		return w.nobody().Post(t, "/api/auth/verify", object{"token": token, "password": password})
	}
	verify(stranger, "correct horse").Fails(401, "invalid_credentials")
	verify(strings.Repeat("A", 43), "correct horse").Fails(401, "invalid_token")
	verify(owner, "").Fails(400, "invalid_request")
	session := verify(owner, "correct horse").As(201)
	w.caller(session["token"].(string)).Post(t, "/api/keys", object{"kind": "publisher", "name": "x"}).As(201)
	verify(owner, "correct horse").Fails(401, "invalid_token")
	verify(stranger, "strangers horse").Fails(409, "conflict")

	// The reply for an e-mail with an account is the same as for one without, and its owner is
	// notified.
	w.Now = w.Now.Add(25 * time.Hour)
	known := asks("another horse battery")
	require.Equal(t, first.Text, known.Text)
	require.Equal(t, first.Code, known.Code)
	require.Equal(t, "You already have an account", b.mails[len(b.mails)-1].Subject)
	require.NotRegexp(t, tokenInMail, b.mails[len(b.mails)-1].Text)
	w.login(t, "a@example.com", "correct horse")
}

func TestLinksExpireAndAreFew(t *testing.T) {
	w, b := mailing(t)
	for range 5 {
		w.nobody().Post(t, "/api/auth/register", object{"email": "a@example.com", "password": "correct horse"}).As(202)
	}
	require.Len(t, b.mails, 3, "a mailbox is not flooded")
	w.Now = w.Now.Add(24 * time.Hour)
	w.nobody().Post(
		t, "/api/auth/verify", object{"token": b.token(t), "password": "correct horse"},
	).Fails(401, "invalid_token")
}

func TestPasswordReset(t *testing.T) {
	w, b := mailing(t)
	_, err := w.accounts.Register(t.Context(), "a@example.com", "correct horse")
	require.NoError(t, err)
	p := w.login(t, "a@example.com", "correct horse")
	forgot := func(email string) reply { return w.nobody().Post(t, "/api/auth/forgot", object{"email": email}) }
	known, unknown := forgot("A@example.com"), forgot("nobody@example.com")
	require.Equal(t, known.As(202), unknown.As(202))
	require.Len(t, b.mails, 1, "who has no account gets no mail")
	token := b.token(t)
	reset := func(token, password string) reply {
		return w.nobody().Post(t, "/api/auth/reset", object{"token": token, "password": password})
	}
	reset(token, "short").Fails(400, "invalid_request")
	w.nobody().Post(
		t, "/api/auth/verify", object{"token": token, "password": "correct horse"},
	).Fails(401, "invalid_token")
	reset(" "+token[:20]+"\r\n"+token[20:], "battery staple wins").As(200) // pasted from a wrapped line
	reset(token, "yet another phrase").Fails(401, "invalid_token")
	reset(strings.Repeat("A", 43), "yet another phrase").Fails(401, "invalid_token")
	p.Get(t, "/api/audit").Fails(401, "invalid_token")
	again := w.login(t, "a@example.com", "battery staple wins")
	log := again.Get(t, "/api/audit").Text
	require.Contains(t, log, `"password"`)
	require.NotContains(t, log, token)

	forgot("a@example.com")
	w.Now = w.Now.Add(time.Hour)
	reset(b.token(t), "yet another phrase").Fails(401, "invalid_token")
	forgot("a@example.com")
	_, err = w.accounts.Disable(t.Context(), "a@example.com", true)
	require.NoError(t, err)
	reset(b.token(t), "yet another phrase").As(200)
	forgot("a@example.com").As(202)
	reset(b.token(t), "one more phrase of words").As(200)
	held := w.login(t, "a@example.com", "one more phrase of words")
	require.Len(t, held.decisions(t, "?kind=suspension"), 1, "a suspended owner reads why, and appeals")
	held.Get(t, "/api/keys").Fails(403, "forbidden")
}

func TestServerWithoutMail(t *testing.T) {
	newWorld(t).nobody().Post(t, "/api/auth/forgot", object{"email": "a@example.com"}).Fails(403, "forbidden")
}
