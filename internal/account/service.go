package account

import (
	"context"
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/schedule"
)

// The limits of user input.
const (
	MinPassword = 12  // of a password that is chosen; shorter ones of before still log in
	MaxPassword = 256 // bytes: argon2id reads them all
	maxEmail    = 254 // RFC 5321, 4.5.3.1.3
	maxKeyName  = 100
	maxKeys     = 100 // working keys of one owner, those of its seats included
	maxPrefixes = 64  // of a seatpath key
)

// Deps are the dependencies of a [Service].
type Deps struct {
	Users    UserStore
	Keys     KeyStore
	Networks NetworkStore // nil: no network is known
	Sessions SessionStore // nil on the command line, which has no logins
	Factors  FactorStore  // as Sessions
	Links    LinkStore    // as Sessions
	Box      Box          // as Sessions
	Now      func() time.Time
}

// Service does registration, login and keys.
type Service struct{ deps Deps }

// NewService makes a Service.
func NewService(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	return &Service{deps: deps}
}

// errCredentials does not tell whether the e-mail exists.
var errCredentials = errs.New(errs.InvalidCredentials, "the e-mail or the password is wrong")

// Register makes an advertiser account, never an administrator, whatever else a request contained
// (a role, for example). Errors: errs.InvalidRequest, errs.Conflict if the e-mail is taken.
func (s *Service) Register(ctx context.Context, email, password string) (User, error) {
	return s.create(ctx, email, password, RoleAdvertiser)
}

// CreateAdmin makes an administrator; it is reached from the command line and the settings only.
func (s *Service) CreateAdmin(ctx context.Context, email, password string) (User, error) {
	return s.create(ctx, email, password, RoleAdmin)
}

// EnsureAdmin is [Service.CreateAdmin] for an account that may exist. An existing account is left
// alone: its password may have been changed since. It hashes only when it creates.
func (s *Service) EnsureAdmin(ctx context.Context, email, password string) error {
	cleaned, err := cleanEmail(email)
	if err != nil {
		return err
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	_, err = s.deps.Users.UserByEmail(ctx, cleaned)
	if errs.Is(err, errs.NotFound) {
		_, err = s.CreateAdmin(ctx, email, password)
	}
	if errs.Is(err, errs.Conflict) { // another node was quicker
		return nil
	}
	return err
}

func (s *Service) create(ctx context.Context, email, password string, role Role) (User, error) {
	email, err := newEmail(email)
	if err != nil {
		return User{}, err
	}
	hash, err := hashNew(ctx, email, password)
	if err != nil {
		return User{}, err
	}
	u, err := newUser(role, s.deps.Now().UTC())
	if err != nil {
		return User{}, err
	}
	u.Email, u.PasswordHash = email, hash
	return u, s.deps.Users.CreateUser(ctx, u)
}

// newUser is an account with ids of its own and nothing else.
func newUser(role Role, at time.Time) (User, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return User{}, err
	}
	developer, err := uuid.NewV7()
	if err != nil {
		return User{}, err
	}
	return User{ID: id, DeveloperID: developer, Role: role, TokenVersion: 1, CreatedAt: at}, nil
}

// Login checks a password. An unknown e-mail costs the same time as a wrong password.
// Errors: errs.InvalidCredentials.
func (s *Service) Login(ctx context.Context, email, password string) (User, error) {
	if len(password) > MaxPassword {
		return User{}, errCredentials
	}
	u, err := s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if errs.Is(err, errs.NotFound) || err == nil && (u.Role == RoleSeat || u.Erased()) { // these have no password
		if err := VerifyAbsent(ctx, password); err != nil {
			return User{}, err
		}
		return User{}, errCredentials
	}
	if err != nil {
		return User{}, err
	}
	ok, err := VerifyPassword(ctx, u.PasswordHash, password)
	if err != nil {
		return User{}, err
	}
	if !ok {
		return User{}, errCredentials
	}
	return u, nil // suspended or not: its owner may read why, and appeal, see httpapi.Auth
}

// ByEmail finds an account. Errors: errs.NotFound.
func (s *Service) ByEmail(ctx context.Context, email string) (User, error) {
	return s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
}

// knownFor is how long the network of a good login is known for it.
const knownFor = 90 * 24 * time.Hour

