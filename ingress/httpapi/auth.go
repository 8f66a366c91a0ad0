package httpapi

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/singleflight"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/errs"
	"adnet/internal/schedule"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// How long a login or key is believed without asking the store again, and how long a key may still
// serve when the store gives no answer, both from the question on. The first bounds how late a
// disabled user or a revoked key is noticed (5 s are allowed); the second keeps ads running through
// a short outage, in which nobody can suspend or revoke anything, unless this node alone is cut
// off. A login has no such time: what it is for needs the store anyway.
const (
	believeFor = 2 * time.Second
	outageFor  = time.Minute
	loginsFor  = time.Duration(0)
	loadFor    = 2 * time.Second // how long a lookup may take
	cacheSize  = 100_000
)

// AuthDeps are what authentication asks.
type AuthDeps struct {
	Users    account.UserStore
	Keys     account.KeyStore
	Sessions *token.Sessions
	Logins   account.SessionStore // nil: a login is in its token and nowhere else
	Now      func() time.Time
	// BaseURL is where the console is; nil: no cookie is a login.
	BaseURL func() string
	// Spend counts a request against its account's limits; nil without limits.
	Spend func(c *gin.Context, account uuid.UUID, what Work) error
}

// Auth tells who calls. Role and state always come from the store: the token only names the user.
type Auth struct {
	deps  AuthDeps
	pages *expirable.LRU[originKey, entry[bool]]
	users *expirable.LRU[uuid.UUID, entry[account.User]]
	keys  *expirable.LRU[[32]byte, entry[account.Key]]
	live  *expirable.LRU[sessionID, entry[account.Session]]
	calls singleflight.Group
	turns turns
}

type entry[T any] struct {
	value T
	err   error // a definite answer: not found, revoked, disabled
	at    time.Time
}

// NewAuth makes an Auth with empty caches.
func NewAuth(deps AuthDeps) *Auth {
	deps.Now = schedule.Clock(deps.Now)
	return &Auth{
		deps:  deps,
		pages: expirable.NewLRU[originKey, entry[bool]](pagesSize, nil, outageFor),
		users: expirable.NewLRU[uuid.UUID, entry[account.User]](cacheSize, nil, outageFor),
		keys:  expirable.NewLRU[[32]byte, entry[account.Key]](cacheSize, nil, outageFor),
		live:  expirable.NewLRU[sessionID, entry[account.Session]](cacheSize, nil, outageFor),
	}
}

// Caller is the holder of a key.
type Caller struct {
	KeyID       uuid.UUID
	OwnerID     uuid.UUID // the account's user id
	DeveloperID uuid.UUID
	CampaignID  uuid.UUID       // the one campaign of a conversion key; zero for any
	Blocks      *account.Blocks // what the publisher does not show, ready; nil for nothing
	Publishing  account.Publishing
	House       []uuid.UUID // campaigns of the publisher that may be house ads
	Unlearned   bool        // nothing may be learnt from the requests of the key
	Browser     bool        // a page's key, which anybody may have read there
	Network     string      // of the reader, with Browser: a prefix of the address
	Sandbox     bool        // sk_test_ or pub_test_ key: the auction is bypassed
	Reply       http.Header // of the reply to this request: limits say there how much is left
}

var (
	errNoBearer = errs.New(errs.MissingAuthorization, "send the header Authorization: Bearer <key>")
	errKey      = errs.New(errs.InvalidToken, "the key is unknown, revoked or of the wrong kind")
	errAddress  = errs.New(
		errs.InvalidToken,
		"the key is not taken from this address; who issued it can list more addresses with another key",
	)
	errSession = errs.New(
		errs.InvalidToken, "the access token is missing, expired or malformed; log in at /api/auth",
	)
	errAdmin    = errs.New(errs.InvalidToken, "this needs an administrator's access token")
	errNotAdmin = errs.New(errs.Forbidden, "this is for administrators")
	errFactor   = errs.New(
		errs.SecondFactorRequired, "administrators need a second factor; set it up under Sign-in and sessions",
	)
	errSuspended = errs.New(
		errs.Forbidden, "the account is suspended; sign in to the console to read why, and to appeal",
	)
	errKeySuspended = errs.New(
		errs.Forbidden, "the account of this key is suspended; its owner reads why in the console",
	)
)

