package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/errs"

	"github.com/google/uuid"
)

var _ account.KeyStore = (*Store)(nil)

// CreateKey keeps a new key. Errors: errs.NotFound when the owner has no account, errs.Conflict
// when the key exists.
func (s *Store) CreateKey(ctx context.Context, k account.Key) error {
	k.CreatedAt, k.RevokedAt = asStored(k.CreatedAt), asStored(k.RevokedAt)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(k.OwnerID); err != nil {
		return err
	}
	_, sameID := s.keys[k.ID]
	_, sameHash := s.byHash[k.Hash]
	if sameID || sameHash {
		return errs.New(errs.Conflict, "it exists already")
	}
	if err := s.record(ctx, auditlog.OfKey(k, false)); err != nil {
		return err
	}
	s.keys[k.ID], s.byHash[k.Hash] = k, k.ID
	return nil
}

// KeyByHash finds a key, also a revoked one; disabled says that its owner is. Errors:
// errs.NotFound.
func (s *Store) KeyByHash(_ context.Context, hash [32]byte) (k account.Key, disabled bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.byHash[hash]
	if !ok {
		return account.Key{}, false, errs.New(errs.NotFound, "no such key")
	}
	k = s.keys[id]
	return k, s.users[k.OwnerID].Disabled, nil
}

// Keys lists an owner's keys, newest first, revoked ones included.
func (s *Store) Keys(_ context.Context, owner uuid.UUID) ([]account.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []account.Key{}
	for _, k := range s.keys {
		if k.OwnerID == owner {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b account.Key) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return list, nil
}

// RevokeKey is idempotent: the first time of revocation stays. Errors: errs.NotFound.
func (s *Store) RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[id]
	if !ok || k.OwnerID != owner {
		return errs.New(errs.NotFound, "no such key")
	}
	if !k.Revoked() {
		if err := s.record(ctx, auditlog.OfKey(k, true)); err != nil {
			return err
		}
		k.RevokedAt = asStored(at)
		s.keys[id] = k
	}
	return nil
}
