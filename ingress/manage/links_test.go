package manage_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/manage"
	"adnet/internal/account"
	"adnet/internal/errs"
)

// box is a mailbox, with the limits of mails.
type box struct {
	mails   []account.Letter
	full    string // the purpose whose limit is used up
	counted int
}

func (b *box) Send(l account.Letter) { b.mails = append(b.mails, l) }

func (b *box) TryMail(purpose, _, _ string) (takeBack func(), err error) {
	if purpose == b.full {
		return nil, errs.New(errs.RateLimited, "too many mails").With("retry_after", 60)
	}
	b.counted++
	return func() { b.counted-- }, nil
}

func (*box) TryLogin(string, string, func() bool) error { return nil }
func (*box) LoggedIn(string, string)                    {}

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
		Mailer: b, Logins: b, Verify: true, BaseURL: func() string { return "https://ads.example" },
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

func TestLinksExpire(t *testing.T) {
	w, b := mailing(t)
	w.nobody().Post(t, "/api/auth/register", object{"email": "a@example.com", "password": "correct horse"}).As(202)
	w.Now = w.Now.Add(24 * time.Hour)
	w.nobody().Post(
		t, "/api/auth/verify", object{"token": b.token(t), "password": "correct horse"},
	).Fails(401, "invalid_token")
}

// Requests of a stranger for an e-mail stop neither its owner's reset nor a newcomer's registration,
// and leave their links valid.
func TestStrangersStopNoLink(t *testing.T) {
	w, b := mailing(t)
	_, err := w.accounts.Register(t.Context(), "owner@example.com", "correct horse")
	require.NoError(t, err)
	ask := func(network int, path, email string) {
		body := fmt.Sprintf(`{"email":%q}`, email)
		if strings.HasSuffix(path, "register") {
			body = fmt.Sprintf(`{"email":%q,"password":"correct horse"}`, email)
		}
		r := ingresstest.Request("POST", path, body)
		r.RemoteAddr = fmt.Sprintf("203.0.%d.7:1", network)
		require.Equal(t, 202, w.Send(t, r).Code)
	}
	flood := func() {
		for _, email := range []string{"owner@example.com", "new@example.com"} {
			for n := range 12 {
				ask(n%3, "/api/auth/register", email)
				ask(n%3, "/api/auth/forgot", email)
			}
		}
	}
	flood()
	before := len(b.mails)
	ask(9, "/api/auth/forgot", "owner@example.com")
	ask(9, "/api/auth/register", "new@example.com")
	require.Len(t, b.mails, before+2)
	reset := tokenInMail.FindStringSubmatch(b.mails[before].Text)[1]
	verify := tokenInMail.FindStringSubmatch(b.mails[before+1].Text)[1]
	require.True(t, b.mails[before].Urgent)
	require.False(t, b.mails[before+1].Urgent)
	flood()
	w.nobody().Post(t, "/api/auth/reset", object{"token": reset, "password": "battery staple wins"}).As(200)
	w.nobody().Post(
		t, "/api/auth/verify", object{"token": verify, "password": "correct horse"},
	).As(201)
}

// The bound of mails is the asking network's, and the same for known and unknown e-mails.
func TestMailsOfANetwork(t *testing.T) {
	w, b := mailing(t)
	_, err := w.accounts.Register(t.Context(), "owner@example.com", "correct horse")
	require.NoError(t, err)
	b.full = "reset"
	known := w.nobody().Post(t, "/api/auth/forgot", object{"email": "owner@example.com"})
	unknown := w.nobody().Post(t, "/api/auth/forgot", object{"email": "nobody@example.com"})
	known.Fails(429, "rate_limited")
	require.Equal(t, known.Text, unknown.Text)
	w.nobody().Post(t, "/api/auth/register", object{"email": "new@example.com", "password": "short"}).Fails(
		400, "invalid_request",
	)
	require.Zero(t, b.counted, "a refused registration does not count")
	w.nobody().Post(t, "/api/auth/register", object{"email": "new@example.com", "password": "correct horse"}).As(202)
	require.Equal(t, 1, b.counted)
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