// NoteNetwork keeps that u has logged in from a network.
func (s *Service) NoteNetwork(ctx context.Context, u User, network string) error {
	if s.deps.Networks == nil || network == "" {
		return nil
	}
	now := s.deps.Now().UTC()
	return s.deps.Networks.NoteNetwork(ctx, u.ID, network, now, now.Add(-knownFor))
}

// KnowsNetwork says whether the account of an e-mail was logged in to from a network in the last 90
// days. False also for an unknown e-mail and when the store does not answer.
func (s *Service) KnowsNetwork(ctx context.Context, email, network string) bool {
	if s.deps.Networks == nil || network == "" {
		return false
	}
	u, err := s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return false
	}
	known, err := s.deps.Networks.KnowsNetwork(ctx, u.ID, network, s.deps.Now().UTC().Add(-knownFor))
	return err == nil && known
}

var errSeat = errs.New(errs.InvalidRequest, "a seat stays one: it has keys, and neither password nor other role")

// Promote gives a user another role and ends its sessions; see [Service.SetRole] for what an
// administrator may do.
func (s *Service) Promote(ctx context.Context, email string, role Role) (User, error) {
	return s.edit(ctx, email, func(u *User) error {
		if u.Role == RoleSeat || role == RoleSeat {
			return errSeat
		}
		u.Role = role
		return nil
	})
}

// Disable stops a user's sessions and keys, or lets them work again.
func (s *Service) Disable(ctx context.Context, email string, disabled bool) (User, error) {
	u, err := s.ByEmail(ctx, email)
	if err != nil {
		return User{}, err
	}
	r := Ruling{UserID: u.ID, Edit: Renewing(func(u *User) error { u.Disabled = disabled; return nil })}
	if disabled {
		r.Reason = "The operator of this server has suspended the account."
	}
	return s.deps.Users.RuleUser(ctx, r)
}

// SetPassword changes a user's password and ends its sessions. API keys go on working: see
// [Service.RevokeKeys].
func (s *Service) SetPassword(ctx context.Context, email, password string) (User, error) {
	hash, err := hashNew(ctx, email, password)
	if err != nil {
		return User{}, err
	}
	return s.edit(ctx, email, func(u *User) error {
		if u.Role == RoleSeat {
			return errSeat
		}
		u.PasswordHash = hash
		return nil
	})
}

// edit raises the token version with every change, so tokens issued before it stop working.
func (s *Service) edit(ctx context.Context, email string, change func(*User) error) (User, error) {
	u, err := s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return User{}, err
	}
	return s.deps.Users.UpdateUser(ctx, u.ID, Renewing(change))
}

// NewKey is a key with its plain text, which is shown once.
type NewKey struct {
	Key
	Plain string
}

// KeyRequest is what a caller says of a key that it wants.
type KeyRequest struct {
	Kind       KeyKind
	Name       string
	CampaignID uuid.UUID // of a conversion key; the caller has checked whose it is
	Unlearned  bool      // nothing may be learnt from what is asked with it
	SeatID     uuid.UUID // of a seat's key: the seat that it is one more key of; zero makes a new seat
	Addresses  []string  // of a seatpath key: addresses or networks that it is taken from; none is any
	Origins    []string  // of a browser key: origins, or https://*.example.com
}

// CreateKey issues a key to caller: a publisher, browser or conversion key to any user, a seat's
// key only to an administrator, who passes it on and names the receiver in name. A seat's first key
// makes the seat. Errors: errs.InvalidRequest, errs.Forbidden, errs.NotFound for an unknown seat,
// errs.Conflict at too many keys or seats.
func (s *Service) CreateKey(ctx context.Context, caller User, r KeyRequest) (NewKey, error) {
	r.Name = strings.TrimSpace(r.Name)
	k, err := r.check(caller)
	if err != nil {
		return NewKey{}, err
	}
	keys, err := s.Working(ctx, caller)
	if err != nil {
		return NewKey{}, err
	}
	if len(keys) >= maxKeys {
		return NewKey{}, errTooManyKeys
	}
	plain, err := s.issue(&k)
	if err != nil {
		return NewKey{}, err
	}
	if !r.Kind.OfSeat() {
		return NewKey{Key: k, Plain: plain}, s.deps.Keys.CreateKey(ctx, k)
	}
	k, err = s.createSeatKey(ctx, caller, r.SeatID, k)
	return NewKey{Key: k, Plain: plain}, err
}

var errTooManyKeys = errs.New(errs.Conflict, "there are %d keys already; revoke one first", maxKeys)

