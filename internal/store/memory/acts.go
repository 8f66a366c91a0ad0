package memory

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/traffic"
)

// Acts returns the cases about acts.
func (b *batchTx) Acts(
	_ context.Context, held bool, which func() []ledger.Acts,
) (map[ledger.Acts]*ledger.ActsBook, error) {
	s := b.store
	if !held && !slices.ContainsFunc(s.ledger.publishers.cases, (*ledger.Quarantine).OfActs) {
		return nil, nil
	}
	books := make(map[ledger.Acts]*ledger.ActsBook)
	for _, acts := range which() {
		book := s.actsBook(acts)
		books[acts] = &book
	}
	return books, nil
}

// actsBook returns the state of acts. The store's mutex is held.
func (s *core) actsBook(acts ledger.Acts) (book ledger.ActsBook) {
	for _, u := range s.users {
		if u.DeveloperID == acts.DeveloperID {
			book.Registered = s.oldestOf(&u).CreatedAt
		}
	}
	for _, c := range s.ledger.publishers.cases {
		if c.Evidence.Campaign != acts.CampaignID {
			continue
		}
		own := c.DeveloperID == acts.DeveloperID
		switch {
		case c.Decision == "":
			book.Campaign, book.Open = true, book.Open || own
		case own:
			book.Decided = append(book.Decided, ledger.ActsDecision{At: c.DecidedAt, Decision: c.Decision})
		}
	}
	slices.SortFunc(book.Decided, func(a, b ledger.ActsDecision) int { return a.At.Compare(b.At) })
	for _, e := range s.ledger.early.waiting {
		if e.Held && e.Acts == acts {
			book.Waiting++
		}
	}
	return book
}

// oldestOf returns the oldest account of an account's family. The store's mutex is held.
func (s *core) oldestOf(u *account.User) account.User {
	id := u.ID
	if u.ParentID != uuid.Nil {
		id = u.ParentID
	}
	if oldest, is := s.users[s.familyOf(id)]; is {
		return oldest
	}
	return *u
}

// waits reports whether a held event waits as before. The store's mutex is held.
func (s *core) waits(e *ledger.Early) bool {
	book := s.actsBook(e.Acts)
	return book.Campaign && !slices.ContainsFunc(book.Decided, func(d ledger.ActsDecision) bool {
		return ledger.ActsDecided(e.Written, d.At)
	})
}

// Hold notes that early events wait for a decision about acts, when the transaction commits.
func (b *batchTx) Hold(_ context.Context, ids []int64) error {
	b.held = append(b.held, ids...)
	return nil
}

// HeldActs counts the acts that wait for a decision.
func (s *Publishers) HeldActs(context.Context) (map[ledger.Acts]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, seen := make(map[ledger.Acts]int64), make(map[uuid.UUID]bool)
	for _, e := range s.ledger.early.waiting {
		if e.Held && !seen[e.Auction] {
			seen[e.Auction] = true
			held[e.Acts]++
		}
	}
	return held, nil
}

// YoungPublishers maps the publishers with events within [traffic.ActDays] whose families are young
// to the developer id of the family's oldest account.
func (s *Publishers) YoungPublishers(_ context.Context, now time.Time) (map[uuid.UUID]uuid.UUID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := make(map[uuid.UUID]bool)
	for key := range s.ledger.publishers.days {
		active[key.developer] = active[key.developer] || key.day > day.Of(now)-traffic.ActDays
	}
	young := make(map[uuid.UUID]uuid.UUID)
	for _, u := range s.users {
		if oldest := s.oldestOf(&u); active[u.DeveloperID] && traffic.Young(oldest.CreatedAt, now) {
			young[u.DeveloperID] = oldest.DeveloperID
		}
	}
	return young, nil
}

// PerActCampaigns returns the models of the campaigns that pay per click or conversion.
func (s *Publishers) PerActCampaigns(context.Context) (map[uuid.UUID]campaign.BillingModel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	models := make(map[uuid.UUID]campaign.BillingModel)
	for id, c := range s.campaigns {
		if c.BillingModel == campaign.CPC || c.BillingModel == campaign.CPA {
			models[id] = c.BillingModel
		}
	}
	return models, nil
}

// OpenActCases lists the publishers with open cases about acts, by campaign.
func (s *Publishers) OpenActCases(context.Context) (map[uuid.UUID][]uuid.UUID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make(map[uuid.UUID][]uuid.UUID)
	for _, c := range s.ledger.publishers.cases {
		if c.OfActs() && c.Decision == "" {
			open[c.Evidence.Campaign] = append(open[c.Evidence.Campaign], c.DeveloperID)
		}
	}
	return open, nil
}
