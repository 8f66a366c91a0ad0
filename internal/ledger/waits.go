package ledger

import (
	"cmp"
	"slices"
	"time"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// WaitReason is the reason why minted Credits cannot be spent yet.
type WaitReason string

// The reasons, a closed list.
const (
	WaitUnbacked      WaitReason = "not_charged"   // pending: no charge backs them, or the payer owes or got it back
	WaitHold          WaitReason = "hold"          // released; the usual hold is running
	WaitConcentration WaitReason = "concentration" // released; the long hold is running, see [CreditLot.Long]
	WaitCase          WaitReason = "quarantine"    // an open case holds them until it is decided
	// pending or held by a case until a person approves a publisher without one request of a reader
	WaitReaders WaitReason = "no_readers"
)

// CreditWait holds Credits of one publisher that wait for one reason until the same UTC day.
type CreditWait struct {
	Reason  WaitReason
	Credits int64
	// Since is the first UTC day on which they were minted.
	Since day.Day
	// Until is the time when the last of them become spendable, UTC. Pending ones are destroyed at
	// that time unless a charge backs them before. It is zero with [WaitCase] and [WaitReaders],
	// which only a decision ends.
	Until time.Time
}

// Waits reports whether some Credits of the day cannot be spent yet.
func (d *CreditDay) Waits() bool {
	return d.InCase != 0 || d.Pending() != 0 ||
		slices.ContainsFunc(d.Lots, func(l CreditLot) bool { return !l.Until.IsZero() && l.Left != 0 })
}

// Waits lists the Credits of a publisher's days that cannot be spent, by [WaitReason], with one row
// for each UTC day on which holds end or pending Credits expire, in the order of time. Cases come
// last. What a case of [traffic.QuarantineReaders] keeps pending has its reason. The days need no
// Sources. The sums of the rows are Pending, Held and Quarantined of [CreditBalance]. While a day
// is Frozen no hold ends: Until is then the earliest time.
func Waits(days []CreditDay) []CreditWait {
	type key struct {
		reason WaitReason
		on     day.Day
	}
	rows := map[key]*CreditWait{}
	add := func(reason WaitReason, of day.Day, n int64, until time.Time) {
		k := key{reason: reason}
		if !until.IsZero() {
			k.on = day.Of(until)
		}
		if n == 0 {
			return
		}
		w := rows[k]
		if w == nil {
			w = &CreditWait{Reason: reason, Since: of}
			rows[k] = w
		}
		w.Credits += n
		w.Since = min(w.Since, of)
		if until.After(w.Until) {
			w.Until = until
		}
	}
	for i := range days {
		d := &days[i]
		if d.Rule == traffic.QuarantineReaders {
			add(WaitReaders, d.Day, d.Pending()+d.InCase, time.Time{})
		} else {
			add(WaitUnbacked, d.Day, d.Pending(), expiry(d.Day))
			add(WaitCase, d.Day, d.InCase, time.Time{})
		}
		for _, l := range d.Lots {
			if l.Until.IsZero() {
				continue
			}
			reason := WaitHold
			if l.Long {
				reason = WaitConcentration
			}
			add(reason, d.Day, l.Left, l.Until)
		}
	}
	list := make([]CreditWait, 0, len(rows))
	for _, w := range rows {
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b CreditWait) int {
		return cmp.Or(
			cmp.Compare(boolInt(a.Until.IsZero()), boolInt(b.Until.IsZero())), a.Until.Compare(b.Until),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	return list
}

// expiry returns the earliest time at which pending Credits of a day are destroyed: see
// [ExpiredBefore].
func expiry(of day.Day) time.Time { return (of + 1).Time().Add(PendingLife) }
