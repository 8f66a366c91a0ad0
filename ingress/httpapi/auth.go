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
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// Cache times of logins and keys, both from the start of the lookup. For believeFor an answer of
// the store is used without another lookup, which bounds the delay of a disabled user or a revoked
// key (5 s are allowed). For outageFor a key still serves while the store does not answer, so that
// ads keep running through a short outage. During an outage nothing can be suspended or revoked
// either, unless only this node is cut off. A login has no outage time, since its requests need the
// store anyway.
const (
	believeFor = 2 * time.Second
	outageFor  = time.Minute
	loginsFor  = time.Duration(0)
	loadFor    = 2 * time.Second // timeout of a lookup
	cacheSize  = 100_000
)

// AuthDeps holds the dependencies of authentication.
type AuthDeps struct {
	Users    account.UserStore
	Keys     account.KeyStore
	Sessions *token.Sessions
	Logins   account.SessionStore // nil: logins exist only in their tokens
	Now      func() time.Time
	// BaseURL returns the address of the console; if nil, no cookie is a login.
	BaseURL func() string
	// Spend counts a request against its account's limits; nil without limits.
	Spend func(c *gin.Context, account uuid.UUID, what Work) error
	// Scans is the number of scans of recorded data that this node runs at once for all accounts; 0
	// is 6.
	Scans int
}

// Auth authenticates callers. Role and state always come from the store: the token holds only the
// user's id.
type Auth struct {
	deps  AuthDeps
	pages *expirable.LRU[originKey, entry[bool]]
	users *expirable.LRU[uuid.UUID, entry[account.User]]
	keys  *expirable.LRU[[32]byte, entry[account.Key]]
	busy  busyKeys
	live  *expirable.LRU[sessionID, entry[account.Session]]
	calls singleflight.Group
	turns turns
	scans *scans
}

type entry[T any] struct {
	value T
	err   error // a definite answer: not found, revoked, disabled
	at    time.Time
}

// believed reports whether the answer counts without another lookup.
func (e *entry[T]) believed(now time.Time) bool { return now.Sub(e.at) < believeFor }

// NewAuth returns an Auth with empty caches.
func NewAuth(deps AuthDeps) *Auth {
	deps.Now = schedule.Clock(deps.Now)
	return &Auth{
		deps:  deps,
		pages: expirable.NewLRU[originKey, entry[bool]](pagesSize, nil, outageFor),
		users: expirable.NewLRU[uuid.UUID, entry[account.User]](cacheSize, nil, outageFor),
		keys:  expirable.NewLRU[[32]byte, entry[account.Key]](cacheSize, nil, outageFor),
		live:  expirable.NewLRU[sessionID, entry[account.Session]](cacheSize, nil, outageFor),
		scans: newScans(deps.Scans),
	}
}

// Caller is the holder of a key.
type Caller struct {
	KeyID       uuid.UUID
	OwnerID     uuid.UUID // the account's user id
	DeveloperID uuid.UUID
	Family      uuid.UUID       // the developer id of the publisher's family, if it is another
	CampaignID  uuid.UUID       // the only campaign of a conversion key; zero for any
	Blocks      *account.Blocks // the publisher's blocks, ready to use; nil for none
	Publishing  account.Publishing
	House       []uuid.UUID // the publisher's campaigns that may be house ads
	Unlearned   bool        // the key's requests are excluded from learning
	Browser     bool        // a key in a page, so it is public
	// ReadByModels reports whether a model reads the ads of a browser key.
	ReadByModels bool
	Network      string      // with Browser, the reader's network: a prefix of the address
	Sandbox      bool        // a sk_test_ or pub_test_ key: the auction is bypassed
	Reply        http.Header // header of the reply; limits report there how much is left
	ReceivedAt   time.Time   // of a seat's request, before its key was looked up
}

