package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// publisherState holds the publishers' counts, their caps and their quarantine. Guarded by
// core.mu.
type publisherState struct {
	days    map[publisherDay]traffic.PublisherDay
	caps    []ledger.MintCap // oldest first; the newest of a publisher counts
	cases   []*ledger.Quarantine
	charges []ledger.HeldCharge // oldest first
	taken   []ledger.Reversal
	credits creditState
}

type publisherDay struct {
	developer uuid.UUID
	day       day.Day
}

func newPublisherState() publisherState {
	return publisherState{
		days: make(map[publisherDay]traffic.PublisherDay), credits: newCreditState(),
	}
}

func (p *publisherState) books(need ledger.Need) map[uuid.UUID]ledger.PublisherBook {
	books := make(map[uuid.UUID]ledger.PublisherBook, len(need.Publishers))
	for _, id := range need.Publishers {
		book := ledger.PublisherBook{MintedOn: make(map[day.Day]int64, len(need.Days))}
		for _, date := range need.Days {
			book.MintedOn[date] = p.days[publisherDay{id, date}].Minted
		}
		for i := len(p.caps) - 1; i >= 0; i-- {
			if c := &p.caps[i]; c.DeveloperID == id {
				if c.Cap != nil {
					book.HasCap, book.Cap = true, *c.Cap
				}
				break
			}
		}
		if c := p.open(id, uuid.Nil); c != nil {
			book.Case = c.ID
		}
		books[id] = book
	}
	return books
}

// open returns the publisher's open case about its Credits, or about acts of a campaign, or nil.
func (p *publisherState) open(developer, campaign uuid.UUID) *ledger.Quarantine {
	for _, c := range p.cases {
		if c.DeveloperID == developer && c.Evidence.Campaign == campaign && c.Decision == "" {
			return c
		}
	}
	return nil
}

func (p *publisherState) add(e ledger.Effects) {
	for _, d := range e.Publishers {
		key := publisherDay{d.DeveloperID, d.Day}
		sum := p.days[key]
		sum.DeveloperID, sum.Day = d.DeveloperID, d.Day
		sum.Add(d)
		p.days[key] = sum
	}
	p.charges = append(p.charges, e.HeldCharges...)
	p.credits.add(e)
}

// Recorded reports which of the auctions have a recorded event of this type.
func (b *batchTx) Recorded(_ context.Context, of ledger.EventType, auctions []uuid.UUID) (map[uuid.UUID]bool, error) {
	found := make(map[uuid.UUID]bool)
	for _, id := range auctions {
		if _, ok := b.store.ledger.billed[ledger.Key{Day: day.OfUUID(id), Auction: id, Type: of}]; ok {
			found[id] = true
		}
	}
	return found, nil
}

// PublisherDays lists the days since (included) of the publishers that have one on last, and of
// their families' other publishers, by family, developer and day.
func (s *Publishers) PublisherDays(_ context.Context, since, last day.Day) ([]traffic.PublisherDay, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	active, owner := make(map[uuid.UUID]bool), s.familyOwners()
	var days []traffic.PublisherDay
	for key, d := range s.ledger.publishers.days {
		if key.day < since || key.day > last {
			continue
		}
		d.OwnerID = owner[d.DeveloperID]
		days = append(days, d)
		if key.day == last {
			active[d.Family()] = true
		}
	}
	days = slices.DeleteFunc(days, func(d traffic.PublisherDay) bool { return !active[d.Family()] })
	slices.SortFunc(days, byFamily)
	return days, nil
}

func byFamily(a, b traffic.PublisherDay) int {
	mine, other := a.Family(), b.Family()
	return cmp.Or(
		bytes.Compare(mine[:], other[:]), bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]),
		cmp.Compare(a.Day, b.Day),
	)
}

// FamilyOwners maps the developer ids of accounts to that of their family's oldest account, unless
// it is their own.
func (s *Publishers) FamilyOwners(context.Context) (map[uuid.UUID]uuid.UUID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.familyOwners(), nil
}

// familyOwners maps the developer ids of accounts to that of their family's oldest account, unless
// it is their own. The store's mutex is held.
func (s *core) familyOwners() map[uuid.UUID]uuid.UUID {
	owners := make(map[uuid.UUID]uuid.UUID)
	for developer := range s.publishers {
		if owner := s.familyOwner(developer); owner != developer {
			owners[developer] = owner
		}
	}
	return owners
}

