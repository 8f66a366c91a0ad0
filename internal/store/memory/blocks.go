package memory

import (
	"context"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
)

var _ account.BlockStore = (*Accounts)(nil)

// Blocks implements account.BlockStore.
func (s *Accounts) Blocks(_ context.Context, user uuid.UUID) (account.Blocks, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(user); err != nil {
		return account.Blocks{}, err
	}
	b := s.blocks[user].Clone()
	return b, b.Normalize()
}

// PutBlocks implements account.BlockStore.
func (s *Accounts) PutBlocks(ctx context.Context, user uuid.UUID, b account.Blocks) error {
	if err := b.Normalize(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(user); err != nil {
		return err
	}
	before := s.blocks[user].Clone()
	if err := before.Normalize(); err != nil {
		return err
	}
	if err := s.record(ctx, auditlog.OfBlocks(user, &before, &b)); err != nil {
		return err
	}
	s.blocks[user] = b.Clone()
	return nil
}
