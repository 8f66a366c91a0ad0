// Package account holds users, their roles and rights, and the keys of publishers and seats.
//
// One account model serves both sides of the market. Every [User] can advertise (its id is the
// advertiser id) and publish (its DeveloperID receives the Credits); the role only marks
// administrators. Role and state are authoritative in the store, never in a token.
package account

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Role is what a user may do beyond its own account.
type Role string

// The roles of the specification.
const (
	RoleAdvertiser Role = "advertiser"
	RoleAdmin      Role = "admin" // reviews campaigns, issues seat keys, sees every account
	// RoleSeat is an exchange that sends bid requests: an account that never logs in, has keys
	// only, and belongs to the account that it was made for.
	RoleSeat Role = "seat"
)

// User is an account. Times are UTC.
type User struct {
	ID           uuid.UUID // also the advertiser id of its campaigns
	DeveloperID  uuid.UUID // the publisher side of the same account; differs from ID
	Email        string    // lower case, unique
	PasswordHash string    // PHC string of argon2id
	Role         Role
	Disabled     bool
	// DisplayName and Company are what the account calls itself; nothing checks them. Receipts show
	// the company, else the name.
	DisplayName, Company string
	// Approved is that name when an administrator let ads say it, zero for any other: models read
	// it.
	Approved     Sponsor
	TokenVersion int64 // tokens issued for an older version are refused: raised by a password or role change
	CreatedAt    time.Time

	ParentID uuid.UUID // the owner of a seat; zero for every other account
	Seats    []Seat    // that the account owns, oldest first; read with it
}

// Edited is u after an edit, which changes neither ids nor the time of creation, and whose e-mail
// is kept in lower case. A name that was not looked at loses the approval of the one before.
// Errors: those of edit.
func (u User) Edited(edit func(*User) error) (User, error) {
	after := u
	if err := edit(&after); err != nil {
		return User{}, err
	}
	after.ID, after.DeveloperID, after.CreatedAt, after.ParentID, after.Seats = u.ID, u.DeveloperID, u.CreatedAt,
		u.ParentID, u.Seats
	after.Email = strings.ToLower(after.Email)
	if after.Approved.Name != after.Sponsor() {
		after.Approved = Sponsor{}
	}
	return after, nil
}

// ErasedEmail is the e-mail of an account whose owner was forgotten; no account can register it.
func ErasedEmail(id uuid.UUID) string { return "erased-" + id.String() + "@erased.invalid" }

// Erased says whether u's owner was forgotten.
func (u *User) Erased() bool { return u.Disabled && u.Email == ErasedEmail(u.ID) }

// Erase takes from u what names its owner and ends its logins: a password that no text has, and the
// next version of tokens.
func (u *User) Erase() error {
	u.Email, u.PasswordHash, u.Disabled = ErasedEmail(u.ID), "", true
	u.DisplayName, u.Company = "", ""
	u.TokenVersion++
	return nil
}

// Seat is an exchange as its owner knows it: an account of [RoleSeat].
type Seat struct {
	ID          uuid.UUID // its user id, also the advertiser id of campaigns that its Credits pay
	DeveloperID uuid.UUID // that its bids, events, Credits and quarantine are of
}

// MaxSeats is the most seats that one account may own.
const MaxSeats = 500

// IsAdmin says whether u may act for every account.
func (u User) IsAdmin() bool { return u.Role == RoleAdmin }

// MayActFor says whether u may act for the advertiser: itself, a seat of its own, or any when
// admin.
func (u User) MayActFor(advertiser uuid.UUID) bool {
	return u.IsAdmin() || u.ID == advertiser ||
		slices.ContainsFunc(u.Seats, func(s Seat) bool { return s.ID == advertiser })
}

// Publishes says whether the publisher is u's own side or a seat of its own. No account is the
// publisher without an id.
func (u User) Publishes(developer uuid.UUID) bool {
	return developer != uuid.Nil &&
		(u.DeveloperID == developer || slices.ContainsFunc(
			u.Seats, func(s Seat) bool { return s.DeveloperID == developer },
		))
}

