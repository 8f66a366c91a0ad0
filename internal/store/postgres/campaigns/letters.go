package campaigns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

// Letters stores dead letters of the consumers.
type Letters struct{ *pg.Core }

const (
	letterColumns = `SELECT stream, partition, record_offset, problem, raw, at, replay_started_at, replayed_at, coalesce(replayed_by, ''), replays FROM dlq`

	selectLetters = letterColumns + `
WHERE (NOT $1 OR replayed_at IS NULL) AND ($2 = '' OR stream = $2) AND ($5 = '' OR strpos(lower(problem),
	lower($5)) > 0)
	AND ($6 = '' OR stream = $6 AND partition = $7 AND record_offset = $8)
ORDER BY at, stream, partition, record_offset LIMIT $3 OFFSET $4`

	lockLetter = letterColumns + ` WHERE stream = $1 AND partition = $2 AND record_offset = $3 FOR UPDATE`

	startReplay = `
UPDATE dlq SET replay_started_at = clock_timestamp(), replayed_at = NULL, replayed_by = $4, replays = replays + 1
WHERE stream = $1 AND partition = $2 AND record_offset = $3`

	endReplay = `
UPDATE dlq SET replayed_at = clock_timestamp() WHERE stream = $1 AND partition = $2 AND record_offset = $3
	AND replay_started_at IS NOT NULL`
)

// DeadLetters lists records that could not be decoded, oldest first.
func (s *Letters) DeadLetters(ctx context.Context, q ledger.DeadLetterQuery) ([]ledger.StoredDeadLetter, error) {
	limit, offset := q.Page()
	var at stream.Range
	if q.At != nil {
		at = *q.At
	}
	rows, err := s.Pool.Query(
		ctx, selectLetters, q.Open, q.Stream, limit, offset, q.Problem, at.Stream, at.Number, at.First,
	)
	if err != nil {
		return nil, pg.Failure("list dead letters", err)
	}
	list, err := pgx.CollectRows(rows, scanLetter)
	return list, pg.Failure("list dead letters", err)
}

// StartReplay records that a dead letter is about to be sent again. After a crash before the end,
// the row shows a possible replay, so a letter is never sent twice unnoticed. Errors:
// errs.NotFound; errs.Conflict when it was sent before, or may have been, unless again is set.
func (s *Letters) StartReplay(
	ctx context.Context, p stream.Partition, offset int64, by string, again bool,
) (l ledger.StoredDeadLetter, err error) {
	err = s.Transact(ctx, "start replay", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, lockLetter, p.Stream, p.Number, offset)
		if err != nil {
			return err
		}
		if l, err = pgx.CollectExactlyOneRow(rows, scanLetter); errors.Is(err, pgx.ErrNoRows) {
			return errs.New(errs.NotFound, "no dead letter at %s/%d offset %d", p.Stream, p.Number, offset)
		}
		if err != nil {
			return err
		}
		if err := mayReplay(&l, again); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, startReplay, p.Stream, p.Number, offset, by); err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.Entry{
			TargetKind: auditlog.TargetDeadLetter, TargetID: fmt.Sprintf("%s/%d:%d", p.Stream, p.Number, offset),
			Changes: map[string]auditlog.Change{"replays": {Before: l.Replays, After: l.Replays + 1}},
		})
	})
	return l, err
}

// mayReplay rejects a second replay unless again is set.
func mayReplay(l *ledger.StoredDeadLetter, again bool) error {
	switch {
	case again || l.Replays == 0:
		return nil
	case !l.SentAt.IsZero():
		return errs.New(
			errs.Conflict, "it was replayed at %s by %s; say --again to do it once more", l.SentAt.Format(time.RFC3339),
			l.SentBy,
		)
	}
	return errs.New(errs.Conflict,
		"a replay was begun at %s by %s and never ended: it may be in the log; say --again to do it once more (an "+
			"event that was applied counts as a duplicate)",
		l.StartedAt.Format(time.RFC3339), l.SentBy)
}

// EndReplay records that the log has the letter.
func (s *Letters) EndReplay(ctx context.Context, p stream.Partition, offset int64) error {
	_, err := s.Pool.Exec(ctx, endReplay, p.Stream, p.Number, offset)
	return pg.Failure("end replay", err)
}

func scanLetter(row pgx.CollectableRow) (l ledger.StoredDeadLetter, err error) {
	var started, sent *time.Time
	err = row.Scan(&l.Stream, &l.Number, &l.Offset, &l.Problem, &l.Raw, &l.At, &started, &sent, &l.SentBy, &l.Replays)
	if started != nil {
		l.StartedAt = *started
	}
	if sent != nil {
		l.SentAt = *sent
	}
	return l, err
}
