package httpapi

import (
	"errors"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// Exception is a set of logins that a route admits although others refuse them.
type Exception uint8

// The exceptions.
const (
	WithoutFactor Exception = 1 << iota // an administrator who must set up a second factor first
	Suspended                           // the owner of a suspended account
)

// byKey are the callers with a key.
const byKey = PublisherKey | BrowserKey | SeatKey | SeatPathKey | ConversionKey

// admitted is the caller of a request, as the engine found it.
type admitted struct {
	user    account.User // of a key: only its publisher
	session account.Session
	key     *Caller // nil for a login
}

// KeyHandler answers a request to a route that only keys may call, with the holder of the key.
type KeyHandler func(c *gin.Context, caller Caller) error

// HandleKey is [Server.Handle] for the frequent routes of keys: it stores nothing about the caller.
func (s *Server) HandleKey(method, path string, h KeyHandler, p Policy) {
	handle := func(c *gin.Context) error {
		caller, err := s.deps.Auth.byKey(c, p.Auth)
		if err != nil {
			return p.refuse(c, err)
		}
		return h(c, caller)
	}
	e := &entrance{method: method, path: path, other: &endpoint{answers: s.wrap(handle), policy: p}}
	switch {
	case p.Auth&^byKey != 0:
		s.faults = append(s.faults, unmounted(e, errors.New("its policy admits callers without a key")))
		return
	case p.Idempotent == Yes:
		s.faults = append(s.faults, unmounted(e, errors.New("it cannot honour an Idempotency-Key")))
		return
	}
	s.mount(e)
}

// refuse answers a caller that p does not admit.
func (p *Policy) refuse(c *gin.Context, err error) error {
	if p.Refused != nil {
		return p.Refused(c, err)
	}
	return err
}

// admitting returns the handler that runs h for the callers that p admits.
func (s *Server) admitting(h Handler, p *Policy) func(*gin.Context) error {
	if p.Auth&Anyone != 0 {
		return h.answer
	}
	return func(c *gin.Context) error {
		// Before anything that is stored for a caller ([Server.keyed]).
		caller, err := s.deps.Auth.admit(c, p)
		if err != nil {
			return p.refuse(c, err)
		}
		of(c).caller = &caller
		return h.answer(c)
	}
}

// keyed returns the handler that runs h under the Idempotency-Key of a request. It runs inside the
// admission: the key belongs to the caller that h has, a refused caller leaves nothing in the
// store, and a stored reply goes only to an admitted caller.
func (s *Server) keyed(h Handler, p *Policy) Handler {
	if p.Idempotent != Yes || s.deps.Once == nil {
		return h
	}
	handle := s.wrap(h.answer)
	h.answer = func(c *gin.Context) error { return s.deps.Once.Do(c, of(c).at.name(c), handle) }
	return h
}

// Identity is the caller of a request, as the owner of what is stored for one caller. The zero
// value is a caller without credentials.
type Identity struct {
	// Name is unique among all accounts and keys. It holds no secret.
	Name    string
	Account uuid.UUID    // the account of the login or of the key
	User    account.User // of a login only
}

// Identify returns the caller of c as the route's handler knows it: the caller that the engine has
// admitted. A route for [Anyone] asks nobody for credentials; there it is the owner of the
// request's login, by bearer or by the console's cookie, if it has a valid one. It counts nothing
// against the account. Errors: errs.Unavailable when the store does not answer.
func (a *Auth) Identify(c *gin.Context) (Identity, error) {
	who := of(c).caller
	if who == nil {
		user, _, err := a.login(c)
		if errs.Is(err, errs.InvalidToken) {
			return Identity{}, nil
		}
		if err != nil {
			return Identity{}, err
		}
		who = &admitted{user: user}
	}
	switch key := who.key; {
	case key == nil:
		return Identity{Name: "account " + who.user.ID.String(), Account: who.user.ID, User: who.user}, nil
	case key.OwnerID == uuid.Nil: // a sandbox key that anyone can invent
		return Identity{}, nil
	default:
		return Identity{Name: "key " + key.KeyID.String(), Account: key.OwnerID}, nil
	}
}

// admit returns the caller of c. Errors: it is not one that p admits.
func (a *Auth) admit(c *gin.Context, p *Policy) (who admitted, err error) {
	if p.Auth&(UserToken|AdminToken) == 0 {
		return a.admitKey(c, p.Auth)
	}
	if key := keyInPlace(c, p.Auth); key != 0 {
		return a.admitKey(c, key)
	}
	if who.user, who.session, err = a.Login(c, p.Admits); err != nil {
		return admitted{}, err
	}
	if p.Auth&UserToken == 0 && !who.user.IsAdmin() {
		return admitted{}, p.notAdmin()
	}
	return who, nil
}

// notAdmin returns the error for a login that is not an administrator's.
func (p *Policy) notAdmin() error {
	if p.NotAdmin == errs.InvalidToken {
		return errAdmin
	}
	return errNotAdmin
}

func (a *Auth) admitKey(c *gin.Context, kind Access) (admitted, error) {
	key, err := a.byKey(c, kind)
	if err == nil && key.DeveloperID == uuid.Nil && kind&PublisherKey != 0 {
		// A sandbox key that was never issued has no publisher, and the nil id would select all of
		// them.
		err = errNoPublisher
	}
	return admitted{user: account.User{DeveloperID: key.DeveloperID}, key: &key}, err
}

// keyInPlace returns the kind of the key that c has in place of a login, 0 for none. A key of a
// kind that the route does not admit counts as one that it does, and is refused as such.
func keyInPlace(c *gin.Context, admits Access) Access {
	bearer, ok := Bearer(c)
	if !ok || admits&byKey == 0 {
		return 0
	}
	if admits&ConversionKey != 0 && account.LooksLike(account.KindConversion, bearer) {
		return ConversionKey
	}
	switch kind, _, err := account.ParseKey(bearer); {
	case err != nil:
		return 0
	case kind == account.KindSeat && admits&SeatKey != 0:
		return SeatKey
	}
	return admits & (PublisherKey | ConversionKey)
}

// byKey returns the holder of the key of c. kinds are kinds of keys only.
func (a *Auth) byKey(c *gin.Context, kinds Access) (caller Caller, err error) {
	switch {
	case kinds&(SeatKey|SeatPathKey) != 0:
		at := a.deps.Now()
		if kinds&SeatKey != 0 {
			caller, err = a.Key(c, account.KindSeat)
		} else {
			caller, err = a.holder(c, c.Param(pathKey), account.KindSeatPath)
		}
		caller.ReceivedAt = at
		return caller, err
	case kinds&BrowserKey != 0:
		return a.Publisher(c)
	case kinds&ConversionKey != 0:
		return a.Key(c, account.KindConversion)
	}
	return a.Key(c, account.KindPublisher)
}

// KeyOf returns the holder of the key that the engine has admitted; ok is false for a login.
func KeyOf(c *gin.Context) (caller Caller, ok bool) {
	if who := of(c).caller; who != nil && who.key != nil {
		return *who.key, true
	}
	return Caller{}, false
}

// UserOf returns the account that the engine has admitted. For a key it has only the publisher.
func UserOf(c *gin.Context) account.User {
	if who := of(c).caller; who != nil {
		return who.user
	}
	return account.User{}
}

// SessionOf returns the session of the login that the engine has admitted; its id is zero for a
// token without a session.
func SessionOf(c *gin.Context) account.Session {
	if who := of(c).caller; who != nil {
		return who.session
	}
	return account.Session{}
}
