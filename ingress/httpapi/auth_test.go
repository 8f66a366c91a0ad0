package httpapi_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/store/memory"
	"adnet/internal/token"
)

// door is a server with one route for each way to be let in.
type door struct {
	*setup
	auth     *httpapi.Auth
	store    *memory.Stores
	flaky    *flaky
	accounts *account.Service
	sessions *token.Sessions
	now      time.Time
	entered  atomic.Int32
	mu       sync.Mutex // guards spent
	spent    []httpapi.Work
	refuses  bool
	begun    chan struct{} // of requests to /slow, which last until end is closed
	end      chan struct{}
}

func (d *door) spend(_ *gin.Context, _ uuid.UUID, what httpapi.Work) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spent = append(d.spent, what)
	if d.refuses {
		return errs.New(errs.RateLimited, "enough")
	}
	return nil
}

// flaky is the store, when it is up.
type flaky struct {
	*memory.Accounts
	*memory.Logins
	down  atomic.Bool
	loads atomic.Int32
	held  chan struct{} // when set, lookups of users wait for it
	after func()        // when set, called when a key was read, before the answer
}

var errDown = errs.New(errs.Unavailable, "the store is out of reach")

func (f *flaky) User(ctx context.Context, id uuid.UUID) (account.User, error) {
	f.loads.Add(1)
	if f.held != nil {
		select {
		case <-f.held:
		case <-ctx.Done():
			return account.User{}, ctx.Err()
		}
	}
	if f.down.Load() {
		return account.User{}, errDown
	}
	return f.Accounts.User(ctx, id)
}

func (f *flaky) KeyByHash(ctx context.Context, hash [32]byte) (account.Key, bool, error) {
	f.loads.Add(1)
	if f.down.Load() {
		return account.Key{}, false, errDown
	}
	key, disabled, err := f.Accounts.KeyByHash(ctx, hash)
	if f.after != nil {
		f.after()
	}
	return key, disabled, err
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{
		now:   time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		begun: make(chan struct{}), end: make(chan struct{}),
	}
	clock := func() time.Time { return d.now }
	d.store = memory.New(clock)
	d.flaky = &flaky{Accounts: d.store.Accounts, Logins: d.store.Logins}
	d.accounts = account.NewService(account.Deps{Users: d.store.Accounts, Keys: d.store.Accounts, Now: clock})
	d.sessions = sessions(t, "k1")
	auth := httpapi.NewAuth(httpapi.AuthDeps{
		Users: d.flaky, Keys: d.flaky, Sessions: d.sessions, Logins: d.flaky, Now: clock, Spend: d.spend,
	})
	d.auth, d.setup = auth, server(t, httpapi.Config{}, auth)
	user := func(of func(*gin.Context) (account.User, error)) httpapi.Handler {
		return httpapi.Plain(func(c *gin.Context) error {
			d.entered.Add(1)
			u, err := of(c)
			if err != nil {
				return err
			}
			return httpapi.JSON(c, http.StatusOK, u.Email)
		})
	}
	key := func(kind account.KeyKind) httpapi.Handler {
		return httpapi.Plain(func(c *gin.Context) error {
			caller, err := auth.Key(c, kind)
			if err != nil {
				return err
			}
			return httpapi.JSON(
				c, http.StatusOK,
				map[string]any{
					"sandbox": caller.Sandbox, "developer": caller.DeveloperID, "known": caller.KeyID != uuid.Nil,
				},
			)
		})
	}
	d.Handle(http.MethodGet, "/user", user(auth.User), open)
	scan := open
	scan.Scans = true
	d.Handle(http.MethodGet, "/scan", user(auth.User), scan)
	twice := func(c *gin.Context) (account.User, error) {
		if _, err := auth.User(c); err != nil {
			return account.User{}, err
		}
		return auth.User(c)
	}
	d.Handle(http.MethodPost, "/change", user(twice), change)
	d.Handle(http.MethodPost, "/slow", httpapi.Plain(func(c *gin.Context) error {
		_, err := auth.User(c)
		d.begun <- struct{}{}
		<-d.end
		return err
	}), change)
	d.Handle(http.MethodGet, "/admin", httpapi.Do(d.email), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.AdminToken, NotAdmin: errs.InvalidToken,
	})
	d.Handle(http.MethodGet, "/pub", key(account.KindPublisher), open)
	d.Handle(http.MethodGet, "/seat", key(account.KindSeat), open)
	return d
}

