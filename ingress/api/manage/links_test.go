package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/ingress/api/manage"
	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/errs"
)

// box is a mailbox, with the limits of mails.
type box struct {
	mails   []account.Letter
	full    string // the purpose whose limit is used up
	counted int
	doubts  bool // whether strangers have guessed too often
	guesses int
}

func (b *box) Send(l account.Letter) { b.mails = append(b.mails, l) }

func (b *box) TryMail(purpose, _, _ string) (takeBack func(), err error) {
	if purpose == b.full {
		return nil, errs.New(errs.RateLimited, "too many mails").With("retry_after", 60)
	}
	b.counted++
	return func() { b.counted-- }, nil
}

func (b *box) TryLogin(_, _ string, known func() bool) (takeBack func(), doubted, err error) {
	b.guesses++
	if b.doubts && !known() {
		doubted = errs.New(errs.RateLimited, "too many guesses").With("retry_after", 60)
	}
	return func() { b.guesses-- }, doubted, nil
}

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

// Registration, confirmation and a mailed link make the caller's network known.
func TestNetworksBecomeKnown(t *testing.T) {
	w, b := mailing(t)
	knows := func(email, network string) bool { return w.accounts.KnowsNetwork(t.Context(), email, network) }
	from := func(address, path string, body object) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		r := ingresstest.Request("POST", path, string(text))
		r.RemoteAddr = address + ":1"
		require.Less(t, w.Send(t, r).Code, 300)
	}
	from("192.0.2.1", "/api/auth/register", object{"email": "a@example.com", "password": "correct horse"})
	from("198.51.100.1", "/api/auth/verify", object{"token": b.token(t), "password": "correct horse"})
	require.True(t, knows("a@example.com", "198.51.100.0/24"))
	require.False(t, knows("a@example.com", "192.0.2.0/24"), "anybody can register an e-mail")
	from("192.0.2.1", "/api/auth/forgot", object{"email": "a@example.com"})
	require.False(t, knows("a@example.com", "192.0.2.0/24"), "anybody can request a link")
	from("203.0.113.1", "/api/auth/reset", object{"token": b.token(t), "password": "battery staple wins"})
	require.True(t, knows("a@example.com", "203.0.113.0/24"))

	open := newWorld(t)
	r := ingresstest.Request("POST", "/api/auth/register", `{"email":"b@example.com","password":"correct horse"}`)
	r.RemoteAddr = "192.0.2.1:1"
	require.Equal(t, 201, open.Send(t, r).Code)
	require.True(t, open.accounts.KnowsNetwork(t.Context(), "b@example.com", "192.0.2.0/24"))
}

// After many guesses of strangers an unknown network needs a mailed code with the right password.
// Without it a right and a wrong password have the same reply, so that guesses are useless.
func TestMailedCode(t *testing.T) {
	w, b := mailing(t)
	_, err := w.accounts.Register(t.Context(), "a@example.com", "correct horse")
	require.NoError(t, err)
	_, err = w.accounts.Register(t.Context(), "b@example.com", "correct horse")
	require.NoError(t, err)
	b.doubts = true
	login := func(password, code string) reply {
		return w.nobody().Post(t, "/api/auth", object{"email": "a@example.com", "password": password, "mailed_code": code})
	}
	wrong, right := login("battery staple", ""), login("correct horse", "")
	right.Fails(429, "rate_limited")
	require.Equal(t, wrong.Text, right.Text)
	login("correct horse", strings.Repeat("A", 43)).Fails(429, "rate_limited")
	login("correct horse", strings.Repeat("A", 129)).Fails(400, "invalid_request")
	w.nobody().Post(t, "/api/auth/forgot", object{"email": "b@example.com"}).As(202)
	login("correct horse", b.token(t)).Fails(429, "rate_limited") // another account's
	w.nobody().Post(t, "/api/auth/forgot", object{"email": "a@example.com"}).As(202)
	code := b.token(t)
	login("battery staple", code).Fails(429, "rate_limited")
	guesses := b.guesses
	login("correct horse", code).As(200)
	require.Equal(t, guesses, b.guesses, "a right password is no guess")
	login("correct horse", "").As(200) // the network is known by now
	login("battery staple", "").Fails(401, "invalid_credentials")
}

// A browser in which the console had a login is known for 90 days, for that account only.
func TestBrowsersBecomeKnown(t *testing.T) {
	w, b := mailing(t)
	for _, email := range []string{"a@example.com", "b@example.com"} {
		_, err := w.accounts.Register(t.Context(), email, "correct horse")
		require.NoError(t, err)
	}
	call := func(method, path, body, address, cookie string) *http.Response {
		r := ingresstest.Request(method, path, body)
		r.RemoteAddr, r.Host = address+":1", "ads.example"
		r.Header.Set(httpapi.ConsoleHeader, "1")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", cookie)
		return w.Send(t, r).Result()
	}
	login := func(email, address, cookie string) *http.Response {
		return call(
			"POST", "/api/auth", fmt.Sprintf(`{"email":%q,"password":"correct horse","cookie":true}`, email), address,
			cookie,
		)
	}
	cookieOf := func(r *http.Response, name string) string {
		require.Equal(t, 200, r.StatusCode)
		require.Len(t, r.Cookies(), 1)
		require.Equal(t, name, r.Cookies()[0].Name)
		return name + "=" + r.Cookies()[0].Value
	}
	session := cookieOf(login("a@example.com", "192.0.2.1", ""), "__Host-adnet")
	browser := cookieOf(call("GET", "/api/info", "", "192.0.2.1", session), "__Host-adnet-browser")
	again := call("GET", "/api/info", "", "192.0.2.1", session+"; "+browser)
	require.Equal(t, 200, again.StatusCode)
	require.Empty(t, again.Cookies(), "it is known")
	require.Empty(t, call("GET", "/api/info", "", "192.0.2.1", browser).Cookies(), "no session")

	b.doubts = true
	require.Equal(t, 429, login("a@example.com", "198.51.100.1", "").StatusCode)
	require.Equal(t, 429, login("b@example.com", "198.51.100.1", browser).StatusCode)
	require.Equal(t, 429, login("b@example.com", "198.51.100.1", session).StatusCode)
	require.Equal(t, 429, login("a@example.com", "198.51.100.1", browser[:len(browser)-4]+"AAAA").StatusCode)
	require.Equal(t, 200, login("A@example.com", "198.51.100.1", browser).StatusCode)
	require.Equal(t, 200, login("a@example.com", "198.51.100.2", session).StatusCode)
	w.Now = w.Now.Add(91 * 24 * time.Hour)
	require.Equal(t, 429, login("a@example.com", "203.0.113.1", browser+"; "+session).StatusCode)
}
