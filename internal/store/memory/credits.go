package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// creditState is the state of the release of Credits, by publisher and day. Guarded by core.mu.
type creditState struct {
	days map[publisherDay]*ledger.CreditDay // Minted is publisherState's
	due  map[publisherDay]struct{}
}

func newCreditState() creditState {
	return creditState{days: make(map[publisherDay]*ledger.CreditDay), due: make(map[publisherDay]struct{})}
}

// day returns a publisher's day and creates it on first use.
func (c *creditState) day(key publisherDay) *ledger.CreditDay {
	d := c.days[key]
	if d == nil {
		d = &ledger.CreditDay{DeveloperID: key.developer, Day: key.day}
		c.days[key] = d
	}
	return d
}

// source returns the charges of a payer for the day.
func (c *creditState) source(key publisherDay, payer uuid.UUID, byCredits bool) *ledger.CreditSource {
	d := c.day(key)
	for i := range d.Sources {
		if s := &d.Sources[i]; s.AdvertiserID == payer && s.ByCredits == byCredits {
			return s
		}
	}
	d.Sources = append(d.Sources, ledger.CreditSource{AdvertiserID: payer, ByCredits: byCredits})
	return &d.Sources[len(d.Sources)-1]
}

// add counts a batch's mints and charges.
func (c *creditState) add(e ledger.Effects) {
	for _, p := range e.Publishers {
		if p.Minted > 0 {
			key := publisherDay{p.DeveloperID, p.Day}
			c.day(key).Minted += p.Minted
			c.due[key] = struct{}{}
		}
	}
	for _, m := range e.CaseMints {
		c.day(publisherDay{m.DeveloperID, m.Day}).InCase += m.Amount
	}
	for _, s := range e.Sources {
		key := publisherDay{s.DeveloperID, s.Day}
		c.source(key, s.AdvertiserID, s.ByCredits).Charged += s.Amount
		c.due[key] = struct{}{}
	}
}

// ReleaseCredits updates every publisher day with a change or an ended hold: see
// [ledger.CreditRules.Move]. First it spreads the debts of payers over the days that they were
// charged for.
func (s *Ledger) ReleaseCredits(ctx context.Context, r ledger.CreditRules) (run ledger.CreditRun, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spreadDebts()
	c := &s.ledger.publishers.credits
	for key, d := range c.days {
		for _, l := range d.Lots {
			if !l.Until.IsZero() && !l.Until.After(r.Now) {
				c.due[key] = struct{}{}
			}
		}
	}
	keys := sortedDays(c.due)
	moves := make([]ledger.CreditMoves, len(keys))
	var back []ledger.TakenBack
	for i, key := range keys {
		d := c.day(key)
		d.Frozen = s.ledger.publishers.open(key.developer, uuid.Nil) != nil
		for j := range d.Sources {
			payer := d.Sources[j].AdvertiserID
			d.Sources[j].Family = s.familyOf(cmp.Or(s.users[payer].ParentID, payer))
		}
		moves[i] = r.Move(*d)
		back = moves[i].AddTakenBack(back)
	}
	if err := s.noticeTakenBack(ctx, r.Now, back); err != nil {
		return run, err
	}
	for i, key := range keys {
		delete(c.due, key)
		d := c.day(key)
		*d = moves[i].CreditDay
		d.Lots = slices.DeleteFunc(d.Lots, func(l ledger.CreditLot) bool { return l.Amount == 0 && l.Left == 0 })
		run.Add(moves[i])
		for _, t := range moves[i].Written {
			s.ledger.addTransaction(t)
		}
	}
	return run, nil
}

// noticeTakenBack writes entries that publishers with an account read. The store's mutex is held.
func (s *core) noticeTakenBack(ctx context.Context, now time.Time, back []ledger.TakenBack) error {
	owners := make(map[uuid.UUID]uuid.UUID, len(back))
	if len(back) > 0 {
		for _, u := range s.users {
			owners[u.DeveloperID] = cmp.Or(u.ParentID, u.ID)
		}
	}
	for _, t := range back {
		owner, known := owners[t.DeveloperID]
		if !known || !t.NeedsNotice(s.noticedCredits(t.DeveloperID, now)) {
			continue
		}
		if err := s.record(ctx, auditlog.OfTakenBack(owner, t)); err != nil {
			return err
		}
	}
	return nil
}

