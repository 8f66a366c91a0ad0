package account

import (
	"cmp"
	"context"

	"github.com/google/uuid"
)

// MaxNamed is the maximum number of ids in one call of [NameStore.Named].
const MaxNamed = 4000

// Named holds the names of an account, for reports.
type Named struct {
	ID, DeveloperID uuid.UUID
	Email           string
	Sponsor         string // see [User.Sponsor]
	Approved        string // of [User.Approved]
}

// NameStore finds the names of accounts.
type NameStore interface {
	// Named returns the accounts whose user id or developer id is in ids, in any order. It ignores
	// ids without an account, and may ignore those beyond MaxNamed.
	Named(ctx context.Context, ids []uuid.UUID) ([]Named, error)
}

// NamedOf returns the names of u.
func NamedOf(u *User) Named {
	return Named{
		ID: u.ID, DeveloperID: u.DeveloperID, Email: u.Email, Sponsor: u.Sponsor(), Approved: u.Approved.Name,
	}
}

// For returns the name that reader sees in place of the account's id, empty for none. Anyone but the
// account and an administrator sees only a name that was approved: the others are unchecked, and an
// e-mail address is personal.
func (n *Named) For(reader *User) string {
	if reader.MayActFor(n.ID) {
		return cmp.Or(n.Sponsor, n.Email)
	}
	return n.Approved
}