// email answers with the caller's address.
func (d *door) email(_ *gin.Context, u account.User, _ httpapi.None) (string, error) {
	d.entered.Add(1)
	return u.Email, nil
}

func sessions(t *testing.T, id string) *token.Sessions {
	t.Helper()
	key, err := token.NewKey(id)
	require.NoError(t, err)
	s, err := token.NewSessions([]token.Key{key})
	require.NoError(t, err)
	return s
}

func (d *door) account(t *testing.T, email string) (account.User, string) {
	t.Helper()
	u, err := d.accounts.Register(t.Context(), email, "long enough!")
	require.NoError(t, err)
	return u, d.token(t, u)
}

func (d *door) token(t *testing.T, u account.User) string {
	t.Helper()
	text, err := sessionsOf(t, d, u, d.sessions)
	require.NoError(t, err)
	return text
}

func (d *door) try(path, bearer string) int {
	return d.get(path, "Authorization", "Bearer "+bearer).Code
}

// code expects a 401 and gives its error code.
func (d *door) refused(t *testing.T, path, header string) string {
	t.Helper()
	w := d.get(path, "Authorization", header)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
	return envelope(t, w)["code"].(string)
}

func TestSessionTokens(t *testing.T) {
	d := newDoor(t)
	u, good := d.account(t, "a@example.com")
	other, err := sessionsOf(t, d, u, sessions(t, "k1"))
	require.NoError(t, err)
	unknownKey, err := sessionsOf(t, d, u, sessions(t, "../../etc/passwd"[6:9]))
	require.NoError(t, err)
	part := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString

	require.Equal(t, 200, d.try("/user", good))
	require.Equal(
		t, 200, d.get("/user", "Authorization", "bearer "+good).Code, "the scheme has no case (RFC 9110, 11.1)",
	)
	for name, header := range map[string]string{
		"none":           "",
		"no scheme":      good,
		"other scheme":   "Basic " + good,
		"empty":          "Bearer ",
		"two values":     "Bearer " + good + " " + good,
		"session object": `Bearer {"access_token":"` + good + `","expires_in":2592000}`,
		"spaced object":  `Bearer {"access_token": "` + good + `"}`,
		"garbage":        "Bearer garbage",
		"dots":           "Bearer " + strings.Repeat(".", 1<<20),
		"alg none":       "Bearer " + b64([]byte(`{"alg":"none","kid":"k1"}`)) + "." + part[1] + ".",
		"alg HS512":      "Bearer " + b64([]byte(`{"alg":"HS512","kid":"k1"}`)) + "." + part[1] + "." + part[2],
		"path as kid": "Bearer " + b64([]byte(
			`{"alg":"HS256","kid":"../../dev/null"}`,
		)) + "." + part[1] + "." + part[2],
		"role changed": "Bearer " + part[0] + "." + b64([]byte(strings.Replace(
			string(decoded(t, part[1])), "advertiser", "admin", 1,
		))) + "." + part[2],
		"signature of k1'": "Bearer " + other,
		"unknown kid":      "Bearer " + unknownKey,
		"last character":   "Bearer " + good[:len(good)-1] + string(rune(good[len(good)-1])^1),
		"a publisher key":  "Bearer " + account.PublicSandboxKey,
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, "invalid_token", d.refused(t, "/user", header)) })
	}
	d.now = d.now.Add(token.SessionLife - time.Second)
	require.Equal(t, 200, d.try("/user", good))
	d.now = d.now.Add(2 * time.Second)
	require.Equal(t, "invalid_token", d.refused(t, "/user", "Bearer "+good))
}

func sessionsOf(t *testing.T, d *door, u account.User, s *token.Sessions) (string, error) {
	t.Helper()
	session := account.Session{
		ID: uuid.New(), UserID: u.ID, Version: u.TokenVersion, CreatedAt: d.now, ExpiresAt: d.now.Add(token.SessionLife),
	}
	require.NoError(t, d.store.Logins.CreateSession(t.Context(), session))
	text, _, err := s.Issue(token.Claims{
		UserID: u.ID, SessionID: session.ID, Role: string(u.Role), Email: u.Email, Version: u.TokenVersion,
	}, d.now)
	return text, err
}

func decoded(t *testing.T, part string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part)
	require.NoError(t, err)
	return raw
}

