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

	"adnet/internal/account/family"
	"adnet/internal/errs"
)

// Role is the set of rights that a user has beyond its own account.
type Role string

// The roles of the specification.
const (
	RoleAdvertiser Role = "advertiser"
	RoleAdmin      Role = "admin" // reviews campaigns, issues seat keys, sees every account
	// RoleSeat is an exchange that sends bid requests. Such an account never logs in, has only keys
	// and belongs to the account that it was created for.
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
	Side         Side // empty: see [User.Sides]
	// DisplayName and Company are names that the account chooses; they are not checked. Receipts
	// show the company, or the name if there is none.
	DisplayName, Company string
	// Approved is the name that an administrator has approved for ads, zero for any other name:
	// models read it.
	Approved     Sponsor
	TokenVersion int64 // tokens with an older version are rejected; a password or role change raises it
	CreatedAt    time.Time

	Mailbox string        // see [family.Providers.Mailbox]; empty for a seat and an erased account
	Marks   []family.Mark // of a new account; only [UserStore.CreateUser] reads them

	ParentID uuid.UUID // the owner of a seat; zero for every other account
	Seats    []Seat    // seats that the account owns, oldest first; loaded with it
}

// Edited returns u after an edit. An edit changes neither ids nor the time of creation, and the
// e-mail is stored in lower case. A new name loses the approval of the previous one. Errors: those
// of edit.
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

// ErasedEmail returns the e-mail of an erased account. No account can register it.
func ErasedEmail(id uuid.UUID) string { return "erased-" + id.String() + "@erased.invalid" }

// Erased reports whether u was erased at its owner's request.
func (u *User) Erased() bool { return u.Disabled && u.Email == ErasedEmail(u.ID) }

// Erase removes the personal data of u and ends its logins. No password matches the empty hash, and
// the token version is raised.
func (u *User) Erase() error {
	u.Email, u.PasswordHash, u.Disabled = ErasedEmail(u.ID), "", true
	u.DisplayName, u.Company, u.Mailbox = "", "", ""
	u.TokenVersion++
	return nil
}

// Seat is an exchange as listed for its owner: an account of [RoleSeat].
type Seat struct {
	ID          uuid.UUID // its user id, also the advertiser id of campaigns paid with its Credits
	DeveloperID uuid.UUID // the publisher id of its bids, events, Credits and quarantine
}

// MaxSeats is the maximum number of seats per account.
const MaxSeats = 500

// IsAdmin reports whether u may act for every account.
func (u User) IsAdmin() bool { return u.Role == RoleAdmin }

// MayActFor reports whether u may act for the advertiser: itself, one of its seats, or any
// advertiser if u is an administrator.
func (u User) MayActFor(advertiser uuid.UUID) bool {
	return u.IsAdmin() || u.OwnsAdvertiser(advertiser)
}

// OwnsAdvertiser reports whether advertiser is u or one of its seats.
func (u User) OwnsAdvertiser(advertiser uuid.UUID) bool {
	return u.ID == advertiser || slices.ContainsFunc(u.Seats, func(s Seat) bool { return s.ID == advertiser })
}

// Publishes reports whether developer is the publisher id of u or of one of its seats. It is false
// for the zero id.
func (u User) Publishes(developer uuid.UUID) bool {
	return developer != uuid.Nil &&
		(u.DeveloperID == developer || slices.ContainsFunc(
			u.Seats, func(s Seat) bool { return s.DeveloperID == developer },
		))
}

// Key is an API key. The plain text is shown once, at creation. Only its SHA-256 is stored.
type Key struct {
	ID          uuid.UUID
	OwnerID     uuid.UUID // user id; for a seat's key the id of the seat
	DeveloperID uuid.UUID // copied from the owner, so that an ad request needs one lookup
	// Family is the developer id of the oldest account of its family, if that is another: a seat
	// belongs to its owner, unless that is an administrator. Only [KeyStore.KeyByHash] sets it.
	Family     uuid.UUID
	Kind       KeyKind
	CampaignID uuid.UUID      // the only campaign of a conversion key; zero for all campaigns of its owner
	Addresses  []netip.Prefix // networks that may use a seatpath key; empty for any
	Name       string
	Prefix     string // the first characters, shown to recognise the key
	Hash       [32]byte
	CreatedAt  time.Time
	RevokedAt  time.Time // zero while the key works
	// Unlearned excludes requests with this key from the training data.
	Unlearned bool
	Origins   []string // pages that may use a browser key, see [Names]
	// ReadByModels reports whether a model reads the ads of a browser key, and not only people.
	ReadByModels bool
	EndsAt       time.Time // end of the grace period of a rotated key; zero if it was not rotated
	// Blocks lists what its account, or the account of its seat, does not show; nil for nothing.
	// Only [KeyStore.KeyByHash] sets it.
	Blocks *Blocks
	// Publishing holds the ad settings of the same account. Only [KeyStore.KeyByHash] sets it.
	Publishing Publishing
	// House lists the newest active campaigns of its owner, at most [MaxHouse], newest first, if
	// Publishing allows house ads. Only [KeyStore.KeyByHash] sets it.
	House []uuid.UUID
}

