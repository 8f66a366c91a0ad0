package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"adnet/internal/account"
	"adnet/internal/auditlog"
	"adnet/internal/errs"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	userColumns = `id, developer_id, email, password_hash, role, disabled, token_version, created_at, parent_id`

	insertUser = `INSERT INTO app_user (` + userColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	// The ids of a seat follow each other in one list: its own, then its developer id.
	seatsOfUser = `ARRAY(SELECT pair.id FROM app_user s, unnest(ARRAY[s.id, s.developer_id]) WITH ORDINALITY AS pair (id, n)
		WHERE s.parent_id = u.id ORDER BY s.created_at, s.id, pair.n)`

	selectUser        = `SELECT ` + userColumns + `, ` + seatsOfUser + ` FROM app_user u WHERE id = $1`
	selectUserByEmail = `SELECT ` + userColumns + `, ` + seatsOfUser + ` FROM app_user u WHERE lower(email) = lower($1)`

	// NO KEY: inserts that reference the account need not wait for the edit.
	lockUser = selectUser + ` FOR NO KEY UPDATE OF u`

	updateUser = `UPDATE app_user SET email = $2, password_hash = $3, role = $4, disabled = $5, token_version = $6
		WHERE id = $1`

	forgetNetworks = `DELETE FROM login_network WHERE user_id = $1 AND good_at < $2`
	noteNetwork    = `INSERT INTO login_network (user_id, network, good_at) VALUES ($1, $2, $3)
		ON CONFLICT (user_id, network) DO UPDATE SET good_at = EXCLUDED.good_at`
	knowsNetwork = `SELECT EXISTS (SELECT FROM login_network WHERE user_id = $1 AND network = $2 AND good_at >= $3)`
)

var _ account.UserStore = (*Store)(nil)

// CreateUser keeps a new account; its e-mail is kept in lower case. Errors: errs.Conflict.
func (s *Store) CreateUser(ctx context.Context, u account.User) error {
	u.Email = strings.ToLower(u.Email)
	return s.inTx(ctx, "create user", func(tx pgx.Tx) error {
		return createUser(ctx, tx, u)
	})
}

func createUser(ctx context.Context, tx pgx.Tx, u account.User) error {
	_, err := tx.Exec(ctx, insertUser, u.ID, u.DeveloperID, u.Email, u.PasswordHash, u.Role, u.Disabled, u.TokenVersion, u.CreatedAt, nullID(u.ParentID))
	if err != nil {
		return emailTaken(failure("create user", err))
	}
	return record(ctx, tx, auditlog.OfUser(nil, &u))
}

// User finds an account by id. Errors: errs.NotFound.
func (s *Store) User(ctx context.Context, id uuid.UUID) (account.User, error) {
	return readUser(ctx, s.pool, selectUser, id)
}

// UserByEmail finds an account by e-mail in any case. Errors: errs.NotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (account.User, error) {
	return readUser(ctx, s.pool, selectUserByEmail, strings.ToLower(email))
}

// UpdateUser runs edit on the locked row and keeps the result, but for the ids and the time of
// creation. Errors: errs.NotFound, errs.Conflict when the new e-mail is taken, and those of edit.
func (s *Store) UpdateUser(ctx context.Context, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	var kept account.User
	err := s.inTx(ctx, "update user", func(tx pgx.Tx) (err error) {
		kept, err = editUser(ctx, tx, id, edit)
		return err
	})
	if err != nil {
		return account.User{}, err
	}
	return kept, nil
}

func editUser(ctx context.Context, tx pgx.Tx, id uuid.UUID, edit func(*account.User) error) (account.User, error) {
	before, err := readUser(ctx, tx, lockUser, id)
	if err != nil {
		return account.User{}, err
	}
	u, err := before.Edited(edit)
	if err != nil {
		return account.User{}, err
	}
	if _, err = tx.Exec(ctx, updateUser, u.ID, u.Email, u.PasswordHash, u.Role, u.Disabled, u.TokenVersion); err != nil {
		return account.User{}, emailTaken(failure("update user", err))
	}
	return u, record(ctx, tx, auditlog.OfUser(&before, &u))
}

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func readUser(ctx context.Context, q querier, sql string, arg any) (account.User, error) {
	rows, err := q.Query(ctx, sql, arg)
	if err != nil {
		return account.User{}, failure("read user", err)
	}
	u, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (u account.User, err error) {
		var parent *uuid.UUID
		var seats [][16]byte
		err = row.Scan(&u.ID, &u.DeveloperID, &u.Email, &u.PasswordHash, &u.Role, &u.Disabled, &u.TokenVersion, &u.CreatedAt, &parent, &seats)
		if parent != nil {
			u.ParentID = *parent
		}
		for pair := range slices.Chunk(seats, 2) {
			u.Seats = append(u.Seats, account.Seat{ID: pair[0], DeveloperID: pair[1]})
		}
		return u, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return account.User{}, errs.New(errs.NotFound, "no such account")
	}
	return u, failure("read user", err)
}

// emailTaken words a conflict: the e-mail is the only thing a caller can choose.
func emailTaken(err error) error {
	if errs.Is(err, errs.Conflict) {
		return errs.Wrap(err, errs.Conflict, "an account with this e-mail exists")
	}
	return err
}

// NoteNetwork implements account.NetworkStore. Of the network a hash is kept that needs the account
// to be read.
func (s *Store) NoteNetwork(ctx context.Context, user uuid.UUID, network string, at, forget time.Time) error {
	if _, err := s.pool.Exec(ctx, forgetNetworks, user, forget); err != nil {
		return failure("forget networks", err)
	}
	_, err := s.pool.Exec(ctx, noteNetwork, user, networkHash(user, network), at)
	return failure("note network", err)
}

// KnowsNetwork implements account.NetworkStore.
func (s *Store) KnowsNetwork(ctx context.Context, user uuid.UUID, network string, since time.Time) (known bool, err error) {
	err = s.pool.QueryRow(ctx, knowsNetwork, user, networkHash(user, network), since).Scan(&known)
	return known, failure("know network", err)
}

func networkHash(user uuid.UUID, network string) []byte {
	sum := sha256.Sum256(append(user[:], network...))
	return sum[:16]
}
