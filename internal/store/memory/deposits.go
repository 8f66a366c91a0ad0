package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// depositState is the state of payments. Guarded by core.mu.
type depositState struct {
	deposits map[uuid.UUID]ledger.Deposit
	payments map[reference]ledger.PaymentBook
	events   map[reference]ledger.NoticeOutcome  // by the provider's event id
	refunds  map[reference][]ledger.RefundReport // by payment
	disputes map[reference]ledger.Dispute        // by the provider's dispute id
	parked   []ledger.Parked                     // in the order of receipt
}

// reference is a provider's name for an object.
type reference struct {
	provider ledger.Provider
	id       string
}

func newDepositState() depositState {
	return depositState{
		deposits: make(map[uuid.UUID]ledger.Deposit), payments: make(map[reference]ledger.PaymentBook),
		events: make(map[reference]ledger.NoticeOutcome), refunds: make(map[reference][]ledger.RefundReport),
		disputes: make(map[reference]ledger.Dispute),
	}
}

// CreateDeposit stores a new unpaid deposit. Errors: errs.NotFound when the advertiser has no
// account, errs.Conflict when the id or the checkout exists.
func (s *Payments) CreateDeposit(ctx context.Context, d ledger.Deposit) error {
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
	d.PaymentID, d.Paid, d.Reversed, d.Disputed, d.CreatedAt = "", 0, 0, 0, asStored(d.CreatedAt)
	if err := s.record(ctx, auditlog.Entry{TargetKind: auditlog.TargetDeposit, TargetID: d.ID.String(),
		OwnerID: d.AdvertiserID, Changes: map[string]auditlog.Change{
			"provider": {After: string(d.Provider)}, "requested": {After: d.Requested},
		}}); err != nil {
		return err
	}
	s.payments.deposits[d.ID] = d
	return nil
}

// Deposit finds a deposit by id. Errors: errs.NotFound.
func (s *Payments) Deposit(_ context.Context, id uuid.UUID) (ledger.Deposit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.payments.deposits[id]; !ok {
		return ledger.Deposit{}, errs.New(errs.NotFound, "no such deposit")
	}
	return s.payments.deposit(id), nil
}

