package memory

import (
	"context"
	"strings"
	"time"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/errs"

	"github.com/google/uuid"
)

var _ account.UserStore = (*Store)(nil)

// CreateUser keeps a new account; its e-mail is kept in lower case. Errors: errs.Conflict.
func (s *Store) CreateUser(ctx context.Context, u account.User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.createUser(ctx, u)
}

func (s *Store) createUser(ctx context.Context, u account.User) error {
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
	s.users[u.ID], s.byEmail[u.Email] = u, u.ID
	return nil
}

// User finds an account by id. Errors: errs.NotFound.
func (s *Store) User(_ context.Context, id uuid.UUID) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldUser(id)
}

// UserByEmail finds an account by e-mail in any case. Errors: errs.NotFound.
func (s *Store) UserByEmail(_ context.Context, email string) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldUser(s.byEmail[strings.ToLower(email)])
}

// UpdateUser runs edit on a copy and keeps the result, but for the ids and the time of creation.
// Errors: errs.NotFound, errs.Conflict when the new e-mail is taken, and those of edit.
func (s *Store) UpdateUser(ctx context.Context, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updateUser(ctx, id, edit)
}

func (s *Store) updateUser(ctx context.Context, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	before, err := s.heldUser(id)
	if err != nil {
		return account.User{}, err
	}
	u, err := before.Edited(edit)
	if err != nil {
		return account.User{}, err
	}
	if owner, taken := s.byEmail[u.Email]; taken && owner != id {
		return account.User{}, errEmailTaken()
	}
	if err := s.record(ctx, auditlog.OfUser(&before, &u)); err != nil {
		return account.User{}, err
	}
	delete(s.byEmail, before.Email)
	s.users[id], s.byEmail[u.Email] = u, id
	return u, nil
}

// heldUser finds an account; the caller holds s.mu.
func (s *Store) heldUser(id uuid.UUID) (account.User, error) {
	u, ok := s.users[id]
	if !ok {
		return account.User{}, errs.New(errs.NotFound, "no such account")
	}
	return u, nil
}

func errEmailTaken() error { return errs.New(errs.Conflict, "an account with this e-mail exists") }

// userNetwork is a network from which an account was logged in to.
type userNetwork struct {
	user    uuid.UUID
	network string
}

// NoteNetwork implements account.NetworkStore.
func (s *Store) NoteNetwork(_ context.Context, user uuid.UUID, network string, at, forget time.Time) error {
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
func (s *Store) KnowsNetwork(_ context.Context, user uuid.UUID, network string, since time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	good, known := s.networks[userNetwork{user, network}]
	return known && !good.Before(since), nil
}
