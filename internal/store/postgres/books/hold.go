package books

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

const (
	takeHold = `
INSERT INTO archive_hold AS h (holder, held_until) VALUES ($1, clock_timestamp() + $2 * interval '1 ms')
ON CONFLICT (only_row) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
WHERE h.holder = EXCLUDED.holder OR h.held_until < clock_timestamp()`
	endHold = `DELETE FROM archive_hold WHERE holder = $1`

	pendingPlans = `SELECT count(DISTINCT plan) FROM archive_progress`

	selectProgress = `SELECT stream, partition, archived_next, coalesce(planned_to, 0) FROM archive_progress ORDER BY 1, 2`

	selectSpend = `SELECT campaign_id, day, amount FROM campaign_spend WHERE day BETWEEN $1 AND $2`
)

// holdLease is the time for which a hold outlives its process.
const holdLease = 30 * time.Second

// Hold stops the archive: nothing is planned while it lasts, so the analytics store has exactly the
// events below the archived offsets. Settlement continues.
type Hold struct {
	store  *Archive
	holder uuid.UUID
	stop   context.CancelFunc
	ended  chan struct{}
	at     map[stream.Partition]int64
	Lost   error // set by Release if the archive moved despite the hold
}

// HoldArchive takes the hold and waits until no plan is pending, which needs a running archiver.
// Errors: errs.Conflict while another process has the hold; errs.Unavailable when a plan is still
// pending after patience.
func (s *Archive) HoldArchive(ctx context.Context, patience time.Duration) (*Hold, error) {
	h := &Hold{store: s, holder: uuid.New(), ended: make(chan struct{})}
	if err := h.renew(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	go h.keep(running)
	deadline := time.Now().Add(patience)
	for {
		// By the second look a planner that missed the hold has stored its plan.
		if err := schedule.Pause(ctx, 300*time.Millisecond); err != nil {
			return nil, errors.Join(err, h.Release(ctx))
		}
		var pending int
		if err := s.Pool.QueryRow(ctx, pendingPlans).Scan(&pending); err != nil {
			return nil, errors.Join(pg.Failure("read plans", err), h.Release(ctx))
		}
		if pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(
				errs.New(
					errs.Unavailable,
					"%d inserts of the archive are pending: run `adnet consumers`, which ends them, and try again",
					pending,
				), h.Release(ctx),
			)
		}
	}
	var err error
	if h.at, err = s.progressOf(ctx, s.Pool); err != nil {
		return nil, errors.Join(err, h.Release(ctx))
	}
	return h, nil
}

func (h *Hold) renew(ctx context.Context) error {
	tag, err := h.store.Pool.Exec(ctx, takeHold, h.holder, holdLease.Milliseconds())
	if err == nil && tag.RowsAffected() == 0 {
		return errs.New(
			errs.Conflict, "another backup or repair holds the archive; it ends within %s when its process is gone",
			holdLease,
		)
	}
	return pg.Failure("hold the archive", err)
}

func (h *Hold) keep(ctx context.Context) {
	defer close(h.ended)
	ticker := time.NewTicker(holdLease / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = h.renew(ctx) // Check reports a failure
		}
	}
}

// Archived returns, for each partition, the offset below which the analytics store has everything.
func (h *Hold) Archived() map[stream.Partition]int64 { return h.at }

// Check fails if the archive has moved since the hold was taken. Rows read from the analytics store
// then match no watermark.
func (h *Hold) Check(ctx context.Context) error {
	if err := h.renew(ctx); err != nil {
		return err
	}
	now, err := h.store.progressOf(ctx, h.store.Pool)
	if err != nil {
		return err
	}
	for p, at := range now {
		if before, known := h.at[p]; !known || before != at {
			return errs.New(
				errs.Conflict, "the archive moved while it was held (partition %d: %d, now %d); try again", p.Number,
				before, at,
			)
		}
	}
	return nil
}

// Release resumes the archive.
func (h *Hold) Release(ctx context.Context) error {
	h.stop()
	<-h.ended
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := h.store.Pool.Exec(ctx, endHold, h.holder)
	return pg.Failure("release the archive", err)
}

// progressOf reads the archive's offsets; a pending plan is an error, since the hold forbids it.
func (s *Archive) progressOf(ctx context.Context, q pg.Querier) (map[stream.Partition]int64, error) {
	rows, err := q.Query(ctx, selectProgress)
	if err != nil {
		return nil, pg.Failure("read archive progress", err)
	}
	at := make(map[stream.Partition]int64)
	var p stream.Partition
	var archived, planned int64
	_, err = pgx.ForEachRow(rows, []any{&p.Stream, &p.Number, &archived, &planned}, func() error {
		if planned != 0 {
			return errs.New(errs.Conflict, "the archive planned an insert while it was held; try again")
		}
		at[p] = archived
		return nil
	})
	return at, pg.Failure("read archive progress", err)
}

// SpendBetween returns the campaigns' charges on the days from first to last.
func (s *Archive) SpendBetween(
	ctx context.Context, first, last day.Day,
) (map[day.Day]map[uuid.UUID]money.Micros, error) {
	rows, err := s.Pool.Query(ctx, selectSpend, int32(first), int32(last))
	if err != nil {
		return nil, pg.Failure("read spend", err)
	}
	spend := make(map[day.Day]map[uuid.UUID]money.Micros)
	var id uuid.UUID
	var date int32
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&id, &date, &amount}, func() error {
		d := day.Day(date)
		if spend[d] == nil {
			spend[d] = make(map[uuid.UUID]money.Micros)
		}
		spend[d][id] = money.Micros(amount)
		return nil
	})
	return spend, pg.Failure("read spend", err)
}

const appliedRangesSQL = `
SELECT first_offset, next_offset, outcomes FROM applied_batch WHERE stream = $1 AND partition = $2
	AND first_offset < $3 ORDER BY first_offset`

// AppliedBelow calls use with every stored applied range of a partition below next, in order.
func (s *Archive) AppliedBelow(
	ctx context.Context, p stream.Partition, next int64, use func(ledger.AppliedRange) error,
) error {
	rows, err := s.Pool.Query(ctx, appliedRangesSQL, p.Stream, p.Number, next)
	if err != nil {
		return pg.Failure("read applied ranges", err)
	}
	var packed []byte
	c := ledger.AppliedRange{Range: stream.Range{Partition: p}}
	_, err = pgx.ForEachRow(rows, []any{&c.First, &c.Next, &packed}, func() (err error) {
		if c.Outcomes, err = DecodeOutcomes(nil, packed); err != nil {
			return fmt.Errorf("range %s: %w", c.Range, err)
		}
		return use(c)
	})
	return pg.Failure("read applied ranges", err)
}
