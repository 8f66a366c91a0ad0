package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"adnet/internal/store/postgres/pg"
)

const (
	// The lock belongs to a transaction, not to the session: it works through a pooler, and it ends
	// with the connection.
	tryMigrations  = `SELECT pg_try_advisory_xact_lock($1)`
	setLockTimeout = `SELECT set_config('lock_timeout', $1, true)`
	keepIdle       = `SELECT set_config('idle_in_transaction_session_timeout', '0', true)`

	dropInvalid = `SELECT 'DROP INDEX CONCURRENTLY ' || c.oid::regclass FROM pg_index i
		JOIN pg_class c ON c.oid = i.indexrelid WHERE c.oid = to_regclass($1) AND NOT i.indisvalid`
)

// migrationLock is the advisory lock of adnet's migrations: "adnet" in ASCII.
const migrationLock int64 = 0x61646e6574

// turnEvery is the interval at which a process tries to get its turn.
const turnEvery = 100 * time.Millisecond

// patience limits how long a migration waits for the lock of a table: what asks for the same table
// later waits behind it, settlement too.
type patience struct {
	lock  time.Duration // wait of one try
	tries int
	pause time.Duration // between tries: those that waited get the table first
}

// locking is the patience of Migrate: it outlasts a report that reads for a minute, and delays
// others by 2 s at most.
var locking = patience{lock: 2 * time.Second, tries: 20, pause: 2 * time.Second}

// patiently runs fn, a transaction, and repeats it while it fails for a lock that another holds.
func (m *migrator) patiently(ctx context.Context, name string, fn func() error) error {
	for try := 1; ; try++ {
		err := fn()
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != pg.LockTimeout {
			return err
		}
		if try >= m.wait.tries {
			return fmt.Errorf(
				"another transaction kept a lock through %d tries; find it in pg_stat_activity, end it, and repeat: %w",
				m.wait.tries, err,
			)
		}
		m.log(fmt.Sprintf("postgres: %s waits for a lock (try %d of %d)", name, try, m.wait.tries))
		if err := sleep(ctx, m.wait.pause); err != nil {
			return err
		}
	}
}

// build builds an index beside writers. Remains of a build that failed are dropped first; they are
// invalid, and IF NOT EXISTS would take them for the index.
func (m *migrator) build(ctx context.Context, index, name string, sql []byte) error {
	var drop string
	err := m.conn.QueryRow(ctx, dropInvalid, index).Scan(&drop)
	switch {
	case err == nil:
		if _, err := m.conn.Exec(ctx, drop); err != nil {
			return err
		}
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if _, err := m.conn.Exec(ctx, string(sql)); err != nil {
		return err
	}
	return mark(ctx, m.conn, name, sql)
}

// turn is the right to migrate. It is held by an idle transaction of its own connection: a waiting
// statement would hold a snapshot, and CREATE INDEX CONCURRENTLY waits for those.
type turn struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// take waits until no other process migrates.
func take(ctx context.Context, config *pgx.ConnConfig) (turn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return turn{}, unreachable(config, err)
	}
	for {
		tx, err := try(ctx, conn)
		switch {
		case err == nil && tx != nil:
			return turn{conn: conn, tx: tx}, nil
		case err == nil:
			err = sleep(ctx, turnEvery)
		}
		if err != nil {
			return turn{}, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
		}
	}
}

// try returns a transaction that holds the lock, nil if another process holds it.
func try(ctx context.Context, conn *pgx.Conn) (pgx.Tx, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	var held bool
	if _, err = tx.Exec(ctx, keepIdle); err == nil {
		// In the extended protocol the statement would hold its snapshot until the next one, and a
		// CREATE INDEX CONCURRENTLY would wait for it for ever.
		err = tx.QueryRow(ctx, tryMigrations, pgx.QueryExecModeSimpleProtocol, migrationLock).Scan(&held)
	}
	if err != nil || !held {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return tx, nil
}

// end gives the turn to the next process. An error does not matter: the lock ends with the
// connection.
func (t turn) end(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	_ = t.tx.Rollback(ctx)
	_ = t.conn.Close(ctx)
}

// exclusively runs fn in a transaction while no other process migrates.
func exclusively(ctx context.Context, conn *pgx.Conn, fn func(pgx.Tx) error) error {
	turn, err := take(ctx, conn.Config())
	if err != nil {
		return err
	}
	defer turn.end(ctx)
	return pgx.BeginFunc(ctx, conn, fn)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
