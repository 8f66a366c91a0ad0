package books

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

// Archive stores the archive's progress and its plans.
type Archive struct{ *pg.Core }

const (
	archivedSQL = `
SELECT a.stream, a.partition, a.archived_next FROM archive_progress a
JOIN unnest($1::text[], $2::integer[]) AS want (stream, partition) USING (stream, partition)`

	// Returns where the next plan of each partition starts, and its pending plan, if any. A
	// partition without a plan starts at its first applied offset.
	progressSQL = `
SELECT want.stream, want.partition, coalesce(a.archived_next,
	(SELECT min(first_offset) FROM applied_batch b WHERE b.stream = want.stream AND b.partition = want.partition)),
		a.plan
FROM unnest($1::text[], $2::integer[]) AS want (stream, partition) LEFT JOIN archive_progress a USING (stream,
	partition)
ORDER BY want.stream COLLATE "C", want.partition`

	pendingSQL = `
SELECT stream, partition, archived_next, planned_to FROM archive_progress WHERE plan = $1 ORDER BY stream, partition`

	// The limit avoids reading a long backlog. Every range has at least one row.
	appliedSQL = `
SELECT want.nr, b.first_offset, b.next_offset, b.outcomes
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS want (stream, partition, first,
	upto, nr)
CROSS JOIN LATERAL (
	SELECT first_offset, next_offset, outcomes FROM applied_batch
	WHERE stream = want.stream AND partition = want.partition AND first_offset >= want.first
		AND next_offset <= want.upto
	ORDER BY first_offset LIMIT $5
) b ORDER BY want.nr, b.first_offset`

	// The first planner wins, and the other reads the winner's plan. A row's archived_next must
	// still be the offset from which the plan was made. Rows are locked in the order of the plan.
	storePlanSQL = `
INSERT INTO archive_progress AS a (stream, partition, archived_next, planned_to, plan)
SELECT stream, partition, first, upto, $5 FROM unnest($1::text[], $2::integer[], $3::bigint[],
	$4::bigint[]) AS new (stream, partition, first, upto)
WHERE NOT EXISTS (SELECT FROM archive_hold WHERE held_until > clock_timestamp())
ON CONFLICT (stream, partition) DO UPDATE SET planned_to = EXCLUDED.planned_to, plan = EXCLUDED.plan
WHERE a.archived_next = EXCLUDED.archived_next AND a.plan IS NULL`

	heldSQL = `SELECT EXISTS (SELECT FROM archive_hold WHERE held_until > clock_timestamp())`

	markArchivedSQL = `
UPDATE archive_progress a SET archived_next = planned_to, planned_to = NULL, plan = NULL
FROM (
	SELECT stream, partition, first, upto FROM archive_progress
	JOIN unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[]) AS done (stream, partition, first,
		upto) USING (stream, partition)
	ORDER BY stream, partition FOR UPDATE OF archive_progress
) done
WHERE a.stream = done.stream AND a.partition = done.partition AND a.archived_next = done.first
	AND a.planned_to = done.upto
	AND (SELECT count(*) FROM archive_progress whole WHERE whole.plan = a.plan) = cardinality($1)`
)

// maxPlannedRanges bounds the applied ranges of one partition in one plan.
const maxPlannedRanges = 10_000

// Archived returns, for each partition, the offset below which everything is in the analytics
// store. Partitions without a plan are absent.
func (s *Archive) Archived(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	streams, numbers := splitPartitions(partitions)
	rows, err := s.Pool.Query(ctx, archivedSQL, streams, numbers)
	if err != nil {
		return nil, pg.Failure("read archive offsets", err)
	}
	offsets, err := CollectOffsets(rows)
	return offsets, pg.Failure("read archive offsets", err)
}

// NextPlan returns the next insert of some partitions. If one of them is part of a pending plan, it
// returns that plan with all its partitions, the same one until it is marked. Otherwise it makes a
// new plan of whole applied ranges below each partition's Next, the highest offset that the caller
// can archive. A new plan has at most maxRows rows, but at least one range. It is stored before it
// is returned: after a crash at any later point the same block is inserted under the same token,
// and concurrent owners get the same plan. An empty plan means that there is nothing to archive.
func (s *Archive) NextPlan(ctx context.Context, held []stream.Range, maxRows int) (ledger.Planned, error) {
	for range 3 { // a lost race leaves a pending plan, so the second look finds it unless it is already archived
		from, pending, err := s.progress(ctx, held)
		if err != nil {
			return nil, pg.Failure("read archive plan", err)
		}
		if pending != uuid.Nil {
			plan, err := s.pending(ctx, pending)
			if err != nil || len(plan) > 0 {
				return plan, pg.Failure("read plan", err)
			}
			continue // it was marked meanwhile
		}
		plan, err := s.applied(ctx, from, maxRows)
		if err != nil || len(plan) == 0 {
			return nil, pg.Failure("plan", err)
		}
		stored, err := s.storePlan(ctx, plan.Plan())
		if stored {
			return plan, nil
		}
		// Another owner was quicker, or a backup holds the archive. In the second case there is
		// nothing to do now.
		var hold bool
		if err == nil {
			err = s.Pool.QueryRow(ctx, heldSQL).Scan(&hold)
		}
		if err != nil || hold {
			return nil, pg.Failure("store plan", err)
		}
	}
	return nil, errs.New(errs.Unavailable, "another archiver is working on the same partitions")
}

