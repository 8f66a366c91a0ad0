package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/store/postgres/accounts"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/campaigns"
	"adnet/internal/store/postgres/pg"
)

// Retention stores the removal of old data.
type Retention struct {
	*pg.Core
	ledger   *books.Ledger
	requests *audit.Requests
	logins   *accounts.Logins
	reports  *campaigns.AdReports
}

const countKeysSQL = `SELECT count(*) FROM idempotency_key WHERE created_at < $1`

// Retain removes data that is no longer needed. The horizon moves first and in its own transaction,
// so that a crash at any later line may leave unused marks, but never a day that is still accepted
// and has no marks. With dry set nothing changes, and the result counts the rows to remove. The
// sums of removed rows are stored for verify in the same transactions.
func (s *Retention) Retain(ctx context.Context, cut ledger.Cutoffs, dry bool) (r ledger.Removed, err error) {
	if r.Horizon, err = s.ledger.Horizon(ctx); err != nil {
		return r, err
	}
	r.Horizon = max(r.Horizon, cut.Horizon)
	if dry {
		return s.wouldRemove(ctx, cut, r)
	}
	if err = s.ledger.RaiseHorizon(ctx, r.Horizon); err == nil {
		err = s.ledger.DropMarks(ctx, &r)
	}
	for more := !cut.Applied.IsZero(); more && err == nil; {
		more, err = s.ledger.Prune(ctx, cut, &r)
	}
	if err == nil {
		err = s.ledger.PruneEarly(ctx)
	}
	if err == nil {
		err = s.ledger.DropClicks(ctx, cut.Clicks)
	}
	if err == nil && !cut.Dead.IsZero() {
		r.Dead, err = s.ledger.DropDead(ctx, cut.Dead)
	}
	if err == nil && !cut.Keys.IsZero() {
		r.Keys, err = s.requests.DropKeys(ctx, cut.Keys)
		err = errors.Join(err, s.logins.DropExpired(ctx, cut.Keys))
	}
	if err == nil {
		err = s.reports.ForgetReports(ctx, cut, &r)
	}
	return r, err
}

func (s *Retention) wouldRemove(ctx context.Context, cut ledger.Cutoffs, r ledger.Removed) (ledger.Removed, error) {
	err := s.Snapshot(ctx, func(tx pgx.Tx) error {
		if err := books.CountPrunable(ctx, tx, cut, &r); err != nil {
			return err
		}
		if err := campaigns.CountReports(ctx, tx, cut, &r); err != nil {
			return err
		}
		return tx.QueryRow(ctx, countKeysSQL, cut.Keys).Scan(&r.Keys)
	})
	return r, pg.Failure("count what retention would remove", err)
}
