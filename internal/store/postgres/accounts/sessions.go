package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

// Logins stores sessions, second factors, links in mails, and networks of good logins.
type Logins struct{ *pg.Core }

const (
	sessionColumns = `s.id, s.user_id, s.version, s.created_at, s.expires_at, s.network, s.agent, s.strong`

	insertSession = `INSERT INTO login_session AS s (id, user_id, version, created_at, expires_at, network, agent,
		strong)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	// Drops ended and expired sessions, and the oldest above the limit.
	dropSessions = `DELETE FROM login_session WHERE user_id = $1 AND (version <> $2 OR expires_at <= $3 OR id IN (
		SELECT id FROM login_session WHERE user_id = $1 ORDER BY created_at DESC, id DESC OFFSET $4))`

	// A session of an earlier version has ended; only this join checks that.
	liveSessions  = ` FROM login_session s JOIN app_user u ON u.id = s.user_id AND u.token_version = s.version`
	selectSession = `SELECT ` + sessionColumns + liveSessions + ` WHERE s.id = $1`
	listSessions  = `SELECT ` + sessionColumns + liveSessions +
		` WHERE s.user_id = $1 ORDER BY s.created_at DESC, s.id DESC`

	endSession = `DELETE FROM login_session s USING app_user u WHERE s.id = $1 AND s.user_id = $2 AND u.id = s.user_id AND u.token_version = s.version`

	dropExpired = `DELETE FROM login_session WHERE expires_at < $1`

	endSessions = `DELETE FROM login_session WHERE user_id = $1 AND id <> $2`
	keepSession = `UPDATE login_session SET version = $3 WHERE id = $2 AND user_id = $1 AND version = $3 - 1`
)

var _ account.SessionStore = (*Logins)(nil)

// CreateSession implements account.SessionStore.
func (s *Logins) CreateSession(ctx context.Context, n account.Session) error {
	return s.Transact(ctx, "create session", func(tx pgx.Tx) error {
		// Under the account's lock, so that concurrent logins cannot exceed the limit.
		u, err := readUser(ctx, tx, lockUser, n.UserID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(
			ctx, dropSessions, n.UserID, u.TokenVersion, n.CreatedAt, account.MaxSessions-1,
		); err != nil {
			return pg.Failure("drop sessions", err)
		}
		_, err = tx.Exec(
			ctx, insertSession, n.ID, n.UserID, n.Version, n.CreatedAt, n.ExpiresAt, n.Network, n.Agent, n.Strong,
		)
		return pg.Failure("create session", err)
	})
}

// Session implements account.SessionStore.
func (s *Logins) Session(ctx context.Context, id uuid.UUID) (account.Session, error) {
	rows, err := s.Pool.Query(ctx, selectSession, id)
	if err != nil {
		return account.Session{}, pg.Failure("read session", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanSession)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Session{}, errNoSession()
	}
	return found, pg.Failure("read session", err)
}

func errNoSession() error { return errs.New(errs.NotFound, "no such session") }

// Sessions implements account.SessionStore.
func (s *Logins) Sessions(ctx context.Context, user uuid.UUID) ([]account.Session, error) {
	rows, err := s.Pool.Query(ctx, listSessions, user)
	if err != nil {
		return nil, pg.Failure("list sessions", err)
	}
	all, err := pgx.CollectRows(rows, scanSession)
	return all, pg.Failure("list sessions", err)
}

func scanSession(row pgx.CollectableRow) (n account.Session, err error) {
	err = row.Scan(&n.ID, &n.UserID, &n.Version, &n.CreatedAt, &n.ExpiresAt, &n.Network, &n.Agent, &n.Strong)
	n.CreatedAt, n.ExpiresAt = n.CreatedAt.UTC(), n.ExpiresAt.UTC()
	return n, err
}

// EndSession implements account.SessionStore.
func (s *Logins) EndSession(ctx context.Context, user, id uuid.UUID) error {
	return s.Transact(ctx, "end session", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, endSession, id, user)
		if err != nil {
			return pg.Failure("end session", err)
		}
		if tag.RowsAffected() == 0 {
			return errNoSession()
		}
		return audit.Record(ctx, tx, auditlog.OfSession(user, id))
	})
}

// DropExpired removes the sessions that expired before a time.
func (s *Logins) DropExpired(ctx context.Context, before time.Time) error {
	_, err := s.Pool.Exec(ctx, dropExpired, before)
	return pg.Failure("drop expired sessions", err)
}

// RenewLogins implements account.SessionStore.
func (s *Logins) RenewLogins(
	ctx context.Context, user, keep uuid.UUID, edit func(*account.User) error,
) (u account.User, ended int, err error) {
	err = s.Transact(ctx, "renew logins", func(tx pgx.Tx) error {
		if u, err = ruleUser(ctx, tx, account.Ruling{UserID: user, Edit: account.Renewing(edit)}); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, endSessions, user, keep)
		if err != nil {
			return pg.Failure("end sessions", err)
		}
		ended = int(tag.RowsAffected())
		if _, err := tx.Exec(ctx, keepSession, user, keep, u.TokenVersion); err != nil {
			return pg.Failure("keep session", err)
		}
		return audit.Record(ctx, tx, auditlog.OfSessions(user, ended))
	})
	return u, ended, err
}
