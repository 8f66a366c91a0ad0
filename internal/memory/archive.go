package memory

import (
	"context"
	"fmt"
	"slices"

	"adnet/internal/errs"
	"adnet/internal/ledger"
)

// Archived answers, for each partition, the offset below which everything is in the analytics store.
// Partitions of which nothing was ever planned are absent.
func (s *Store) Archived(_ context.Context, partitions []ledger.Partition) (map[ledger.Partition]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offsets := make(map[ledger.Partition]int64, len(partitions))
	for _, p := range partitions {
		if at, ok := s.ledger.archive[p]; ok {
			offsets[p] = at.archived
		}
	}
	return offsets, nil
}

// NextChunk is the chunk to archive next: the pending one, the same until it is marked, else a new plan of whole
// applied ranges, at least one and then as many as stay within maxRows. ok is false when everything
// applied is archived.
func (s *Store) NextChunk(_ context.Context, p ledger.Partition, maxRows int) (ledger.Chunk, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied := s.ledger.applied[p]
	if len(applied) == 0 {
		return ledger.Chunk{}, false, nil
	}
	at, started := s.ledger.archive[p]
	if !started {
		at.archived = applied[0].First
	}
	from := slices.IndexFunc(applied, func(a ledger.AppliedRange) bool { return a.First >= at.archived })
	if from < 0 {
		return ledger.Chunk{}, false, nil
	}
	chunk := ledger.Chunk{Range: ledger.Range{Partition: p, First: at.archived, Next: at.archived}}
	for _, a := range applied[from:] {
		if at.planned != 0 && a.First >= at.planned {
			break
		}
		if at.planned == 0 && a.First > at.archived && a.Next-at.archived > int64(maxRows) {
			break
		}
		if a.First != chunk.Next {
			return ledger.Chunk{}, false, fmt.Errorf("applied ranges of %s/%d have a gap at %d", p.Stream, p.Number, chunk.Next)
		}
		chunk.Next, chunk.Outcomes = a.Next, append(chunk.Outcomes, a.Outcomes...)
	}
	at.planned = chunk.Next
	s.ledger.archive[p] = at
	return chunk, true, nil
}

// MarkArchived says that the pending chunk is in the analytics store. Marking a chunk again changes nothing.
// Errors: errs.Conflict when the chunk is neither archived nor the pending one.
func (s *Store) MarkArchived(_ context.Context, c ledger.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.ledger.archive[c.Partition]
	switch {
	case at.archived >= c.Next:
		return nil
	case at.archived != c.First || at.planned != c.Next:
		return errs.New(errs.Conflict, "chunk %s is not the pending one", c.Range)
	}
	s.ledger.archive[c.Partition] = progress{archived: c.Next}
	return nil
}

// ArchivedTotals sums what was marked as archived; the analytics store must count the same.
func (s *Store) ArchivedTotals(_ context.Context) (ledger.Totals, error) {
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
	return totals, nil
}
