package books

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

const (
	// The table is small: judged rows leave it once they are archived.
	// A claw-back also applies to what follows later from ads before it.
	anyEarlySQL = `
SELECT EXISTS (SELECT FROM early_event WHERE judged_offset IS NULL), EXISTS (SELECT FROM quarantine
	WHERE campaign_id IS NOT NULL AND decision IS DISTINCT FROM 'release')`

	earlyColumns = `SELECT id, stream, partition, record_offset, auction_id, written_at, value, campaign_id, developer_id,
	held FROM early_event h
WHERE judged_offset IS NULL AND `

	// By id, so that two appliers cannot deadlock.
	earlyOfSQL = earlyColumns + `auction_id = ANY($1::uuid[]) ORDER BY id FOR UPDATE`

	// Another applier judges the rows that it has locked.
	earlyDueSQL = earlyColumns + `NOT held AND (written_at <= $4 OR EXISTS (
	SELECT FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS due (stream, partition, written)
	WHERE due.stream = h.stream AND due.partition = h.partition AND h.written_at <= due.written))
ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED`

	holdEarlySQL = `
INSERT INTO early_event (stream, partition, record_offset, auction_id, written_at, value, campaign_id, developer_id,
	held)
SELECT * FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::uuid[], $5::timestamptz[], $6::bytea[], $7::uuid[],
	$8::uuid[], $9::boolean[])`

	// The offset is locked until the transaction ends, so commits follow its order.
	judgeEarlySQL = `
WITH moved AS (
	INSERT INTO consumer_offset AS o (stream, partition, next_offset) VALUES ($1, $2, cardinality($3::bigint[]))
	ON CONFLICT (stream, partition) DO UPDATE SET next_offset = o.next_offset + EXCLUDED.next_offset
	RETURNING next_offset - cardinality($3) AS first
), judged AS (
	UPDATE early_event h SET judged_partition = $2, judged_offset = moved.first + want.nr - 1
	FROM moved, unnest($3::bigint[]) WITH ORDINALITY AS want (id, nr) WHERE h.id = want.id AND h.judged_offset IS NULL
	RETURNING h.stream, h.partition, h.record_offset, h.judged_partition, h.judged_offset
), placed AS (
	INSERT INTO early_verdict (stream, partition, record_offset, judged_partition, judged_offset) SELECT * FROM judged
	RETURNING record_offset
)
SELECT moved.first, (SELECT count(*) FROM placed) FROM moved`

	markConvertedSQL = `
INSERT INTO billed_event (auction_day, auction_id, event_type)
SELECT day, id, $3 FROM unnest($1::integer[], $2::uuid[]) AS k (day, id)`

	judgedColumns = `
SELECT judged_partition, judged_offset, written_at, value FROM early_event WHERE judged_offset IS NOT NULL `

	judgedSQL = judgedColumns + `ORDER BY judged_partition, judged_offset LIMIT $1`

	judgedWithinSQL = judgedColumns + `AND judged_partition = $1 AND judged_offset >= $2 AND judged_offset < $3
ORDER BY judged_offset`

	dropArchivedEarlySQL = `
DELETE FROM early_event h USING archive_progress a
WHERE a.stream = $1 AND a.partition = h.judged_partition AND h.judged_offset < a.archived_next`

	// The outcomes of their offsets are gone.
	pruneEarlySQL = `
DELETE FROM early_verdict WHERE (stream, partition, record_offset) IN (
	SELECT v.stream, v.partition, v.record_offset FROM early_verdict v WHERE v.judged_offset < (
		SELECT min(b.first_offset) FROM applied_batch b WHERE b.stream = $1 AND b.partition = v.judged_partition)
	LIMIT 500)`

	earlyVerdictsSQL = `
SELECT record_offset, judged_partition, judged_offset FROM early_verdict WHERE stream = $1 AND partition = $2`
)

// Early returns the selected early events and locks them. AdvanceOffsets has read whether there are
// any.
func (b *batchTx) Early(ctx context.Context, query func() ledger.EarlyQuery) ([]ledger.Early, error) {
	if !b.anyEarly {
		return nil, nil
	}
	q := query()
	n := len(q.Due)
	streams, numbers, times := make([]string, n), make([]int32, n), make([]time.Time, n)
	for i, d := range q.Due {
		streams[i], numbers[i], times[i] = d.Stream, d.Number, d.Written
	}
	found := make(map[int64]ledger.Early)
	collect := func(rows pgx.Rows) error {
		var e ledger.Early
		var auction [16]byte
		fields := []any{
			&e.ID, &e.Stream, &e.Number, &e.Offset, &auction, &e.Written, &e.Value, &e.CampaignID, &e.DeveloperID, &e.Held,
		}
		_, err := pgx.ForEachRow(rows, fields, func() error {
			e.Auction, e.Written = auction, e.Written.UTC()
			found[e.ID] = e
			e.Value = nil // the next row gets memory of its own
			return nil
		})
		return err
	}
	var batch pgx.Batch
	batch.Queue(earlyOfSQL, rawIDs(q.Auctions)).Query(collect)
	batch.Queue(earlyDueSQL, streams, numbers, times, q.Stray, q.Limit).Query(collect)
	batch.Queue(heldDueSQL, q.Held, q.Limit).Query(collect)
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read early events: %w", err)
	}
	return ledger.SortEarly(found), nil
}

