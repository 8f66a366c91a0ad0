package settle

import (
	"context"
	"fmt"
	"slices"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// batch decodes the records of one poll into runs that start exactly where each partition stopped:
// records that were applied before are left out, and offsets missing from the log are filled with
// poison records. The runs are sorted, so that all settlers lock partitions in the same order. rest
// reports that a gap did not fit and the same records must be batched once more after this batch is
// applied.
func (s *Settler) batch(ctx context.Context, records []event.Record) (b ledger.Batch, rest bool, err error) {
	runs, err := s.openRuns(ctx, records)
	if err != nil {
		return b, false, err
	}
	for i := range records {
		r := &records[i]
		run := runs[partitionOf(r)]
		for run.Next < r.Offset && len(run.Records) < s.cfg.MaxBatch {
			run.Records = append(run.Records, ledger.Record{Problem: problemLost})
			run.Next++
		}
		switch {
		case run.Next == r.Offset:
			run.Records = append(run.Records, s.decoder.record(r))
			run.Next++
		case run.Next < r.Offset:
			rest = true
		}
	}
	b = ledger.Batch{
		At: s.now().UTC(), Prepaid: s.cfg.Prepaid, MintCap: money.Credits(s.cfg.MintCap),
		ConversionCap: s.cfg.ConversionCap, NetworkClicks: s.cfg.NetworkClicks,
	}
	for _, run := range runs {
		if len(run.Records) > 0 {
			b.Runs = append(b.Runs, *run)
		}
	}
	slices.SortFunc(b.Runs, func(a, b ledger.Run) int { return a.Partition.Compare(b.Partition) })
	return b, rest, nil
}

// openRuns starts an empty run for every partition of the records, at the partition's next offset.
// A cached offset is only read again when it does not fit the records: another settler may have had
// the partition in between.
func (s *Settler) openRuns(ctx context.Context, records []event.Record) (map[stream.Partition]*ledger.Run, error) {
	runs := make(map[stream.Partition]*ledger.Run)
	counts := make(map[stream.Partition]int)
	first := make(map[stream.Partition]int64)
	var doubtful []stream.Partition
	for i := range records {
		p := partitionOf(&records[i])
		counts[p]++
		if runs[p] != nil {
			continue
		}
		first[p] = records[i].Offset
		next, known := s.next[p]
		runs[p] = &ledger.Run{Range: stream.Range{Partition: p, First: next, Next: next}}
		if !known || next != records[i].Offset {
			doubtful = append(doubtful, p)
		}
	}
	if len(doubtful) > 0 {
		offsets, err := s.store.Offsets(ctx, doubtful)
		if err != nil {
			return nil, fmt.Errorf("read offsets: %w", err)
		}
		for _, p := range doubtful {
			at, applied := offsets[p]
			if !applied {
				at = first[p] // retention may have taken the head of the log before adnet first saw it
			}
			runs[p].First, runs[p].Next = at, at
		}
	}
	for p, n := range counts {
		runs[p].Records = make([]ledger.Record, 0, n)
	}
	return runs, nil
}

func partitionOf(r *event.Record) stream.Partition {
	return stream.Partition{Stream: r.TopicID, Number: r.Partition}
}