// progress returns the next offset of each partition, ordered, and the pending plan that includes
// one of them. Partitions without applied ranges are left out.
func (s *Archive) progress(ctx context.Context, held []stream.Range) (from []stream.Range, pending uuid.UUID, err error) {
	upto := make(map[stream.Partition]int64, len(held))
	partitions := make([]stream.Partition, len(held))
	for i, r := range held {
		partitions[i], upto[r.Partition] = r.Partition, r.Next
	}
	streams, numbers := splitPartitions(partitions)
	rows, err := s.Pool.Query(ctx, progressSQL, streams, numbers)
	if err != nil {
		return nil, uuid.Nil, err
	}
	var p stream.Partition
	var first *int64
	var plan *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&p.Stream, &p.Number, &first, &plan}, func() error {
		if plan != nil {
			pending = *plan
		}
		if first != nil {
			from = append(from, stream.Range{Partition: p, First: *first, Next: upto[p]})
		}
		return nil
	})
	return from, pending, err
}

// pending reads a plan with its outcomes. They never change, so every read of a plan is equal.
func (s *Archive) pending(ctx context.Context, plan uuid.UUID) (ledger.Planned, error) {
	rows, err := s.Pool.Query(ctx, pendingSQL, plan)
	if err != nil {
		return nil, err
	}
	var ranges []stream.Range
	var r stream.Range
	_, err = pgx.ForEachRow(rows, []any{&r.Stream, &r.Number, &r.First, &r.Next}, func() error {
		ranges = append(ranges, r)
		return nil
	})
	if err != nil || len(ranges) == 0 {
		return nil, err
	}
	chunks, err := s.applied(ctx, ranges, 0)
	for i, r := range ranges {
		if err == nil && (i >= len(chunks) || chunks[i].Range != r) {
			err = fmt.Errorf("applied ranges of the plan for %s are missing", r)
		}
	}
	return chunks, err
}

// applied returns settlement's verdicts within some ranges, without a gap from the first offset of
// each. maxRows bounds their total, but at least one applied range is returned; 0 means no bound.
func (s *Archive) applied(ctx context.Context, within []stream.Range, maxRows int) (ledger.Planned, error) {
	streams, numbers, firsts, nexts := splitRanges(within)
	var limit *int64 // no limit
	if maxRows > 0 {
		most := int64(min(maxRows, maxPlannedRanges))
		limit = &most
	}
	rows, err := s.Pool.Query(ctx, appliedSQL, streams, numbers, firsts, nexts, limit)
	if err != nil {
		return nil, err
	}
	var plan ledger.Planned
	var nr, first, next int64
	var packed []byte
	total, full, last := 0, int64(0), int64(0)
	_, err = pgx.ForEachRow(rows, []any{&nr, &first, &next, &packed}, func() error {
		if full == nr || maxRows > 0 && total > 0 && total+int(next-first) > maxRows {
			full = nr // later ranges of the partition must be left out as well
			return nil
		}
		if nr != last {
			r := within[nr-1]
			plan, last = append(
				plan, ledger.AppliedRange{Range: stream.Range{Partition: r.Partition, First: r.First, Next: r.First}},
			), nr
		}
		chunk := &plan[len(plan)-1]
		if first != chunk.Next {
			return fmt.Errorf(
				"applied ranges of %s/%d have a gap or overlap at %d", chunk.Stream, chunk.Number, chunk.Next,
			)
		}
		chunk.Next, total = next, total+int(next-first)
		chunk.Outcomes, err = DecodeOutcomes(chunk.Outcomes, packed)
		return err
	})
	for _, c := range plan {
		if err == nil && int64(len(c.Outcomes)) != c.Next-c.First {
			err = fmt.Errorf("chunk %s has %d outcomes", c.Range, len(c.Outcomes))
		}
	}
	return plan, err
}

// errOutrun ends the transaction of a plan that cannot be stored as a whole.
var errOutrun = errors.New("another owner was quicker")

// storePlan stores all of a plan or nothing.
func (s *Archive) storePlan(ctx context.Context, plan stream.Plan) (bool, error) {
	streams, numbers, firsts, nexts := splitRanges(plan)
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, storePlanSQL, streams, numbers, firsts, nexts, uuid.New())
		if err == nil && tag.RowsAffected() != int64(len(plan)) {
			err = errOutrun
		}
		return err
	})
	if errors.Is(err, errOutrun) {
		return false, nil
	}
	return err == nil, err
}

// MarkArchived records that a pending plan is in the analytics store. Marking it again changes
// nothing. Errors: errs.Conflict when a chunk is neither archived nor pending as given.
func (s *Archive) MarkArchived(ctx context.Context, plan stream.Plan) error {
	streams, numbers, firsts, nexts := splitRanges(plan)
	tag, err := s.Pool.Exec(ctx, markArchivedSQL, streams, numbers, firsts, nexts)
	if err == nil && slices.ContainsFunc(plan, func(r stream.Range) bool { return r.Stream == ledger.EarlyStream }) {
		_, err = s.Pool.Exec(ctx, dropArchivedEarlySQL, ledger.EarlyStream)
	}
	if err != nil || tag.RowsAffected() == int64(len(plan)) {
		return pg.Failure("mark plan", err)
	}
	partitions := make([]stream.Partition, len(plan))
	for i, r := range plan {
		partitions[i] = r.Partition
	}
	archived, err := s.Archived(ctx, partitions)
	if err != nil {
		return err
	}
	for _, r := range plan {
		if archived[r.Partition] < r.Next {
			return errs.New(errs.Conflict, "chunk %s is not a pending one", r)
		}
	}
	return nil
}