var (
	errNoPublisher = errs.New(errs.InvalidToken, "the key belongs to no publisher")

	errNoBearer = errs.New(errs.MissingAuthorization, "send the header Authorization: Bearer <key>")
	errKey      = errs.New(errs.InvalidToken, "the key is unknown, revoked or of the wrong kind")
	errAddress  = errs.New(
		errs.InvalidToken,
		"the key is not accepted from this address; its issuer can create a key that lists more addresses",
	)
	errAdmin    = errs.New(errs.InvalidToken, "this needs an administrator's access token")
	errNotAdmin = errs.New(errs.Forbidden, "only administrators may do this")
	errFactor   = errs.New(
		errs.SecondFactorRequired, "administrators need a second factor; set it up under Sign-in and sessions",
	)
	errSuspended = errs.New(
		errs.Forbidden, "the account is suspended; sign in to the console to read the reason and to appeal",
	)
	errKeySuspended = errs.New(
		errs.Forbidden, "the account of this key is suspended; its owner can read the reason in the console",
	)
)

// ErrNoLogin is the error of a request that needs a login and has none.
var ErrNoLogin = errs.New(
	errs.InvalidToken, "the access token is missing, expired or malformed; log in at /api/auth",
)

// Bearer returns the bearer token of a well-formed Authorization header.
func Bearer(c *gin.Context) (string, bool) {
	scheme, value, found := strings.Cut(c.GetHeader("Authorization"), " ")
	value = strings.TrimSpace(value)
	if !found || !strings.EqualFold(scheme, "Bearer") || value == "" || strings.IndexByte(value, ' ') >= 0 ||
		strings.IndexByte(value, '\t') >= 0 {
		return "", false
	}
	return value, true
}

// User returns the logged-in caller. Errors: as [Auth.Login].
func (a *Auth) User(c *gin.Context) (account.User, error) {
	user, _, err := a.Login(c, 0)
	return user, err
}

// Login returns the logged-in caller with its session, whose id is zero for a token without one.
// Errors: errs.InvalidToken; without the exceptions, errs.Forbidden for a suspended account, and
// errs.SecondFactorRequired for an administrator in the console without a second factor, unless the
// installation is only reachable from this machine.
func (a *Auth) Login(c *gin.Context, admits Exception) (account.User, account.Session, error) {
	user, session, err := a.login(c)
	if err != nil {
		return account.User{}, account.Session{}, err
	}
	auditlog.Identify(c.Request.Context(), user.ID, string(user.Role))
	if !user.IsAdmin() {
		err = a.spend(c, user.ID)
	}
	lacks := admits&WithoutFactor == 0 && a.Lacks(c, user, session)
	switch {
	case err != nil:
	case user.Disabled && (admits&Suspended == 0 || lacks):
		err = errSuspended
	case lacks:
		err = errFactor
	default:
		return user, session, nil
	}
	return account.User{}, account.Session{}, err
}

// Lacks reports whether user must set up a second factor before the console allows anything else.
func (a *Auth) Lacks(c *gin.Context, user account.User, session account.Session) bool {
	_, byToken := c.Request.Header["Authorization"]
	return user.IsAdmin() && !byToken && !session.Strong && a.deps.BaseURL != nil && !OnLoopback(a.deps.BaseURL())
}

func (a *Auth) login(c *gin.Context) (user account.User, login account.Session, err error) {
	session, ok := a.session(c)
	if !ok {
		return user, login, ErrNoLogin
	}
	claims, err := a.deps.Sessions.Verify(session, a.deps.Now())
	if err != nil {
		return user, login, ErrNoLogin
	}
	user, err = a.user(c.Request.Context(), claims.UserID)
	switch {
	case errs.Is(err, errs.NotFound):
		return user, login, ErrNoLogin
	case err != nil:
		return user, login, err
	case user.Erased():
		return user, login, ErrNoLogin
	}
	login, err = a.loggedIn(c.Request.Context(), claims)
	return user, login, err
}

