package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

var _ family.Rulings = (*Families)(nil)

// familyState holds what families are found by.
type familyState struct {
	marks    map[family.Mark]markLife
	beside   map[uuid.UUID]uuid.UUID
	payments map[reference]map[[16]byte]bool
	rulings  map[uuid.UUID]uuid.UUID
	members  map[uuid.UUID]family.Member
}

// markLife is the time of a mark; ends is zero for one without end.
type markLife struct{ created, ends time.Time }

func newFamilyState() familyState {
	return familyState{
		marks: make(map[family.Mark]markLife), beside: make(map[uuid.UUID]uuid.UUID),
		payments: make(map[reference]map[[16]byte]bool), rulings: make(map[uuid.UUID]uuid.UUID),
		members: make(map[uuid.UUID]family.Member),
	}
}

// placeNew stores the marks of a new account and its place in a family. The caller holds s.mu.
func (s *core) placeNew(u *account.User) {
	f := &s.families
	var neighbour uuid.UUID
	var since time.Time
	for _, m := range u.Marks {
		life := markLife{created: u.CreatedAt}
		if m.Kind == family.MarkNetwork {
			life.ends = u.CreatedAt.Add(family.NetworkAge)
			for other, l := range f.marks {
				near := other.Kind == m.Kind && other.Hash == m.Hash && other.Account != u.ID &&
					l.created.After(u.CreatedAt.Add(-family.NetworkAge)) && !l.created.After(u.CreatedAt)
				if near && (neighbour == uuid.Nil || l.created.Before(since)) {
					neighbour, since = other.Account, l.created
				}
			}
		}
		f.marks[m] = life
	}
	if neighbour != uuid.Nil {
		f.beside[u.ID] = neighbour
	}
	joined := u.ParentID
	if joined == uuid.Nil {
		joined = s.sameMailbox(u)
	}
	switch {
	case joined != uuid.Nil:
		f.members[u.ID] = family.Of(f.members, joined)
	case neighbour != uuid.Nil:
		f.members[u.ID] = family.Member{Family: u.ID, BoundTo: family.Of(f.members, neighbour).Pool()}
	}
}

// sameMailbox returns the oldest other account of u's mailbox without a ruling; the zero id for none.
func (s *core) sameMailbox(u *account.User) (oldest uuid.UUID) {
	marked := make(map[uuid.UUID]bool)
	for _, m := range u.Marks {
		for other := range s.families.marks {
			if m.Kind == family.MarkMailbox && other.Kind == m.Kind && other.Hash == m.Hash {
				marked[other.Account] = true
			}
		}
	}
	for id := range s.users {
		other := s.users[id]
		_, ruled := s.families.rulings[id]
		same := marked[id] || u.Mailbox != "" && other.Mailbox == u.Mailbox
		if same && !ruled && id != u.ID && (oldest == uuid.Nil || other.CreatedAt.Before(s.users[oldest].CreatedAt)) {
			oldest = id
		}
	}
	return oldest
}

// firstOfFamily reports whether an account without a campaign may have the first one of its family:
// no account of the family, and none that the account is bound to, has one. The caller holds s.mu.
func (s *core) firstOfFamily(c *campaign.Campaign) bool {
	members, own := s.families.members, family.Of(s.families.members, c.AdvertiserID)
	_, ruled := s.families.rulings[c.AdvertiserID]
	ad, mine := adOf(c), s.users[c.AdvertiserID]
	for owner, list := range s.owned {
		if len(list) == 0 {
			continue
		}
		of, bound := family.Of(members, owner), own.BoundTo != uuid.Nil
		if of.Family == own.Family || bound && (of.Family == own.BoundTo || of.BoundTo == own.BoundTo) {
			return false
		}
		user := s.users[owner]
		if older := user.CreatedAt.Before(mine.CreatedAt) || user.CreatedAt.Equal(mine.CreatedAt) &&
			slices.Compare(owner[:], mine.ID[:]) < 0; ruled || !older {
			continue
		}
		for _, k := range list {
			if other := adOf(&k.Campaign); k.Status != campaign.Draft && ad.Like(&other) {
				return false
			}
		}
	}
	return true
}

