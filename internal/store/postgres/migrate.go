package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	schema "adnet/schemas/postgres"
)

const (
	createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
		name text PRIMARY KEY, sha256 bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
	lockMigrations   = `SELECT pg_advisory_xact_lock($1)`
	selectMigration  = `SELECT sha256 FROM schema_migration WHERE name = $1`
	insertMigration  = `INSERT INTO schema_migration (name, sha256) VALUES ($1, $2)`
	selectMigrations = `SELECT name FROM schema_migration ORDER BY name`
)

// migrationLock is the advisory lock of adnet's migrations: "adnet" in ASCII.
const migrationLock int64 = 0x61646e6574

// Migrate brings the database at url to the schema of this build and reports each step to log, one
// line each. Each file runs in one transaction together with its mark, so a crash leaves only
// complete migrations. Concurrent processes take turns, and the later ones find nothing to do.
// Errors: the database does not respond, a file fails, an applied file differs from this build's,
// or the database has migrations unknown to this build.
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
	err = migrate(ctx, conn, schema.Migrations, log)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func migrate(ctx context.Context, conn *pgx.Conn, files fs.FS, log func(string)) error {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	err = exclusively(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createMigrationTable); err != nil {
			return err
		}
		return refuseUnknown(ctx, tx, names)
	})
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	applied := 0
	for _, name := range names {
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read migration: %w", err)
		}
		started, ran := time.Now(), false
		err = exclusively(ctx, conn, func(tx pgx.Tx) (err error) {
			ran, err = applyOnce(ctx, tx, name, sql)
			return err
		})
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

// exclusively runs fn in a transaction that holds the migration lock. The lock belongs to the
// transaction, not the session, so it also works through a pooler and is always released.
func exclusively(ctx context.Context, conn *pgx.Conn, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockMigrations, migrationLock); err != nil {
			return err
		}
		return fn(tx)
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

func applyOnce(ctx context.Context, tx pgx.Tx, name string, sql []byte) (ran bool, err error) {
	sum := sha256.Sum256(sql)
	var before []byte
	err = tx.QueryRow(ctx, selectMigration, name).Scan(&before)
	switch {
	case err == nil && slices.Equal(before, sum[:]):
		return false, nil
	case err == nil:
		return false, fmt.Errorf("%s was edited after it was applied: restore it and write a new migration", name)
	case !errors.Is(err, pgx.ErrNoRows):
		return false, err
	}
	if _, err := tx.Exec(ctx, string(sql)); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, insertMigration, name, sum[:])
	return true, err
}