// issue gives k an id and a plain text of its kind, of which k keeps the hash.
func (s *Service) issue(k *Key) (plain string, err error) {
	if k.ID, err = uuid.NewV7(); err != nil {
		return "", err
	}
	plain, material, err := GenerateKey(k.Kind)
	k.Prefix, k.Hash, k.CreatedAt = material.Prefix, material.Hash, s.deps.Now().UTC()
	return plain, err
}

// The grace of a rotated key.
const (
	UsualGrace = 24 * time.Hour
	maxGrace   = 30 * 24 * time.Hour
)

// RotateKey issues a key that takes the place of one of caller or its seats, with the same name and
// limits; the other one works on for grace. Errors: errs.NotFound if caller has no such key,
// errs.Conflict if it was rotated before or there are too many keys, errs.InvalidRequest.
func (s *Service) RotateKey(
	ctx context.Context, caller User, id uuid.UUID, grace time.Duration,
) (next NewKey, ends time.Time, err error) {
	if grace < 0 || grace > maxGrace {
		return NewKey{}, ends, errs.New(
			errs.InvalidRequest, "grace_seconds must be from 0 to %d", int(maxGrace.Seconds()),
		).With("field", "grace_seconds")
	}
	keys, err := s.Working(ctx, caller)
	if err != nil {
		return NewKey{}, ends, err
	}
	at := slices.IndexFunc(keys, func(k Key) bool { return k.ID == id })
	switch {
	case at < 0:
		return NewKey{}, ends, errs.New(errs.NotFound, "no such key")
	case len(keys) >= maxKeys:
		return NewKey{}, ends, errTooManyKeys
	}
	next.Key = keys[at]
	if next.Plain, err = s.issue(&next.Key); err != nil {
		return NewKey{}, ends, err
	}
	next.EndsAt, ends = time.Time{}, next.CreatedAt.Add(grace)
	return next, ends, s.deps.Keys.RotateKey(ctx, caller.ID, id, ends, next.Key)
}

// check refuses what no key can be, and is the key that caller asks for. Errors:
// errs.InvalidRequest, errs.Forbidden.
func (r *KeyRequest) check(caller User) (k Key, err error) {
	k = Key{
		OwnerID: caller.ID, DeveloperID: caller.DeveloperID, Kind: r.Kind, CampaignID: r.CampaignID, Name: r.Name,
		Unlearned: r.Unlearned,
	}
	switch {
	case !slices.Contains(Kinds(), r.Kind):
		return k, errs.New(errs.InvalidRequest, "kind must be one of %s", kindNames()).With("field", "kind")
	case r.Kind.OfSeat() && !caller.IsAdmin():
		return k, errs.New(errs.Forbidden, "seat keys are issued by an administrator")
	case r.CampaignID != uuid.Nil && r.Kind != KindConversion:
		return k, errs.New(
			errs.InvalidRequest, "campaign_id belongs to conversion keys only",
		).With("field", "campaign_id")
	case r.SeatID != uuid.Nil && !r.Kind.OfSeat():
		return k, errs.New(
			errs.InvalidRequest, "seat_id belongs to seat and seatpath keys only",
		).With("field", "seat_id")
	case len(r.Origins) > 0 && r.Kind != KindBrowser:
		return k, errs.New(errs.InvalidRequest, "origins belong to browser keys only").With("field", "origins")
	case len(r.Addresses) > 0 && r.Kind != KindSeatPath:
		return k, errs.New(errs.InvalidRequest, "addresses belong to seatpath keys only").With("field", "addresses")
	case utf8.RuneCountInString(r.Name) > maxKeyName || !utf8.ValidString(r.Name) ||
		strings.ContainsFunc(r.Name, unicode.IsControl):
		return k, errs.New(
			errs.InvalidRequest, "name must be at most %d characters without control characters", maxKeyName,
		).With("field", "name")
	}
	if k.Addresses, err = readPrefixes(r.Addresses); err == nil && r.Kind == KindBrowser {
		k.Origins, err = readOrigins(r.Origins)
	}
	return k, err
}