// noticedCredits returns the number of Credits in the notices of a publisher since the start of
// now's UTC day. The store's mutex is held.
func (s *core) noticedCredits(developer uuid.UUID, now time.Time) (n int64) {
	q := auditlog.Query{
		TargetKind: auditlog.TargetPublisher, TargetID: developer.String(), Since: day.Of(now).Time(),
	}
	for i := range s.auditLog {
		if e := &s.auditLog[i]; q.Matches(e) {
			credits, _ := e.Changes[auditlog.CreditsTakenBack].After.(float64)
			n += int64(credits)
		}
	}
	return n
}

func sortedDays[V any](m map[publisherDay]V) []publisherDay {
	return slices.SortedFunc(maps.Keys(m), func(a, b publisherDay) int {
		return cmp.Or(slices.Compare(a.developer[:], b.developer[:]), cmp.Compare(a.day, b.day))
	})
}

// payer is a charged account and its source of funds.
type payer struct {
	advertiser uuid.UUID
	byCredits  bool
}

// spreadDebts marks charges that payers owe as unbacked, and those no longer owed as backed. The
// store's mutex is held.
func (s *core) spreadDebts() {
	c := &s.ledger.publishers.credits
	paid := make(map[payer][]ledger.PaidDay)
	for key, d := range c.days {
		for _, source := range d.Sources {
			p := payer{source.AdvertiserID, source.ByCredits}
			paid[p] = append(paid[p], ledger.PaidDay{
				DeveloperID: key.developer, Day: key.day, Charged: source.Charged - source.Refunded,
				Unbacked: source.Unbacked,
			})
		}
	}
	owed := s.owed()
	for p, days := range paid {
		slices.SortFunc(days, ledger.PaidDay.CompareNewest)
		changed, _ := ledger.Debt(owed[p], days)
		for _, d := range changed {
			key := publisherDay{d.DeveloperID, d.Day}
			c.source(key, p.advertiser, p.byCredits).Unbacked = d.Unbacked
			c.due[key] = struct{}{}
		}
	}
}

// owed returns the debts of payers: see [ledger.Debt]. The store's mutex is held.
func (s *core) owed() map[payer]money.Micros {
	owed := make(map[payer]money.Micros)
	for i := range s.ledger.transactions {
		t := &s.ledger.transactions[i]
		for _, e := range t.Entries {
			if id, ok := advertiserOf(e.Account); ok && t.Kind.TakesBack() && e.Asset == ledger.USD {
				owed[payer{id, false}] -= money.Micros(e.Amount)
			}
		}
	}
	for p, back := range owed {
		balance := money.Micros(s.ledger.balances[side{ledger.AdvertiserCash(p.advertiser), ledger.USD}])
		owed[p] = max(0, min(back, -balance))
	}
	lots := make(map[uuid.UUID][]ledger.CreditLot)
	for key, d := range s.ledger.publishers.credits.days {
		lots[key.developer] = append(lots[key.developer], d.Lots...)
	}
	for _, u := range s.users {
		if debt := ledger.CreditDebt(lots[u.DeveloperID]); debt > 0 {
			owed[payer{u.ID, true}] = debt
		}
	}
	return owed
}

// endCase moves the Credits of a case by day: to pending, or away with the charges of its traffic.
// The store's mutex is held.
func (s *core) endCase(c ledger.Quarantine, d ledger.QuarantineDecision, books ledger.QuarantineBooks) {
	credits := &s.ledger.publishers.credits
	for key, of := range credits.days {
		if key.developer != c.DeveloperID {
			continue
		}
		if d == ledger.QuarantineClawback {
			of.Gone += of.InCase
		}
		of.InCase = 0
		credits.due[key] = struct{}{}
	}
	if d != ledger.QuarantineClawback {
		return
	}
	for _, charge := range books.Charges {
		credits.source(
			publisherDay{c.DeveloperID, charge.Day}, charge.AdvertiserID, charge.CreditFunded,
		).Refunded += charge.Amount
	}
}

// MarkExpired lets the next release examine the days from since to before (excluded) that have
// pending Credits.
func (s *Ledger) MarkExpired(_ context.Context, since, before day.Day) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.ledger.publishers.credits
	for key, d := range c.days {
		if key.day >= since && key.day < before && d.Pending() > 0 {
			c.due[key] = struct{}{}
		}
	}
	return nil
}