// Bearer is the value of a well-formed Authorization header.
func Bearer(c *gin.Context) (string, bool) {
	scheme, value, found := strings.Cut(c.GetHeader("Authorization"), " ")
	value = strings.TrimSpace(value)
	if !found || !strings.EqualFold(scheme, "Bearer") || value == "" || strings.ContainsAny(value, " \t") {
		return "", false
	}
	return value, true
}

// User is the logged-in caller. Errors: errs.InvalidToken.
func (a *Auth) User(c *gin.Context) (account.User, error) {
	user, _, err := a.Login(c)
	return user, err
}

// Login is the logged-in caller with its session, whose id is zero for a token of an earlier build.
// Errors: errs.InvalidToken, errs.SecondFactorRequired for an administrator in the console without
// a second factor, unless everybody is on this machine.
func (a *Auth) Login(c *gin.Context) (account.User, account.Session, error) {
	user, session, err := a.Entering(c)
	if err == nil && a.Lacks(c, user, session) {
		err = errFactor
	}
	if err != nil {
		return account.User{}, account.Session{}, err
	}
	return user, session, nil
}

// Lacks says whether user must set up a second factor before the console does anything else.
func (a *Auth) Lacks(c *gin.Context, user account.User, session account.Session) bool {
	_, byToken := c.Request.Header["Authorization"]
	return user.IsAdmin() && !byToken && !session.Strong && a.deps.BaseURL != nil && !OnLoopback(a.deps.BaseURL())
}

// Entering is [Auth.Login] for what an administrator may do without a second factor: set it up, and
// leave. Errors: errs.Forbidden for a suspended account.
func (a *Auth) Entering(c *gin.Context) (account.User, account.Session, error) {
	user, session, err := a.Heard(c)
	if err == nil && user.Disabled {
		return account.User{}, account.Session{}, errSuspended
	}
	return user, session, err
}

// Heard is [Auth.Entering] for what the owner of a suspended account may do, too: read why, appeal,
// and leave.
func (a *Auth) Heard(c *gin.Context) (account.User, account.Session, error) {
	user, session, err := a.login(c)
	if err != nil {
		return account.User{}, account.Session{}, err
	}
	auditlog.Identify(c.Request.Context(), user.ID, string(user.Role))
	if !user.IsAdmin() {
		if err := a.spend(c, user.ID); err != nil {
			return account.User{}, account.Session{}, err
		}
	}
	return user, session, nil
}

func (a *Auth) login(c *gin.Context) (user account.User, login account.Session, err error) {
	session, ok := a.session(c)
	if !ok {
		return user, login, errSession
	}
	claims, err := a.deps.Sessions.Verify(session, a.deps.Now())
	if err != nil {
		return user, login, errSession
	}
	user, err = a.user(c.Request.Context(), claims.UserID)
	switch {
	case errs.Is(err, errs.NotFound):
		return user, login, errSession
	case err != nil:
		return user, login, err
	case user.Erased():
		return user, login, errSession
	case claims.SessionID != uuid.Nil && a.deps.Logins != nil:
		login, err = a.loggedIn(c.Request.Context(), claims)
		return user, login, err
	case user.TokenVersion != claims.Version:
		return user, login, errSession
	}
	return user, login, nil
}

// loggedIn is the session that a token names, unless it was ended. The store compares the versions
// of session and account: after a new password one session goes on under the next version, while
// this node may still believe in the account's old one.
func (a *Auth) loggedIn(ctx context.Context, claims token.Claims) (account.Session, error) {
	session, err := cached(ctx, a, a.live, loginsFor, sessionID(claims.SessionID),
		func(ctx context.Context) (account.Session, error) {
			return a.deps.Logins.Session(ctx, claims.SessionID)
		})
	if errs.Is(err, errs.NotFound) || err == nil && session.UserID != claims.UserID {
		return account.Session{}, errSession
	}
	return session, err
}

// Forget has this node ask the store for a session again; the others do within 2 s.
func (a *Auth) Forget(session uuid.UUID) { a.live.Remove(sessionID(session)) }

// ForgetUser has this node ask the store for an account again; the others do within 2 s.
func (a *Auth) ForgetUser(id uuid.UUID) { a.users.Remove(id) }

// sessionID is the id of a session, not of an account.
type sessionID uuid.UUID