// readPrefixes reads addresses and networks.
func readPrefixes(texts []string) ([]netip.Prefix, error) {
	refused := errs.New(
		errs.InvalidRequest, "addresses must be at most %d addresses or networks like 192.0.2.7 or 2001:db8::/32",
		maxPrefixes,
	).With("field", "addresses")
	if len(texts) > maxPrefixes {
		return nil, refused
	}
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, isOne := netip.ParseAddr(text); err != nil && isOne == nil && address.Zone() == "" {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, refused
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// createSeatKey keeps a seat's key: of a seat that there is, or of a new one that caller owns. A
// seat's quarantine, Credits and history are those of all its keys.
func (s *Service) createSeatKey(ctx context.Context, caller User, seatID uuid.UUID, k Key) (Key, error) {
	if seatID != uuid.Nil {
		seat, err := s.deps.Users.User(ctx, seatID)
		if errs.Is(err, errs.NotFound) || err == nil && seat.Role != RoleSeat {
			err = errs.New(errs.NotFound, "there is no such seat").With("field", "seat_id")
		}
		if err != nil {
			return Key{}, err
		}
		k.OwnerID, k.DeveloperID = seat.ID, seat.DeveloperID
		return k, s.deps.Keys.CreateKey(ctx, k)
	}
	seat, err := newSeat(caller, k.CreatedAt)
	if err != nil {
		return Key{}, err
	}
	k.OwnerID, k.DeveloperID = seat.ID, seat.DeveloperID
	return k, s.deps.Keys.CreateSeat(ctx, seat, k)
}

// newSeat is a seat of owner. Its e-mail receives nothing (RFC 2606): it only names the seat to
// `adnet user`.
func newSeat(owner User, at time.Time) (User, error) {
	seat, err := newUser(RoleSeat, at)
	if err != nil {
		return User{}, err
	}
	seat.Email, seat.ParentID = seat.ID.String()+"@seats.invalid", owner.ID
	return seat, nil
}

func kindNames() string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// Working lists the keys of caller and its seats that work, newest first.
func (s *Service) Working(ctx context.Context, caller User) ([]Key, error) {
	keys, err := s.deps.Keys.Keys(ctx, caller.ID)
	if err != nil {
		return nil, err
	}
	working, now := keys[:0:0], s.deps.Now()
	for _, k := range keys {
		if k.Works(now) {
			working = append(working, k)
		}
	}
	return working, nil
}

// RevokeKey withdraws one of the keys of caller and its seats for ever. errs.NotFound if caller has
// no such key.
func (s *Service) RevokeKey(ctx context.Context, caller User, id uuid.UUID) error {
	return s.deps.Keys.RevokeKey(ctx, caller.ID, id, s.deps.Now().UTC())
}

// RevokeKeys withdraws all keys of owner for ever and says how many worked.
func (s *Service) RevokeKeys(ctx context.Context, owner User) (int, error) {
	keys, err := s.Working(ctx, owner)
	if err != nil {
		return 0, err
	}
	for n, k := range keys {
		if err := s.RevokeKey(ctx, owner, k.ID); err != nil {
			return n, err
		}
	}
	return len(keys), nil
}

func cleanEmail(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || len(text) > maxEmail || strings.ContainsFunc(text, unicode.IsControl) {
		return "", errs.New(errs.InvalidRequest, "email must be an e-mail address").With("field", "email")
	}
	return text, nil
}

// newEmail is [cleanEmail] for an account that is made: in ASCII, so that no two look alike, and
// with a domain that can have a mailbox. Names below .invalid (RFC 2606) are those of seats and of
// erased accounts: who could take one would stand in the way of an erasure.
func newEmail(text string) (string, error) {
	email, err := cleanEmail(text)
	if err != nil {
		return "", err
	}
	domain := email[strings.LastIndexByte(email, '@')+1:]
	if strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", errs.New(
			errs.InvalidRequest, "email must be in ASCII; write a domain with other letters in its xn-- form",
		).With("field", "email")
	}
	if strings.HasPrefix(domain, "[") || domain == "invalid" || strings.HasSuffix(domain, ".invalid") {
		return "", errs.New(errs.InvalidRequest, "email must have a domain that receives mail").With("field", "email")
	}
	return email, nil
}

func checkPassword(password string) error {
	if utf8.RuneCountInString(password) < MinPassword || len(password) > MaxPassword || !utf8.ValidString(password) {
		return errs.New(
			errs.InvalidRequest, "password must have at least %d characters and at most %d bytes", MinPassword,
			MaxPassword,
		).With("field", "password")
	}
	common, err := isCommon(password)
	if err != nil {
		return err
	}
	if common {
		return errs.New(
			errs.InvalidRequest,
			"this password is one of the first that are guessed; choose another, for example some words with spaces",
		).With("field", "password")
	}
	return nil
}
