package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
)

// Retention stores the removal of old data.
type Retention struct {
	*core
	ledger   *Ledger
	requests *Requests
	logins   *Logins
	reports  *AdReports
}

const countKeysSQL = `SELECT count(*) FROM idempotency_key WHERE created_at < $1`

// Retain removes data that is no longer needed. The horizon moves first and in its own transaction,
// so that a crash at any later line may leave unused marks, but never a day that is still accepted
// and has no marks. With dry set nothing changes, and the result counts the rows to remove. The
// sums of removed rows are stored for verify in the same transactions.
func (s *Retention) Retain(ctx context.Context, cut ledger.Cutoffs, dry bool) (r ledger.Removed, err error) {
	if r.Horizon, err = s.ledger.horizon(ctx); err != nil {
		return r, err
	}
	r.Horizon = max(r.Horizon, cut.Horizon)
	if dry {
		return s.wouldRemove(ctx, cut, r)
	}
	if err = s.ledger.raiseHorizon(ctx, r.Horizon); err == nil {
		err = s.ledger.dropMarks(ctx, &r)
	}
	for more := !cut.Applied.IsZero(); more && err == nil; {
		more, err = s.ledger.prune(ctx, cut, &r)
	}
	if err == nil {
		err = s.ledger.pruneEarly(ctx)
	}
	if err == nil && !cut.Dead.IsZero() {
		r.Dead, err = s.ledger.dropDead(ctx, cut.Dead)
	}
	if err == nil && !cut.Keys.IsZero() {
		r.Keys, err = s.requests.dropKeys(ctx, cut.Keys)
		err = errors.Join(err, s.logins.dropExpired(ctx, cut.Keys))
	}
	if err == nil {
		err = s.reports.forgetReports(ctx, cut, &r)
	}
	return r, err
}

func (s *Retention) wouldRemove(ctx context.Context, cut ledger.Cutoffs, r ledger.Removed) (ledger.Removed, error) {
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		if err := countPrunable(ctx, tx, cut, &r); err != nil {
			return err
		}
		if err := countReports(ctx, tx, cut, &r); err != nil {
			return err
		}
		return tx.QueryRow(ctx, countKeysSQL, cut.Keys).Scan(&r.Keys)
	})
	return r, failure("count what retention would remove", err)
}