// MeanCharge sums the charges to advertisers for the traffic of publishers, and its impressions, on
// the days from first to last.
func (s *Ledger) MeanCharge(_ context.Context, first, last day.Day) (m ledger.MeanCharge, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.ledger.publishers
	for key, d := range p.days {
		if key.day >= first && key.day <= last {
			m.Impressions += d.Impressions
		}
	}
	for key, d := range p.credits.days {
		for _, source := range d.Sources {
			if key.day >= first && key.day <= last {
				m.Charged += source.Charged - source.Refunded
			}
		}
	}
	return m, nil
}

// CreditBalance returns a publisher's Credits by state; all 0 when it never earned any.
func (s *Ledger) CreditBalance(_ context.Context, developer uuid.UUID) (b ledger.CreditBalance, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := func(a ledger.Account) money.Credits {
		return money.Credits(s.ledger.balances[side{a, ledger.Credit}])
	}
	b = ledger.CreditBalance{
		Spendable: of(ledger.DeveloperCredits(developer)), Pending: of(ledger.PendingCredits(developer)),
		Held: of(ledger.WaitingCredits(developer)),
	}
	if c := s.ledger.publishers.open(developer, uuid.Nil); c != nil {
		b.Quarantined = of(ledger.HeldCredits(c.ID))
	}
	return b, nil
}

// WaitingDays returns a publisher's days with Credits that cannot be spent yet, without their
// Sources.
func (s *Ledger) WaitingDays(_ context.Context, developer uuid.UUID) ([]ledger.CreditDay, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ledger.CreditDay
	var rule traffic.QuarantineRule
	if c := s.ledger.publishers.open(developer, uuid.Nil); c != nil {
		rule = c.Evidence.Rule
	}
	for key, d := range s.ledger.publishers.credits.days {
		if key.developer != developer || !d.Waits() {
			continue
		}
		of := *d
		of.Sources, of.Lots, of.Rule = nil, slices.Clone(d.Lots), rule
		of.Frozen = rule != ""
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b ledger.CreditDay) int { return cmp.Compare(a.Day, b.Day) })
	return list, nil
}

// credits checks that Credits are worth no more than the charges, and that lots and balances agree.
func (a *verification) credits() {
	state := &a.l.publishers.credits
	var worth money.Micros
	var days, same promise
	lots := make(map[ledger.Account]int64)
	for key, d := range state.days {
		worth += d.Worth()
		days.look(
			d.Worth() > d.Cover(), "publisher %s day %s: released %d, charged %d", key.developer, key.day,
			int64(d.Worth()), int64(d.Cover()),
		)
		lots[ledger.PendingCredits(key.developer)] += d.Pending()
		for _, l := range d.Lots {
			account := ledger.DeveloperCredits(key.developer)
			if !l.Until.IsZero() {
				account = ledger.WaitingCredits(key.developer)
			}
			lots[account] += l.Left
			lots[ledger.CreditSpent] += l.Amount - l.Left
		}
	}
	for s := range a.l.balances {
		if s.asset == ledger.Credit &&
			(strings.HasPrefix(string(s.account), "developer") || s.account == ledger.CreditSpent) {
			lots[s.account] += 0
		}
	}
	for account, sum := range lots {
		balance := a.l.balances[side{account, ledger.Credit}]
		same.look(balance != sum, "%s: lots %d, balance %d", account, sum, balance)
	}
	a.checks = append(a.checks, ledger.CreditCheck(int64(worth), int64(a.backed())))
	a.none(ledger.CheckCreditDays, days)
	a.all(ledger.CheckCreditLots, same)
}

// backed returns the charges to advertisers, less claw-backs and debts.
func (a *verification) backed() (sum money.Micros) {
	owed, paid := a.s.owed(), make(map[payer]money.Micros)
	for id, amount := range a.charged {
		if k := a.s.campaigns[id]; k != nil {
			paid[payer{k.AdvertiserID, k.CreditFunded}] += money.Micros(amount) - a.l.totals[id].refunded
		}
	}
	for p, amount := range paid {
		sum += amount - min(max(0, amount), owed[p])
	}
	return sum
}