// spend counts the request of c against its account, once, however often its caller is asked for. A
// change waits for its turn, which lasts until it is answered.
func (a *Auth) spend(c *gin.Context, id uuid.UUID) error {
	r := of(c)
	if a.deps.Spend == nil || r.to == nil || r.spent {
		return nil
	}
	what := r.to.policy.work()
	if what == WorkNone {
		return nil
	}
	r.spent = true
	if err := a.deps.Spend(c, id, what); err != nil || what != WorkWrites {
		return err
	}
	var err error
	r.leave, err = a.turns.take(c.Request.Context(), id)
	return err
}

// Admin is the logged-in caller when it is an administrator; others get 401 as the specification
// says.
func (a *Auth) Admin(c *gin.Context) (account.User, error) {
	user, err := a.User(c)
	if err == nil && !user.IsAdmin() {
		return account.User{}, errAdmin
	}
	return user, err
}

// Administrator is [Auth.Admin] for routes of /api/admin and the like, where others are 403: they
// are signed in, which the console must not take for the end of their session.
func (a *Auth) Administrator(c *gin.Context) (account.User, error) {
	user, err := a.User(c)
	if err == nil && !user.IsAdmin() {
		return account.User{}, errNotAdmin
	}
	return user, err
}

// Key is the caller that holds a key of kind. Errors: errs.MissingAuthorization without a
// well-formed header, errs.InvalidToken for a key that does not work here.
func (a *Auth) Key(c *gin.Context, kind account.KeyKind) (Caller, error) {
	bearer, ok := Bearer(c)
	if !ok {
		return Caller{}, errNoBearer
	}
	return a.shown(c, bearer, kind)
}

// shown is the caller that shows bearer as a key of kind, or as a sandbox key.
func (a *Auth) shown(c *gin.Context, bearer string, kind account.KeyKind) (Caller, error) {
	if kind == account.KindPublisher && account.IsSandbox(bearer) {
		return a.sandbox(c, bearer), nil
	}
	return a.holder(c, bearer, kind)
}

// pathKey is the path's parameter of routes that [SeatPathKey] opens.
const pathKey = "key"

// SeatPath is the caller whose seatpath key stands in the path, which nothing may log or echo.
// Errors: errs.InvalidToken, also for a good key from an address that it is not taken from.
func (a *Auth) SeatPath(c *gin.Context) (Caller, error) {
	return a.holder(c, c.Param(pathKey), account.KindSeatPath)
}

// holder is the caller that shows text as a key of kind.
func (a *Auth) holder(c *gin.Context, text string, kind account.KeyKind) (Caller, error) {
	// A wrong checksum never reaches the store.
	has, hash, err := account.ParseKey(text)
	if err != nil || has != kind {
		return Caller{}, errKey
	}
	key, err := a.key(c.Request.Context(), hash)
	if err != nil {
		return Caller{}, err
	}
	if !takenFrom(key, c) {
		return Caller{}, errAddress
	}
	if kind == account.KindBrowser {
		if !allowPage(c, &key) {
			return Caller{}, errPage
		}
		return Caller{
			KeyID: key.ID, OwnerID: key.OwnerID, DeveloperID: key.DeveloperID, Blocks: key.Blocks,
			Publishing: key.Publishing, House: key.House, Unlearned: key.Unlearned, Reply: c.Writer.Header(),
			Browser: true, Network: traffic.Network(c.ClientIP()),
		}, nil
	}
	if err := a.spend(c, key.OwnerID); err != nil {
		return Caller{}, err
	}
	return Caller{
		KeyID: key.ID, OwnerID: key.OwnerID, DeveloperID: key.DeveloperID, CampaignID: key.CampaignID,
		Blocks: key.Blocks, Publishing: key.Publishing, House: key.House, Unlearned: key.Unlearned,
		Reply: c.Writer.Header(),
	}, nil
}

