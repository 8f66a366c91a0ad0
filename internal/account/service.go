package account

import (
	"context"
	"encoding/hex"
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/errs"
	"adnet/internal/process/schedule"
)

// The limits of user input.
const (
	MinPassword = 12  // of a new password; older, shorter ones still log in
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
	Networks NetworkStore // nil: every network is unknown
	Sessions SessionStore // nil on the command line, which has no logins
	Factors  FactorStore  // as Sessions
	Links    LinkStore    // as Sessions
	Box      Box          // as Sessions
	Mail     family.Providers
	// Marks hashes a fact about an account: see token.Keyring.Marks. nil on the command line, which
	// has no keys.
	Marks func(kind, text string) [][16]byte
	Now   func() time.Time
}

// Service handles registration, login and keys.
type Service struct{ deps Deps }

// NewService creates a Service.
func NewService(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	return &Service{deps: deps}
}

// errCredentials does not reveal whether the e-mail exists.
var errCredentials = errs.New(errs.InvalidCredentials, "the e-mail or the password is wrong")

// Register creates an advertiser account, never an administrator, whatever else the request
// contains (a role, for example). Errors: errs.InvalidRequest, errs.Conflict if the e-mail is
// taken.
func (s *Service) Register(ctx context.Context, email, password string) (User, error) {
	return s.RegisterAs(ctx, Registration{Email: email, Password: password})
}

// RegisterAs is [Service.Register] with all that a registration has.
func (s *Service) RegisterAs(ctx context.Context, in Registration) (User, error) {
	return s.create(ctx, in, RoleAdvertiser)
}

// Registration is the request for a new account.
type Registration struct {
	Email, Password string
	Network         string // of the caller: see [family.Network] and [Link]
	Side            Side
}

// CreateAdmin creates an administrator. Only the command line and the settings call it.
func (s *Service) CreateAdmin(ctx context.Context, email, password string) (User, error) {
	return s.create(ctx, Registration{Email: email, Password: password}, RoleAdmin)
}

// EnsureAdmin is [Service.CreateAdmin] for an account that may exist. An existing account stays
// unchanged, since its password may have been changed. It hashes only when it creates the account.
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

func (s *Service) create(ctx context.Context, in Registration, role Role) (User, error) {
	email, err := newEmail(in.Email)
	if err != nil {
		return User{}, err
	}
	hash, err := hashNew(ctx, email, in.Password)
	if err != nil {
		return User{}, err
	}
	u, err := newUser(role, s.deps.Now().UTC())
	if err != nil {
		return User{}, err
	}
	u.Email, u.PasswordHash, u.Side = email, hash, in.Side
	s.mark(&u, in.Network)
	return u, s.deps.Users.CreateUser(ctx, u)
}

// mark gives a new account what its family is found by.
func (s *Service) mark(u *User, network string) {
	u.Mailbox = s.deps.Mail.Mailbox(u.Email)
	if s.deps.Marks == nil {
		return
	}
	for kind, text := range map[family.MarkKind]string{family.MarkMailbox: u.Mailbox, family.MarkNetwork: network} {
		for _, hash := range s.deps.Marks(string(kind), text) {
			u.Marks = append(u.Marks, family.Mark{Account: u.ID, Kind: kind, Hash: hash})
		}
	}
}

// newUser returns an account with new ids and nothing else.
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

// Login checks a password. An unknown e-mail takes the same time as a wrong password. Errors:
// errs.InvalidCredentials.
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
	return u, nil // suspended or not: its owner may read the reason and appeal, see httpapi.Auth
}

// ByEmail finds an account. Errors: errs.NotFound.
func (s *Service) ByEmail(ctx context.Context, email string) (User, error) {
	return s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
}

// knownFor is the time for which a network stays known after a successful login.
const knownFor = 90 * 24 * time.Hour

// NoteNetwork records a login of u from a network.
func (s *Service) NoteNetwork(ctx context.Context, u User, network string) error {
	if s.deps.Networks == nil || network == "" {
		return nil
	}
	now := s.deps.Now().UTC()
	return s.deps.Networks.NoteNetwork(ctx, u.ID, s.networkMarks(u.ID, network)[0], now, now.Add(-knownFor))
}

