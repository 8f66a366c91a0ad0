package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/stream"
)

// ledgerState is the money of a [Store]. The zero value is not usable: see newLedgerState. Guarded
// by core.mu.
type ledgerState struct {
	offsets      map[stream.Partition]int64
	billed       map[ledger.Key]struct{}
	applied      map[stream.Partition][]ledger.AppliedRange // in order of First
	transactions []ledger.Transaction
	links        []ledger.Link // of all entries, in the order of the transactions
	heads        map[ledger.Side]ledger.Head
	closed       map[closedMonth]int64 // number of the last entry
	written      map[transactionKey]struct{}
	dead         map[deadKey]*ledger.StoredDeadLetter
	balances     map[side]int64
	spend        map[spendKey]spent
	totals       map[uuid.UUID]spent
	archive      map[stream.Partition]progress
	publishers   publisherState
	conversions  map[ledger.ConversionHour]int64 // charged
	clicks       map[ledger.NetworkDay]int64
	early        earlyState
	horizon      day.Day
	pruned       ledger.Pruned
	appliedAt    map[stream.Range]time.Time

	// tick is raised by every change of a room; changed holds the last tick per campaign and per
	// advertiser.
	tick              int64
	campaignChanged   map[uuid.UUID]int64
	released          map[uuid.UUID]map[day.Minute]money.Micros // see reserve.Released
	epoch             int64                                     // of the shared reservations
	advertiserChanged map[uuid.UUID]int64
}

// transactionKey identifies a transaction, which may be written only once.
type transactionKey struct {
	kind    ledger.Kind
	ref     string
	subject uuid.UUID
}

// deadKey is the position of an undecodable record.
type deadKey struct {
	stream.Partition
	offset int64
}

// side is an account in one asset.
type side struct {
	account ledger.Account
	asset   ledger.Asset
}

// spendKey is one campaign's UTC day.
type spendKey struct {
	campaign uuid.UUID
	day      day.Day
}

// spent is an amount, the budget in force when it was last raised, and the part returned by
// claw-backs.
type spent struct {
	amount, budget, refunded money.Micros
}

// add returns s after a charge under a budget.
func (s spent) add(amount, budget money.Micros) spent {
	return spent{s.amount + amount, budget, s.refunded}
}

// net returns the part that counts against the budget.
func (s spent) net() money.Micros { return s.amount - s.refunded }

// progress is the position of the archive, and the pending plan that includes the partition, if
// any.
type progress struct {
	archived int64
	plan     ledger.Planned
}

// reaches returns the offset up to which the partition is archived or planned.
func (at progress) reaches(p stream.Partition) int64 {
	for _, c := range at.plan {
		if c.Partition == p {
			return c.Next
		}
	}
	return at.archived
}

func newLedgerState() ledgerState {
	return ledgerState{
		tick:              1, // a reader's cursor is never 0, which selects everything
		offsets:           make(map[stream.Partition]int64),
		billed:            make(map[ledger.Key]struct{}),
		applied:           make(map[stream.Partition][]ledger.AppliedRange),
		heads:             make(map[ledger.Side]ledger.Head),
		closed:            make(map[closedMonth]int64),
		written:           make(map[transactionKey]struct{}),
		dead:              make(map[deadKey]*ledger.StoredDeadLetter),
		appliedAt:         make(map[stream.Range]time.Time),
		balances:          make(map[side]int64),
		spend:             make(map[spendKey]spent),
		totals:            make(map[uuid.UUID]spent),
		archive:           make(map[stream.Partition]progress),
		publishers:        newPublisherState(),
		conversions:       make(map[ledger.ConversionHour]int64),
		clicks:            make(map[ledger.NetworkDay]int64),
		early:             newEarlyState(),
		campaignChanged:   make(map[uuid.UUID]int64),
		released:          make(map[uuid.UUID]map[day.Minute]money.Micros),
		advertiserChanged: make(map[uuid.UUID]int64),
	}
}

// campaignTouched records a change of the campaign's room.
func (l *ledgerState) campaignTouched(id uuid.UUID) {
	l.tick++
	l.campaignChanged[id] = l.tick
}

// spentOn returns a campaign's spend on day and in total.
func (l *ledgerState) spentOn(id uuid.UUID, date day.Day) (today, total money.Micros) {
	return l.spend[spendKey{id, date}].net(), l.totals[id].net()
}

