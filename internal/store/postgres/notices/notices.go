// Package notices stores the mails that accounts choose, and finds what is worth one.
package notices

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/errs"
	"adnet/internal/outbound/notice"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/outbox"
	"adnet/internal/store/postgres/pg"
)

// Notices stores the mails that accounts choose.
type Notices struct{ *pg.Core }

const (
	selectSettings = `SELECT confirmed, language, off FROM notice_setting WHERE account_id = $1`
	lockAccount    = `SELECT id FROM app_user WHERE id = $1 FOR NO KEY UPDATE`
	upsertSettings = `
INSERT INTO notice_setting (account_id, confirmed, language, off) VALUES ($1, $2, $3, $4)
ON CONFLICT (account_id) DO UPDATE SET confirmed = $2, language = $3, off = $4`

	// The insertion makes the report unique: of two processes one inserts.
	insertOnce = `INSERT INTO notice_once (owner_id, event, about, at) VALUES ($1, $2, $3, clock_timestamp())
ON CONFLICT DO NOTHING`
	pruneOnce = `DELETE FROM notice_once WHERE at < $1 AND event NOT IN ('campaign.first_ad', 'campaign.budget_spent')`
)

var _ notice.Store = (*Notices)(nil)

// Settings implements notice.Store.
func (s *Notices) Settings(ctx context.Context, account uuid.UUID) (notice.Settings, error) {
	of, err := settings(ctx, s.Pool, account)
	return of, pg.Failure("read mails", err)
}

func settings(ctx context.Context, q pg.Querier, account uuid.UUID) (notice.Settings, error) {
	of := notice.Unset(account)
	list, err := pg.Collect(ctx, q, selectSettings, func(row pgx.CollectableRow) (notice.Settings, error) {
		set := notice.Settings{AccountID: account}
		err := row.Scan(&set.Confirmed, &set.Language, &set.Off)
		return set, err
	}, account)
	if err == nil && len(list) > 0 {
		of = list[0]
	}
	return of, err
}

// UpdateSettings implements notice.Store.
func (s *Notices) UpdateSettings(
	ctx context.Context, account uuid.UUID, edit func(*notice.Settings) error,
) (after notice.Settings, err error) {
	err = s.Transact(ctx, "change mails", func(tx pgx.Tx) error {
		var id uuid.UUID
		err := tx.QueryRow(ctx, lockAccount, account).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return errs.New(errs.NotFound, "no such account")
		}
		if err != nil {
			return err
		}
		before, err := settings(ctx, tx, account)
		if err != nil {
			return err
		}
		after = before
		after.Off = append([]string{}, before.Off...)
		if err := edit(&after); err != nil {
			return err
		}
		after.AccountID = account
		_, err = tx.Exec(ctx, upsertSettings, account, after.Confirmed, after.Language, append([]string{}, after.Off...))
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, notice.Entry(&before, &after))
	})
	return after, err
}

// Confirm implements notice.Store.
func (s *Notices) Confirm(ctx context.Context, account uuid.UUID, address, language string) error {
	_, err := s.UpdateSettings(ctx, account, notice.Confirm(address, language))
	return err
}

// Report implements notice.Store.
func (s *Notices) Report(ctx context.Context, f notice.Found) (written bool, err error) {
	owner := f.OwnerID
	if owner == uuid.Nil {
		owner = f.Publisher
	}
	err = s.Transact(ctx, "report a fact", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertOnce, owner, string(f.Event), f.Once)
		if written = tag.RowsAffected() > 0; err != nil || !written {
			return err
		}
		return outbox.WriteFact(ctx, tx, &f.Fact)
	})
	return written && err == nil, err
}

// Observe implements notice.Store.
func (s *Notices) Observe(ctx context.Context, at notice.Times) (o notice.Observed, err error) {
	if _, err = s.Pool.Exec(ctx, pruneOnce, at.Now.AddDate(0, 0, -60)); err != nil {
		return o, pg.Failure("remove old reports", err)
	}
	err = s.Snapshot(ctx, func(tx pgx.Tx) error { return observe(ctx, tx, at, &o) })
	return o, pg.Failure("observe", err)
}

func observe(ctx context.Context, tx pgx.Tx, at notice.Times, o *notice.Observed) (err error) {
	today := at.Today()
	if o.Charged, err = pg.Collect(ctx, tx, chargedSQL, scanCharged); err != nil {
		return err
	}
	if o.Balances, err = pg.Collect(
		ctx, tx, balancesSQL, scanBalance, today-notice.SpendDays, today,
	); err != nil {
		return err
	}
	if o.Silent, err = pg.Collect(ctx, tx, silentSQL, scanSilent, at.Now, today); err != nil {
		return err
	}
	if at.Daily {
		if o.Released, err = pg.Collect(
			ctx, tx, releasedSQL, scanReleased, (today - 1).Time(), today.Time(), today-1,
		); err != nil {
			return err
		}
	}
	if at.Weekly() {
		if o.Weeks, err = pg.Collect(ctx, tx, weeksSQL, scanWeek, today-7, today); err != nil {
			return err
		}
	}
	if o.Admins, err = pg.Collect(ctx, tx, adminsSQL, pgx.RowTo[uuid.UUID]); err != nil {
		return err
	}
	o.Waiting, err = waiting(ctx, tx, at.Now.Add(-notice.WaitsLong))
	return err
}

// Waiting implements notice.Store.
func (s *Notices) Waiting(ctx context.Context, before time.Time) (notice.Waiting, error) {
	w, err := waiting(ctx, s.Pool, before)
	return w, pg.Failure("count what waits", err)
}

func waiting(ctx context.Context, q pg.Querier, before time.Time) (w notice.Waiting, err error) {
	list, err := pg.Collect(ctx, q, waitingSQL, func(row pgx.CollectableRow) (w notice.Waiting, err error) {
		err = row.Scan(&w.Review, &w.Reports, &w.Appeals)
		return w, err
	}, before)
	if err == nil {
		w = list[0]
	}
	return w, err
}