// KnowsNetwork reports whether the account of an e-mail was logged in to from a network in the last
// 90 days. It is also false for an unknown e-mail and if the store fails.
func (s *Service) KnowsNetwork(ctx context.Context, email, network string) bool {
	if s.deps.Networks == nil || network == "" {
		return false
	}
	u, err := s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return false
	}
	for _, mark := range s.networkMarks(u.ID, network) {
		known, err := s.deps.Networks.KnowsNetwork(ctx, u.ID, mark, s.deps.Now().UTC().Add(-knownFor))
		if err == nil && known {
			return true
		}
	}
	return false
}

// networkMarks returns the marks of a network of an account's logins, that of the signing key
// first. They match for 90 days, so their keys are those of the ring. A plain hash would tell the
// network to a reader of the table: there are only 2^24. Without keys the only mark is the network.
func (s *Service) networkMarks(user uuid.UUID, network string) []string {
	if s.deps.Marks == nil {
		return []string{network}
	}
	hashes := s.deps.Marks("login", user.String()+"\n"+network)
	marks := make([]string, len(hashes))
	for i := range hashes {
		marks[i] = hex.EncodeToString(hashes[i][:])
	}
	return marks
}

var errSeat = errs.New(errs.InvalidRequest, "a seat has only keys: it cannot have a password or another role")

// Promote changes the role of a user and ends its sessions. [Service.SetRole] is the variant for
// administrators.
func (s *Service) Promote(ctx context.Context, email string, role Role) (User, error) {
	return s.edit(ctx, email, func(u *User) error {
		if u.Role == RoleSeat || role == RoleSeat {
			return errSeat
		}
		u.Role = role
		return nil
	})
}

// Disable stops a user's sessions and keys, or restores them.
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

// SetPassword changes a user's password and ends its sessions. API keys keep working: see
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

// edit raises the token version with every change, so that earlier tokens stop working.
func (s *Service) edit(ctx context.Context, email string, change func(*User) error) (User, error) {
	u, err := s.deps.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return User{}, err
	}
	return s.deps.Users.UpdateUser(ctx, u.ID, Renewing(change))
}

// NewKey is a key with its plain text, which is shown only once.
type NewKey struct {
	Key
	Plain string
}

// KeyRequest holds the parameters of a new key.
type KeyRequest struct {
	Kind       KeyKind
	Name       string
	CampaignID uuid.UUID // of a conversion key; the caller has checked its owner
	Unlearned  bool      // requests with it are excluded from training
	SeatID     uuid.UUID // of a seat's key: an existing seat; zero creates a new seat
	Addresses  []string  // of a seatpath key: addresses or networks that may use it; empty for any
	Origins    []string  // of a browser key: origins, or https://*.example.com
	// ReadByModels is set for a browser key whose ads a model reads.
	ReadByModels bool
}

// CreateKey issues a key to caller. Any user may create publisher, browser and conversion keys.
// Only an administrator may create a seat's key, passes it on and puts the recipient in name. A
// seat's first key creates the seat. Errors: errs.InvalidRequest, errs.Forbidden, errs.NotFound for
// an unknown seat, errs.Conflict at too many keys or seats.
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

var errTooManyKeys = errs.New(errs.Conflict, "there are already %d keys; revoke one first", maxKeys)

// issue gives k an id and a plain text of its kind, and stores the hash in k.
func (s *Service) issue(k *Key) (plain string, err error) {
	if k.ID, err = uuid.NewV7(); err != nil {
		return "", err
	}
	plain, material, err := GenerateKey(k.Kind)
	k.Prefix, k.Hash, k.CreatedAt = material.Prefix, material.Hash, s.deps.Now().UTC()
	return plain, err
}

// The grace period of a rotated key.
const (
	UsualGrace = 24 * time.Hour
	maxGrace   = 30 * 24 * time.Hour
)

// RotateKey issues a replacement for a key of caller or its seats, with the same name and limits.
// The old key keeps working for grace. Errors: errs.NotFound if caller has no such key,
// errs.Conflict if it was already rotated or there are too many keys, errs.InvalidRequest.
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

