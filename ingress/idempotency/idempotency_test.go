package idempotency_test

import (
	"context"
	"errors"
	"fmt"
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
	"adnet/ingress/idempotency"
	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/once"
	"adnet/internal/process/obs"
	"adnet/internal/store/memory"
)

// callers resolves two bearer tokens.
type callers map[string]account.User

func (u callers) Identify(c *gin.Context) (httpapi.Identity, error) {
	bearer, _ := httpapi.Bearer(c)
	if user, ok := u[bearer]; ok {
		return httpapi.Identity{Name: "account " + user.ID.String(), Account: user.ID, User: user}, nil
	}
	return httpapi.Identity{}, nil
}

type fixture struct {
	http  *httpapi.Server
	store *memory.Stores
	calls atomic.Int64
	act   func(c *gin.Context) error
	// die loses the reply of the next call, like a process that is killed after its effect.
	die atomic.Bool
	// clock of the store
	mu  sync.Mutex
	now time.Time
}

// dying is a store whose process dies before it stores a reply.
type dying struct {
	*memory.Requests
	f *fixture
}

func (d dying) FinishKey(ctx context.Context, a once.Attempt, r once.Reply) error {
	if d.f.die.Swap(false) {
		return errors.New("killed")
	}
	return d.Requests.FinishKey(ctx, a, r)
}