// release counts the used part of a minute's reservations; it is part of the campaign's room.
func (l *ledgerState) release(r reserve.Released) {
	minutes := l.released[r.CampaignID]
	if minutes == nil {
		minutes = make(map[day.Minute]money.Micros)
		l.released[r.CampaignID] = minutes
	}
	minutes[r.Minute] += r.Amount
	l.campaignTouched(r.CampaignID)
}

// addSpend raises a campaign's day and total; daily and total are the budgets in force.
func (l *ledgerState) addSpend(s ledger.Spend, daily, total money.Micros) {
	key := spendKey{s.CampaignID, s.Day}
	l.spend[key] = l.spend[key].add(s.Amount, daily)
	l.totals[s.CampaignID] = l.totals[s.CampaignID].add(s.Amount, total)
	l.campaignTouched(s.CampaignID)
}

// reopen returns a charge to its budgets.
func (l *ledgerState) reopen(c ledger.HeldCharge) {
	key := spendKey{c.CampaignID, c.Day}
	date, total := l.spend[key], l.totals[c.CampaignID]
	date.refunded += c.Amount
	total.refunded += c.Amount
	l.spend[key], l.totals[c.CampaignID] = date, total
	l.campaignTouched(c.CampaignID)
}

// addTransaction stores a transaction and moves its balances. The caller has checked it.
func (l *ledgerState) addTransaction(t ledger.Transaction) {
	l.written[transactionKey{t.Kind, t.Ref, t.Subject}] = struct{}{}
	t.Entries, t.At = slices.Clone(t.Entries), asStored(t.At)
	l.transactions = append(l.transactions, t)
	l.links = append(l.links, ledger.Chain(l.heads, []ledger.Transaction{t})...)
	for _, e := range t.Entries {
		l.balances[side{e.Account, e.Asset}] += e.Amount
		if id, ok := advertiserOf(e.Account); ok && e.Asset == ledger.USD {
			l.tick++
			l.advertiserChanged[id] = l.tick
		}
	}
}

// advertiserOf is the inverse of [ledger.AdvertiserCash].
func advertiserOf(a ledger.Account) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(string(a), "advertiser:")
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// InTx runs fn under the store's mutex and keeps its effects when it returns nil; an error discards
// them. fn must not call the store itself, only its [ledger.Tx].
func (s *Ledger) InTx(_ context.Context, fn func(ledger.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &batchTx{store: s.core}
	if err := fn(tx); err != nil {
		return err
	}
	tx.commit()
	return nil
}

// Offsets returns the start of each partition's next batch. Partitions that were never applied are
// absent.
func (s *Ledger) Offsets(_ context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offsets := make(map[stream.Partition]int64, len(partitions))
	for _, p := range partitions {
		if offset, ok := s.ledger.offsets[p]; ok {
			offsets[p] = offset
		}
	}
	return offsets, nil
}

// AdvertiserBalance returns an advertiser's cash: positive when deposited, negative when owed, 0
// when it never moved.
func (s *Ledger) AdvertiserBalance(_ context.Context, id uuid.UUID) (money.Micros, error) {
	return money.Micros(s.balance(ledger.AdvertiserCash(id), ledger.USD)), nil
}

// DisputeOpen implements person.Ledger.
func (s *Ledger) DisputeOpen(_ context.Context, advertiser uuid.UUID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.payments
	for at, d := range p.disputes {
		deposit := p.deposits[p.payments[reference{at.provider, d.PaymentID}].DepositID]
		if d.State == ledger.DisputeOpen && deposit.AdvertiserID == advertiser {
			return true, nil
		}
	}
	return false, nil
}

func (s *core) balance(account ledger.Account, asset ledger.Asset) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.balances[side{account, asset}]
}

// batchTx collects the effects of one batch; the store's mutex is held as long as it lives. Reads
// return the committed state, as users of [ledger.Tx] never read their own writes.
type batchTx struct {
	store    *core
	claimed  ledger.Claims
	marked   []ledger.Key
	invalid  map[uuid.UUID]bool // ledger.Books.Invalid
	judged   []int64            // ids of early events, with the offsets of judgedAs
	judgedAs stream.Range
	held     []int64 // ids of early events
	clicks   []ledger.NetworkClicks
	effects  ledger.Effects
}

var _ ledger.Tx = (*batchTx)(nil)

