// Package pg is what the stores of PostgreSQL share: the connections, transactions and the codes of
// errors.
package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"adnet/internal/errs"
)

// Core is what all stores share: the connections.
type Core struct {
	Pool *pgxpool.Pool
}

// Transact runs fn in one READ COMMITTED transaction: every statement sees all rows committed
// before it began. Reads after a lock rely on that.
func (s *Core) Transact(ctx context.Context, op string, fn func(tx pgx.Tx) error) error {
	return Failure(op, pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, fn))
}

// Snapshot runs fn in a read-only transaction that sees one state of the database.
func (s *Core) Snapshot(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, fn)
}

// Querier is the pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Collect returns the rows of a statement, each read by scan.
func Collect[T any](ctx context.Context, q Querier, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// NullID returns nil (NULL) for the nil UUID.
func NullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// NullTime returns nil (NULL) for the zero time.
func NullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// ReadOnly is the SQLSTATE of a write to a server, or in a transaction, that only reads.
const ReadOnly = "25006"

// LockTimeout is the SQLSTATE of a statement that waited for a lock longer than lock_timeout.
const LockTimeout = "55P03"

// Failure gives err the code that callers act on. Errors that already carry one, and errors of the
// caller's own functions, stay in the chain.
func Failure(op string, err error) error {
	var known *errs.Error
	var pgErr *pgconn.PgError
	var connectErr *pgconn.ConnectError
	var netErr net.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &pgErr):
		return pgFailure(op, pgErr, err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("postgres: %s: %w", op, err)
	case errors.As(err, &connectErr), errors.As(err, &netErr), pgconn.SafeToRetry(err),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errs.Wrap(fmt.Errorf("%s: %w", op, err), errs.Unavailable, "the database does not answer")
	}
	return fmt.Errorf("postgres: %s: %w", op, err)
}

// pgFailure maps the server's SQLSTATE codes to errs codes (PostgreSQL manual, appendix A).
func pgFailure(op string, pgErr *pgconn.PgError, err error) error {
	wrapped := fmt.Errorf("%s: %w", op, err)
	switch code := pgErr.Code; {
	case code == "23505": // unique_violation
		return errs.Wrap(wrapped, errs.Conflict, "it exists already")
	case code == "22021", code == "22P05": // NUL or bytes that are not UTF-8
		return errs.Wrap(wrapped, errs.InvalidRequest, "text must be UTF-8 without NUL characters")
	case code == "42P01", code == "42703": // no such table or column
		return errs.Wrap(wrapped, errs.Unavailable, "the database schema is not current: run `adnet migrate`")
	case code == "40001", code == "40P01", code == LockTimeout, code == ReadOnly, // serialization, deadlock
		strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P"):
		return errs.Wrap(wrapped, errs.Unavailable, "the database cannot answer now")
	}
	return fmt.Errorf("postgres: %w", wrapped)
}
