package postgres

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

// core is what all stores share: the connections.
type core struct {
	pool *pgxpool.Pool
}

// inTx runs fn in one READ COMMITTED transaction: every statement sees all rows committed before it
// began. Reads after a lock rely on that.
func (s *core) inTx(ctx context.Context, op string, fn func(tx pgx.Tx) error) error {
	return failure(op, pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, fn))
}

// snapshot runs fn in a read-only transaction that sees one state of the database.
func (s *core) snapshot(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, fn)
}

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect returns the rows of a statement, each read by scan.
func collect[T any](ctx context.Context, q querier, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// nullID returns nil (NULL) for the nil UUID.
func nullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// nullTime returns nil (NULL) for the zero time.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// failure gives err the code that callers act on. Errors that already carry one, and errors of the
// caller's own functions, stay in the chain.
func failure(op string, err error) error {
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
	case code == "40001", code == "40P01", code == "55P03", // serialization, deadlock, lock not available
		strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P"):
		return errs.Wrap(wrapped, errs.Unavailable, "the database cannot answer now")
	}
	return fmt.Errorf("postgres: %w", wrapped)
}