// AdvanceOffsets moves the offsets from First to Next, or fails with [ledger.ErrFenced]. A
// partition without a stored offset may start anywhere.
func (b *batchTx) AdvanceOffsets(_ context.Context, ranges []stream.Range) (err error) {
	if b.claimed, err = ledger.Claim(ranges); err != nil {
		return err
	}
	for _, r := range ranges {
		if offset, known := b.store.ledger.offsets[r.Partition]; known && offset != r.First {
			return fmt.Errorf("claim %s, next is %d: %w", r, offset, ledger.ErrFenced)
		}
	}
	return nil
}

// CountClicks adds to the clicks of networks when the transaction commits, and returns the sums.
func (b *batchTx) CountClicks(_ context.Context, clicks []ledger.NetworkClicks) (map[ledger.NetworkDay]int64, error) {
	totals := make(map[ledger.NetworkDay]int64, len(clicks))
	for _, c := range clicks {
		totals[c.NetworkDay] = b.store.ledger.clicks[c.NetworkDay] + c.Clicks
	}
	b.clicks = clicks
	return totals, nil
}

// MarkFirst reports which keys are new; they are recorded when the transaction commits.
func (b *batchTx) MarkFirst(_ context.Context, keys []ledger.Key) ([]bool, error) {
	fresh := make([]bool, len(keys))
	inBatch := make(map[ledger.Key]struct{}, len(keys))
	for i, key := range keys {
		if _, seen := b.store.ledger.billed[key]; seen || !ledger.Accepted(b.store.ledger.horizon, key.Day) {
			continue
		}
		if _, seen := inBatch[key]; seen || b.store.ledger.repeatsValid(key, inBatch) {
			continue
		}
		inBatch[key] = struct{}{}
		b.marked = append(b.marked, key)
		if key.Type == ledger.Impression {
			b.noteInvalid(key)
		}
		fresh[i] = true
	}
	return fresh, nil
}

// noteInvalid records for Books that an invalid impression was recorded before the valid one.
func (b *batchTx) noteInvalid(valid ledger.Key) {
	key := valid
	key.Type = key.Type.Invalid()
	if _, recorded := b.store.ledger.billed[key]; !recorded {
		return
	}
	if b.invalid == nil {
		b.invalid = make(map[uuid.UUID]bool)
	}
	b.invalid[key.Auction] = true
}

// repeatsValid reports whether key is of an invalid event whose valid one is recorded or in the
// batch.
func (l *ledgerState) repeatsValid(key ledger.Key, inBatch map[ledger.Key]struct{}) bool {
	valid, is := key.Type.Valid()
	if !is {
		return false
	}
	key.Type = valid
	_, recorded := l.billed[key]
	_, before := inBatch[key]
	return recorded || before
}

// Books reads the state that the batch depends on; the mutex keeps all others out until the
// transaction ends. Only intervals that overlap the days are returned, since no other can cover an
// event of the batch.
func (b *batchTx) Books(_ context.Context, need ledger.Need) (ledger.Books, error) {
	l := &b.store.ledger
	books := ledger.Books{
		Campaigns: make(map[uuid.UUID]*ledger.CampaignBook, len(need.Campaigns)), Horizon: l.horizon,
		Conversions: make(map[ledger.ConversionHour]int64, len(need.Conversions)),
		Invalid:     b.invalid, Converted: make(map[uuid.UUID]bool),
	}
	if need.Prepaid {
		books.Balances = make(map[uuid.UUID]money.Micros)
	}
	for _, id := range need.Campaigns {
		k, ok := b.store.campaigns[id]
		if !ok {
			continue
		}
		books.Campaigns[id] = b.store.book(k, need.Days)
		if amount, ok := l.balances[side{ledger.AdvertiserCash(k.AdvertiserID), ledger.USD}]; ok && need.Prepaid &&
			!k.CreditFunded {
			books.Balances[k.AdvertiserID] = money.Micros(amount)
		}
	}
	books.Publishers = l.publishers.books(need)
	for id, book := range books.Publishers {
		book.Owner = b.store.seatOwner(id)
		books.Publishers[id] = book
	}
	for _, hour := range need.Conversions {
		books.Conversions[hour] = l.conversions[hour]
	}
	for _, key := range b.marked {
		key.Type = ledger.ChargedConversion
		if _, charged := l.billed[key]; charged {
			books.Converted[key.Auction] = true
		}
	}
	return books, nil
}

