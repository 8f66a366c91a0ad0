package budget

import (
	"math"

	"adnet/internal/day"
	"adnet/internal/money"
)

// ownRoom is what a lease knows of its campaign's room apart from the store of reservations, which
// may have a foreign writer.
type ownRoom struct {
	left  money.Micros // of the room, when last read
	known bool
	spent []spentIn // by minute of reading, oldest first
}

// spentIn is an amount by which the room shrank: settlement has charged it, to this node's ads or
// to others.
type spentIn struct {
	minute day.Minute
	amount money.Micros
}

// roomFor returns the most that a slot may hold by the campaign's own room, with the lease's mu
// held: what is left of the room, and what was charged since, less everything else that the lease
// holds. known is false without a room; then the slot may hold nothing.
//
// Guarantee: whatever the store of reservations grants, a node holds no more of a campaign than its
// room has, for ads and for bids each. The true store grants never more: what is charged was
// reserved.
func (l *Leases) roomFor(h *lease, s *slot) (most money.Micros, known bool) {
	if l.deps.Room == nil {
		return math.MaxInt64, true
	}
	room, known := l.deps.Room(h.campaign)
	if !known {
		return 0, false
	}
	now := l.deps.Now()
	left, minute := room.Left(day.Of(now)), day.MinuteOf(now)
	spent := h.room.update(left, minute, minute-day.Minute(s.window+lateMinutes))
	if room.Open > 0 {
		left = min(left, room.Open)
	}
	held := money.Micros(0)
	for i := range h.slots {
		if other := h.slots[i].Load(); other != nil && other != s {
			held += other.leased
		}
	}
	for _, p := range h.past {
		if p.minute+day.Minute(p.window+lateMinutes) > minute {
			held += p.amount
		}
	}
	if left >= math.MaxInt64-spent { // no limit
		return math.MaxInt64, true
	}
	return max(0, left+spent-held), true
}

// lateMinutes is how much longer than its window an amount counts.
const lateMinutes = 3

// update notes at a minute how much of the room is left, and returns what was spent since another.
func (r *ownRoom) update(left money.Micros, minute, since day.Minute) (spent money.Micros) {
	if r.known && left < r.left {
		n := len(r.spent)
		if n == 0 || r.spent[n-1].minute != minute {
			r.spent = append(r.spent, spentIn{minute: minute})
			n++
		}
		r.spent[n-1].amount += r.left - left
	}
	r.left, r.known = left, true
	for len(r.spent) > 0 && r.spent[0].minute < since {
		r.spent = r.spent[1:]
	}
	for _, s := range r.spent {
		spent += s.amount
	}
	return spent
}