// DepositByReference finds a deposit by the provider's payment or checkout id. Errors:
// errs.NotFound.
func (s *Payments) DepositByReference(_ context.Context, p ledger.Provider, id string) (ledger.Deposit, error) {
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

// deposit returns a stored deposit with the sums of its payments; the zero deposit for the nil id.
func (d *depositState) deposit(id uuid.UUID) ledger.Deposit {
	if id == uuid.Nil { // parked payments have it as well
		return ledger.Deposit{}
	}
	deposit := d.deposits[id]
	for ref, book := range d.payments {
		if book.DepositID != id {
			continue
		}
		if deposit.PaymentID == "" || ref.id < deposit.PaymentID {
			deposit.PaymentID = ref.id
		}
		deposit.Paid += book.Paid
		deposit.Reversed += book.Reversed
		deposit.Disputed += book.Disputed
	}
	return deposit
}

// ApplyNotice applies a provider's notice, all of it or nothing: see [ledger.DecideNotice]. Errors:
// errs.InvalidRequest for a notice that is not Valid.
func (s *Payments) ApplyNotice(ctx context.Context, n ledger.Notice) (ledger.NoticeResult, error) {
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
	waits := p.eventParked(n)
	if waits != nil && waits.Decision != "" {
		return ledger.NoticeResult{
			Outcome: ledger.NoticeNothing, Repeated: true, Deposit: p.deposit(book.DepositID),
		}, nil
	}
	result, err := s.writeApplied(ctx, n)
	if applied := result.Outcome != ledger.NoticeUnattributed && result.Outcome != ledger.NoticeClosed; waits != nil &&
		err == nil && applied {
		waits.Decision, waits.DecidedAt = ledger.ParkedSuperseded, n.At
	}
	return result, err
}

// writeApplied applies a notice that was not applied before. s.mu is held.
func (s *core) writeApplied(ctx context.Context, n ledger.Notice) (ledger.NoticeResult, error) {
	p := &s.payments
	event, payment := reference{n.Provider, n.EventID}, reference{n.Provider, n.PaymentID}
	book := p.payments[payment]
	var known ledger.Known
	dispute := reference{n.Provider, n.DisputeID}
	switch {
	case n.Kind == ledger.NoticePaid && book.Paid == 0:
		known.Payer = s.payerOf(n)
		if known.Payer.ID == uuid.Nil {
			return ledger.NoticeResult{Outcome: ledger.NoticeUnattributed}, nil
		}
		if s.users[known.Payer.AdvertiserID].Disabled {
			return ledger.NoticeResult{Outcome: ledger.NoticeClosed}, nil
		}
	case n.IsRefund():
		known.Refunds = p.refunds[payment]
	case n.IsDispute():
		if known.Dispute = p.disputes[dispute]; known.Dispute.PaymentID != "" &&
			known.Dispute.PaymentID != n.PaymentID {
			return ledger.NoticeResult{}, errs.New(errs.InvalidRequest, "the dispute is about another payment")
		}
	}
	effects := ledger.DecideNotice(book, n, known)
	if err := s.record(ctx, auditlog.OfNotice(n, effects)); err != nil {
		return ledger.NoticeResult{}, err
	}
	switch {
	case n.IsRefund():
		p.refunds[payment] = append(p.refunds[payment], n.Report())
	case n.Kind == ledger.NoticePaid && known.Payer.ID != uuid.Nil:
		p.deposits[known.Payer.ID] = known.Payer
	}
	if n.IsDispute() {
		p.disputes[dispute] = effects.Dispute
	}
	p.payments[payment], p.events[event] = effects.Book, effects.Outcome
	for _, t := range effects.Written {
		s.ledger.addTransaction(t)
	}
	return ledger.NoticeResult{Outcome: effects.Outcome, Deposit: p.deposit(effects.Book.DepositID)}, nil
}

// payerOf finds the deposit of a payment, or makes one for the account that it names.
func (s *core) payerOf(n ledger.Notice) ledger.Deposit {
	for _, id := range n.Names {
		if d, ok := s.payments.deposits[id]; ok && d.Provider == n.Provider {
			return d
		}
	}
	for _, id := range n.Names {
		if _, ok := s.users[id]; ok {
			return ledger.Deposit{
				ID: ledger.DepositIDFor(n.Provider, n.PaymentID), AdvertiserID: id, Provider: n.Provider,
				CreatedAt: n.At,
			}
		}
	}
	return ledger.Deposit{}
}

// History returns a page of ledger rows, each with the balance of its account after it.
func (s *Ledger) History(_ context.Context, q ledger.HistoryQuery) ([]ledger.Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sides := append(
		ledger.CreditSides(q.Developer), ledger.Side{Account: ledger.AdvertiserCash(q.Advertiser), Asset: ledger.USD},
	)
	lines := []ledger.Line{}
	for i := len(s.ledger.links) - 1; i >= 0 && len(lines) < max(1, q.Limit); i-- {
		l, seq := &s.ledger.links[i], int64(i+1)
		switch {
		case !slices.Contains(sides, l.Side), q.Before > 0 && seq >= q.Before, q.Asset != "" && q.Asset != l.Asset:
		case !q.From.IsZero() && l.At.Before(q.From), !q.To.IsZero() && !l.At.Before(q.To):
		default:
			lines = append(lines, ledger.Line{
				Seq: seq, Transaction: l.Transaction, At: l.At, Kind: l.Kind, Ref: l.Ref, Subject: l.Subject,
				Reverses: l.Reverses,
				Account:  l.Account, Asset: l.Asset, Amount: l.Amount, Balance: l.Balance,
			})
		}
	}
	return lines, nil
}

// Earnings sums the Credits that a publisher minted on the days from first to last, and in total.
func (s *Ledger) Earnings(_ context.Context, developer uuid.UUID, first, last day.Day) (ledger.Earnings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account := ledger.PendingCredits(developer)
	e := ledger.Earnings{Days: []ledger.DayCredits{}}
	byDay := make(map[day.Day]money.Credits)
	for i := range s.ledger.transactions {
		t := &s.ledger.transactions[i]
		if t.Kind != ledger.KindMint && t.Kind != ledger.KindMintRelease {
			continue
		}
		for _, entry := range t.Entries {
			if entry.Account != account || entry.Asset != ledger.Credit {
				continue
			}
			e.Total += money.Credits(entry.Amount)
			if date := day.Of(t.At); t.Kind == ledger.KindMint && date >= first && date <= last {
				byDay[date] += money.Credits(entry.Amount)
			}
		}
	}
	for date := first; date <= last; date++ {
		if minted, ok := byDay[date]; ok {
			e.Days = append(e.Days, ledger.DayCredits{Day: date, Credits: minted})
		}
	}
	return e, nil
}
