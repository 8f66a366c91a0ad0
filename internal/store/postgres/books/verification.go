package books

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

const (
	// One run at a time in the installation: requests and starts hold this lock.
	lockVerification = `SELECT pg_advisory_xact_lock(hashtext('adnet verification'))`

	verificationColumns = `SELECT id, asked_by, asked_at, started_at, ended_at, checks, problem FROM verification `
	selectVerifications = verificationColumns + `ORDER BY id DESC LIMIT $1`
	insertVerification  = `INSERT INTO verification (asked_by, asked_at, started_at) VALUES ($1, $2, $3) RETURNING id`
	startVerification   = `UPDATE verification SET started_at = $2 WHERE id = $1`
	endVerification     = `UPDATE verification SET ended_at = $2, checks = $3, problem = $4 WHERE id = $1 AND ended_at IS NULL`
	pruneVerifications  = `DELETE FROM verification WHERE id <= (SELECT max(id) FROM verification) - $1`
)

// Verifications lists the newest runs, the newest first.
func (s *Ledger) Verifications(ctx context.Context, limit int) ([]ledger.Verification, error) {
	rows, err := s.Pool.Query(ctx, selectVerifications, min(max(limit, 1), ledger.VerifyKept))
	if err != nil {
		return nil, pg.Failure("list verifications", err)
	}
	list, err := pgx.CollectRows(rows, scanVerification)
	return list, pg.Failure("list verifications", err)
}

// AskVerification requests a run from the consumers. If a run is already waiting or running, it
// returns that one. Errors: errs.Conflict too soon after the last run.
func (s *Ledger) AskVerification(ctx context.Context, by uuid.UUID, now time.Time) (v ledger.Verification, err error) {
	err = s.Transact(ctx, "ask for a verification", func(tx pgx.Tx) error {
		newest, err := newestVerification(ctx, tx)
		if err != nil {
			return err
		}
		if v, err = ledger.Requested(newest, by, now); err != nil || v.ID != 0 {
			return err
		}
		if err := tx.QueryRow(ctx, insertVerification, pg.NullID(by), now, nil).Scan(&v.ID); err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.OfVerification(v))
	})
	return v, err
}

// BeginVerification takes the waiting run, or with nightly begins a new one. It returns false when
// there is nothing to do or another process runs one.
func (s *Ledger) BeginVerification(
	ctx context.Context, nightly bool, now time.Time,
) (v ledger.Verification, begun bool, err error) {
	err = s.Transact(ctx, "begin a verification", func(tx pgx.Tx) error {
		newest, err := newestVerification(ctx, tx)
		if err != nil {
			return err
		}
		if v, begun = ledger.Begun(newest, nightly, now); !begun {
			return nil
		}
		if v.ID != 0 {
			_, err = tx.Exec(ctx, startVerification, v.ID, now)
			return err
		}
		return tx.QueryRow(ctx, insertVerification, nil, now, now).Scan(&v.ID)
	})
	return v, begun && err == nil, err
}

// EndVerification stores the result of a run, once.
func (s *Ledger) EndVerification(ctx context.Context, v ledger.Verification) error {
	checks, err := json.Marshal(v.Checks)
	if err != nil {
		return err
	}
	return s.Transact(ctx, "end a verification", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, endVerification, v.ID, v.EndedAt, checks, v.Problem); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, pruneVerifications, ledger.VerifyKept)
		return err
	})
}

// newestVerification returns the last run, under the lock of starts.
func newestVerification(ctx context.Context, tx pgx.Tx) (newest ledger.Verification, err error) {
	if _, err := tx.Exec(ctx, lockVerification); err != nil {
		return newest, err
	}
	rows, err := tx.Query(ctx, selectVerifications, 1)
	if err != nil {
		return newest, err
	}
	newest, err = pgx.CollectExactlyOneRow(rows, scanVerification)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Verification{}, nil
	}
	return newest, err
}

func scanVerification(row pgx.CollectableRow) (v ledger.Verification, err error) {
	var by *uuid.UUID
	var started, ended *time.Time
	var checks []byte
	if err := row.Scan(&v.ID, &by, &v.AskedAt, &started, &ended, &checks, &v.Problem); err != nil {
		return v, err
	}
	v.AskedAt = v.AskedAt.UTC()
	if by != nil {
		v.AskedBy = *by
	}
	if started != nil {
		v.StartedAt = started.UTC()
	}
	if ended != nil {
		v.EndedAt = ended.UTC()
	}
	if len(checks) > 0 {
		err = json.Unmarshal(checks, &v.Checks)
	}
	return v, err
}