// What the store says about a user or key is obeyed within 5 s.
func TestChangesAreNoticed(t *testing.T) {
	for name, change := range map[string]func(*door, account.User) error{
		"disabled": func(d *door, u account.User) error {
			_, err := d.accounts.Disable(context.Background(), u.Email, true)
			return err
		},
		"password": func(d *door, u account.User) error {
			_, err := d.accounts.SetPassword(context.Background(), u.Email, "another one!")
			return err
		},
		"role": func(d *door, u account.User) error {
			_, err := d.accounts.Promote(context.Background(), u.Email, account.RoleAdvertiser)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			u, bearer := d.account(t, "a@example.com")
			require.Equal(t, 200, d.try("/user", bearer))
			require.NoError(t, change(d, u))
			d.now = d.now.Add(5 * time.Second)
			require.Equal(t, "invalid_token", d.refused(t, "/user", "Bearer "+bearer))
		})
	}
	t.Run("key", func(t *testing.T) {
		d := newDoor(t)
		u, _ := d.account(t, "a@example.com")
		key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
		require.NoError(t, err)
		require.Equal(t, 200, d.try("/pub", key.Plain))
		require.NoError(t, d.accounts.RevokeKey(t.Context(), u, key.ID))
		d.now = d.now.Add(5 * time.Second)
		require.Equal(t, "invalid_token", d.refused(t, "/pub", "Bearer "+key.Plain))
	})
	t.Run("owner of a key disabled", func(t *testing.T) {
		d := newDoor(t)
		u, _ := d.account(t, "a@example.com")
		key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
		require.NoError(t, err)
		require.Equal(t, 200, d.try("/pub", key.Plain))
		_, err = d.accounts.Disable(t.Context(), u.Email, true)
		require.NoError(t, err)
		d.now = d.now.Add(2 * time.Second)
		require.Equal(t, 403, d.try("/pub", key.Plain))
		_, err = d.accounts.Disable(t.Context(), u.Email, false)
		require.NoError(t, err)
		require.Equal(t, 403, d.try("/pub", key.Plain), "the answer is believed for as long as any")
		d.now = d.now.Add(2 * time.Second)
		require.Equal(t, 200, d.try("/pub", key.Plain))
	})
	t.Run("keys of an account on this node", func(t *testing.T) {
		d := newDoor(t)
		u, _ := d.account(t, "a@example.com")
		key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
		require.NoError(t, err)
		for range 3 {
			require.Equal(t, 200, d.try("/pub", key.Plain))
		}
		_, err = d.accounts.Disable(t.Context(), u.Email, true)
		require.NoError(t, err)
		require.Equal(t, 200, d.try("/pub", key.Plain))
		d.auth.ForgetKeys(u)
		require.Equal(t, 403, d.try("/pub", key.Plain))
	})
	t.Run("while the store answers", func(t *testing.T) {
		d := newDoor(t)
		u, _ := d.account(t, "a@example.com")
		key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
		require.NoError(t, err)
		d.flaky.after = func() {
			_, err := d.accounts.Disable(context.Background(), u.Email, true)
			require.NoError(t, err)
			d.now = d.now.Add(1900 * time.Millisecond)
			d.flaky.after = nil
		}
		require.Equal(t, 200, d.try("/pub", key.Plain))
		d.now = d.now.Add(100 * time.Millisecond)
		require.Equal(t, 403, d.try("/pub", key.Plain), "an answer is as old as its question")
	})
}

func TestAdmin(t *testing.T) {
	d := newDoor(t)
	u, bearer := d.account(t, "a@example.com")
	require.Equal(t, "invalid_token", d.refused(t, "/admin", "Bearer "+bearer))
	require.Equal(t, "invalid_token", d.refused(t, "/admin", ""))

	// The role in the token is only a hint.
	forged := u
	forged.Role = account.RoleAdmin
	require.Equal(t, "invalid_token", d.refused(t, "/admin", "Bearer "+d.token(t, forged)))

	u, err := d.accounts.Promote(t.Context(), u.Email, account.RoleAdmin)
	require.NoError(t, err)
	d.now = d.now.Add(5 * time.Second)
	require.Equal(t, 200, d.try("/admin", d.token(t, u)))
}