// Key is an API key. The plain text is shown once, at creation; only its SHA-256 is kept.
type Key struct {
	ID          uuid.UUID
	OwnerID     uuid.UUID // user id: of a seat's keys that of the seat
	DeveloperID uuid.UUID // copied from the owner, so that an ad request needs one lookup
	Kind        KeyKind
	CampaignID  uuid.UUID      // the one campaign of a conversion key; zero for all of its owner
	Addresses   []netip.Prefix // from where a seatpath key is taken; none is from anywhere
	Name        string
	Prefix      string // the first characters, shown to recognise the key
	Hash        [32]byte
	CreatedAt   time.Time
	RevokedAt   time.Time // zero while the key works
	// Unlearned says that nothing is recorded for learning of what is asked with the key.
	Unlearned bool
	Origins   []string  // of a browser key: the pages that it is taken from, see [Names]
	EndsAt    time.Time // from when a rotated key does not work; zero for one that was not rotated
	// Blocks are what its account, or that of its seat, does not show; nil for nothing. Only
	// [KeyStore.KeyByHash] fills it.
	Blocks *Blocks
	// Publishing is what the same account asks of ads. Only [KeyStore.KeyByHash] fills it.
	Publishing Publishing
	// House are the newest active campaigns of its owner, at most [MaxHouse], newest first, where
	// Publishing has house ads. Only [KeyStore.KeyByHash] fills it.
	House []uuid.UUID
}

// Revoked says whether the key was withdrawn.
func (k Key) Revoked() bool { return !k.RevokedAt.IsZero() }

// Works says whether the key was neither withdrawn nor has its grace ended at now.
func (k Key) Works(now time.Time) bool {
	return !k.Revoked() && (k.EndsAt.IsZero() || now.Before(k.EndsAt))
}

// ErrRotated says that a key was rotated or withdrawn before.
var ErrRotated = errs.New(errs.Conflict, "the key was rotated or revoked already; rotate the key that took its place")

// UserStore keeps users. Errors carry errs.NotFound and errs.Conflict (e-mail taken).
type UserStore interface {
	CreateUser(ctx context.Context, u User) error
	User(ctx context.Context, id uuid.UUID) (User, error)
	UserByEmail(ctx context.Context, email string) (User, error)
	// UpdateUser runs edit on the locked row; an error of edit leaves the row as it was.
	UpdateUser(ctx context.Context, id uuid.UUID, edit func(*User) error) (User, error)
	// RuleUser is UpdateUser for what is decided about an account: its reason is in the audit log.
	// errs.Conflict where KeepAdmin is set and no administrator could sign in any more.
	RuleUser(ctx context.Context, r Ruling) (User, error)
	// Users lists accounts, newest first, and counts all that the filter selects.
	Users(ctx context.Context, f UserFilter) ([]User, int, error)
}

// NetworkStore keeps from which networks an account was logged in to.
type NetworkStore interface {
	// NoteNetwork keeps that a login from network was good at a time, and forgets older ones
	// than the other.
	NoteNetwork(ctx context.Context, user uuid.UUID, network string, at, forget time.Time) error
	// KnowsNetwork says whether a login from network was good since a time.
	KnowsNetwork(ctx context.Context, user uuid.UUID, network string, since time.Time) (bool, error)
}

// KeyStore keeps keys. Errors carry errs.NotFound.
type KeyStore interface {
	CreateKey(ctx context.Context, k Key) error
	// CreateSeat keeps a new seat with its first key, both or none. The owner's history goes along:
	// the seat begins in quarantine where ledger.SeatCase says so. errs.NotFound if the owner has
	// no account, errs.Conflict if it has MaxSeats.
	CreateSeat(ctx context.Context, seat User, k Key) error
	// KeyByHash finds a key, even a revoked one; disabled is true if its owner is disabled,
	// or the owner of its seat unless that is an administrator.
	KeyByHash(ctx context.Context, hash [32]byte) (k Key, disabled bool, err error)
	// Keys lists the keys of an owner and of its seats, newest first, revoked ones included.
	Keys(ctx context.Context, owner uuid.UUID) ([]Key, error)
	// RevokeKey is idempotent: the first time of revocation stays. errs.NotFound if owner has no
	// such key, nor a seat of its.
	RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error
	// RotateKey keeps next, which replaces the key id, and lets that one work until ends: both or
	// none. errs.NotFound if owner has no such key, nor a seat of its; errs.Conflict if it was
	// rotated or withdrawn before.
	RotateKey(ctx context.Context, owner, id uuid.UUID, ends time.Time, next Key) error
	// NamesOrigin says whether a browser key that works at now names one of patterns ([Patterns]).
	NamesOrigin(ctx context.Context, patterns []string, now time.Time) (bool, error)
}
