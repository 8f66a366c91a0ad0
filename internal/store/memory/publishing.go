package memory

import (
	"context"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
)

var _ account.PublishingStore = (*Accounts)(nil)

// Publishing implements account.PublishingStore.
func (s *Accounts) Publishing(_ context.Context, user uuid.UUID) (account.Publishing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.heldUser(user)
	return s.publishing[user], err
}

// PutPublishing implements account.PublishingStore.
func (s *Accounts) PutPublishing(ctx context.Context, user uuid.UUID, p account.Publishing) error {
	if err := p.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(user); err != nil {
		return err
	}
	before := s.publishing[user]
	if err := s.record(ctx, auditlog.OfPublishing(user, &before, &p)); err != nil {
		return err
	}
	s.publishing[user] = p
	return nil
}