func TestKeys(t *testing.T) {
	d := newDoor(t)
	admin, err := d.accounts.CreateAdmin(t.Context(), "admin@example.com", "long enough!")
	require.NoError(t, err)
	publisher, err := d.accounts.CreateKey(t.Context(), admin, account.KeyRequest{Kind: account.KindPublisher})
	require.NoError(t, err)
	seat, err := d.accounts.CreateKey(t.Context(), admin, account.KeyRequest{Kind: account.KindSeat})
	require.NoError(t, err)
	mistyped := publisher.Plain[:len(publisher.Plain)-1] + "_"

	require.Equal(t, 200, d.try("/pub", publisher.Plain))
	require.Equal(t, 200, d.try("/seat", seat.Plain))
	for _, path := range []string{"/pub", "/seat"} {
		for _, header := range []string{
			"", "Bearer", "Bearer ", publisher.Plain, "Token " + publisher.Plain, "Bearer a b",
		} {
			require.Equal(t, "missing_authorization", d.refused(t, path, header), "%q", header)
		}
	}
	require.Equal(t, "invalid_token", d.refused(t, "/pub", "Bearer "+seat.Plain), "wrong kind")
	require.Equal(t, "invalid_token", d.refused(t, "/seat", "Bearer "+publisher.Plain), "wrong kind")
	require.Equal(
		t, "invalid_token", d.refused(t, "/seat", "Bearer "+account.PublicSandboxKey), "sandbox is for ad requests",
	)

	before := d.flaky.loads.Load()
	require.Equal(t, "invalid_token", d.refused(t, "/pub", "Bearer "+mistyped))
	require.Equal(t, before, d.flaky.loads.Load(), "a wrong checksum costs no lookup")
	unknown, _, err := account.GenerateKey(account.KindPublisher)
	require.NoError(t, err)
	require.Equal(t, "invalid_token", d.refused(t, "/pub", "Bearer "+unknown))

	for _, sandbox := range []string{account.PublicSandboxKey, "pub_test_", "sk_test_whatever"} {
		w := d.get("/pub", "Authorization", "Bearer "+sandbox)
		require.Equal(t, 200, w.Code)
		require.JSONEq(
			t, `{"sandbox":true,"developer":"00000000-0000-0000-0000-000000000000","known":true}`, w.Body.String(),
		)
	}
}

// Without the store keys that were seen serve for a minute from the question on, so that ads go on,
// and logins for no longer than ever: a node that is cut off would not hear that one was ended.
func TestStoreOutage(t *testing.T) {
	d := newDoor(t)
	u, bearer := d.account(t, "a@example.com")
	key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
	require.NoError(t, err)
	_, stranger := d.account(t, "b@example.com")
	require.Equal(t, 200, d.try("/user", bearer))
	require.Equal(t, 200, d.try("/pub", key.Plain))
	d.flaky.down.Store(true)
	d.now = d.now.Add(1999 * time.Millisecond)
	require.Equal(t, 200, d.try("/user", bearer))
	d.now = d.now.Add(time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, d.try("/user", bearer), "a login is 2 s old at most")
	require.Equal(t, http.StatusServiceUnavailable, d.try("/user", stranger), "nobody is let in unseen")
	require.Equal(t, 200, d.try("/pub", key.Plain))
	d.now = d.now.Add(58*time.Second - time.Millisecond)
	require.Equal(t, 200, d.try("/pub", key.Plain), "a key that was known serves on")
	d.now = d.now.Add(time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, d.try("/pub", key.Plain), "for a minute")
	d.flaky.down.Store(false)
	require.Equal(t, 200, d.try("/pub", key.Plain))
	require.Equal(t, 200, d.try("/user", bearer))
	require.Equal(t, 200, d.try("/user", stranger), "an outage is not remembered")
}

func TestLookupsAreShared(t *testing.T) {
	d := newDoor(t)
	_, bearer := d.account(t, "a@example.com")
	for range 10 {
		require.Equal(t, 200, d.try("/user", bearer))
	}
	require.EqualValues(t, 1, d.flaky.loads.Load())

	// The first caller starts the lookup and goes away; those who joined it are answered all the
	// same.
	_, bearer = d.account(t, "b@example.com")
	d.flaky.held = make(chan struct{})
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	var replies sync.WaitGroup
	ask := func(ctx context.Context) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/user", nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		replies.Go(func() { d.ServeHTTP(w, r) })
		return w
	}
	until := func(count *atomic.Int32, n int32) {
		require.Eventually(t, func() bool { return count.Load() == n }, time.Minute, time.Millisecond)
	}
	ask(gone)
	until(&d.flaky.loads, 2)
	var others []*httptest.ResponseRecorder
	for range 20 {
		others = append(others, ask(t.Context()))
	}
	until(&d.entered, 31)
	cancel()
	close(d.flaky.held)
	replies.Wait()
	for _, w := range others {
		require.Equal(t, 200, w.Code)
	}
}

