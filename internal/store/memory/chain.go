package memory

import (
	"context"
	"math"
	"slices"

	"adnet/internal/day"
	"adnet/internal/ledger"
)

// closedMonth names a month of a side.
type closedMonth struct {
	ledger.Side
	month day.Month
}

// chains walks every chain from its first entry to its balance, using the current transactions.
func (l *ledgerState) chains() ledger.Check {
	order := make([]ledger.Link, 0, len(l.links))
	for i := range l.transactions {
		t := &l.transactions[i]
		for leg, e := range t.Entries {
			if len(order) == len(l.links) {
				break
			}
			link := l.links[len(order)]
			link.Side, link.Amount = ledger.Side{Account: e.Account, Asset: e.Asset}, e.Amount
			link.Transaction, link.Leg, link.Kind, link.Ref = t.ID, leg, t.Kind, t.Ref
			link.Subject, link.Reverses, link.At = t.Subject, t.Reverses, t.At
			order = append(order, link)
		}
	}
	slices.SortStableFunc(order, func(a, b ledger.Link) int { return a.Side.Compare(b.Side) })
	var walk ledger.ChainWalk
	for i := range order {
		walk.Add(&order[i])
	}
	heads := make(map[ledger.Side]ledger.Head, len(l.heads))
	for s, head := range l.heads {
		head.Balance = l.balances[side{s.Account, s.Asset}]
		heads[s] = head
	}
	return walk.Check(heads)
}

// Statement returns an owner's month: see [ledger.Statement]. Errors: errs.InvalidRequest for a
// month that has not begun.
func (s *Ledger) Statement(_ context.Context, q ledger.StatementQuery) (ledger.Statement, error) {
	statement := ledger.Statement{Month: q.Month, Closed: q.Closed()}
	if err := q.Begun(); err != nil {
		return statement, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, side := range q.Sides() {
		from, to := s.ledger.closeMonth(side, q.Month-1), int64(math.MaxInt64)
		if q.Closed() {
			to = s.ledger.closeMonth(side, q.Month)
		}
		var opening ledger.Head
		b := ledger.NewAccountBuilder(side, opening)
		for i := range s.ledger.links {
			l := &s.ledger.links[i]
			switch {
			case l.Side != side || l.Seq > to:
			case l.Seq == from:
				b = ledger.NewAccountBuilder(side, ledger.Head{Seq: l.Seq, Balance: l.Balance, Hash: l.Hash})
			case l.Seq > from:
				b.Add(l)
			}
		}
		if part := b.Done(); part.Matches(q) {
			statement.Accounts = append(statement.Accounts, part)
		}
	}
	return statement, nil
}

// closeMonth returns the number of the last entry of a past month, and fixes it on the first call.
func (l *ledgerState) closeMonth(side ledger.Side, m day.Month) int64 {
	key := closedMonth{side, m}
	if last, ok := l.closed[key]; ok {
		return last
	}
	last := int64(0)
	for i := range l.links {
		if link := &l.links[i]; link.Side == side && link.At.Before(m.End()) {
			last = max(last, link.Seq)
		}
	}
	for other, end := range l.closed {
		if other.Side == side && other.month < m {
			last = max(last, end)
		}
	}
	for other, end := range l.closed {
		if other.Side == side && other.month > m {
			last = min(last, end)
		}
	}
	l.closed[key] = last
	return last
}
