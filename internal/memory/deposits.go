package memory

import (
	"context"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
)

// depositState is what the store knows about payment providers. Guarded by Store.mu.
type depositState struct {
	deposits map[uuid.UUID]ledger.Deposit
	payments map[reference]ledger.PaymentBook
	events   map[reference]ledger.NoticeOutcome // by the provider's event id
	refunds  map[reference]struct{}             // by the provider's refund id
}

// reference is something that a provider names.
type reference struct {
	provider ledger.Provider
	id       string
}

func newDepositState() depositState {
	return depositState{
		deposits: make(map[uuid.UUID]ledger.Deposit), payments: make(map[reference]ledger.PaymentBook),
		events: make(map[reference]ledger.NoticeOutcome), refunds: make(map[reference]struct{}),
	}
}

// CreateDeposit keeps a new deposit that is not paid. Errors: errs.NotFound when the advertiser has no account,
// errs.Conflict when the id or the checkout exists.
func (s *Store) CreateDeposit(_ context.Context, d ledger.Deposit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.users[d.AdvertiserID]; !ok {
		return errs.New(errs.NotFound, "no such advertiser")
	}
	for id, other := range s.payments.deposits {
		if id == d.ID || d.CheckoutID != "" && other.Provider == d.Provider && other.CheckoutID == d.CheckoutID {
			return errs.New(errs.Conflict, "it exists already")
		}
	}
	d.PaymentID, d.Paid, d.Reversed, d.CreatedAt = "", 0, 0, asStored(d.CreatedAt)
	s.payments.deposits[d.ID] = d
	return nil
}

// Deposit finds a deposit by id. Errors: errs.NotFound.
func (s *Store) Deposit(_ context.Context, id uuid.UUID) (ledger.Deposit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.payments.deposits[id]; !ok {
		return ledger.Deposit{}, errs.New(errs.NotFound, "no such deposit")
	}
	return s.payments.deposit(id), nil
}

// DepositByReference finds a deposit by the provider's payment or checkout id. Errors: errs.NotFound.
func (s *Store) DepositByReference(_ context.Context, p ledger.Provider, id string) (ledger.Deposit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if book := s.payments.payments[reference{p, id}]; book.DepositID != uuid.Nil {
		return s.payments.deposit(book.DepositID), nil
	}
	for _, d := range s.payments.deposits {
		if d.Provider == p && d.CheckoutID == id && id != "" {
			return s.payments.deposit(d.ID), nil
		}
	}
	return ledger.Deposit{}, errs.New(errs.NotFound, "no such deposit")
}

// deposit is a kept deposit with the sums of its payments; the zero deposit for the nil id.
func (d *depositState) deposit(id uuid.UUID) ledger.Deposit {
	if id == uuid.Nil { // parked payments have it too
		return ledger.Deposit{}
	}
	kept := d.deposits[id]
	for ref, book := range d.payments {
		if book.DepositID != id {
			continue
		}
		if kept.PaymentID == "" || ref.id < kept.PaymentID {
			kept.PaymentID = ref.id
		}
		kept.Paid += book.Paid
		kept.Reversed += book.Reversed
	}
	return kept
}

// ApplyNotice applies a provider's notice, all of it or nothing: see [ledger.DecideNotice]. Errors:
// errs.InvalidRequest for a notice that is not Valid.
func (s *Store) ApplyNotice(_ context.Context, n ledger.Notice) (ledger.NoticeResult, error) {
	if err := n.Valid(); err != nil {
		return ledger.NoticeResult{}, err
	}
	n.At = asStored(n.At)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.payments
	event, payment := reference{n.Provider, n.EventID}, reference{n.Provider, n.PaymentID}
	book := p.payments[payment]
	if outcome, seen := p.events[event]; seen {
		return ledger.NoticeResult{Outcome: outcome, Repeated: true, Deposit: p.deposit(book.DepositID)}, nil
	}
	var payer ledger.Deposit
	if n.Kind == ledger.NoticePaid && book.Paid == 0 {
		if payer = s.payerOf(n); payer.ID == uuid.Nil {
			return ledger.NoticeResult{Outcome: ledger.NoticeUnattributed}, nil
		}
	}
	newRefund := false
	if n.Kind == ledger.NoticeRefunded {
		refund := reference{n.Provider, n.RefundID}
		_, seen := p.refunds[refund]
		newRefund = !seen
		p.refunds[refund] = struct{}{}
	}
	after, outcome, written := ledger.DecideNotice(book, n, payer, newRefund)
	p.payments[payment], p.events[event] = after, outcome
	for _, t := range written {
		s.ledger.addTransaction(t)
	}
	return ledger.NoticeResult{Outcome: outcome, Deposit: p.deposit(after.DepositID)}, nil
}

