package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

// Voters lists all accounts with what their votes need, by id.
func (s *Campaigns) Voters(context.Context) (list []standing.Account, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, u := range s.users {
		list = append(list, standing.Account{
			ID: id, Parent: u.ParentID, Developer: u.DeveloperID, Created: u.CreatedAt,
			Funded: s.ledger.balances[side{ledger.AdvertiserCash(id), ledger.USD}] > 0,
		})
	}
	slices.SortFunc(list, func(a, b standing.Account) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list, nil
}

// BackedCharges lists the sums of the charges that were received on the days from since to until,
// by payer and publisher.
func (s *Campaigns) BackedCharges(_ context.Context, since, until day.Day) (list []standing.Charge, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	accounts := make(map[uuid.UUID]uuid.UUID, len(s.users))
	for id, u := range s.users {
		accounts[u.DeveloperID] = id
	}
	type pair struct{ payer, publisher uuid.UUID }
	sums := map[pair]money.Micros{}
	for key, d := range s.ledger.publishers.credits.days {
		publisher, known := accounts[key.developer]
		if !known || key.day < since || key.day > until {
			continue
		}
		for _, source := range d.Sources {
			if amount := source.Backed(); amount > 0 {
				sums[pair{source.AdvertiserID, publisher}] += amount
			}
		}
	}
	for of, amount := range sums {
		list = append(list, standing.Charge{Payer: of.payer, Publisher: of.publisher, Amount: amount})
	}
	slices.SortFunc(list, func(a, b standing.Charge) int {
		return cmp.Or(bytes.Compare(a.Payer[:], b.Payer[:]), bytes.Compare(a.Publisher[:], b.Publisher[:]))
	})
	return list, nil
}

// KeepStandings stores the standings of campaigns that did not change meanwhile.
func (s *Campaigns) KeepStandings(_ context.Context, changes []campaign.StandingChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		change := &changes[i]
		k, ok := s.campaigns[change.CampaignID]
		if !ok || k.ConfigVersion != change.Seen {
			continue
		}
		s.head++
		k.Standing, k.ConfigVersion = change.Standing, s.head
		if change.Standing.Ceiling > 0 {
			s.ceiling = change.Standing.Ceiling
		}
		s.logChange(k)
	}
	return nil
}

// KeepPublisherVotes replaces the votes of publishers. The keys are accounts; one that is missing
// has no vote.
func (s *Campaigns) KeepPublisherVotes(_ context.Context, votes map[uuid.UUID]int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.votes = map[uuid.UUID]int64{}
	for id, vote := range votes {
		if u, ok := s.users[id]; ok {
			s.votes[u.DeveloperID] = vote
		}
	}
	return nil
}

// PublisherVotes returns the votes of publishers by developer id; a missing one has none.
func (s *Campaigns) PublisherVotes(context.Context) (map[uuid.UUID]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	votes := map[uuid.UUID]int64{}
	maps.Copy(votes, s.votes)
	return votes, nil
}