// Judge places early events in [ledger.EarlyStream] and claims their offsets.
func (b *batchTx) Judge(ctx context.Context, number int32, ids []int64) (stream.Range, error) {
	r := stream.Range{Partition: stream.Partition{Stream: ledger.EarlyStream, Number: number}}
	var placed int64
	if err := b.tx.QueryRow(ctx, judgeEarlySQL, r.Stream, r.Number, ids).Scan(&r.First, &placed); err != nil {
		return r, fmt.Errorf("place early events: %w", err)
	}
	if placed != int64(len(ids)) {
		return r, fmt.Errorf("%d of %d early events were placed: %w", placed, len(ids), ledger.ErrFenced)
	}
	r.Next = r.First + placed
	b.claimed[r] = false
	return r, nil
}

// queueEarly stores the batch's early events and the marks of its charged conversions. A mark of
// another transaction fails the batch, which finds it in the next try.
func queueEarly(batch *pgx.Batch, e ledger.Effects) {
	if n := len(e.Early); n > 0 {
		streams, numbers, offsets := make([]string, n), make([]int32, n), make([]int64, n)
		auctions, times, values := make([][16]byte, n), make([]time.Time, n), make([][]byte, n)
		campaigns, developers, held := make([][16]byte, n), make([][16]byte, n), make([]bool, n)
		for i := range e.Early {
			h := &e.Early[i]
			streams[i], numbers[i], offsets[i] = h.Stream, h.Number, h.Offset
			auctions[i], times[i], values[i] = h.Auction, h.Written, append([]byte{}, h.Value...) // never NULL
			campaigns[i], developers[i], held[i] = h.CampaignID, h.DeveloperID, h.Held
		}
		batch.Queue(holdEarlySQL, streams, numbers, offsets, auctions, times, values, campaigns, developers, held)
	}
	if n := len(e.Converted); n > 0 {
		days, auctions := make([]int32, n), make([][16]byte, n)
		for i, key := range e.Converted {
			days[i], auctions[i] = int32(key.Day), key.Auction
		}
		batch.Queue(markConvertedSQL, days, auctions, string(ledger.ChargedConversion))
	}
}

// Judged returns judged early events that may not be archived yet, by partition and offset.
func (s *Archive) Judged(ctx context.Context, limit int) ([]ledger.Judged, error) {
	rows, err := s.Pool.Query(ctx, judgedSQL, limit)
	return collectJudged(rows, err)
}

// JudgedWithin returns the judged early events of a range that are not dropped yet, by offset.
func (s *Archive) JudgedWithin(ctx context.Context, r stream.Range) ([]ledger.Judged, error) {
	rows, err := s.Pool.Query(ctx, judgedWithinSQL, r.Number, r.First, r.Next)
	return collectJudged(rows, err)
}

func collectJudged(rows pgx.Rows, err error) ([]ledger.Judged, error) {
	if err != nil {
		return nil, pg.Failure("read judged events", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Judged, error) {
		j := ledger.Judged{Partition: stream.Partition{Stream: ledger.EarlyStream}}
		err := row.Scan(&j.Number, &j.Offset, &j.Written, &j.Value)
		j.Written = j.Written.UTC()
		return j, err
	})
	return list, pg.Failure("read judged events", err)
}

// EarlyVerdicts returns the places in [ledger.EarlyStream] of a partition's early events, by offset
// of the log. Events that still wait are absent.
func (s *Archive) EarlyVerdicts(ctx context.Context, p stream.Partition) (map[int64]stream.Range, error) {
	rows, err := s.Pool.Query(ctx, earlyVerdictsSQL, p.Stream, p.Number)
	if err != nil {
		return nil, pg.Failure("read verdicts of early events", err)
	}
	places := make(map[int64]stream.Range)
	r := stream.Range{Partition: stream.Partition{Stream: ledger.EarlyStream}}
	var offset int64
	_, err = pgx.ForEachRow(rows, []any{&offset, &r.Number, &r.First}, func() error {
		r.Next = r.First + 1
		places[offset] = r
		return nil
	})
	return places, pg.Failure("read verdicts of early events", err)
}

// PruneEarly removes the places of early events whose outcomes are pruned.
func (s *Ledger) PruneEarly(ctx context.Context) error {
	for {
		tag, err := s.Pool.Exec(ctx, pruneEarlySQL, ledger.EarlyStream)
		if err != nil || tag.RowsAffected() == 0 {
			return pg.Failure("prune verdicts of early events", err)
		}
	}
}
