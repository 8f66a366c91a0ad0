package books

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
)

const (
	// The horizon's lock ("adnet" and 'h' in ASCII). Settlement shares it from before it reads the
	// Horizon until it commits, so no mark of a day can be written after the horizon has passed
	// that day.
	shareHorizonSQL = `SELECT pg_advisory_xact_lock_shared(x'61646e657468'::bigint)`
	lockHorizonSQL  = `SELECT pg_advisory_xact_lock(x'61646e657468'::bigint)`
	readHorizonSQL  = `SELECT day FROM retention_horizon`
	raiseHorizonSQL = `UPDATE retention_horizon SET day = $1 WHERE day < $1`

	// schemas/postgres/0001_baseline.sql defines the names of partitions.
	markedDaysSQL = `
SELECT day FROM (SELECT replace(substr(c.relname, 14), 'm', '-')::integer AS day FROM pg_inherits i JOIN pg_class c
	ON c.oid = i.inhrelid
	WHERE i.inhparent = 'billed_event'::regclass) days WHERE day <> 0 AND day < $1 ORDER BY day`
	countMarksSQL = `SELECT count(*) FROM billed_event WHERE auction_day <> 0 AND auction_day < $1 AND event_type NOT LIKE 'invalid%' AND event_type <> 'charged_conversion'`
	dropDaySQL    = `SELECT marks FROM billed_event_drop_day($1)`

	prunableSQL = `
FROM applied_batch b JOIN archive_progress a USING (stream, partition)
JOIN consumer_offset o USING (stream, partition)
WHERE b.applied_at < $1 AND b.next_offset <= a.archived_next AND b.next_offset < o.next_offset`
	countPrunableSQL = `SELECT count(*), coalesce(sum(b.next_offset - b.first_offset), 0)::bigint ` + prunableSQL
	// From the oldest on, so that the remaining rows have no gap.
	pruneSQL = `
DELETE FROM applied_batch d USING (
	SELECT b.stream, b.partition, b.first_offset ` + prunableSQL + `
	ORDER BY b.stream, b.partition, b.first_offset LIMIT 500 FOR UPDATE OF b) gone
WHERE d.stream = gone.stream AND d.partition = gone.partition AND d.first_offset = gone.first_offset
RETURNING d.stream, d.partition, d.first_offset, d.next_offset, d.outcomes`

	addPrunedSQL = `
INSERT INTO pruned_total AS p (name, amount) SELECT * FROM unnest($1::text[], $2::bigint[])
ON CONFLICT (name) DO UPDATE SET amount = p.amount + EXCLUDED.amount`
	readPrunedSQL = `SELECT name, amount FROM pruned_total`

	countDeadSQL = `SELECT count(*) FROM dlq WHERE at < $1`
	dropDeadSQL  = `DELETE FROM dlq WHERE at < $1`
)

// queueHorizon reads the horizon and locks it until the transaction ends. The second statement sees
// everything committed while the first waited.
func queueHorizon(batch *pgx.Batch, date *day.Day) {
	batch.Queue(shareHorizonSQL)
	batch.Queue(readHorizonSQL).QueryRow(func(row pgx.Row) error { return row.Scan(date) })
}

// Horizon returns the retention horizon.
func (s *Ledger) Horizon(ctx context.Context) (date day.Day, err error) {
	err = s.Pool.QueryRow(ctx, readHorizonSQL).Scan(&date)
	return date, pg.Failure("read the retention horizon", err)
}

// RaiseHorizon raises the retention horizon once no transaction of settlement holds it.
func (s *Ledger) RaiseHorizon(ctx context.Context, to day.Day) error {
	return s.Transact(ctx, "raise the retention horizon", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockHorizonSQL); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, raiseHorizonSQL, int32(to))
		return err
	})
}

// CountPrunable counts the marks, applied ranges and dead letters that retention would remove.
func CountPrunable(ctx context.Context, tx pgx.Tx, cut ledger.Cutoffs, r *ledger.Removed) (err error) {
	if r.Days, err = markedDays(ctx, tx, r.Horizon); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, countMarksSQL, int32(r.Horizon)).Scan(&r.Marks); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, countPrunableSQL, cut.Applied).Scan(&r.Ranges, &r.Records); err != nil {
		return err
	}
	return tx.QueryRow(ctx, countDeadSQL, cut.Dead).Scan(&r.Dead)
}

// DropDead removes the dead letters from before a time.
func (s *Ledger) DropDead(ctx context.Context, before time.Time) (n int64, err error) {
	err = s.Transact(ctx, "drop dead letters", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, dropDeadSQL, before)
		n = tag.RowsAffected()
		return errors.Join(err, addPruned(ctx, tx, ledger.Pruned{ledger.PrunedDead: n}))
	})
	return n, err
}

func markedDays(ctx context.Context, q pg.Querier, horizon day.Day) ([]day.Day, error) {
	rows, err := q.Query(ctx, markedDaysSQL, int32(horizon))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[day.Day])
}

// DropMarks drops the partitions before the horizon, one transaction each.
func (s *Ledger) DropMarks(ctx context.Context, r *ledger.Removed) error {
	days, err := markedDays(ctx, s.Pool, r.Horizon)
	if err != nil {
		return pg.Failure("list marked days", err)
	}
	for _, date := range days {
		var marks int64
		err := s.Transact(ctx, "drop marks", func(tx pgx.Tx) error {
			// Waiting here would block settlement; the job retries tomorrow.
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '5s'`); err != nil {
				return err
			}
			return tx.QueryRow(ctx, dropDaySQL, int32(date)).Scan(&marks)
		})
		if err != nil {
			return fmt.Errorf("marks of %s: %w", date, err)
		}
		r.Days, r.Marks = append(r.Days, date), r.Marks+marks
	}
	s.days.forget()
	// Two days before the horizon, because the clocks of ingress nodes may differ.
	if _, err := s.Pool.Exec(ctx, dropConversionsSQL, int32(r.Horizon-2)*24); err != nil {
		return pg.Failure("drop hours of conversions", err)
	}
	return nil
}

// Prune removes some applied ranges and stores their sums; more reports whether others may be left.
func (s *Ledger) Prune(ctx context.Context, cut ledger.Cutoffs, r *ledger.Removed) (more bool, err error) {
	var removed applied
	ranges := int64(0)
	err = s.Transact(ctx, "prune applied ranges", func(tx pgx.Tx) error {
		removed, ranges = applied{}, 0
		err := removed.readEach(ctx, tx, pruneSQL, func() { ranges++ }, cut.Applied)
		if err != nil {
			return err
		}
		if removed.damaged != "" {
			return fmt.Errorf("%w: %s", errOutcomes, removed.damaged)
		}
		return addPruned(ctx, tx, ledger.PrunedOf(&removed.totals, &removed.tally))
	})
	r.Ranges, r.Records = r.Ranges+ranges, r.Records+removed.totals.Rows
	return ranges > 0, err
}

func addPruned(ctx context.Context, tx pgx.Tx, p ledger.Pruned) error {
	var names []string
	var amounts []int64
	for name, amount := range p {
		if amount != 0 {
			names, amounts = append(names, name), append(amounts, amount)
		}
	}
	_, err := tx.Exec(ctx, addPrunedSQL, names, amounts)
	return err
}

// pruned reads the sums of the rows removed by retention.
func pruned(ctx context.Context, q pg.Querier) (ledger.Pruned, error) {
	rows, err := q.Query(ctx, readPrunedSQL)
	if err != nil {
		return nil, err
	}
	sums := make(ledger.Pruned)
	var name string
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&name, &amount}, func() error { sums[name] = amount; return nil })
	return sums, err
}