func (s *core) book(k *stored, days []day.Day) *ledger.CampaignBook {
	payer := s.users[cmp.Or(s.users[k.AdvertiserID].ParentID, k.AdvertiserID)]
	book := &ledger.CampaignBook{
		AdvertiserID: k.AdvertiserID, DeveloperID: payer.DeveloperID,
		BillingModel: k.Billing(), Bid: k.BidAmount,
		DailyBudget: k.DailyBudget, TotalBudget: k.TotalBudget, CreditFunded: k.CreditFunded,
		ConversionType: k.ConversionType,
		SpentTotal:     s.ledger.totals[k.ID].net(), SpentOn: make(map[day.Day]money.Micros, len(days)),
	}
	if len(days) == 0 {
		return book
	}
	for _, date := range days {
		if d, ok := s.ledger.spend[spendKey{k.ID, date}]; ok {
			book.SpentOn[date] = d.net()
		}
	}
	from, to := days[0].Time(), (days[len(days)-1] + 1).Time()
	for _, i := range k.inactive {
		if i.From.Before(to) && (i.To.IsZero() || i.To.After(from)) {
			book.Inactive = append(book.Inactive, i)
		}
	}
	return book
}

// Write checks the effects like the database; they are stored when the transaction commits. It
// rejects outcomes that do not cover exactly the claimed ranges, and transactions that do not sum
// to zero or exist.
func (b *batchTx) Write(_ context.Context, e ledger.Effects) error {
	if err := b.claimed.Apply(e.Applied); err != nil {
		return err
	}
	for _, s := range e.Spend {
		if _, known := b.store.campaigns[s.CampaignID]; !known || s.Amount <= 0 {
			return fmt.Errorf("spend of %d on campaign %s", int64(s.Amount), s.CampaignID)
		}
	}
	for _, key := range e.Converted {
		if _, charged := b.store.ledger.billed[key]; charged {
			return errs.New(errs.Conflict, "a conversion of auction %s was charged already", key.Auction)
		}
	}
	written := make(map[transactionKey]struct{}, len(e.Transactions))
	for i := range e.Transactions {
		t := &e.Transactions[i]
		if err := t.Balanced(); err != nil {
			return err
		}
		key := transactionKey{t.Kind, t.Ref, t.Subject}
		_, before := b.store.ledger.written[key]
		if _, now := written[key]; before || now {
			return errs.New(errs.Conflict, "it exists already")
		}
		written[key] = struct{}{}
	}
	b.effects = e
	return nil
}

// commit makes everything visible; nothing in it can fail.
func (b *batchTx) commit() {
	l := &b.store.ledger
	for r := range b.claimed {
		l.offsets[r.Partition] = r.Next
	}
	for _, key := range b.marked {
		l.billed[key] = struct{}{}
	}
	for _, a := range b.effects.Applied {
		a.Outcomes = slices.Clone(a.Outcomes)
		l.applied[a.Partition] = append(l.applied[a.Partition], a)
		l.appliedAt[a.Range] = b.effects.At
	}
	for _, d := range b.effects.Dead {
		d.Raw = slices.Clone(d.Raw)
		l.dead[deadKey{d.Partition, d.Offset}] = &ledger.StoredDeadLetter{DeadLetter: d, At: asStored(b.effects.At)}
	}
	for _, s := range b.effects.Spend {
		k := b.store.campaigns[s.CampaignID]
		l.addSpend(s, k.DailyBudget, k.TotalBudget)
	}
	for _, r := range b.effects.Released {
		l.release(r)
	}
	l.publishers.add(b.effects)
	for _, c := range b.effects.Conversions {
		l.conversions[c.ConversionHour] += c.Charged
	}
	for _, key := range b.effects.Converted {
		l.billed[key] = struct{}{}
	}
	for _, c := range b.clicks {
		l.clicks[c.NetworkDay] += c.Clicks
	}
	for i, id := range b.judged {
		l.early.judge(id, b.judgedAs, b.judgedAs.First+int64(i))
	}
	for _, id := range b.held {
		e := l.early.waiting[id]
		e.Held = true
		l.early.waiting[id] = e
	}
	for i := range b.effects.Early {
		l.early.hold(b.effects.Early[i])
	}
	for _, t := range b.effects.Transactions {
		l.addTransaction(t)
	}
}