var (
	covered = httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	uncovered = httpapi.Policy{
		Limit: httpapi.LimitNone, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No,
	}
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	f.store = memory.New(func() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now })
	f.act = func(c *gin.Context) error {
		return httpapi.JSON(c, http.StatusCreated, map[string]any{"n": f.calls.Load(), "key": "secret-shown-once"})
	}
	once := idempotency.New(idempotency.Deps{
		Config: idempotency.Config{Most: 5},
		Log:    slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Store: dying{f.store.Requests, f},
		Caller: callers{
			"alice": {ID: uuid.UUID{1}}, "bob": {ID: uuid.UUID{2}},
			"admin": {ID: uuid.UUID{3}, Role: account.RoleAdmin},
		},
	})
	var err error
	f.http, err = httpapi.New(
		httpapi.Config{},
		httpapi.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
			Once: once,
		},
	)
	require.NoError(t, err)
	act := httpapi.Plain(func(c *gin.Context) error {
		f.calls.Add(1)
		return f.act(c)
	})
	for _, path := range []string{"/api/others", "/api/things/:id"} {
		f.http.Handle(http.MethodPost, path, act, covered)
	}
	f.http.HandleActions(http.MethodPost, "/api/things", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: act}, "go": {Do: act},
	}}, covered)
	f.http.Handle(http.MethodPost, "/api/track", act, uncovered)
	f.http.HandleActions(http.MethodPost, "/api/auth", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: act}, "login": {Do: act}, "register": {Do: act, Policy: covered},
	}}, uncovered)
	return f
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) post(path, bearer, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	if key != "" {
		r.Header.Set(idempotency.Header, key)
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	return w
}

const key = "0123456789abcdef"

func TestReplay(t *testing.T) {
	f := newFixture(t)
	first := f.post("/api/things", "alice", key, `{"a":1}`)
	require.Equal(t, 201, first.Code)
	require.JSONEq(t, `{"n":1,"key":"secret-shown-once"}`, first.Body.String())
	require.Empty(t, first.Header().Get(idempotency.Replayed))
	for range 3 {
		again := f.post("/api/things", "alice", key, `{"a":1}`)
		require.Equal(t, 201, again.Code)
		require.JSONEq(t, `{"n":1,"key":"secret-shown-once","replayed":true}`, again.Body.String())
		require.Equal(t, "true", again.Header().Get(idempotency.Replayed))
		require.Equal(t, first.Header().Get("Content-Type"), again.Header().Get("Content-Type"))
	}
	require.EqualValues(t, 1, f.calls.Load())
	conflict := f.post("/api/things", "alice", key, `{"a":2}`)
	require.Equal(t, 409, conflict.Code)
	require.Contains(t, conflict.Body.String(), `"idempotency_conflict"`)
	require.Equal(t, 409, f.post("/api/things?x=1", "alice", key, `{"a":1}`).Code)
	require.EqualValues(t, 1, f.calls.Load())

	for i, other := range []*httptest.ResponseRecorder{
		f.post("/api/things", "bob", key, `{"a":2}`), f.post("/api/things", "", key, `{"a":2}`),
		f.post("/api/others", "alice", key, `{"a":2}`),
		f.post("/api/things?action=go", "alice", key, `{"a":2}`), f.post("/api/things", "alice", key+"x", `{"a":2}`),
		f.post("/api/things", "alice", "", `{"a":1}`),
	} {
		require.Equal(t, 201, other.Code)
		require.NotContains(t, other.Body.String(), "replayed", "%d", i)
	}
	require.EqualValues(t, 7, f.calls.Load())
	f.advance(24*time.Hour - time.Second)
	require.Contains(t, f.post("/api/things", "alice", key, `{"a":1}`).Body.String(), "replayed")
	f.advance(time.Second)
	require.NotContains(
		t, f.post("/api/things", "alice", key, `{"a":3}`).Body.String(), "replayed", "a day later the key is free",
	)
}

func TestInvalidKeysAreRejected(t *testing.T) {
	f := newFixture(t)
	for _, bad := range []string{
		"0123456789abcde", strings.Repeat("a", 256), "0123456789abcdefü", "01234567\x0189abcdef",
	} {
		w := f.post("/api/things", "alice", bad, `{}`)
		require.Equal(t, 400, w.Code, bad)
		require.Contains(t, w.Body.String(), `"invalid_idempotency_key"`)
	}
	require.Zero(t, f.calls.Load())
	for _, good := range []string{strings.Repeat("a", 16), strings.Repeat("a", 255), "with space and ~!"} {
		require.Equal(t, 201, f.post("/api/things", "alice", good, `{}`).Code)
	}
	r := httptest.NewRequest(http.MethodPost, "/api/things", nil)
	r.Header[idempotency.Header] = []string{key, key}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	require.Equal(t, 400, w.Code)
}

func TestTemporaryErrorsAreNotStored(t *testing.T) {
	f := newFixture(t)
	for status, code := range map[int]errs.Code{
		500: errs.Internal, 503: errs.Unavailable, 429: errs.RateLimited, 401: errs.InvalidToken,
	} {
		f.act = func(*gin.Context) error { return errs.New(code, "x") }
		require.Equal(t, status, f.post("/api/things", "alice", key, `{}`).Code)
		before := f.calls.Load()
		require.Equal(t, status, f.post("/api/things", "alice", key, `{}`).Code)
		require.Equal(t, before+1, f.calls.Load(), "a retry after %d runs", status)
	}
	f.act = func(*gin.Context) error { panic("x") }
	require.Equal(t, 500, f.post("/api/things", "alice", key, `{}`).Code)
	f.act = func(*gin.Context) error { return errs.New(errs.InvalidRequest, "wrong") }
	require.Equal(t, 400, f.post("/api/things", "alice", key, `{}`).Code)
	again := f.post("/api/things", "alice", key, `{}`)
	require.Equal(t, 400, again.Code)
	require.JSONEq(t, `{"error":"wrong","code":"invalid_request","replayed":true}`, again.Body.String())
	require.Equal(t, 400, f.post("/api/things", "alice", key, `{}`).Code)
	require.Equal(t, 413, f.post("/api/things", "alice", key, `{"a":"`+strings.Repeat("x", 64<<10)+`"}`).Code)
}

func TestSecondCallWhileTheFirstRuns(t *testing.T) {
	f := newFixture(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := f.act
	f.act = func(c *gin.Context) error { close(entered); <-leave; return slow(c) }
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- f.post("/api/things", "alice", key, `{}`) }()
	<-entered
	busy := f.post("/api/things", "alice", key, `{}`)
	require.Equal(t, 409, busy.Code)
	require.Contains(t, busy.Body.String(), `"idempotency_in_progress"`)
	require.Equal(t, "1", busy.Header().Get("Retry-After"))
	waiting := make(chan *httptest.ResponseRecorder)
	go func() { waiting <- f.post("/api/things", "alice", key, `{}`) }()
	close(leave)
	require.Equal(t, 201, (<-first).Code)
	require.Contains(t, (<-waiting).Body.String(), `"replayed":true`)
	require.EqualValues(t, 1, f.calls.Load())
}

// TestCrashBetweenEffectAndReply kills the process after its commit: the retry must not run again.
func TestCrashBetweenEffectAndReply(t *testing.T) {
	f := newFixture(t)
	f.act = func(c *gin.Context) error {
		u := account.User{
			ID: uuid.New(), DeveloperID: uuid.New(), Email: uuid.NewString() + "@example.com",
			Role: account.RoleAdvertiser,
		}
		if err := f.store.Accounts.CreateUser(c.Request.Context(), u); err != nil {
			return err
		}
		return httpapi.JSON(c, 201, map[string]any{"id": u.ID})
	}
	f.die.Store(true)
	first := f.post("/api/things", "alice", key, `{}`)
	require.Equal(t, 201, first.Code)
	f.advance(time.Minute)
	again := f.post("/api/things", "alice", key, `{}`)
	require.Equal(t, 200, again.Code)
	require.Contains(t, again.Body.String(), `"recovered":true`)
	require.Contains(t, again.Body.String(), `"kind":"user"`)
	require.EqualValues(t, 1, f.calls.Load())
	list, err := f.store.Audit.AuditLog(t.Context(), auditlog.Query{Limit: 10})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, auditlog.API, list[0].Actor.Via)
	require.Equal(t, "POST /api/things", list[0].Actor.Action)
	require.Equal(t, "192.0.2.0/24", list[0].Actor.Network)
	require.NotEmpty(t, list[0].Actor.RequestID)
}

