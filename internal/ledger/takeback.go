package ledger

import (
	"github.com/google/uuid"

	"adnet/internal/day"
)

// TakenBack sums the Credits of one publisher that one step of the release took back because a
// payment behind them was reversed. It names no payer.
type TakenBack struct {
	DeveloperID uuid.UUID
	Credits     int64
	First, Last day.Day // on which they were minted, UTC
}

// NeedsNotice reports whether the publisher gets a notice of t. noticed is the number of Credits in
// its notices of the same UTC day. Each further notice more than doubles it: a debt that moves
// between days with every charge writes few rows. Statements list the rest.
func (t TakenBack) NeedsNotice(noticed int64) bool { return t.Credits > noticed }

// AddTakenBack adds to list what m took back and a payer owes. Charges that a claw-back of the
// publisher's own case refunded are no debt: the decision about the case has a statement. Days come
// in the order of publishers.
func (m *CreditMoves) AddTakenBack(list []TakenBack) []TakenBack {
	var run CreditRun
	run.Add(*m)
	if run.TakenBack == 0 || !m.owed() {
		return list
	}
	if n := len(list); n > 0 && list[n-1].DeveloperID == m.DeveloperID {
		last := &list[n-1]
		last.Credits += run.TakenBack
		last.First, last.Last = min(last.First, m.Day), max(last.Last, m.Day)
		return list
	}
	return append(list, TakenBack{DeveloperID: m.DeveloperID, Credits: run.TakenBack, First: m.Day, Last: m.Day})
}

// owed reports whether a payer owes a part of the day's charges.
func (d *CreditDay) owed() bool {
	for _, s := range d.Sources {
		if s.Unbacked > 0 {
			return true
		}
	}
	return false
}
