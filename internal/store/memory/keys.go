package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

var _ account.KeyStore = (*Accounts)(nil)

// CreateKey stores a new key. Errors: errs.NotFound when the owner has no account, errs.Conflict
// when the key exists.
func (s *Accounts) CreateKey(ctx context.Context, k account.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.createKey(ctx, k)
}

func (s *core) createKey(ctx context.Context, k account.Key) error {
	k.CreatedAt, k.RevokedAt, k.EndsAt = asStored(k.CreatedAt), asStored(k.RevokedAt), asStored(k.EndsAt)
	owner, err := s.heldUser(k.OwnerID)
	if err != nil {
		return err
	}
	_, sameID := s.keys[k.ID]
	_, sameHash := s.byHash[k.Hash]
	if sameID || sameHash {
		return errs.New(errs.Conflict, "it exists already")
	}
	if err := s.record(ctx, auditlog.OfKey(k, owner, false)); err != nil {
		return err
	}
	s.keys[k.ID], s.byHash[k.Hash] = k, k.ID
	return nil
}

// CreateSeat implements account.KeyStore.
func (s *Accounts) CreateSeat(ctx context.Context, seat account.User, k account.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, err := s.heldUser(seat.ParentID)
	switch {
	case err != nil:
		return err
	case len(owner.Seats) >= account.MaxSeats:
		return errs.New(
			errs.Conflict, "there are %d seats already; issue another key of one of them with seat_id",
			account.MaxSeats,
		)
	}
	if _, taken := s.byHash[k.Hash]; taken { // before the seat is created: both or none
		return errs.New(errs.Conflict, "it exists already")
	}
	var cases []ledger.Quarantine
	for _, c := range s.ledger.publishers.cases {
		if owner.Publishes(c.DeveloperID) {
			cases = append(cases, *c)
		}
	}
	if err := s.createUser(ctx, seat); err != nil {
		return err
	}
	owner.Seats = append(slices.Clone(owner.Seats), account.Seat{ID: seat.ID, DeveloperID: seat.DeveloperID})
	s.users[owner.ID] = owner
	if err := s.createKey(ctx, k); err != nil {
		return err
	}
	if c, held := ledger.SeatCase(seat, cases); held {
		_, err = s.openCase(ctx, c)
	}
	return err
}

// KeyByHash finds a key, including a revoked one. disabled reports whether its owner, or the owner
// of its seat, is disabled. Errors: errs.NotFound.
func (s *Accounts) KeyByHash(_ context.Context, hash [32]byte) (k account.Key, disabled bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.byHash[hash]
	if !ok {
		return account.Key{}, false, errs.New(errs.NotFound, "no such key")
	}
	k = s.keys[id]
	u := s.users[k.OwnerID]
	if b, ok := s.blocks[cmp.Or(u.ParentID, u.ID)]; ok {
		b := b.Clone()
		k.Blocks = &b
	}
	k.Publishing = s.publishing[cmp.Or(u.ParentID, u.ID)]
	if k.Publishing.HouseAds {
		k.House = s.newestActive(k.OwnerID, account.MaxHouse)
	}
	owner := s.users[u.ParentID] // of a seat only; a departed administrator does not stop exchanges
	if !owner.IsAdmin() {
		k.Family = owner.DeveloperID
	}
	return k, u.Disabled || owner.Disabled && !owner.IsAdmin(), nil
}

// newestActive returns the ids of at most most active campaigns of an account, newest first.
func (s *core) newestActive(advertiser uuid.UUID, most int) []uuid.UUID {
	var active []*stored
	for _, k := range s.campaigns {
		if k.AdvertiserID == advertiser && k.Status == campaign.Active {
			active = append(active, k)
		}
	}
	slices.SortFunc(active, func(a, b *stored) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	var ids []uuid.UUID
	for _, k := range active[:min(most, len(active))] {
		ids = append(ids, k.ID)
	}
	return ids
}

// Keys lists an owner's keys, newest first, revoked ones included.
func (s *Accounts) Keys(_ context.Context, owner uuid.UUID) ([]account.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []account.Key{}
	for _, k := range s.keys {
		if k.OwnerID == owner || s.users[k.OwnerID].ParentID == owner {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b account.Key) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return list, nil
}

// RevokeKey is idempotent: the first time of revocation stays. Errors: errs.NotFound.
func (s *Accounts) RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.heldKey(owner, id)
	if err != nil {
		return err
	}
	if !k.Revoked() {
		if err := s.record(ctx, auditlog.OfKey(k, account.User{ID: owner}, true)); err != nil {
			return err
		}
		k.RevokedAt = asStored(at)
		s.keys[id] = k
	}
	return nil
}

// heldKey returns a key of owner or of one of its seats. The lock is held.
func (s *core) heldKey(owner, id uuid.UUID) (account.Key, error) {
	k, ok := s.keys[id]
	if !ok || k.OwnerID != owner && s.users[k.OwnerID].ParentID != owner {
		return account.Key{}, errs.New(errs.NotFound, "no such key")
	}
	return k, nil
}

// RotateKey implements account.KeyStore.
func (s *Accounts) RotateKey(ctx context.Context, owner, id uuid.UUID, ends time.Time, next account.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.heldKey(owner, id)
	if err != nil {
		return err
	}
	if k.Revoked() || !k.EndsAt.IsZero() {
		return account.ErrRotated
	}
	if err := s.createKey(ctx, next); err != nil {
		return err
	}
	if err := s.record(ctx, auditlog.OfRotation(id, account.User{ID: owner}, asStored(ends), next)); err != nil {
		return err
	}
	k.EndsAt = asStored(ends)
	s.keys[id] = k
	return nil
}

// NamesOrigin implements account.KeyStore.
func (s *Accounts) NamesOrigin(_ context.Context, patterns []string, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if len(k.Origins) > 0 && k.Works(now) && !s.users[k.OwnerID].Disabled && k.Names(patterns) {
			return true, nil
		}
	}
	return false, nil
}
