package memory

import (
	"context"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
)

var (
	_ account.NameStore   = (*Accounts)(nil)
	_ campaign.TitleStore = (*Campaigns)(nil)
)

// Named implements account.NameStore.
func (s *Accounts) Named(_ context.Context, ids []uuid.UUID) ([]account.Named, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[uuid.UUID]bool{}
	var named []account.Named
	for _, id := range ids[:min(len(ids), account.MaxNamed)] {
		u, ok := s.users[id]
		if !ok {
			u, ok = s.publisher(id)
		}
		if ok && !found[u.ID] {
			found[u.ID] = true
			named = append(named, account.NamedOf(&u))
		}
	}
	return named, nil
}

// publisher finds the account with a developer id. Of a seat, publishers has the owner.
func (s *core) publisher(developer uuid.UUID) (account.User, bool) {
	owner := s.users[s.publishers[developer]]
	if owner.DeveloperID == developer && developer != uuid.Nil {
		return owner, true
	}
	for _, seat := range owner.Seats {
		if seat.DeveloperID == developer {
			u, ok := s.users[seat.ID]
			return u, ok
		}
	}
	return account.User{}, false
}

// Titles implements campaign.TitleStore.
func (s *Campaigns) Titles(_ context.Context, ids []uuid.UUID) ([]campaign.Title, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var titles []campaign.Title
	for _, id := range ids[:min(len(ids), account.MaxNamed)] {
		if k, ok := s.campaigns[id]; ok {
			titles = append(titles, campaign.Title{
				ID: id, AdvertiserID: k.AdvertiserID, Name: k.Name, Headline: k.Headline,
			})
		}
	}
	return titles, nil
}
