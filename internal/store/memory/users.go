package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

var _ account.UserStore = (*Accounts)(nil)

// CreateUser stores a new account; its e-mail is stored in lower case. Errors: errs.Conflict.
func (s *Accounts) CreateUser(ctx context.Context, u account.User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.createUser(ctx, u)
}

func (s *core) createUser(ctx context.Context, u account.User) error {
	u.Email, u.CreatedAt = strings.ToLower(u.Email), asStored(u.CreatedAt)
	if _, taken := s.byEmail[u.Email]; taken {
		return errEmailTaken()
	}
	if _, taken := s.users[u.ID]; taken {
		return errEmailTaken()
	}
	if err := s.record(ctx, auditlog.OfUser(nil, &u)); err != nil {
		return err
	}
	s.placeNew(&u)
	before := s.casesOfErased(&u)
	u.Marks = nil
	s.users[u.ID], s.byEmail[u.Email] = u, u.ID
	s.publishers[u.DeveloperID] = cmp.Or(u.ParentID, u.ID)
	if c, held := ledger.SeatCase(u, before); held {
		_, err := s.openCase(ctx, c)
		return err
	}
	return nil
}

// casesOfErased lists the cases of erased accounts that have a mark of the mailbox of a new account.
func (s *core) casesOfErased(u *account.User) (cases []ledger.Quarantine) {
	for _, c := range s.ledger.publishers.cases {
		owner := s.users[s.publishers[c.DeveloperID]]
		if _, ruled := s.families.rulings[owner.ID]; ruled || !owner.Erased() {
			continue
		}
		marked := slices.ContainsFunc(u.Marks, func(m family.Mark) bool {
			_, has := s.families.marks[family.Mark{Account: owner.ID, Kind: m.Kind, Hash: m.Hash}]
			return has && m.Kind == family.MarkMailbox
		})
		if marked {
			cases = append(cases, *c)
		}
	}
	return cases
}

// User finds an account by id. Errors: errs.NotFound.
func (s *Accounts) User(_ context.Context, id uuid.UUID) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldUser(id)
}

// UserByEmail finds an account by e-mail in any case. Errors: errs.NotFound.
func (s *Accounts) UserByEmail(_ context.Context, email string) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldUser(s.byEmail[strings.ToLower(email)])
}

// UpdateUser runs edit on a copy and stores the result, except for the ids and the time of
// creation. Errors: errs.NotFound, errs.Conflict when the new e-mail is taken, and those of edit.
func (s *Accounts) UpdateUser(ctx context.Context, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updateUser(ctx, account.Ruling{UserID: id, Edit: edit})
}

// RuleUser implements account.UserStore.
func (s *Accounts) RuleUser(ctx context.Context, r account.Ruling) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updateUser(ctx, r)
}

func (s *core) updateUser(ctx context.Context, r account.Ruling) (account.User, error) {
	id := r.UserID
	before, err := s.heldUser(id)
	if err != nil {
		return account.User{}, err
	}
	u, err := before.Edited(r.Edit)
	if err != nil {
		return account.User{}, err
	}
	if r.KeepAdmin && before.IsAdmin() && !before.Disabled && (!u.IsAdmin() || u.Disabled) && !s.otherAdmin(id) {
		return account.User{}, account.ErrLastAdmin
	}
	if owner, taken := s.byEmail[u.Email]; taken && owner != id {
		return account.User{}, errEmailTaken()
	}
	held := s.campaignsToHold(&before, &u)
	if err := s.record(ctx, auditlog.OfRuling(&before, &u, r.Reason, len(held))); err != nil {
		return account.User{}, err
	}
	delete(s.byEmail, before.Email)
	s.users[id], s.byEmail[u.Email] = u, id
	s.hold(held, u.Disabled)
	if len(held) == 0 {
		for _, owner := range u.Renamed(&before) {
			for _, k := range s.deliverable(owner) { // nodes receive the name with the campaigns
				before := k.Clone()
				s.keep(k, &before, k.Clone())
			}
		}
	}
	return u, nil
}

// sponsor returns the name of an advertiser in its ads.
func (s *core) sponsor(id uuid.UUID) account.Sponsor {
	u := s.users[id]
	if u.ParentID == uuid.Nil {
		return u.Approved
	}
	owner := s.users[u.ParentID]
	return owner.SeatSponsor()
}

// deliverable returns the campaigns of an account that may serve again.
func (s *core) deliverable(owner uuid.UUID) (list []*stored) {
	for _, k := range s.owned[owner] {
		if k.Status != campaign.Archived {
			list = append(list, k)
		}
	}
	return list
}

// otherAdmin reports whether an administrator besides id can sign in.
func (s *core) otherAdmin(id uuid.UUID) bool {
	for _, u := range s.users {
		if u.ID != id && u.IsAdmin() && !u.Disabled {
			return true
		}
	}
	return false
}

// campaignsToHold returns the campaigns that stop or resume with the account's suspension: its own,
// and those of seats whose keys do.
func (s *core) campaignsToHold(before, after *account.User) (list []*stored) {
	if before.Disabled == after.Disabled {
		return nil
	}
	owners := []uuid.UUID{after.ID}
	if !after.IsAdmin() {
		for _, seat := range after.Seats {
			owners = append(owners, seat.ID)
		}
	}
	for _, owner := range owners {
		list = append(list, s.deliverable(owner)...)
	}
	return list
}

func (s *core) hold(list []*stored, on bool) {
	at := s.clock()
	for _, k := range list {
		before, after := k.Clone(), k.Clone()
		after.Suspend(on)
		after.UpdatedAt = at
		s.keep(k, &before, after)
	}
}

// Users implements account.UserStore.
func (s *Accounts) Users(_ context.Context, f account.UserFilter) ([]account.User, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []account.User{}
	for _, u := range s.users {
		of := family.Of(s.families.members, u.ID)
		if f.Selects(&u) && (f.Family == uuid.Nil || of.Family == f.Family || of.BoundTo == f.Family || u.ID == f.Family) {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b account.User) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	total := len(found)
	found = found[min(f.Offset, total):]
	return found[:min(max(f.Limit, 1), len(found))], total, nil
}

// heldUser finds an account; the caller holds s.mu.
func (s *core) heldUser(id uuid.UUID) (account.User, error) {
	u, ok := s.users[id]
	if !ok {
		return account.User{}, errs.New(errs.NotFound, "no such account")
	}
	return u, nil
}

func errEmailTaken() error { return errs.New(errs.Conflict, "an account with this e-mail exists") }

// userNetwork is a network from which a user logged in to an account.
type userNetwork struct {
	user    uuid.UUID
	network string
}

// NoteNetwork implements account.NetworkStore.
func (s *Logins) NoteNetwork(_ context.Context, user uuid.UUID, network string, at, forget time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for known, good := range s.networks {
		if known.user == user && good.Before(forget) {
			delete(s.networks, known)
		}
	}
	s.networks[userNetwork{user, network}] = at
	return nil
}

// KnowsNetwork implements account.NetworkStore.
func (s *Logins) KnowsNetwork(_ context.Context, user uuid.UUID, network string, since time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	good, known := s.networks[userNetwork{user, network}]
	return known && !good.Before(since), nil
}