func adOf(c *campaign.Campaign) family.Ad {
	return family.AdOf(c.AdvertiserID, c.CTAURL, c.Headline, c.Subtext)
}

// FamilyFacts implements family.Store.
func (s *Families) FamilyFacts(context.Context) (f family.Facts, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	maps.DeleteFunc(s.families.marks, func(_ family.Mark, l markLife) bool { return !l.ends.IsZero() && l.ends.Before(now) })
	for id := range s.users {
		u := s.users[id]
		f.Accounts = append(f.Accounts, family.Account{
			ID: id, Parent: u.ParentID, Beside: s.families.beside[id], Created: u.CreatedAt, Mailbox: u.Mailbox,
			Charged: s.charged(id),
		})
	}
	for m := range s.families.marks {
		if m.Kind != family.MarkNetwork {
			f.Marks = append(f.Marks, m)
		}
	}
	for payment, hashes := range s.families.payments {
		deposit, known := s.payments.deposits[s.payments.payments[payment].DepositID]
		for hash := range hashes {
			if known {
				f.Marks = append(f.Marks, family.Mark{
					Account: deposit.AdvertiserID, Kind: family.MarkInstrument, Hash: hash,
				})
			}
		}
	}
	for _, k := range s.byAge {
		if k.Status != campaign.Draft {
			f.Ads = append(f.Ads, adOf(&k.Campaign))
		}
	}
	for id, with := range s.families.rulings {
		f.Rulings = append(f.Rulings, family.Ruling{Account: id, With: with})
	}
	return f, nil
}

// charged reports whether a campaign of an account was ever charged.
func (s *core) charged(id uuid.UUID) bool {
	return slices.ContainsFunc(s.owned[id], func(k *stored) bool { return s.ledger.totals[k.ID].net() > 0 })
}

// Families implements family.Store.
func (s *Families) Families(context.Context) (map[uuid.UUID]family.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.families.members), nil
}

// FamiliesOf implements family.Rulings.
func (s *Families) FamiliesOf(_ context.Context, accounts []uuid.UUID) (map[uuid.UUID]family.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	members := make(map[uuid.UUID]family.Member)
	for _, id := range accounts {
		if m, is := s.families.members[id]; is {
			members[id] = m
		}
	}
	return members, nil
}

// SetFamilies implements family.Store.
func (s *Families) SetFamilies(_ context.Context, changed map[uuid.UUID]family.Member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, m := range changed {
		if m == (family.Member{}) {
			delete(s.families.members, id)
		} else {
			s.families.members[id] = m
		}
	}
	return nil
}

// RuleFamily implements family.Rulings.
func (s *Families) RuleFamily(ctx context.Context, d family.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(d.Account); err != nil {
		return err
	}
	if d.With != uuid.Nil {
		if _, err := s.heldUser(d.With); err != nil {
			return errs.Wrap(err, errs.NotFound, "there is no account to join")
		}
	}
	before := family.Decision{Automatic: true}
	if with, ruled := s.families.rulings[d.Account]; ruled {
		before = family.Decision{Ruling: family.Ruling{With: with}}
	}
	if err := s.record(ctx, auditlog.OfFamily(before, d)); err != nil {
		return err
	}
	if d.Automatic {
		delete(s.families.rulings, d.Account)
	} else {
		s.families.rulings[d.Account] = d.With
	}
	return nil
}

// MarkPayment implements payment.Store.
func (s *Payments) MarkPayment(_ context.Context, p ledger.Provider, id string, hashes [][16]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := reference{p, id}
	for _, hash := range hashes {
		if s.families.payments[of] == nil {
			s.families.payments[of] = make(map[[16]byte]bool)
		}
		s.families.payments[of][hash] = true
	}
	return nil
}

// forgetMarks ends the marks of an erased account: see [family.ErasedAge].
func (s *core) forgetMarks(id uuid.UUID) {
	for m, life := range s.families.marks {
		if m.Account == id && life.ends.IsZero() {
			life.ends = s.clock().Add(family.ErasedAge)
			s.families.marks[m] = life
		}
	}
}