func TestEndpointsWithoutIdempotencyKeys(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/api/track", "/api/auth", "/api/auth?action=login"} {
		before := f.calls.Load()
		for range 2 {
			require.NotContains(t, f.post(path, "", key, `{}`).Body.String(), "replayed")
		}
		require.Equal(t, before+2, f.calls.Load(), path)
	}
	f.post("/api/auth?action=register", "", key, `{}`)
	require.Contains(t, f.post("/api/auth?action=register", "", key, `{}`).Body.String(), "replayed")
	require.Equal(t, 201, f.post("/api/things", "mallory", key, `{}`).Code, "the handler judges a bad token")
}

// TestKeptRepliesAreSealed checks the data that a reader of the store would see.
func TestKeptRepliesAreSealed(t *testing.T) {
	f := newFixture(t)
	f.post("/api/things", "alice", key, `{"a":1}`)
	seen := ""
	spy := spyStore{f.store.Requests, &seen}
	once := idempotency.New(idempotency.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Store: spy,
		Caller: callers{"alice": {ID: uuid.UUID{1}}},
	})
	h, err := httpapi.New(
		httpapi.Config{},
		httpapi.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
			Once: once,
		},
	)
	require.NoError(t, err)
	h.Handle(http.MethodPost, "/api/keys", httpapi.Plain(func(c *gin.Context) error { return f.act(c) }), covered)
	r := httptest.NewRequest(http.MethodPost, "/api/keys", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set(idempotency.Header, key)
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.NotEmpty(t, seen)
	require.NotContains(t, seen, "secret")
}

type spyStore struct {
	*memory.Requests
	seen *string
}

func (s spyStore) FinishKey(ctx context.Context, a once.Attempt, r once.Reply) error {
	*s.seen = string(r.Body)
	return s.Requests.FinishKey(ctx, a, r)
}

// Each key stores a row and a reply, so an account or a network has a daily limit. Its repeats and
// other callers' keys still work.
func TestKeysOfACallerAreLimited(t *testing.T) {
	f := newFixture(t)
	key := func(n int) string { return fmt.Sprintf("key-of-sixteen-%02d", n) }
	for n := range 5 {
		require.Equal(t, http.StatusCreated, f.post("/api/others", "alice", key(n), "{}").Code)
	}
	full := f.post("/api/others", "alice", key(5), "{}")
	require.Equal(t, http.StatusTooManyRequests, full.Code)
	require.NotEmpty(t, full.Header().Get("Retry-After"))
	require.EqualValues(t, 5, f.calls.Load(), "the call does not run")
	require.Equal(t, http.StatusTooManyRequests, f.post("/api/things", "alice", key(0), "{}").Code, "on any route")
	require.Equal(t, "true", f.post("/api/others", "alice", key(0), "{}").Header().Get(idempotency.Replayed))
	require.Equal(t, http.StatusCreated, f.post("/api/others", "alice", "", "{}").Code, "without a key")
	require.Equal(t, http.StatusCreated, f.post("/api/others", "bob", key(5), "{}").Code)
	for n := range 7 {
		require.Equal(t, http.StatusCreated, f.post("/api/others", "admin", key(n), "{}").Code)
	}
	f.advance(25 * time.Hour)
	require.Equal(t, http.StatusCreated, f.post("/api/others", "alice", key(6), "{}").Code)
}

// A caller without a login has only replies that changed something stored, in one bound for all
// addresses. Above it the calls run, without their keys, and no account notices.
func TestCallersWithoutALoginKeepOnlyChanges(t *testing.T) {
	f := newFixture(t)
	key := func(n int) string { return fmt.Sprintf("key-of-sixteen-%02d", n) }
	post := func(network, n int) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/things", strings.NewReader("{}"))
		r.RemoteAddr = fmt.Sprintf("192.0.%d.1:99", network)
		r.Header.Set(idempotency.Header, key(n))
		w := httptest.NewRecorder()
		f.http.ServeHTTP(w, r)
		return w
	}
	changes := f.act
	for _, code := range []errs.Code{errs.InvalidRequest, errs.Forbidden, errs.NotFound, errs.Conflict, errs.Retired} {
		f.act = func(*gin.Context) error { return errs.New(code, "wrong") }
		for n := range 20 {
			before := f.calls.Load()
			for range 2 {
				w := post(n, n)
				require.NotContains(t, w.Body.String(), "replayed")
			}
			require.Equal(t, before+2, f.calls.Load(), "a retry runs")
		}
	}
	f.act = changes
	for n := range 5 {
		require.Equal(t, http.StatusCreated, post(n, n).Code)
		require.Contains(t, post(n, n).Body.String(), "replayed", "mistakes have left no row")
	}
	before := f.calls.Load()
	for range 2 {
		w := post(99, 99)
		require.Equal(t, http.StatusCreated, w.Code)
		require.NotContains(t, w.Body.String(), "replayed")
	}
	require.NotContains(t, post(20, 0).Body.String(), "replayed", "the key of another address")
	require.Equal(t, before+3, f.calls.Load(), "above the bound a call runs without its key")
	for n := range 5 {
		require.Equal(t, http.StatusCreated, f.post("/api/things", "alice", key(n), "{}").Code)
	}
	require.Equal(t, http.StatusTooManyRequests, f.post("/api/things", "alice", key(5), "{}").Code, "its own bound")
}