// Changes, scans and all reads count against their account, once each; administrators' do not.
func TestWorkCounts(t *testing.T) {
	d := newDoor(t)
	_, bearer := d.account(t, "a@example.com")
	post := func(bearer string) int {
		r := httptest.NewRequest(http.MethodPost, "/change", nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, d.try("/user", bearer))
	require.Equal(t, 200, d.try("/scan", bearer))
	require.Equal(t, 200, post(bearer))
	require.Equal(
		t, []httpapi.Work{httpapi.WorkReads, httpapi.WorkReads, httpapi.WorkStats, httpapi.WorkWrites}, d.spent,
	)
	d.refuses = true
	require.Equal(t, 429, post(bearer))
	require.Equal(t, 429, d.try("/user", bearer))
	admin, err := d.accounts.CreateAdmin(t.Context(), "boss@example.com", "long enough!")
	require.NoError(t, err)
	require.Equal(t, 200, post(d.token(t, admin)))
}

// A tenant with many connections has few changes under way; another's does not wait for them.
func TestChangesTakeTurns(t *testing.T) {
	d := newDoor(t)
	_, flooder := d.account(t, "a@example.com")
	_, other := d.account(t, "b@example.com")
	answers := make(chan int)
	change := func(path, bearer string) {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		answers <- w.Code
	}
	for range 5 {
		go change("/slow", flooder)
	}
	<-d.begun
	<-d.begun
	go change("/change", other)
	require.Equal(t, 200, <-answers, "another account's change")
	select {
	case <-d.begun:
		t.Fatal("a third change of the account began")
	case <-time.After(20 * time.Millisecond):
	}
	close(d.end)
	for range 3 {
		<-d.begun
	}
	for range 5 {
		require.Equal(t, 200, <-answers)
	}
}

// spyOnce records the callers of calls with a policy that is idempotent.
type spyOnce struct {
	auth *httpapi.Auth
	of   []httpapi.Identity
}

func (s *spyOnce) Do(c *gin.Context, _ string, handle func(*gin.Context)) error {
	who, err := s.auth.Identify(c)
	if err != nil {
		return err
	}
	s.of = append(s.of, who)
	handle(c)
	return nil
}

// A stored reply is for the caller of the handler. A refused caller does not reach the store.
func TestKeysAreInsideTheAdmission(t *testing.T) {
	d := newDoor(t)
	u, bearer := d.account(t, "a@example.com")
	key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: account.KindPublisher})
	require.NoError(t, err)
	auth := httpapi.NewAuth(httpapi.AuthDeps{
		Users: d.flaky, Keys: d.flaky, Sessions: d.sessions, Logins: d.flaky, Now: func() time.Time { return d.now },
	})
	spy := &spyOnce{auth: auth}
	s, err := httpapi.New(httpapi.Config{}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
		Auth: auth, Once: spy,
	})
	require.NoError(t, err)
	for path, who := range map[string]httpapi.Access{
		"/user": httpapi.UserToken, "/admin": httpapi.AdminToken, "/open": httpapi.Anyone,
		"/pub": httpapi.PublisherKey,
	} {
		p := change
		p.Auth, p.Idempotent = who, httpapi.Yes
		s.Handle(http.MethodPost, path, httpapi.Plain(func(c *gin.Context) error {
			return httpapi.JSON(c, http.StatusOK, httpapi.UserOf(c).Email)
		}), p)
	}
	post := func(path, bearer string) int {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for path, status := range map[string]int{"/user": 401, "/admin": 401, "/pub": 401} {
		require.Equal(t, status, post(path, "garbage"), path)
	}
	require.Equal(t, http.StatusForbidden, post("/admin", bearer))
	require.Empty(t, spy.of)
	require.Equal(t, http.StatusOK, post("/user", bearer))
	require.Equal(t, http.StatusOK, post("/open", bearer))
	require.Equal(t, http.StatusOK, post("/open", "garbage"))
	require.Equal(t, http.StatusOK, post("/pub", key.Plain))
	require.Len(t, spy.of, 4)
	require.Equal(t, u.ID, spy.of[0].User.ID)
	require.Equal(t, spy.of[0], spy.of[1])
	require.Equal(t, httpapi.Identity{Name: "key " + key.ID.String(), Account: u.ID}, spy.of[3])
	require.Equal(t, httpapi.Identity{}, spy.of[2])
	_, err = d.accounts.Disable(t.Context(), u.Email, true)
	require.NoError(t, err)
	d.now = d.now.Add(5 * time.Second)
	require.Equal(t, http.StatusUnauthorized, post("/user", bearer))
	require.Len(t, spy.of, 4, "each call is admitted anew")
}