// check validates the request and returns the key that caller wants. Errors: errs.InvalidRequest,
// errs.Forbidden.
func (r *KeyRequest) check(caller User) (k Key, err error) {
	k = Key{
		OwnerID: caller.ID, DeveloperID: caller.DeveloperID, Kind: r.Kind, CampaignID: r.CampaignID, Name: r.Name,
		Unlearned: r.Unlearned, ReadByModels: r.ReadByModels,
	}
	switch {
	case !slices.Contains(Kinds(), r.Kind):
		return k, errs.New(errs.InvalidRequest, "kind must be one of %s", kindNames()).With("field", "kind")
	case r.Kind.OfSeat() && !caller.IsAdmin():
		return k, errs.New(errs.Forbidden, "seat keys are issued by an administrator")
	case r.CampaignID != uuid.Nil && r.Kind != KindConversion:
		return k, errs.New(
			errs.InvalidRequest, "campaign_id is for conversion keys only",
		).With("field", "campaign_id")
	case r.SeatID != uuid.Nil && !r.Kind.OfSeat():
		return k, errs.New(
			errs.InvalidRequest, "seat_id is for seat and seatpath keys only",
		).With("field", "seat_id")
	case len(r.Origins) > 0 && r.Kind != KindBrowser:
		return k, errs.New(errs.InvalidRequest, "origins are for browser keys only").With("field", "origins")
	case r.ReadByModels && r.Kind != KindBrowser:
		return k, errs.New(
			errs.InvalidRequest,
			"read_by_models is for browser keys only: models read the ads of publisher keys anyway",
		).With("field", "read_by_models")
	case len(r.Addresses) > 0 && r.Kind != KindSeatPath:
		return k, errs.New(errs.InvalidRequest, "addresses are for seatpath keys only").With("field", "addresses")
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

// readPrefixes parses addresses and networks.
func readPrefixes(texts []string) ([]netip.Prefix, error) {
	refused := errs.New(
		errs.InvalidRequest, "addresses must be at most %d addresses or networks like 192.0.2.7 or 2001:db8::/32",
		maxPrefixes,
	).With("field", "addresses")
	if len(texts) > maxPrefixes {
		return nil, refused
	}
	var prefixes []netip.Prefix
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, isOne := netip.ParseAddr(text); err != nil && isOne == nil && address.Zone() == "" {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, refused.At("addresses", i)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// createSeatKey stores a seat's key, for an existing seat or a new one of caller. All keys of a
// seat share its quarantine, Credits and history.
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

// newSeat returns a seat of owner. Its e-mail receives nothing (RFC 2606) and only identifies the
// seat for `adnet user`.
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

// Working lists the valid keys of caller and its seats, newest first.
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

// RevokeKey permanently revokes a key of caller or its seats. It returns errs.NotFound if caller
// has no such key.
func (s *Service) RevokeKey(ctx context.Context, caller User, id uuid.UUID) error {
	return s.deps.Keys.RevokeKey(ctx, caller.ID, id, s.deps.Now().UTC())
}

// RevokeKeys permanently revokes all keys of owner and returns the number of keys that were valid.
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

// newEmail is [cleanEmail] for a new account. The e-mail must be in ASCII, so that no two look
// alike, and its domain must be able to have a mailbox. Names below .invalid (RFC 2606) belong to
// seats and erased accounts: another account with such a name could block an erasure.
func newEmail(text string) (string, error) {
	email, err := cleanEmail(text)
	if err != nil {
		return "", err
	}
	domain := email[strings.LastIndexByte(email, '@')+1:]
	if strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", errs.New(
			errs.InvalidRequest, "email must be in ASCII; write an international domain in its xn-- form",
		).With("field", "email")
	}
	if !isMailHost(domain) || domain == "invalid" || strings.HasSuffix(domain, ".invalid") {
		return "", errs.New(errs.InvalidRequest, "email must have a domain that receives mail").With("field", "email")
	}
	return email, nil
}

// isMailHost reports whether mail can be sent to a host name of lower case (RFC 5321, section
// 2.3.5). A name without a dot may be a host of the operator's network.
func isMailHost(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) || len(label) > 63 || strings.Trim(label, "-_") != label || strings.Contains(label, "_") {
			return false
		}
	}
	return true
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
			"this password is too easy to guess; choose another, for example some words with spaces",
		).With("field", "password")
	}
	return nil
}