// familyOwner returns the developer id of the oldest account of a publisher's family. The store's
// mutex is held.
func (s *core) familyOwner(developer uuid.UUID) uuid.UUID {
	if oldest, known := s.users[s.publisherFamily(developer)]; known {
		return oldest.DeveloperID
	}
	return developer
}

// seatOwner returns the developer id of a seat's owner; zero for any other publisher. The store's
// mutex is held.
func (s *core) seatOwner(developer uuid.UUID) uuid.UUID {
	if owner := s.users[s.publishers[developer]].DeveloperID; owner != developer {
		return owner
	}
	return uuid.Nil
}

// familyOf returns the family of an account. The store's mutex is held.
func (s *core) familyOf(account uuid.UUID) uuid.UUID {
	return family.Of(s.families.members, account).Family
}

// ReaderSums lists the sums of the days from since to last of the publishers of families with at
// least so many impressions, by family and developer. Those that a person approved are not listed.
func (s *Publishers) ReaderSums(
	_ context.Context, since, last day.Day, impressions int64,
) ([]traffic.PublisherDay, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, owner := &s.ledger.publishers, s.familyOwners()
	sums := make(map[uuid.UUID]traffic.PublisherDay)
	for key, d := range p.days {
		approved := slices.ContainsFunc(p.cases, func(c *ledger.Quarantine) bool {
			return c.DeveloperID == key.developer && c.Evidence.Rule == traffic.QuarantineReaders &&
				c.Decision == ledger.QuarantineRelease
		})
		if key.day < since || key.day > last || approved {
			continue
		}
		sum := sums[key.developer]
		sum.DeveloperID, sum.OwnerID = key.developer, owner[key.developer]
		sum.Impressions += d.Impressions
		sum.BrowserImpressions += d.BrowserImpressions
		sum.Readers += d.Readers
		sums[key.developer] = sum
	}
	counts, quiet := make(map[uuid.UUID]int64), make(map[uuid.UUID]bool)
	for _, sum := range sums {
		counts[sum.Family()] += sum.Impressions - sum.BrowserImpressions
		quiet[sum.Family()] = quiet[sum.Family()] || sum.Readers == 0
	}
	list := slices.Collect(maps.Values(sums))
	list = slices.DeleteFunc(list, func(sum traffic.PublisherDay) bool {
		return counts[sum.Family()] < impressions || !quiet[sum.Family()]
	})
	slices.SortFunc(list, byFamily)
	return list, nil
}

// OpenQuarantine opens a case; false when the publisher has an open one, or the case exists.
func (s *Publishers) OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openCase(ctx, c)
}

func (s *core) openCase(ctx context.Context, c ledger.Quarantine) (bool, error) {
	p := &s.ledger.publishers
	exists := slices.ContainsFunc(p.cases, func(o *ledger.Quarantine) bool { return o.ID == c.ID })
	if exists || p.open(c.DeveloperID, c.Evidence.Campaign) != nil {
		return false, nil
	}
	if err := s.record(ctx, auditlog.OfCase(c)); err != nil {
		return false, err
	}
	p.cases = append(
		p.cases,
		&ledger.Quarantine{ID: c.ID, DeveloperID: c.DeveloperID, Evidence: c.Evidence, OpenedAt: asStored(c.OpenedAt)},
	)
	return true, nil
}