// payerOf finds the deposit that a payment belongs to, or makes one for the account that it names.
func (s *Store) payerOf(n ledger.Notice) ledger.Deposit {
	for _, id := range n.Names {
		if d, ok := s.payments.deposits[id]; ok && d.Provider == n.Provider {
			return d
		}
	}
	for _, id := range n.Names {
		if _, ok := s.users[id]; ok {
			d := ledger.Deposit{ID: ledger.DepositIDFor(n.Provider, n.PaymentID), AdvertiserID: id, Provider: n.Provider, CreatedAt: n.At}
			s.payments.deposits[d.ID] = d
			return d
		}
	}
	return ledger.Deposit{}
}

// maxLegs is more entries than a transaction has; a line's Seq is its transaction's place times this, plus its leg.
const maxLegs = 16

// History answers a page of ledger rows with running balances.
func (s *Store) History(_ context.Context, q ledger.HistoryQuery) ([]ledger.Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cash, credits := side{ledger.AdvertiserCash(q.Advertiser), ledger.USD}, side{ledger.DeveloperCredits(q.Developer), ledger.Credit}
	running := map[side]int64{cash: s.ledger.balances[cash], credits: s.ledger.balances[credits]}
	lines := []ledger.Line{}
	for i := len(s.ledger.transactions) - 1; i >= 0; i-- {
		t := &s.ledger.transactions[i]
		for leg := len(t.Entries) - 1; leg >= 0; leg-- {
			e := t.Entries[leg]
			account := side{e.Account, e.Asset}
			balance, own := running[account]
			if !own {
				continue
			}
			running[account] -= e.Amount
			seq := int64(i+1)*maxLegs + int64(leg)
			if q.Before > 0 && seq >= q.Before || q.Asset != "" && q.Asset != e.Asset {
				continue
			}
			lines = append(lines, ledger.Line{
				Seq: seq, Transaction: t.ID, At: t.At, Kind: t.Kind, Ref: t.Ref, Subject: t.Subject, Reverses: t.Reverses,
				Asset: e.Asset, Amount: e.Amount, Balance: balance,
			})
			if len(lines) >= max(1, q.Limit) {
				return lines, nil
			}
		}
	}
	return lines, nil
}

// Earnings sums the Credits that a publisher minted on the days from first to last, and ever.
func (s *Store) Earnings(_ context.Context, developer uuid.UUID, first, last ledger.Day) (ledger.Earnings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account := ledger.DeveloperCredits(developer)
	e := ledger.Earnings{Days: []ledger.DayCredits{}, Available: money.Credits(s.ledger.balances[side{account, ledger.Credit}])}
	byDay := make(map[ledger.Day]money.Credits)
	for i := range s.ledger.transactions {
		t := &s.ledger.transactions[i]
		for _, entry := range t.Entries {
			if entry.Account != account || entry.Asset != ledger.Credit || entry.Amount <= 0 {
				continue
			}
			e.Total += money.Credits(entry.Amount)
			if day := ledger.DayOf(t.At); t.Kind == ledger.KindMint && day >= first && day <= last {
				byDay[day] += money.Credits(entry.Amount)
			}
		}
	}
	for day := first; day <= last; day++ {
		if minted, ok := byDay[day]; ok {
			e.Days = append(e.Days, ledger.DayCredits{Day: day, Credits: minted})
		}
	}
	return e, nil
}
