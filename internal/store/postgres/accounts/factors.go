package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

const (
	selectFactor = `SELECT sealed, confirmed_at, last_step, recovery, failures, failed_at, known_failures,
	known_failed_at FROM second_factor WHERE user_id = $1`
	putFactor = `INSERT INTO second_factor (user_id, sealed, confirmed_at, last_step, recovery, failures, failed_at,
			known_failures, known_failed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (user_id) DO UPDATE SET sealed = EXCLUDED.sealed, confirmed_at = EXCLUDED.confirmed_at,
			last_step = EXCLUDED.last_step,
			recovery = EXCLUDED.recovery, failures = EXCLUDED.failures, failed_at = EXCLUDED.failed_at,
			known_failures = EXCLUDED.known_failures, known_failed_at = EXCLUDED.known_failed_at`
	dropFactor        = `DELETE FROM second_factor WHERE user_id = $1`
	strengthenSession = `UPDATE login_session SET strong = true WHERE id = $2 AND user_id = $1`
)

var _ account.FactorStore = (*Logins)(nil)

// Factor implements account.FactorStore.
func (s *Logins) Factor(ctx context.Context, user uuid.UUID) (account.Factor, error) {
	return readFactor(ctx, s.Pool, user)
}

func readFactor(ctx context.Context, q pg.Querier, user uuid.UUID) (f account.Factor, err error) {
	rows, err := q.Query(ctx, selectFactor, user)
	if err != nil {
		return f, pg.Failure("read second factor", err)
	}
	f, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (f account.Factor, err error) {
		var confirmed, failed, knownFailed *time.Time
		var recovery [][]byte
		err = row.Scan(
			&f.Sealed, &confirmed, &f.LastStep, &recovery, &f.Unknown.Failures, &failed, &f.Known.Failures, &knownFailed,
		)
		if confirmed != nil {
			f.ConfirmedAt = confirmed.UTC()
		}
		if failed != nil {
			f.Unknown.FailedAt = failed.UTC()
		}
		if knownFailed != nil {
			f.Known.FailedAt = knownFailed.UTC()
		}
		for _, hash := range recovery {
			if len(hash) == 32 {
				f.Recovery = append(f.Recovery, [32]byte(hash))
			}
		}
		return f, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Factor{}, nil
	}
	return f, pg.Failure("read second factor", err)
}

// UpdateFactor implements account.FactorStore.
func (s *Logins) UpdateFactor(ctx context.Context, user uuid.UUID, edit func(*account.Factor) error) error {
	return s.Transact(ctx, "update second factor", func(tx pgx.Tx) error {
		// The account is locked, since the factor may have no row yet.
		if _, err := readUser(ctx, tx, lockUser, user); err != nil {
			return err
		}
		before, err := readFactor(ctx, tx, user)
		if err != nil {
			return err
		}
		after := before
		after.Recovery = append([][32]byte(nil), before.Recovery...)
		if err := edit(&after); err != nil {
			return err
		}
		if err := writeFactor(ctx, tx, user, after); err != nil {
			return pg.Failure("write second factor", err)
		}
		return audit.Record(ctx, tx, auditlog.OfFactor(user, &before, &after))
	})
}

func writeFactor(ctx context.Context, tx pgx.Tx, user uuid.UUID, f account.Factor) error {
	if len(f.Sealed) == 0 {
		_, err := tx.Exec(ctx, dropFactor, user)
		return err
	}
	recovery := make([][]byte, len(f.Recovery))
	for i := range f.Recovery {
		recovery[i] = f.Recovery[i][:]
	}
	_, err := tx.Exec(
		ctx, putFactor, user, f.Sealed, pg.NullTime(f.ConfirmedAt), f.LastStep, recovery,
		f.Unknown.Failures, pg.NullTime(f.Unknown.FailedAt), f.Known.Failures, pg.NullTime(f.Known.FailedAt),
	)
	return err
}

// StrengthenSession implements account.FactorStore.
func (s *Logins) StrengthenSession(ctx context.Context, user, id uuid.UUID) error {
	_, err := s.Pool.Exec(ctx, strengthenSession, user, id)
	return pg.Failure("strengthen session", err)
}
