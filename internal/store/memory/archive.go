package memory

import (
	"context"
	"fmt"
	"slices"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/stream"
)

// Archived returns, for each partition, the offset below which everything is in the analytics
// store. Partitions without any plan so far are absent.
func (s *Archive) Archived(_ context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offsets := make(map[stream.Partition]int64, len(partitions))
	for _, p := range partitions {
		if at, ok := s.ledger.archive[p]; ok {
			offsets[p] = at.archived
		}
	}
	return offsets, nil
}

// NextPlan returns the next insert of the given partitions. This is the pending plan that includes
// one of them, until it is marked; otherwise a new plan of whole applied ranges below each
// partition's Next, with at most maxRows rows but at least one range. An empty plan means that
// there is nothing to archive.
func (s *Archive) NextPlan(_ context.Context, held []stream.Range, maxRows int) (ledger.Planned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held = slices.SortedFunc(
		slices.Values(held), func(a, b stream.Range) int { return a.Partition.Compare(b.Partition) },
	)
	for _, r := range held {
		if plan := s.ledger.archive[r.Partition].plan; plan != nil {
			return plan, nil
		}
	}
	var plan ledger.Planned
	rows := 0
	for _, r := range held {
		chunk, err := s.ledger.chunk(r, maxRows, rows)
		if err != nil {
			return nil, err
		}
		if rows += len(chunk.Outcomes); len(chunk.Outcomes) > 0 {
			plan = append(plan, chunk)
		}
	}
	for _, c := range plan {
		s.ledger.archive[c.Partition] = progress{archived: c.First, plan: plan}
	}
	return plan, nil
}

// chunk is the part of a partition that fits into a plan that already has some rows.
func (l *ledgerState) chunk(within stream.Range, maxRows, rows int) (ledger.AppliedRange, error) {
	applied := l.applied[within.Partition]
	chunk := ledger.AppliedRange{Range: stream.Range{Partition: within.Partition}}
	if len(applied) == 0 {
		return chunk, nil
	}
	chunk.First = applied[0].First
	if at, started := l.archive[within.Partition]; started {
		chunk.First = at.archived
	}
	chunk.Next = chunk.First
	for _, a := range applied {
		switch {
		case a.Next <= chunk.First:
			continue
		case a.Next > within.Next, rows > 0 && rows+int(a.Next-a.First) > maxRows:
			return chunk, nil
		case a.First != chunk.Next:
			return chunk, fmt.Errorf("applied ranges of %s/%d have a gap at %d", chunk.Stream, chunk.Number, chunk.Next)
		}
		chunk.Next, chunk.Outcomes = a.Next, append(chunk.Outcomes, a.Outcomes...)
		rows += int(a.Next - a.First)
	}
	return chunk, nil
}

// MarkArchived records that a pending plan is in the analytics store. Marking it again changes
// nothing. Errors: errs.Conflict when the plan is neither archived nor pending in this form.
func (s *Archive) MarkArchived(_ context.Context, plan stream.Plan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range plan {
		at := s.ledger.archive[c.Partition]
		if at.archived < c.Next && (at.plan == nil || at.plan.Plan().Token() != plan.Token()) {
			return errs.New(errs.Conflict, "chunk %s is not a pending one", c)
		}
	}
	for _, c := range plan {
		if s.ledger.archive[c.Partition].archived < c.Next {
			s.ledger.archive[c.Partition] = progress{archived: c.Next}
		}
		if c.Stream == ledger.EarlyStream {
			s.ledger.early.drop(c.Partition, s.ledger.archive[c.Partition].archived)
		}
	}
	return nil
}

// ArchivedTotals sums the rows marked as archived; the analytics store must reach the same sums.
func (s *Archive) ArchivedTotals(_ context.Context) (ledger.Totals, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	totals := ledger.Totals{ByVerdict: make(map[ledger.Verdict]int64)}
	for p, ranges := range s.ledger.applied {
		for _, a := range ranges {
			if a.Next <= s.ledger.archive[p].archived {
				totals.Add(a.Outcomes)
			}
		}
	}
	s.ledger.pruned.AddTo(&totals, new(ledger.Tally))
	return totals.WithoutEarly(), nil
}
