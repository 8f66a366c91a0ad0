package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

// eventParked returns the parked row of an event, nil without one.
func (d *depositState) eventParked(n ledger.Notice) *ledger.Parked {
	for i := range d.parked {
		if p := &d.parked[i]; !p.Shared && p.Provider == n.Provider && p.EventID == n.EventID {
			return p
		}
	}
	return nil
}

// Park stores an event that an operator must decide; storing the same event again changes nothing.
// Rows are bounded: see [ledger.ParkedRoom].
func (s *Payments) Park(_ context.Context, p ledger.Parked) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	d := &s.payments
	var room ledger.ParkedRoom
	for i := range d.parked {
		other := &d.parked[i]
		if other.Provider == p.Provider && other.EventID == p.EventID {
			return nil
		}
		if other.Decision != "" {
			continue
		}
		room.All++
		if same := other.Provider == p.Provider && other.Type == p.Type; same && other.Shared {
			room.Shared = true
		} else if same {
			room.OfType++
		}
	}
	p.ID, p.At, p.Count = id, asStored(p.At), 1
	p.Shared, p.Type = room.Place(p.Type)
	for i := range d.parked {
		other := &d.parked[i]
		if p.Shared && other.Shared && other.Decision == "" && other.Provider == p.Provider && other.Type == p.Type {
			other.EventID, other.PaymentID, other.Amount, other.Reason, other.At = p.EventID, p.PaymentID, p.Amount,
				p.Reason, p.At
			other.Count++
			return nil
		}
	}
	d.parked = append(d.parked, p)
	return nil
}

// Parked lists parked events, newest first.
func (s *Payments) Parked(_ context.Context, q ledger.ParkedQuery) ([]ledger.Parked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.payments.parked), func(p ledger.Parked) bool {
		return q.Open && p.Decision != ""
	})
	slices.SortStableFunc(list, func(a, b ledger.Parked) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.EventID, b.EventID))
	})
	list = list[min(len(list), max(0, q.Offset)):]
	return list[:min(len(list), max(1, q.Limit))], nil
}

// DecideParked carries out an operator's decision, once: a repeat changes nothing and returns the
// same. Errors: errs.NotFound without such an event or account, errs.Conflict after another
// decision or for a closed account, errs.InvalidRequest.
func (s *Payments) DecideParked(ctx context.Context, v ledger.ParkedVerdict) (ledger.Parked, error) {
	v.At = asStored(v.At)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.payments.parked, func(p ledger.Parked) bool { return p.ID == v.ID })
	if i < 0 {
		return ledger.Parked{}, errs.New(errs.NotFound, "there is no such parked event")
	}
	p := s.payments.parked[i]
	if repeats, err := v.Check(&p); repeats || err != nil {
		return p, err
	}
	if err := s.mayDecide(v); err != nil {
		return p, err
	}
	if v.Credits(&p) {
		n := v.Notice(&p)
		if s.payments.payments[reference{n.Provider, n.PaymentID}].Paid > 0 {
			return p, errs.New(errs.Conflict, "the payment was credited meanwhile; dismiss the event")
		}
		if err := n.Valid(); err != nil {
			return p, err
		}
		if _, err := s.writeApplied(ctx, n); err != nil {
			return p, err
		}
	}
	if err := s.record(ctx, auditlog.OfParked(p, v)); err != nil {
		return p, err
	}
	for _, t := range v.Moves(&p) {
		s.ledger.addTransaction(t)
	}
	s.payments.parked[i] = v.Decided(p)
	return s.payments.parked[i], nil
}

// mayDecide checks the account that a decision names.
func (s *core) mayDecide(v ledger.ParkedVerdict) error {
	if v.Decision == ledger.ParkedDismissed {
		return nil
	}
	u, known := s.users[v.AccountID]
	switch {
	case !known:
		return errs.New(errs.NotFound, "there is no such account").With("field", "account_id")
	case u.Disabled && v.Decision == ledger.ParkedCredited:
		return errs.New(errs.Conflict, "the account is closed; credit another one").With("field", "account_id")
	}
	return nil
}
