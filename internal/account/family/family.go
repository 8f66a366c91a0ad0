// Package family decides which accounts belong together. An account costs nothing, so rules that
// count advertisers, publishers or accounts count families.
//
// Accounts join both ways by the same mailbox or the same payment instrument, and seats join their
// owner. Three weaker signs bind one way: the same landing domain, a near copy of the texts, and a
// registration from the same network within a day. They bind a newer account that was never charged
// to an older one, and change nothing for the older one: a stranger can imitate all three. A
// decision of an operator replaces the joins and binds of an account.
//
// Everything here is pure except [Regroup], which reads and writes a [Store].
package family

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Member is the place of an account.
type Member struct {
	// Family is the id of the oldest account of the family.
	Family uuid.UUID
	// BoundTo is the family that a newer family is bound to, which was never charged; zero for none.
	// What the family BoundTo and all families bound to it have used up counts for each of the latter.
	BoundTo uuid.UUID
}

// Pool returns the family whose use counts for m: the family m is bound to, or else its own.
func (m Member) Pool() uuid.UUID {
	if m.BoundTo != uuid.Nil {
		return m.BoundTo
	}
	return m.Family
}

// Of returns the place of an account in the result of [Facts.Group]. An account without an entry is
// a family of its own.
func Of(members map[uuid.UUID]Member, id uuid.UUID) Member {
	if m, is := members[id]; is {
		return m
	}
	return Member{Family: id}
}

// Account is an account as far as families need it.
type Account struct {
	ID      uuid.UUID
	Parent  uuid.UUID // the owner of a seat
	Beside  uuid.UUID // account that registered from the same network within [NetworkAge] before
	Created time.Time
	Mailbox string // see [Providers.Mailbox]; empty for seats and erased accounts
	Charged bool   // a campaign of the account was ever charged
}

// NetworkAge is the time after a registration in which another one from its network is bound to it.
const NetworkAge = 24 * time.Hour

// ErasedAge is the time for which the marks of an erased account stay, so that an erasure does not
// renew what a family has used up.
const ErasedAge = 90 * 24 * time.Hour

// MarkKind is the kind of a [Mark].
type MarkKind string

// The kinds of marks.
const (
	MarkMailbox    MarkKind = "mailbox"    // survives the erasure of the address for [ErasedAge]
	MarkNetwork    MarkKind = "network"    // of the registration, for [NetworkAge]; see [Network]
	MarkInstrument MarkKind = "instrument" // payer id or card fingerprint
)

// Mark is a keyed hash of a fact about an account, see token.Keyring.Marks. One fact has one mark
// for each key of the ring, so that a rotation of keys separates no accounts.
type Mark struct {
	Account uuid.UUID
	Kind    MarkKind
	Hash    [16]byte
}

// Ruling is the decision of an operator about one account. With is the account whose family it
// joins; the zero id splits it from every account.
type Ruling struct {
	Account, With uuid.UUID
}

// Facts is what the stores hold about accounts.
type Facts struct {
	Accounts []Account
	Marks    []Mark
	Ads      []Ad
	Rulings  []Ruling
}

// Store holds facts and families. Both stores implement it.
type Store interface {
	// FamilyFacts returns the facts, and removes marks that have ended.
	FamilyFacts(ctx context.Context) (Facts, error)
	// Families returns the places of all accounts that are not simply a family of their own.
	Families(ctx context.Context) (map[uuid.UUID]Member, error)
	// SetFamilies stores changed places. The zero Member makes an account a family of its own.
	SetFamilies(ctx context.Context, changed map[uuid.UUID]Member) error
}

// Regroup computes all families from the stored facts, and stores the places that changed. It may run
// at the same time in several processes.
func Regroup(ctx context.Context, s Store) error {
	facts, err := s.FamilyFacts(ctx)
	if err != nil {
		return err
	}
	before, err := s.Families(ctx)
	if err != nil {
		return err
	}
	after := facts.Group()
	changed := make(map[uuid.UUID]Member)
	for i := range facts.Accounts { // not accounts that were created meanwhile
		if id := facts.Accounts[i].ID; before[id] != after[id] {
			changed[id] = after[id]
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.SetFamilies(ctx, changed)
}
