package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

var _ account.SessionStore = (*Logins)(nil)

// CreateSession implements account.SessionStore.
func (s *Logins) CreateSession(_ context.Context, n account.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(n.UserID); err != nil {
		return err
	}
	n.CreatedAt, n.ExpiresAt = asStored(n.CreatedAt), asStored(n.ExpiresAt)
	remaining := 0
	for _, old := range s.sessionsOf(n.UserID) {
		if remaining++; remaining >= account.MaxSessions || !old.ExpiresAt.After(n.CreatedAt) {
			delete(s.sessions, old.ID)
		}
	}
	s.sessions[n.ID] = n
	return nil
}

// Session implements account.SessionStore.
func (s *Logins) Session(_ context.Context, id uuid.UUID) (account.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.sessions[id]
	if !ok || s.users[found.UserID].TokenVersion != found.Version {
		return account.Session{}, errNoSession()
	}
	return found, nil
}

func errNoSession() error { return errs.New(errs.NotFound, "no such session") }

// Sessions implements account.SessionStore.
func (s *Logins) Sessions(_ context.Context, user uuid.UUID) ([]account.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionsOf(user), nil
}

// sessionsOf lists a user's sessions, newest first, and removes expired ones.
func (s *core) sessionsOf(user uuid.UUID) (all []account.Session) {
	for id, session := range s.sessions {
		switch {
		case session.UserID != user:
		case session.Version != s.users[user].TokenVersion:
			delete(s.sessions, id)
		default:
			all = append(all, session)
		}
	}
	slices.SortFunc(all, func(a, b account.Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return all
}

// EndSession implements account.SessionStore.
func (s *Logins) EndSession(ctx context.Context, user, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.sessions[id]
	if !ok || found.UserID != user || found.Version != s.users[user].TokenVersion {
		return errNoSession()
	}
	if err := s.record(ctx, auditlog.OfSession(user, id)); err != nil {
		return err
	}
	delete(s.sessions, id)
	return nil
}

// RenewLogins implements account.SessionStore.
func (s *Logins) RenewLogins(
	ctx context.Context, user, keep uuid.UUID, edit func(*account.User) error,
) (account.User, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sessionsOf(user)
	u, err := s.updateUser(ctx, account.Ruling{UserID: user, Edit: account.Renewing(edit)})
	if err != nil {
		return account.User{}, 0, err
	}
	ended := len(before)
	for _, session := range before {
		if session.ID != keep {
			delete(s.sessions, session.ID)
			continue
		}
		session.Version = u.TokenVersion
		s.sessions[keep] = session
		ended--
	}
	return u, ended, s.record(ctx, auditlog.OfSessions(user, ended))
}

var _ account.FactorStore = (*Logins)(nil)

// Factor implements account.FactorStore.
func (s *Logins) Factor(_ context.Context, user uuid.UUID) (account.Factor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.factors[user], nil
}

// UpdateFactor implements account.FactorStore.
func (s *Logins) UpdateFactor(ctx context.Context, user uuid.UUID, edit func(*account.Factor) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(user); err != nil {
		return err
	}
	before := s.factors[user]
	after := before
	after.Recovery = slices.Clone(before.Recovery)
	if err := edit(&after); err != nil {
		return err
	}
	if err := s.record(ctx, auditlog.OfFactor(user, &before, &after)); err != nil {
		return err
	}
	after.ConfirmedAt, after.Known.FailedAt = asStored(after.ConfirmedAt), asStored(after.Known.FailedAt)
	after.Unknown.FailedAt = asStored(after.Unknown.FailedAt)
	if s.factors[user] = after; len(after.Sealed) == 0 {
		delete(s.factors, user)
	}
	return nil
}

// StrengthenSession implements account.FactorStore.
func (s *Logins) StrengthenSession(_ context.Context, user, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.sessions[id]; ok && found.UserID == user {
		found.Strong = true
		s.sessions[id] = found
	}
	return nil
}