// takenFrom says whether key is taken from the address of c.
func takenFrom(key account.Key, c *gin.Context) bool {
	if len(key.Addresses) == 0 {
		return true
	}
	addr, err := netip.ParseAddr(c.ClientIP())
	addr = addr.Unmap()
	return err == nil && slices.ContainsFunc(key.Addresses, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// shownKey is what c shows as its key: in the path where the route takes it there, else as bearer.
func shownKey(c *gin.Context) (string, bool) {
	if to := of(c).to; to != nil && to.policy.Auth&SeatPathKey != 0 {
		return c.Param(pathKey), true
	}
	return Bearer(c)
}

// KnownKey says what this node already knows of the caller's key: known for one that was good when
// it was last looked up (a handler looks again), formed for one that may be good and costs a
// look-up. It never asks the store.
func (a *Auth) KnownKey(c *gin.Context) (known, formed bool) {
	bearer, ok := shownKey(c)
	if !ok {
		return false, false
	}
	_, hash, err := account.ParseKey(bearer)
	if err != nil {
		return false, false
	}
	found, ok := a.keys.Peek(hash)
	return ok && found.err == nil, !ok
}

// sandbox answers for any sandbox key. One that was issued to an account names its developer; the
// public ones carry no account.
func (a *Auth) sandbox(c *gin.Context, bearer string) Caller {
	caller := Caller{Sandbox: true, Reply: c.Writer.Header()}
	if _, hash, err := account.ParseKey(bearer); err == nil {
		if key, err := a.key(c.Request.Context(), hash); err == nil {
			caller.KeyID, caller.OwnerID, caller.DeveloperID = key.ID, key.OwnerID, key.DeveloperID
		}
	}
	if caller.KeyID == uuid.Nil {
		// Rate limits need an identity even without an account. It is the address: any caller can
		// make up another sandbox key for every request, and all share the public one.
		hash := sha256.Sum256([]byte("sandbox " + c.ClientIP()))
		caller.KeyID = uuid.UUID(hash[:16])
	}
	return caller
}

func (a *Auth) user(ctx context.Context, id uuid.UUID) (account.User, error) {
	return cached(
		ctx, a, a.users, loginsFor, id,
		func(ctx context.Context) (account.User, error) { return a.deps.Users.User(ctx, id) },
	)
}

// ForgetKeys has this node ask the store for the keys of an account and its seats again, so that it
// obeys what the account changed at once; the others do within 2 s.
func (a *Auth) ForgetKeys(of account.User) {
	for _, hash := range a.keys.Keys() {
		if known, ok := a.keys.Peek(hash); ok && of.Publishes(known.value.DeveloperID) {
			a.keys.Remove(hash)
		}
	}
}

func (a *Auth) key(ctx context.Context, hash [32]byte) (account.Key, error) {
	return cached(ctx, a, a.keys, outageFor, hash, func(ctx context.Context) (account.Key, error) {
		key, disabled, err := a.deps.Keys.KeyByHash(ctx, hash)
		switch {
		case errs.Is(err, errs.NotFound) || err == nil && !key.Works(a.deps.Now()):
			return account.Key{}, errKey
		case err == nil && disabled:
			return account.Key{}, errKeySuspended
		}
		key.Blocks = key.Blocks.Ready()
		return key, err
	})
}

// cached answers from the cache while the entry is fresh, else from one shared load. When the load
// fails for want of the store, the last definite answer serves on until it is as old as outage.
func cached[K comparable, V any](
	ctx context.Context, a *Auth, cache *expirable.LRU[K, entry[V]], outage time.Duration, key K,
	load func(context.Context) (V, error),
) (V, error) {
	old, found := cache.Get(key)
	if found && a.deps.Now().Sub(old.at) < believeFor {
		return old.value, old.err
	}
	result, _, _ := a.calls.Do(flightKey(key), func() (any, error) {
		asked := a.deps.Now() // what the store says is as old as the question: it may change meanwhile
		// Others wait for this load too: the caller that happened to be first must not end it by
		// going away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadFor)
		defer cancel()
		value, err := load(ctx)
		if definite(err) {
			e := entry[V]{value: value, err: err, at: asked}
			cache.Add(key, e)
			return e, nil
		}
		if found && a.deps.Now().Sub(old.at) < outage {
			return old, nil
		}
		return entry[V]{err: err}, nil
	})
	e := result.(entry[V])
	return e.value, e.err
}

// definite says whether err (or nil) is the store's answer rather than its absence.
func definite(err error) bool {
	return err == nil || errs.Is(err, errs.NotFound) || errs.Is(err, errs.InvalidToken) || errs.Is(err, errs.Forbidden)
}

func flightKey(key any) string {
	switch k := key.(type) {
	case uuid.UUID:
		return "u" + string(k[:])
	case sessionID:
		return "s" + string(k[:])
	case [32]byte:
		return "k" + string(k[:])
	case originKey:
		return "o" + string(k)
	}
	return ""
}
