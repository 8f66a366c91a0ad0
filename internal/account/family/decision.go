package family

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Decision is a change of an operator's ruling about an account.
type Decision struct {
	Ruling
	Automatic bool // the account has no ruling any more
	By        uuid.UUID
	At        time.Time
	Reason    string // goes into the audit log
}

// Text returns the ruling for the audit log.
func (d Decision) Text() string {
	switch {
	case d.Automatic:
		return "automatic"
	case d.With == uuid.Nil:
		return "split"
	}
	return "joined to " + d.With.String()
}

// Rulings stores decisions and finds the places of some accounts. Both stores implement it.
type Rulings interface {
	Store
	// RuleFamily stores a decision. Errors: errs.NotFound for an unknown account.
	RuleFamily(ctx context.Context, d Decision) error
	// FamiliesOf returns the places of accounts that are not simply a family of their own.
	FamiliesOf(ctx context.Context, accounts []uuid.UUID) (map[uuid.UUID]Member, error)
}

// AdOf returns what is compared of a campaign: the link and the texts of its ad.
func AdOf(account uuid.UUID, link string, texts ...string) Ad {
	return Ad{Account: account, Landing: Landing(link), Words: Words(texts...)}
}

// Like reports whether a newer account with one of two ads is bound to the account of the other.
func (a *Ad) Like(other *Ad) bool {
	return a.Landing != "" && a.Landing == other.Landing || Alike(a.Words, other.Words)
}