// Quarantines lists cases, newest first.
func (s *Publishers) Quarantines(_ context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*ledger.Quarantine
	for _, c := range s.ledger.publishers.cases {
		if (q.Developer == uuid.Nil || q.Developer == c.DeveloperID) && (!q.Open || c.Decision == "") &&
			!c.OpenedAt.Before(q.Since) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *ledger.Quarantine) int {
		return cmp.Or(b.OpenedAt.Compare(a.OpenedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	var list []ledger.Quarantine
	for _, c := range found[:min(len(found), max(1, q.Limit))] {
		list = append(list, s.quarantine(c))
	}
	return list, nil
}

// quarantine returns a case with its sums. The store's mutex is held.
func (s *core) quarantine(c *ledger.Quarantine) ledger.Quarantine {
	out, account := *c, ledger.HeldCredits(c.ID)
	for i := range s.ledger.transactions {
		for _, e := range s.ledger.transactions[i].Entries {
			if e.Account == account && e.Amount > 0 {
				out.Held += money.Credits(e.Amount)
			}
		}
	}
	for _, charge := range s.ledger.publishers.charges {
		if charge.Case == c.ID {
			out.Charged += charge.Amount
		}
	}
	return out
}

// EndQuarantine carries out a decision at once: see [ledger.EndQuarantine]. A repeated decision
// returns the same case and writes nothing. Errors: errs.NotFound, errs.Conflict after the other
// decision.
func (s *Publishers) EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (ledger.Quarantine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.ledger.publishers
	at := slices.IndexFunc(p.cases, func(c *ledger.Quarantine) bool { return c.ID == v.Case })
	if at < 0 {
		return ledger.Quarantine{}, errs.New(errs.NotFound, "no such quarantine case")
	}
	c := s.quarantine(p.cases[at])
	if done, err := v.Repeats(c); done || err != nil {
		return c, err
	}
	books := s.quarantineBooks(c.ID)
	if err := s.record(ctx, auditlog.OfVerdict(c, v)); err != nil {
		return ledger.Quarantine{}, err
	}
	if !c.OfActs() {
		for _, t := range ledger.EndQuarantine(c, v, books) {
			s.takeBack(c.ID, &t)
			s.ledger.addTransaction(t)
		}
		s.endCase(c, v.Decision, books)
	}
	held := p.cases[at]
	held.Decision, held.DecidedAt, held.DecidedBy, held.Note = v.Decision, asStored(v.At), v.By, v.Note
	return s.quarantine(held), nil
}

// quarantineBooks sums the charges of a case by campaign and day. The store's mutex is held.
func (s *core) quarantineBooks(id uuid.UUID) (b ledger.QuarantineBooks) {
	for _, charge := range s.ledger.publishers.charges {
		k := s.campaigns[charge.CampaignID]
		if charge.Case != id || k == nil {
			continue
		}
		at := slices.IndexFunc(b.Charges, func(c ledger.RefundableCharge) bool {
			return c.CampaignID == charge.CampaignID && c.Day == charge.Day
		})
		if at >= 0 {
			b.Charges[at].Amount += charge.Amount
			continue
		}
		b.Charges = append(
			b.Charges,
			ledger.RefundableCharge{HeldCharge: charge, AdvertiserID: k.AdvertiserID, CreditFunded: k.CreditFunded},
		)
	}
	for _, l := range s.ledger.links {
		if l.Account == ledger.HeldCredits(id) && l.Amount > 0 {
			b.FirstMint = l.Transaction
			break
		}
	}
	return b
}

// takeBack names the rows that a transaction of a case reverses, and reopens the budgets. The
// store's mutex is held.
func (s *core) takeBack(id uuid.UUID, t *ledger.Transaction) {
	p := &s.ledger.publishers
	name := func(reverses uuid.UUID, amount int64) {
		at := slices.IndexFunc(
			p.taken, func(r ledger.Reversal) bool { return r.Transaction == t.ID && r.Reverses == reverses },
		)
		if at < 0 {
			at, p.taken = len(p.taken), append(p.taken, ledger.Reversal{Transaction: t.ID, Reverses: reverses})
		}
		p.taken[at].Amount += amount
	}
	switch t.Kind {
	case ledger.KindMintClawback:
		for _, l := range s.ledger.links {
			if l.Account == ledger.HeldCredits(id) && l.Amount > 0 {
				name(l.Transaction, l.Amount)
			}
		}
	case ledger.KindTrafficRefund:
		for _, charge := range p.charges {
			if charge.Case == id && charge.CampaignID == t.Subject {
				name(charge.Charge, int64(charge.Amount))
				s.ledger.reopen(charge)
			}
		}
	}
}

// Reversals lists the rows that a transaction reverses.
func (s *Publishers) Reversals(_ context.Context, transaction uuid.UUID) (list []ledger.Reversal, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ledger.publishers.taken {
		if r.Transaction == transaction {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b ledger.Reversal) int { return bytes.Compare(a.Reverses[:], b.Reverses[:]) })
	return list, nil
}

// SetMintCap sets a publisher's own daily mint cap; a nil Cap returns to the installation's. Every
// change is stored.
func (s *Publishers) SetMintCap(ctx context.Context, c ledger.MintCap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var before *int64
	for _, old := range s.ledger.publishers.caps {
		if old.DeveloperID == c.DeveloperID {
			before = (*int64)(old.Cap)
		}
	}
	if err := s.record(ctx, auditlog.OfMintCap(before, c)); err != nil {
		return err
	}
	s.ledger.publishers.caps = append(s.ledger.publishers.caps, c)
	return nil
}