// loggedIn returns the session that a token names, unless the session has ended. The store compares
// the versions of session and account: after a password change one session continues under the next
// version, while this node may still have the account's old version in its cache.
func (a *Auth) loggedIn(ctx context.Context, claims token.Claims) (account.Session, error) {
	session, err := cached(ctx, a, a.live, loginsFor, sessionID(claims.SessionID),
		func(ctx context.Context) (account.Session, error) {
			return a.deps.Logins.Session(ctx, claims.SessionID)
		})
	if errs.Is(err, errs.NotFound) || err == nil && session.UserID != claims.UserID {
		return account.Session{}, ErrNoLogin
	}
	return session, err
}

// Forget removes a session from this node's cache. Other nodes look it up again within 2 s.
func (a *Auth) Forget(session uuid.UUID) { a.live.Remove(sessionID(session)) }

// ForgetUser removes an account from this node's cache. Other nodes look it up again within 2 s.
func (a *Auth) ForgetUser(id uuid.UUID) { a.users.Remove(id) }

// sessionID is the id of a session, as opposed to an account.
type sessionID uuid.UUID

// spend counts the request of c against its account. It counts once, however often the caller is
// resolved. A change and a scan wait for their turn, which lasts until they are answered.
func (a *Auth) spend(c *gin.Context, id uuid.UUID) (err error) {
	r := of(c)
	if a.deps.Spend == nil || r.to == nil || r.spent {
		return nil
	}
	r.spent = true
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		if err := a.deps.Spend(c, id, WorkReads); err != nil {
			return err
		}
	}
	what := r.to.policy.work()
	if what == WorkNone {
		return nil
	}
	if err := a.deps.Spend(c, id, what); err != nil {
		return err
	}
	if what == WorkStats {
		r.leave, err = a.scans.take(c.Request.Context(), id)
	} else {
		r.leave, err = a.turns.take(c.Request.Context(), id)
	}
	return err
}

// Key returns the caller with a key of kind. Errors: errs.MissingAuthorization without a
// well-formed header, errs.InvalidToken for a key that is not valid here.
func (a *Auth) Key(c *gin.Context, kind account.KeyKind) (Caller, error) {
	bearer, ok := Bearer(c)
	if !ok {
		return Caller{}, errNoBearer
	}
	return a.resolve(c, bearer, kind)
}

// resolve returns the caller of a bearer token. A sandbox key is accepted in place of a publisher
// key.
func (a *Auth) resolve(c *gin.Context, bearer string, kind account.KeyKind) (Caller, error) {
	if kind == account.KindPublisher && account.IsSandbox(bearer) {
		return a.sandbox(c, bearer), nil
	}
	return a.holder(c, bearer, kind)
}

// pathKey is the path parameter that holds the key on routes with [SeatPathKey].
const pathKey = "key"

// Holder returns the caller whose key of kind is text: a key from a query or a form, which must not
// be logged or echoed. Errors: errs.InvalidToken.
func (a *Auth) Holder(c *gin.Context, text string, kind account.KeyKind) (Caller, error) {
	return a.holder(c, text, kind)
}

// Knows reports whether a key was valid at this node's last lookup. It never calls the store.
func (a *Auth) Knows(text string) bool {
	known, _ := a.recall(text)
	return known
}

// holder returns the caller whose key of kind is text.
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
			KeyID: key.ID, OwnerID: key.OwnerID, DeveloperID: key.DeveloperID, Family: key.Family, Blocks: key.Blocks,
			Publishing: key.Publishing, House: key.House, Unlearned: key.Unlearned, Reply: c.Writer.Header(),
			Browser: true, ReadByModels: key.ReadByModels, Network: traffic.Network(c.ClientIP()),
		}, nil
	}
	if err := a.spend(c, key.OwnerID); err != nil {
		return Caller{}, err
	}
	return Caller{
		KeyID: key.ID, OwnerID: key.OwnerID, DeveloperID: key.DeveloperID, Family: key.Family, CampaignID: key.CampaignID,
		Blocks: key.Blocks, Publishing: key.Publishing, House: key.House, Unlearned: key.Unlearned,
		Reply: c.Writer.Header(),
	}, nil
}

