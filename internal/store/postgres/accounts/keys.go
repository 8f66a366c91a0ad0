package accounts

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/pg"
)

const (
	keyColumns = `k.id, k.owner_id, k.developer_id, k.kind, k.campaign_id, k.name, k.prefix, k.hash, k.created_at, k.revoked_at, k.addresses, k.unlearned, k.origins, k.read_by_models, k.ends_at`

	insertKey = `INSERT INTO api_key (id, owner_id, developer_id, kind, campaign_id, name, prefix, hash, created_at,
		revoked_at, addresses, unlearned, origins, read_by_models)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

	selectKeysOfOwner = `SELECT ` + keyColumns + `, false, NULL::jsonb, NULL::jsonb, NULL::uuid[], NULL::uuid
		FROM api_key k JOIN app_user u ON u.id = k.owner_id WHERE u.id = $1 OR u.parent_id = $1
			ORDER BY k.created_at DESC, k.id DESC`

	lockKey = `SELECT k.revoked_at IS NOT NULL FROM api_key k JOIN app_user u ON u.id = k.owner_id
		WHERE k.id = $2 AND (u.id = $1 OR u.parent_id = $1) FOR UPDATE OF k`
	revokeKey = `UPDATE api_key SET revoked_at = $2 WHERE id = $1`
	endKey    = `UPDATE api_key SET ends_at = $2 WHERE id = $1 AND ends_at IS NULL`

	namesOrigin = `SELECT EXISTS (SELECT FROM api_key k JOIN app_user u ON u.id = k.owner_id
		WHERE k.kind = 'browser' AND k.origins && $1::text[] AND k.revoked_at IS NULL AND (k.ends_at IS NULL
			OR k.ends_at > $2) AND NOT u.disabled)`

	// The cases of a seat's owner and of the owner's other seats that also apply to a new seat.
	casesOfOwner = books.SelectQuarantineSQL + ` JOIN app_user u ON u.developer_id = q.developer_id
		WHERE (u.id = $1 OR u.parent_id = $1) AND ` + followsOwner

	// The cases of erased accounts of a new account's mailbox.
	casesOfErased = books.SelectQuarantineSQL + ` JOIN app_user u ON u.developer_id = q.developer_id
		WHERE u.disabled AND u.email = 'erased-' || u.id || '@erased.invalid'
		AND u.id IN (SELECT account_id FROM account_mark WHERE kind = 'mailbox' AND hash = ANY($1))
		AND NOT EXISTS (SELECT FROM family_ruling r WHERE r.account_id = u.id) AND ` + followsOwner

	followsOwner = `q.campaign_id IS NULL AND (q.decision IS NULL OR q.decision = 'clawback' AND q.decided_at >= $2)
		ORDER BY q.opened_at DESC, q.id LIMIT 1`
)

// A disabled account disables its seats, except the seats of an administrator: exchanges keep
// running when a person leaves the operator.
var selectKeyByHash = `SELECT ` + keyColumns +
	`, u.disabled OR coalesce(o.disabled AND o.role <> 'admin', false), b.blocks, b.publishing,
	ARRAY(SELECT c.id FROM campaign c WHERE (b.publishing->>'house_ads')::boolean AND c.advertiser_id = k.owner_id
		AND c.status = 'active' ORDER BY c.created_at DESC, c.id DESC LIMIT ` + strconv.Itoa(account.MaxHouse) + `),
	CASE WHEN o.role = 'admin' THEN NULL ELSE nullif(p.developer_id, k.developer_id) END
	FROM api_key k JOIN app_user u ON u.id = k.owner_id LEFT JOIN app_user o ON o.id = u.parent_id
	LEFT JOIN account_family f ON f.account_id = coalesce(u.parent_id, u.id)
	LEFT JOIN app_user p ON p.id = coalesce(f.family_id, u.parent_id, u.id)
	LEFT JOIN publisher_blocks b ON b.user_id = coalesce(u.parent_id, u.id) WHERE k.hash = $1`

var _ account.KeyStore = (*Accounts)(nil)

// CreateKey stores a new key. Errors: errs.NotFound when the owner has no account, errs.Conflict
// when the key exists.
func (s *Accounts) CreateKey(ctx context.Context, k account.Key) error {
	err := s.Transact(ctx, "create key", func(tx pgx.Tx) error {
		owner, err := readUser(ctx, tx, selectUser, k.OwnerID)
		if err != nil {
			return err
		}
		return createKey(ctx, tx, k, owner)
	})
	return pg.Failure("create key", err)
}

func createKey(ctx context.Context, tx pgx.Tx, k account.Key, owner account.User) error {
	_, err := tx.Exec(ctx, insertKey, k.ID, k.OwnerID, k.DeveloperID, k.Kind, pg.NullID(k.CampaignID), k.Name, k.Prefix,
		k.Hash[:],
		k.CreatedAt, pg.NullTime(k.RevokedAt), append([]netip.Prefix{}, k.Addresses...), k.Unlearned,
		append([]string{}, k.Origins...), k.ReadByModels)
	if err != nil {
		return err
	}
	return audit.Record(ctx, tx, auditlog.OfKey(k, owner, false))
}

// CreateSeat implements account.KeyStore.
func (s *Accounts) CreateSeat(ctx context.Context, seat account.User, k account.Key) error {
	err := s.Transact(ctx, "create seat", func(tx pgx.Tx) error {
		// Under the owner's lock, so that two concurrent calls cannot exceed the limit.
		owner, err := readUser(ctx, tx, lockUser, seat.ParentID)
		switch {
		case err != nil:
			return err
		case len(owner.Seats) >= account.MaxSeats:
			return errs.New(
				errs.Conflict, "there are %d seats already; issue another key of one of them with seat_id",
				account.MaxSeats,
			)
		}
		if err := createUser(ctx, tx, seat); err != nil {
			return err
		}
		if err := createKey(ctx, tx, k, seat); err != nil {
			return err
		}
		return inherit(ctx, tx, seat, casesOfOwner, seat.ParentID)
	})
	return pg.Failure("create seat", err)
}

// inherit opens the case that a new account takes over: a seat from its owner ([casesOfOwner]), any
// other account from erased ones of its mailbox ([casesOfErased]).
func inherit(ctx context.Context, tx pgx.Tx, u account.User, sql string, from any) error {
	rows, err := tx.Query(ctx, sql, from, u.CreatedAt.Add(-ledger.SeatHistory))
	if err != nil {
		return err
	}
	cases, err := pgx.CollectRows(rows, books.ScanQuarantine)
	if err != nil {
		return err
	}
	c, held := ledger.SeatCase(u, cases)
	if !held {
		return nil
	}
	_, err = books.OpenCase(ctx, tx, c)
	return err
}

// KeyByHash finds a key, including a revoked one. disabled reports whether its owner, or the owner
// of its seat, is disabled. Errors: errs.NotFound.
func (s *Accounts) KeyByHash(ctx context.Context, hash [32]byte) (k account.Key, disabled bool, err error) {
	rows, err := s.Pool.Query(ctx, selectKeyByHash, hash[:])
	if err != nil {
		return account.Key{}, false, pg.Failure("read key", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Key{}, false, errs.New(errs.NotFound, "no such key")
	}
	return found.Key, found.disabled, pg.Failure("read key", err)
}

// Keys lists an owner's keys, newest first, revoked ones included.
func (s *Accounts) Keys(ctx context.Context, owner uuid.UUID) ([]account.Key, error) {
	rows, err := s.Pool.Query(ctx, selectKeysOfOwner, owner)
	if err != nil {
		return nil, pg.Failure("list keys", err)
	}
	found, err := pgx.CollectRows(rows, scanKey)
	if err != nil {
		return nil, pg.Failure("list keys", err)
	}
	keys := make([]account.Key, len(found))
	for i := range found {
		keys[i] = found[i].Key
	}
	return keys, nil
}

// RevokeKey is idempotent: the first revocation time is kept. Errors: errs.NotFound.
func (s *Accounts) RevokeKey(ctx context.Context, owner, id uuid.UUID, at time.Time) error {
	return s.Transact(ctx, "revoke key", func(tx pgx.Tx) error {
		already, err := holdKey(ctx, tx, owner, id)
		if err != nil || already {
			return err
		}
		if _, err := tx.Exec(ctx, revokeKey, id, at); err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.OfKey(account.Key{ID: id}, account.User{ID: owner}, true))
	})
}

// holdKey locks a key of owner or of one of its seats, and reports whether it was revoked.
func holdKey(ctx context.Context, tx pgx.Tx, owner, id uuid.UUID) (revoked bool, err error) {
	err = tx.QueryRow(ctx, lockKey, owner, id).Scan(&revoked)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, errs.New(errs.NotFound, "no such key")
	}
	return revoked, err
}

// RotateKey implements account.KeyStore.
func (s *Accounts) RotateKey(ctx context.Context, owner, id uuid.UUID, ends time.Time, next account.Key) error {
	err := s.Transact(ctx, "rotate key", func(tx pgx.Tx) error {
		revoked, err := holdKey(ctx, tx, owner, id)
		if err != nil {
			return err
		}
		ended, err := tx.Exec(ctx, endKey, id, ends)
		if err != nil {
			return err
		}
		if revoked || ended.RowsAffected() == 0 {
			return account.ErrRotated
		}
		of, err := readUser(ctx, tx, selectUser, next.OwnerID)
		if err != nil {
			return err
		}
		if err := createKey(ctx, tx, next, of); err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.OfRotation(id, account.User{ID: owner}, ends, next))
	})
	return pg.Failure("rotate key", err)
}

// NamesOrigin implements account.KeyStore.
func (s *Accounts) NamesOrigin(ctx context.Context, patterns []string, now time.Time) (named bool, err error) {
	err = s.Pool.QueryRow(ctx, namesOrigin, patterns, now).Scan(&named)
	return named, pg.Failure("look for an origin", err)
}

// foundKey is a key and the state of its owner.
type foundKey struct {
	account.Key
	disabled bool
}

func scanKey(row pgx.CollectableRow) (k foundKey, err error) {
	var hash []byte
	var addresses []netip.Prefix
	var origins []string
	var revoked, ends *time.Time
	var blocks, publishing []byte
	var house []uuid.UUID
	var only, family *uuid.UUID
	err = row.Scan(
		&k.ID, &k.OwnerID, &k.DeveloperID, &k.Kind, &only, &k.Name, &k.Prefix, &hash, &k.CreatedAt, &revoked,
		&addresses, &k.Unlearned, &origins, &k.ReadByModels, &ends, &k.disabled, &blocks, &publishing, &house, &family,
	)
	if err == nil && len(blocks) > 0 {
		k.Blocks = new(account.Blocks)
		err = json.Unmarshal(blocks, k.Blocks)
	}
	if err == nil && len(publishing) > 0 {
		err = json.Unmarshal(publishing, &k.Publishing)
	}
	copy(k.Hash[:], hash)
	if len(house) > 0 {
		k.House = house
	}
	if len(addresses) > 0 {
		k.Addresses = addresses
	}
	if len(origins) > 0 {
		k.Origins = origins
	}
	if ends != nil {
		k.EndsAt = *ends
	}
	if only != nil {
		k.CampaignID = *only
	}
	if family != nil {
		k.Family = *family
	}
	if revoked != nil {
		k.RevokedAt = *revoked
	}
	return k, err
}
