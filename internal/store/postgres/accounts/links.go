package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/store/postgres/pg"
)

const (
	linkColumns = `hash, purpose, email, user_id, password_hash, created_at, expires_at, network, side`

	// Serializes links of one e-mail, so that concurrent requests cannot exceed the limits.
	lockLinks    = `SELECT pg_advisory_xact_lock(hashtextextended('mail_link ' || $1, 0))`
	expiredLinks = `DELETE FROM mail_link WHERE expires_at <= $1`
	// Makes room for one link of a purpose, e-mail and network.
	endOldLinks = `DELETE FROM mail_link WHERE hash IN (
		SELECT hash FROM (
			SELECT hash, network, row_number() OVER (PARTITION BY network ORDER BY created_at DESC, hash) AS of_network,
				row_number() OVER (ORDER BY created_at DESC, hash) AS of_all
			FROM mail_link WHERE email = $1 AND purpose = $2
		) AS open
		WHERE of_all >= $4 OR network = $3 AND of_network >= $5)`
	insertLink = `INSERT INTO mail_link (` + linkColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	selectLink = `SELECT ` + linkColumns + ` FROM mail_link WHERE hash = $1 AND expires_at > $2`
	takeLink   = `DELETE FROM mail_link WHERE hash = $1 AND expires_at > $2 RETURNING ` + linkColumns
)

var _ account.LinkStore = (*Logins)(nil)

// CreateLink implements account.LinkStore.
func (s *Logins) CreateLink(ctx context.Context, l account.Link) error {
	return s.Transact(ctx, "create link", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockLinks, l.Email); err != nil {
			return pg.Failure("lock links", err)
		}
		if _, err := tx.Exec(ctx, expiredLinks, l.CreatedAt); err != nil {
			return pg.Failure("drop expired links", err)
		}
		_, err := tx.Exec(ctx, endOldLinks, l.Email, l.Purpose, l.Network, account.MaxLinks, account.NetworkLinks)
		if err != nil {
			return pg.Failure("end old links", err)
		}
		_, err = tx.Exec(
			ctx, insertLink, l.Hash[:], l.Purpose, l.Email, pg.NullID(l.UserID), l.PasswordHash, l.CreatedAt, l.ExpiresAt,
			l.Network, l.Side,
		)
		return pg.Failure("create link", err)
	})
}

// Link implements account.LinkStore.
func (s *Logins) Link(ctx context.Context, hash [32]byte, now time.Time) (account.Link, error) {
	return s.readLink(ctx, selectLink, hash, now)
}

// TakeLink implements account.LinkStore.
func (s *Logins) TakeLink(ctx context.Context, hash [32]byte, now time.Time) (account.Link, error) {
	return s.readLink(ctx, takeLink, hash, now)
}

func (s *Logins) readLink(ctx context.Context, sql string, hash [32]byte, now time.Time) (account.Link, error) {
	rows, err := s.Pool.Query(ctx, sql, hash[:], now)
	if err != nil {
		return account.Link{}, pg.Failure("read link", err)
	}
	l, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (l account.Link, err error) {
		var stored []byte
		var user *uuid.UUID
		err = row.Scan(&stored, &l.Purpose, &l.Email, &user, &l.PasswordHash, &l.CreatedAt, &l.ExpiresAt, &l.Network,
			&l.Side)
		if user != nil {
			l.UserID = *user
		}
		l.Hash, l.CreatedAt, l.ExpiresAt = hash, l.CreatedAt.UTC(), l.ExpiresAt.UTC()
		return l, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Link{}, errs.New(errs.NotFound, "no such link")
	}
	return l, pg.Failure("read link", err)
}
