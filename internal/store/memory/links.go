package memory

import (
	"context"
	"slices"
	"time"

	"adnet/internal/account"
	"adnet/internal/errs"
)

var _ account.LinkStore = (*Logins)(nil)

// CreateLink implements account.LinkStore.
func (s *Logins) CreateLink(_ context.Context, l account.Link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.CreatedAt, l.ExpiresAt = asStored(l.CreatedAt), asStored(l.ExpiresAt)
	var open []account.Link // of the same purpose and e-mail
	for hash, old := range s.links {
		switch {
		case !old.ExpiresAt.After(l.CreatedAt):
			delete(s.links, hash)
		case old.Email == l.Email && old.Purpose == l.Purpose:
			open = append(open, old)
		}
	}
	slices.SortFunc(open, func(a, b account.Link) int { return b.CreatedAt.Compare(a.CreatedAt) })
	all, ofNetwork := 1, map[string]int{l.Network: 1}
	for _, old := range open {
		if all++; all > account.MaxLinks || ofNetwork[old.Network] >= account.NetworkLinks {
			delete(s.links, old.Hash)
		}
		ofNetwork[old.Network]++
	}
	s.links[l.Hash] = l
	return nil
}

// Link implements account.LinkStore.
func (s *Logins) Link(_ context.Context, hash [32]byte, now time.Time) (account.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldLink(hash, now)
}

func (s *core) heldLink(hash [32]byte, now time.Time) (account.Link, error) {
	l, ok := s.links[hash]
	if !ok || !l.ExpiresAt.After(now) {
		return account.Link{}, errs.New(errs.NotFound, "no such link")
	}
	return l, nil
}

// TakeLink implements account.LinkStore.
func (s *Logins) TakeLink(_ context.Context, hash [32]byte, now time.Time) (account.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.heldLink(hash, now)
	if err == nil {
		delete(s.links, hash)
	}
	return l, err
}
