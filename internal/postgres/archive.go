package postgres

import (
	"context"
	"errors"
	"fmt"

	"adnet/internal/errs"
	"adnet/internal/ledger"

	"github.com/jackc/pgx/v5"
)

const (
	archivedSQL = `
SELECT a.stream, a.partition, a.archived_next FROM archive_progress a
JOIN unnest($1::text[], $2::integer[]) AS want (stream, partition) USING (stream, partition)`

	progressSQL = `
SELECT archived_next, planned_next FROM archive_progress WHERE stream = $1 AND partition = $2`

	firstAppliedSQL = `
SELECT min(first_offset) FROM applied_batch WHERE stream = $1 AND partition = $2`

	// The inner limit keeps a long backlog from being summed; every range has at least one row.
	planSQL = `
SELECT max(next_offset) FROM (
	SELECT first_offset, next_offset FROM applied_batch
	WHERE stream = $1 AND partition = $2 AND first_offset >= $3 ORDER BY first_offset LIMIT least($4::bigint, 10000)
) ahead WHERE next_offset - $3 <= $4 OR first_offset = $3`

	// Whoever plans first wins; the other reads the winner's plan. The row's archived_next must still be what the
	// plan was made from.
	storePlanSQL = `
INSERT INTO archive_progress AS a (stream, partition, archived_next, planned_next)
SELECT $1, $2, $3::bigint, $4::bigint WHERE NOT EXISTS (SELECT FROM archive_hold WHERE held_until > clock_timestamp())
ON CONFLICT (stream, partition) DO UPDATE SET planned_next = EXCLUDED.planned_next
WHERE a.archived_next = EXCLUDED.archived_next AND a.planned_next IS NULL`

	heldSQL = `SELECT EXISTS (SELECT FROM archive_hold WHERE held_until > clock_timestamp())`

	chunkSQL = `
SELECT first_offset, next_offset, outcomes FROM applied_batch
WHERE stream = $1 AND partition = $2 AND first_offset >= $3 AND first_offset < $4 ORDER BY first_offset`

	markArchivedSQL = `
UPDATE archive_progress SET archived_next = planned_next, planned_next = NULL
WHERE stream = $1 AND partition = $2 AND archived_next = $3 AND planned_next = $4`
)

// Archived answers, for each partition, the offset below which everything is in the analytics store.
// Partitions of which nothing was ever planned are absent.
func (s *Store) Archived(ctx context.Context, partitions []ledger.Partition) (map[ledger.Partition]int64, error) {
	streams, numbers := splitPartitions(partitions)
	rows, err := s.pool.Query(ctx, archivedSQL, streams, numbers)
	if err != nil {
		return nil, failure("read archive offsets", err)
	}
	offsets, err := collectOffsets(rows)
	return offsets, failure("read archive offsets", err)
}

// NextChunk is the chunk to archive next: the pending one, the same until it is marked, else a new plan of whole
// applied ranges, at least one and then as many as stay within maxRows. The plan is stored before it is
// returned, so a crash at any later point is followed by the same block under the same token; two
// owners that ask at once get the same plan. ok is false when everything applied is archived.
func (s *Store) NextChunk(ctx context.Context, p ledger.Partition, maxRows int) (ledger.Chunk, bool, error) {
	for range 3 { // a lost race leaves a pending plan, so the second look finds it unless it is already archived
		plan, pending, err := s.progress(ctx, p)
		if err != nil {
			return ledger.Chunk{}, false, failure("read archive plan", err)
		}
		if pending {
			chunk, err := s.loadChunk(ctx, plan)
			return chunk, err == nil, failure("read chunk", err)
		}
		stored, empty, err := s.plan(ctx, plan, maxRows)
		if err != nil || empty {
			return ledger.Chunk{}, false, failure("plan chunk", err)
		}
		if stored.Next != 0 {
			chunk, err := s.loadChunk(ctx, stored)
			return chunk, err == nil, failure("read chunk", err)
		}
	}
	return ledger.Chunk{}, false, errs.New(errs.Unavailable, "another archiver is working on %s/%d", p.Stream, p.Number)
}

// progress is the pending range of a partition, or an empty one at the offset where the next plan starts.
func (s *Store) progress(ctx context.Context, p ledger.Partition) (r ledger.Range, pending bool, err error) {
	var planned, first *int64
	r.Partition = p
	err = s.pool.QueryRow(ctx, progressSQL, p.Stream, p.Number).Scan(&r.First, &planned)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = s.pool.QueryRow(ctx, firstAppliedSQL, p.Stream, p.Number).Scan(&first)
		if first != nil {
			r.First = *first
		}
	case planned != nil:
		r.Next, pending = *planned, true
	}
	return r, pending, err
}

// plan chooses and stores the range that starts at from.First. The result has no Next when another owner was
// quicker; empty says that nothing is left to archive.
func (s *Store) plan(ctx context.Context, from ledger.Range, maxRows int) (r ledger.Range, empty bool, err error) {
	var next *int64
	err = s.pool.QueryRow(ctx, planSQL, from.Stream, from.Number, from.First, int64(max(1, maxRows))).Scan(&next)
	if err != nil || next == nil {
		return ledger.Range{}, err == nil, err
	}
	tag, err := s.pool.Exec(ctx, storePlanSQL, from.Stream, from.Number, from.First, *next)
	if err == nil && tag.RowsAffected() == 0 {
		// Another owner was quicker, or a backup holds the archive: then there is nothing to do for now.
		err = s.pool.QueryRow(ctx, heldSQL).Scan(&empty)
	}
	if err != nil || tag.RowsAffected() == 0 {
		return ledger.Range{}, empty, err
	}
	from.Next = *next
	return from, false, nil
}

// loadChunk reads the outcomes of a planned range. They never change, so every load of one plan is equal.
func (s *Store) loadChunk(ctx context.Context, r ledger.Range) (ledger.Chunk, error) {
	rows, err := s.pool.Query(ctx, chunkSQL, r.Stream, r.Number, r.First, r.Next)
	if err != nil {
		return ledger.Chunk{}, err
	}
	chunk := ledger.Chunk{Range: r}
	at := r.First
	var first, next int64
	var packed []byte
	_, err = pgx.ForEachRow(rows, []any{&first, &next, &packed}, func() error {
		if first != at {
			return fmt.Errorf("applied ranges of %s/%d have a gap or overlap at %d", r.Stream, r.Number, at)
		}
		at = next
		chunk.Outcomes, err = decodeOutcomes(chunk.Outcomes, packed)
		return err
	})
	if err == nil && (at != r.Next || int64(len(chunk.Outcomes)) != r.Next-r.First) {
		err = fmt.Errorf("chunk %s has %d outcomes up to %d", r, len(chunk.Outcomes), at)
	}
	return chunk, err
}

// MarkArchived says that the pending chunk is in the analytics store. Marking a chunk again changes nothing.
// Errors: errs.Conflict when the chunk is neither archived nor the pending one.
func (s *Store) MarkArchived(ctx context.Context, c ledger.Chunk) error {
	tag, err := s.pool.Exec(ctx, markArchivedSQL, c.Stream, c.Number, c.First, c.Next)
	if err != nil || tag.RowsAffected() == 1 {
		return failure("mark chunk", err)
	}
	archived, err := s.Archived(ctx, []ledger.Partition{c.Partition})
	if err != nil {
		return err
	}
	if archived[c.Partition] < c.Next {
		return errs.New(errs.Conflict, "chunk %s is not the pending one", c.Range)
	}
	return nil
}
