package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/ledger"
)

// Retain removes unneeded data, like the database. With dry nothing changes and the result counts
// the rows that would be removed.
func (s *Retention) Retain(_ context.Context, cut ledger.Cutoffs, dry bool) (ledger.Removed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.ledger
	r := ledger.Removed{Horizon: max(l.horizon, cut.Horizon)}
	sums := make(ledger.Pruned)
	days := make(map[day.Day]bool)
	for key := range l.billed {
		if ledger.Accepted(r.Horizon, key.Day) {
			continue
		}
		days[key.Day] = true
		if _, invalid := key.Type.Valid(); !invalid && key.Type != ledger.ChargedConversion {
			r.Marks++
			sums[ledger.PrunedMarks]++
		}
		if key.Type == ledger.Impression {
			sums[ledger.PrunedImpressions]++
		}
		if !dry {
			delete(l.billed, key)
		}
	}
	for hour := range l.conversions {
		if !dry && hour.Hour < int32(r.Horizon-2)*24 {
			delete(l.conversions, hour)
		}
	}
	if !dry {
		maps.DeleteFunc(l.clicks, func(of ledger.NetworkDay, _ int64) bool { return of.Day < cut.Clicks })
	}
	for date := range days {
		r.Days = append(r.Days, date)
	}
	slices.Sort(r.Days)
	totals, tally := ledger.Totals{ByVerdict: make(map[ledger.Verdict]int64)}, ledger.Tally{}
	for p, ranges := range l.applied {
		n := 0
		for n < len(ranges)-1 && ranges[n].Next <= l.archive[p].archived &&
			l.appliedAt[ranges[n].Range].Before(cut.Applied) {
			totals.Add(ranges[n].Outcomes)
			tally.Add(ranges[n].Outcomes)
			n++
		}
		r.Ranges += int64(n)
		if !dry {
			for _, gone := range ranges[:n] {
				delete(l.appliedAt, gone.Range)
			}
			l.applied[p] = slices.Clone(ranges[n:])
		}
	}
	r.Records = totals.Rows
	for name, n := range ledger.PrunedOf(&totals, &tally) {
		sums[name] += n
	}
	for key, d := range l.dead {
		if d.At.Before(cut.Dead) {
			r.Dead++
			sums[ledger.PrunedDead]++
			if !dry {
				delete(l.dead, key)
			}
		}
	}
	for id, c := range s.attempts {
		if c.created.Before(cut.Keys) {
			r.Keys++
			if !dry {
				delete(s.attempts, id)
			}
		}
	}
	s.forgetReports(cut, dry, &r)
	if !dry {
		maps.DeleteFunc(s.sessions, func(_ uuid.UUID, n account.Session) bool { return n.ExpiresAt.Before(cut.Keys) })
		l.horizon = r.Horizon
		if l.pruned == nil {
			l.pruned = make(ledger.Pruned)
		}
		for name, n := range sums {
			l.pruned[name] += n
		}
	}
	return r, nil
}
