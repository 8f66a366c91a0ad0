package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	schema "adnet/schemas/postgres"
)

const (
	createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
		name text PRIMARY KEY, sha256 bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
	selectMigration  = `SELECT sha256 FROM schema_migration WHERE name = $1`
	insertMigration  = `INSERT INTO schema_migration (name, sha256) VALUES ($1, $2)`
	selectMigrations = `SELECT name FROM schema_migration ORDER BY name`
)

// Migrate brings the database at url to the schema of this build and reports each step to log, one
// line each. Each file runs in one transaction together with its mark, so a crash leaves only
// complete migrations; a file whose first line is [schema.Concurrently] holds one CREATE INDEX
// CONCURRENTLY, which runs outside a transaction and is built anew after a crash. No statement waits
// longer for a table's lock than patience allows, so that others never wait long behind it.
// Concurrent processes take turns, and the later ones find nothing to do.
// Errors: the database does not respond, a file fails, a lock stays taken, an applied file differs
// from this build's, or the database has migrations unknown to this build.
func Migrate(ctx context.Context, url string, log func(string)) error {
	if url == "" {
		return errNoURL()
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvURL, err)
	}
	config.ConnectTimeout = connectTimeout
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return unreachable(config, err)
	}
	err = migrate(ctx, conn, schema.Migrations, locking, log)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func migrate(ctx context.Context, conn *pgx.Conn, files fs.FS, wait patience, log func(string)) error {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	turn, err := take(ctx, conn.Config())
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	defer turn.end(ctx)
	m := migrator{conn: conn, wait: wait, log: log}
	if err := m.prepare(ctx, names); err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	applied := 0
	for _, name := range names {
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read migration: %w", err)
		}
		started := time.Now()
		ran, err := m.apply(ctx, name, sql)
		if err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
		if ran {
			applied++
			log(fmt.Sprintf("postgres: applied %s in %d ms", name, time.Since(started).Milliseconds()))
		}
	}
	log(fmt.Sprintf("postgres: schema is current (%d migrations, %d applied now)", len(names), applied))
	return nil
}

// migrator applies files over one connection.
type migrator struct {
	conn *pgx.Conn
	wait patience
	log  func(string)
}

func (m *migrator) prepare(ctx context.Context, names []string) error {
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createMigrationTable); err != nil {
			return err
		}
		return refuseUnknown(ctx, tx, names)
	})
}

// apply applies one file unless it was applied, and reports whether it did.
func (m *migrator) apply(ctx context.Context, name string, sql []byte) (ran bool, err error) {
	if ran, err = missing(ctx, m.conn, name, sql); err != nil || !ran {
		return false, err
	}
	index, alone, err := schema.Concurrent(sql)
	switch {
	case err != nil:
		return false, err
	case alone:
		return true, m.build(ctx, index, name, sql)
	}
	return true, m.patiently(ctx, name, func() error {
		return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setLockTimeout, strconv.FormatInt(m.wait.lock.Milliseconds(), 10)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(sql)); err != nil {
				return err
			}
			return mark(ctx, tx, name, sql)
		})
	})
}

// refuseUnknown stops an older build from running on a newer schema.
func refuseUnknown(ctx context.Context, tx pgx.Tx, known []string) error {
	rows, err := tx.Query(ctx, selectMigrations)
	if err != nil {
		return err
	}
	applied, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range applied {
		if !slices.Contains(known, name) {
			return fmt.Errorf(
				"the database has %s, which this build does not know: use the build that applied it, or a newer one",
				name,
			)
		}
	}
	return nil
}

// missing reports whether a file was not applied. A file that was edited since is an error.
func missing(ctx context.Context, conn *pgx.Conn, name string, sql []byte) (bool, error) {
	sum := sha256.Sum256(sql)
	var before []byte
	err := conn.QueryRow(ctx, selectMigration, name).Scan(&before)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return true, nil
	case err == nil && !slices.Equal(before, sum[:]):
		return false, fmt.Errorf("%s was edited after it was applied: restore it and write a new migration", name)
	}
	return false, err
}

func mark(ctx context.Context, q execer, name string, sql []byte) error {
	sum := sha256.Sum256(sql)
	_, err := q.Exec(ctx, insertMigration, name, sum[:])
	return err
}

// execer is a connection or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}
