package postgres

import (
	"context"
	"errors"
	"time"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/errs"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	keyColumns = `k.id, k.owner_id, k.developer_id, k.kind, k.campaign_id, k.name, k.prefix, k.hash, k.created_at, k.revoked_at, k.unlearned`

	insertKey = `INSERT INTO api_key (id, owner_id, developer_id, kind, campaign_id, name, prefix, hash, created_at, revoked_at, unlearned)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	selectKeyByHash = `SELECT ` + keyColumns + `, u.disabled
		FROM api_key k JOIN app_user u ON u.id = k.owner_id WHERE k.hash = $1`

	selectKeysOfOwner = `SELECT ` + keyColumns + `, false
		FROM api_key k WHERE k.owner_id = $1 ORDER BY k.created_at DESC, k.id DESC`

	lockKey   = `SELECT revoked_at IS NOT NULL FROM api_key WHERE id = $2 AND owner_id = $1 FOR UPDATE`
	revokeKey = `UPDATE api_key SET revoked_at = $3 WHERE id = $2 AND owner_id = $1`
)

var _ account.KeyStore = (*Store)(nil)

// CreateKey keeps a new key. Errors: errs.NotFound when the owner has no account, errs.Conflict
// when the key exists.
func (s *Store) CreateKey(ctx context.Context, k account.Key) error {
	err := s.inTx(ctx, "create key", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertKey, k.ID, k.OwnerID, k.DeveloperID, k.Kind, nullID(k.CampaignID), k.Name, k.Prefix, k.Hash[:],
			k.CreatedAt, nullTime(k.RevokedAt), k.Unlearned)
		if err != nil {
			return err
		}
		return record(ctx, tx, auditlog.OfKey(k, false))
	})
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "23503" { // foreign_key_violation
		return errs.Wrap(err, errs.NotFound, "no such account")
	}
	return failure("create key", err)
}

// KeyByHash finds a key, also a revoked one; disabled says that its owner is. Errors:
// errs.NotFound.
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (k account.Key, disabled bool, err error) {
	rows, err := s.pool.Query(ctx, selectKeyByHash, hash[:])
	if err != nil {
		return account.Key{}, false, failure("read key", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Key{}, false, errs.New(errs.NotFound, "no such key")
	}
	return found.Key, found.disabled, failure("read key", err)
}

// Keys lists an owner's keys, newest first, revoked ones included.
func (s *Store) Keys(ctx context.Context, owner uuid.UUID) ([]account.Key, error) {
	rows, err := s.pool.Query(ctx, selectKeysOfOwner, owner)
	if err != nil {
		return nil, failure("list keys", err)
	}
	found, err := pgx.CollectRows(rows, scanKey)
	if err != nil {
		return nil, failure("list keys", err)
	}
	keys := make([]account.Key, len(found))
	for i := range found {
		keys[i] = found[i].Key
	}
	return keys, nil
}

// RevokeKey is idempotent: the first time of revocation stays. Errors: errs.NotFound.
func (s *Store) RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error {
	return s.inTx(ctx, "revoke key", func(tx pgx.Tx) error {
		var already bool
		err := tx.QueryRow(ctx, lockKey, owner, id).Scan(&already)
		if errors.Is(err, pgx.ErrNoRows) {
			return errs.New(errs.NotFound, "no such key")
		}
		if err != nil || already {
			return err
		}
		if _, err := tx.Exec(ctx, revokeKey, owner, id, at); err != nil {
			return err
		}
		return record(ctx, tx, auditlog.OfKey(account.Key{ID: id, OwnerID: owner}, true))
	})
}

// foundKey is a key and the state of its owner.
type foundKey struct {
	account.Key
	disabled bool
}

func scanKey(row pgx.CollectableRow) (k foundKey, err error) {
	var hash []byte
	var revoked *time.Time
	var only *uuid.UUID
	err = row.Scan(&k.ID, &k.OwnerID, &k.DeveloperID, &k.Kind, &only, &k.Name, &k.Prefix, &hash, &k.CreatedAt, &revoked, &k.Unlearned, &k.disabled)
	copy(k.Hash[:], hash)
	if only != nil {
		k.CampaignID = *only
	}
	if revoked != nil {
		k.RevokedAt = *revoked
	}
	return k, err
}

// nullTime is NULL for the zero time.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