// takenFrom reports whether key is accepted from the address of c.
func takenFrom(key account.Key, c *gin.Context) bool {
	if len(key.Addresses) == 0 {
		return true
	}
	addr, err := netip.ParseAddr(c.ClientIP())
	addr = addr.Unmap()
	return err == nil && slices.ContainsFunc(key.Addresses, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// sentKey returns the key of c: from the path where the route has it there, else the bearer token.
func sentKey(c *gin.Context) (string, bool) {
	if to := of(c).to; to != nil && to.policy.Auth&SeatPathKey != 0 {
		return c.Param(pathKey), true
	}
	return Bearer(c)
}

// KnownKey reports what this node's cache has about the caller's key: known if the key was valid at
// its last lookup (a handler checks again), formed if the key may be valid and costs a lookup. It
// never calls the store.
func (a *Auth) KnownKey(c *gin.Context) (known, formed bool) {
	bearer, ok := sentKey(c)
	if !ok {
		return false, false
	}
	return a.recall(bearer)
}

func (a *Auth) recall(text string) (known, formed bool) {
	_, hash, err := account.ParseKey(text)
	if err != nil {
		return false, false
	}
	found, ok := a.keys.Peek(hash)
	return ok && found.err == nil, !ok
}

// sandbox returns the caller of a sandbox key. A key that was issued to an account identifies its
// developer; the public ones have no account.
func (a *Auth) sandbox(c *gin.Context, bearer string) Caller {
	caller := Caller{Sandbox: true, Reply: c.Writer.Header()}
	if _, hash, err := account.ParseKey(bearer); err == nil {
		if key, err := a.key(c.Request.Context(), hash); err == nil {
			caller.KeyID, caller.OwnerID, caller.DeveloperID = key.ID, key.OwnerID, key.DeveloperID
		}
	}
	if caller.KeyID == uuid.Nil {
		// Rate limits need an identity even without an account. It is the address: a caller can
		// invent a new sandbox key for every request, and the public key is shared.
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

// ForgetKeys removes the keys of an account and its seats from this node's cache, so that a change
// of the account takes effect at once. Other nodes look them up again within 2 s.
func (a *Auth) ForgetKeys(of account.User) {
	for _, hash := range a.keys.Keys() {
		if known, ok := a.keys.Peek(hash); ok && of.Publishes(known.value.DeveloperID) {
			a.keys.Remove(hash)
		}
	}
	a.busy.forget(of)
}

func (a *Auth) key(ctx context.Context, hash [32]byte) (account.Key, error) {
	if busy := a.busy.of(hash).Load(); busy != nil && busy.hash == hash && busy.believed(a.deps.Now()) {
		return busy.value, busy.err
	}
	key, err := a.lookUp(ctx, hash)
	a.busy.keep(a, hash)
	return key, err
}

// lookUp returns the key with a hash from the cache or the store.
func (a *Auth) lookUp(ctx context.Context, hash [32]byte) (account.Key, error) {
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

// cached returns the cached entry while it is fresh, and otherwise the result of one shared load.
// When the store does not answer, the last definite answer is used until it is as old as outage.
func cached[K comparable, V any](
	ctx context.Context, a *Auth, cache *expirable.LRU[K, entry[V]], outage time.Duration, key K,
	load func(context.Context) (V, error),
) (V, error) {
	old, found := cache.Get(key)
	if found && old.believed(a.deps.Now()) {
		return old.value, old.err
	}
	result, _, _ := a.calls.Do(flightKey(key), func() (any, error) {
		requested := a.deps.Now() // the answer is as old as the request: the store may change meanwhile
		// Other callers share this load, so it must not end when the first of them goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadFor)
		defer cancel()
		value, err := load(ctx)
		if definite(err) {
			e := entry[V]{value: value, err: err, at: requested}
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

// definite reports whether err (or nil) is an answer of the store, as opposed to a missing answer.
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
