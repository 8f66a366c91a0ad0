package campaigns

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger/reserve"
	"adnet/internal/store/postgres/pg"
)

// Journal stores the nodes' journals of spending.
type Journal struct{ *pg.Core }

const (
	keepPage = `
WITH writer AS (
	INSERT INTO reservation_writer AS w (node, epoch, acked, seen, closed) VALUES ($1, $2, $3, clock_timestamp(), $4)
	ON CONFLICT (node) DO UPDATE SET epoch = greatest(w.epoch, EXCLUDED.epoch),
		acked = CASE WHEN w.epoch > EXCLUDED.epoch THEN w.acked WHEN w.epoch < EXCLUDED.epoch THEN EXCLUDED.acked
			ELSE greatest(w.acked, EXCLUDED.acked) END,
		seen = greatest(w.seen, EXCLUDED.seen), closed = w.closed OR EXCLUDED.closed)
INSERT INTO reservation_page (node, page, entries) SELECT $1, $5, $6::bytea WHERE length($6::bytea) > 0`

	// The row's lock serializes several projectors.
	watch = `
WITH old AS (SELECT last, clock_timestamp() AS at FROM reservation_watch FOR UPDATE),
missed AS (INSERT INTO reservation_gap (began, ended)
	SELECT least(last, at - $2::interval), at FROM old WHERE at - last > $1::interval OR $2::interval > interval '0'
		RETURNING 1),
seen AS (UPDATE reservation_watch SET last = old.at FROM old)
SELECT count(*) FROM missed`

	selectWriters = `
SELECT node, epoch, acked, closed, seen, clock_timestamp() FROM reservation_writer
	WHERE seen > clock_timestamp() - $1::interval`

	selectGaps = `
SELECT began, ended, clock_timestamp() FROM reservation_gap WHERE ended > clock_timestamp() - $1::interval`

	selectPages = `
SELECT entries FROM reservation_page WHERE node = $1 AND written > clock_timestamp() - $2::interval ORDER BY page`

	pruneJournal = `
WITH writers AS (DELETE FROM reservation_writer WHERE seen < clock_timestamp() - $1::interval),
gaps AS (DELETE FROM reservation_gap WHERE ended < clock_timestamp() - $1::interval)
DELETE FROM reservation_page WHERE written < clock_timestamp() - $1::interval`
)

// KeepPage adds a page to a node's journal of reservations. After an error the page may have been
// stored all the same.
func (s *Journal) KeepPage(ctx context.Context, p reserve.Page) error {
	_, err := s.Pool.Exec(
		ctx, keepPage, p.Node, p.Epoch, p.Acked, p.Closed, p.Number, reserve.AppendEntries([]byte{}, p.Entries),
	)
	return pg.Failure("keep the journal of reservations", err)
}

// Watch records that a projector is running. silent is how long nodes have not heard from it while
// the store of the reservations stayed the same (0 if they have). missed reports a period without
// any projector.
func (r *RoomReader) Watch(ctx context.Context, silent time.Duration) (missed bool, err error) {
	var gaps int
	err = r.store.Pool.QueryRow(ctx, watch, reserve.GapAfter, silent).Scan(&gaps)
	return gaps > 0, pg.Failure("say that the projector works", err)
}

// Journal returns the nodes' pages of the last [reserve.JournalMemory].
func (r *RoomReader) Journal(ctx context.Context) (j reserve.Journal, err error) {
	rows, err := r.store.Pool.Query(ctx, selectWriters, reserve.JournalMemory)
	if err != nil {
		return j, pg.Failure("read the journal of reservations", err)
	}
	var w reserve.Writer
	if _, err = pgx.ForEachRow(rows, []any{&w.Node, &w.Epoch, &w.Acked, &w.Closed, &w.Seen, &j.Now}, func() error {
		j.Writers = append(j.Writers, w)
		return nil
	}); err != nil {
		return j, pg.Failure("read the journal of reservations", err)
	}
	if rows, err = r.store.Pool.Query(ctx, selectGaps, reserve.JournalMemory); err != nil {
		return j, pg.Failure("read the journal of reservations", err)
	}
	var g reserve.Gap
	_, err = pgx.ForEachRow(rows, []any{&g.From, &g.To, &j.Now}, func() error {
		j.Gaps = append(j.Gaps, g)
		return nil
	})
	return j, pg.Failure("read the journal of reservations", err)
}

// Entries lists the entries of a node's pages, oldest first.
func (r *RoomReader) Entries(ctx context.Context, node string) (entries []reserve.Entry, err error) {
	rows, err := r.store.Pool.Query(ctx, selectPages, node, reserve.JournalMemory)
	if err != nil {
		return nil, pg.Failure("read a node's journal of reservations", err)
	}
	var page []byte
	_, err = pgx.ForEachRow(rows, []any{&page}, func() error {
		more, err := reserve.ReadEntries(page)
		entries = append(entries, more...)
		return err
	})
	return entries, pg.Failure("read a node's journal of reservations", err)
}
