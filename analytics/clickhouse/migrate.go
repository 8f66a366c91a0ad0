package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"

	"adnet/internal/errs"
	schema "adnet/schemas/clickhouse"
)

const (
	createMigrations = `
CREATE TABLE IF NOT EXISTS schema_migrations
(
    version    UInt32                 COMMENT 'number of the file',
    name       String                 COMMENT 'name of the file',
    sum        String                 COMMENT 'SHA-256 of the file, hex',
    applied_at DateTime DEFAULT now() COMMENT 'UTC'
)
ENGINE = ReplacingMergeTree ORDER BY version
COMMENT 'DDL files that were applied'`
	appliedMigrations = `SELECT version, name, sum FROM schema_migrations FINAL ORDER BY version`
	recordMigration   = `INSERT INTO schema_migrations (version, name, sum) SELECT {version:UInt32}, {name:String}, {sum:String}`
)

// Migrate creates the database of cfg.URL if it does not exist (engine Atomic) and applies the
// numbered files that were not applied before, in order. It returns their names. The next run
// completes an interrupted one, and concurrent runs are harmless, because every statement may run
// twice. Errors: errs.InvalidState when an applied file was changed or the database is newer than
// this program; errs.Unavailable.
func Migrate(ctx context.Context, cfg Config) (applied []string, err error) {
	if err := createDatabase(ctx, cfg); err != nil {
		return nil, err
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	migrations, err := schema.Migrations()
	if err != nil {
		return nil, err
	}
	return s.migrate(ctx, migrations)
}

// createDatabase creates the database of cfg.URL if it does not exist.
func createDatabase(ctx context.Context, cfg Config) error {
	return withServer(cfg, func(conn clickhouse.Conn, name string) error {
		return failure(conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+name+" ENGINE = Atomic"), "create database")
	})
}

// checkDatabase fails with errs.InvalidState when the database of cfg.URL does not exist.
func checkDatabase(ctx context.Context, cfg Config) error {
	return withServer(cfg, func(conn clickhouse.Conn, name string) error {
		var found []struct {
			N uint64 `ch:"n"`
		}
		ctx := bind(ctx, map[string]string{"name": name})
		if err := conn.Select(
			ctx, &found, "SELECT count() AS n FROM system.databases WHERE name = {name:String}",
		); err != nil {
			return failure(err, "find database")
		}
		if len(found) == 0 || found[0].N == 0 {
			return errs.New(errs.InvalidState, "the ClickHouse database %s does not exist: run adnet migrate", name)
		}
		return nil
	})
}

// withServer calls do with a connection without a database, and the name of the configured one.
// Every server rejects a connection to a database that does not exist, and a server hosted in
// libchdb exits.
func withServer(cfg Config, do func(conn clickhouse.Conn, name string) error) (err error) {
	options, err := cfg.options()
	if err != nil {
		return err
	}
	name := options.Auth.Database
	options.Auth.Database = ""
	conn, err := clickhouse.Open(options)
	if err != nil {
		return errs.Wrap(err, errs.InvalidRequest, "ADNET_CLICKHOUSE_URL cannot be used")
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return do(conn, name)
}

func (s *Store) migrate(ctx context.Context, migrations []schema.Migration) (applied []string, err error) {
	if err := s.Exec(ctx, createMigrations, nil); err != nil {
		return nil, err
	}
	var known []struct {
		Version uint32 `ch:"version"`
		Name    string `ch:"name"`
		Sum     string `ch:"sum"`
	}
	if err := s.Select(ctx, &known, appliedMigrations, nil); err != nil {
		return nil, err
	}
	sums := make(map[uint32]string, len(known))
	for _, k := range known {
		if int(k.Version) > len(migrations) {
			return nil, errs.New(
				errs.InvalidState, "the analytics database has %s, which this version does not know: use a newer adnet",
				k.Name,
			)
		}
		sums[k.Version] = k.Sum
	}
	for _, m := range migrations {
		if sum, done := sums[m.Version]; done {
			if sum != m.Sum {
				return applied, errs.New(errs.InvalidState, "%s differs from the file that was applied", m.Name)
			}
			continue
		}
		if err := s.apply(ctx, m); err != nil {
			return applied, err
		}
		applied = append(applied, m.Name)
	}
	return applied, nil
}

func (s *Store) apply(ctx context.Context, m schema.Migration) error {
	for i, statement := range m.Statements {
		if err := s.Exec(ctx, statement, nil); err != nil {
			return fmt.Errorf("%s, statement %d: %w", m.Name, i+1, err)
		}
	}
	return s.Exec(ctx, recordMigration, map[string]string{
		"version": strconv.FormatUint(uint64(m.Version), 10), "name": m.Name, "sum": m.Sum,
	})
}