// Revoked reports whether the key was revoked.
func (k Key) Revoked() bool { return !k.RevokedAt.IsZero() }

// Works reports whether the key is valid at now: not revoked, and within its grace period if it was
// rotated.
func (k Key) Works(now time.Time) bool {
	return !k.Revoked() && (k.EndsAt.IsZero() || now.Before(k.EndsAt))
}

// ErrRotated reports a key that was already rotated or revoked.
var ErrRotated = errs.New(errs.Conflict, "the key was already rotated or revoked; rotate its replacement")

// UserStore stores users. Errors carry errs.NotFound and errs.Conflict (e-mail taken).
type UserStore interface {
	// CreateUser stores a new account with its marks and its place in a family.
	CreateUser(ctx context.Context, u User) error
	User(ctx context.Context, id uuid.UUID) (User, error)
	UserByEmail(ctx context.Context, email string) (User, error)
	// UpdateUser runs edit on the locked row. If edit fails, the row is unchanged.
	UpdateUser(ctx context.Context, id uuid.UUID, edit func(*User) error) (User, error)
	// RuleUser is UpdateUser for a decision about an account. The reason goes into the audit log.
	// It returns errs.Conflict if KeepAdmin is set and no administrator could sign in any more.
	RuleUser(ctx context.Context, r Ruling) (User, error)
	// Users lists accounts, newest first, and counts all accounts that match the filter.
	Users(ctx context.Context, f UserFilter) ([]User, int, error)
}

// NetworkStore stores the networks from which accounts were logged in to.
type NetworkStore interface {
	// NoteNetwork records a successful login from network, a keyed mark, at a time and deletes
	// logins older than forget.
	NoteNetwork(ctx context.Context, user uuid.UUID, network string, at, forget time.Time) error
	// KnowsNetwork reports whether a login from network has succeeded since a time.
	KnowsNetwork(ctx context.Context, user uuid.UUID, network string, since time.Time) (bool, error)
}

// KeyStore stores keys. Errors carry errs.NotFound.
type KeyStore interface {
	CreateKey(ctx context.Context, k Key) error
	// CreateSeat stores a new seat and its first key in one transaction. The seat inherits the
	// owner's history: it begins in quarantine if ledger.SeatCase requires it. It returns
	// errs.NotFound if the owner has no account and errs.Conflict if it already has MaxSeats.
	CreateSeat(ctx context.Context, seat User, k Key) error
	// KeyByHash finds a key, even a revoked one. disabled is true if its owner is disabled, or if
	// the owner of its seat is disabled and not an administrator.
	KeyByHash(ctx context.Context, hash [32]byte) (k Key, disabled bool, err error)
	// Keys lists the keys of an owner and of its seats, newest first, revoked ones included.
	Keys(ctx context.Context, owner uuid.UUID) ([]Key, error)
	// RevokeKey is idempotent: the time of the first revocation stays. It returns errs.NotFound if
	// neither owner nor one of its seats has the key.
	RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error
	// RotateKey stores next, which replaces the key id, and keeps the old key valid until ends, in
	// one transaction. It returns errs.NotFound if neither owner nor one of its seats has the key,
	// and errs.Conflict if the key was already rotated or revoked.
	RotateKey(ctx context.Context, owner, id uuid.UUID, ends time.Time, next Key) error
	// NamesOrigin reports whether a browser key that is valid at now allows one of patterns
	// ([Patterns]).
	NamesOrigin(ctx context.Context, patterns []string, now time.Time) (bool, error)
}
