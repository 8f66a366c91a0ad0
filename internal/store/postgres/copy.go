package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"adnet/internal/errs"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

// Client locates PostgreSQL's own programs.
type Client struct {
	Bin string `name:"pg-bin" env:"ADNET_PG_BIN" help:"Folder of pg_dump and pg_restore (default: found in PATH and /usr/lib/postgresql)."`
}

// find returns the path of a PostgreSQL client program, the newest if there are several.
func (c Client) find(name string) (string, error) {
	if c.Bin != "" {
		path := filepath.Join(c.Bin, name)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("ADNET_PG_BIN: there is no %s in %s", name, c.Bin)
		}
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join("/usr/lib/postgresql", "*", "bin", name))
	slices.SortFunc(found, func(a, b string) int { return major(a) - major(b) })
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf(
		"%s was not found: install PostgreSQL's client programs (Debian: postgresql-client), of the server's "+
			"version or newer, or set ADNET_PG_BIN", name,
	)
}

// major returns the version in a path like /usr/lib/postgresql/17/bin/pg_dump.
func major(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

// run runs a program against the database of url. The password is passed in the environment, which
// no process list shows.
func (c Client) run(ctx context.Context, url, name string, args ...string) error {
	path, err := c.find(name)
	if err != nil {
		return err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvURL, err)
	}
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), programEnv(url, config)...)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(output[:min(len(output), 2000)])))
	}
	return nil
}

// Snapshot is a fixed state of the database, used both for the dump and for the row counts.
type Snapshot struct {
	ID      string
	Rows    map[string]int64 // by table
	Offsets map[stream.Partition]int64
	Archive map[stream.Partition]int64
	Schema  []string // applied migrations

	conn *pgx.Conn
	tx   pgx.Tx
}

// TakeSnapshot begins a snapshot at url. Close it.
func TakeSnapshot(ctx context.Context, url string) (*Snapshot, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		config, bad := pgx.ParseConfig(url)
		if bad != nil {
			return nil, fmt.Errorf("%s: %w", EnvURL, bad)
		}
		return nil, unreachable(config, err)
	}
	s := &Snapshot{conn: conn, Rows: make(map[string]int64)}
	if err := s.read(ctx); err != nil {
		return nil, errors.Join(pg.Failure("snapshot", err), s.Close(ctx))
	}
	return s, nil
}

func (s *Snapshot) read(ctx context.Context) (err error) {
	if s.tx, err = s.conn.BeginTx(
		ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
	); err != nil {
		return err
	}
	if err := s.tx.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&s.ID); err != nil {
		return err
	}
	rows, err := s.tx.Query(ctx, selectMigrations)
	if err != nil {
		return err
	}
	if s.Schema, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return err
	}
	if rows, err = s.tx.Query(
		ctx,
		`SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
	); err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		var n int64
		if err := s.tx.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
			return err
		}
		s.Rows[table] = n
	}
	for sql, into := range map[string]*map[stream.Partition]int64{
		`SELECT stream, partition, next_offset FROM consumer_offset`:    &s.Offsets,
		`SELECT stream, partition, archived_next FROM archive_progress`: &s.Archive,
	} {
		rows, err := s.tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		if *into, err = books.CollectOffsets(rows); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the snapshot.
func (s *Snapshot) Close(ctx context.Context) error {
	return s.conn.Close(context.WithoutCancel(ctx)) // ends the transaction too
}

// Dump writes the snapshot to a file in pg_dump's own format. It leaves out the hold of the
// archive, which belongs to this moment only.
func (c Client) Dump(ctx context.Context, url string, s *Snapshot, file string) error {
	return c.run(
		ctx, url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--snapshot="+s.ID,
		"--exclude-table-data=archive_hold", "--file="+file,
	)
}

const (
	emptySQL = `
SELECT count(*) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
	AND c.relname IN ('app_user', 'campaign', 'ledger_transaction', 'applied_batch', 'consumer_offset')
	AND (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', c.relname), false, true,
		'')))[1]::text::bigint > 0`

	dropAllSQL = `
DO $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r',
		'p') AND NOT relispartition LOOP
		EXECUTE format('DROP TABLE IF EXISTS %I CASCADE', t.relname);
	END LOOP;
	FOR t IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') LOOP
		EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', t.f);
	END LOOP;
END $$`
)

// Empty reports whether the database at url has neither accounts nor campaigns nor money.
func Empty(ctx context.Context, url string) (empty bool, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false, fmt.Errorf("%s: cannot connect: %w", EnvOwnerURL, err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var filled int
	err = conn.QueryRow(ctx, emptySQL).Scan(&filled)
	return filled == 0, pg.Failure("look for data", err)
}

// Load restores a dump. It first drops the contents of the schema; the dump itself is one
// transaction. url must use the role that is to own the tables.
func (c Client) Load(ctx context.Context, url, file string) error {
	if _, err := c.find("pg_restore"); err != nil { // before anything is dropped
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("%s: cannot connect: %w", EnvOwnerURL, err)
	}
	_, err = conn.Exec(ctx, dropAllSQL)
	if err = errors.Join(pg.Failure("drop what was there", err), conn.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errs.Wrap(err, errs.InvalidRequest, "%s is no URL", EnvOwnerURL)
	}
	return c.run(
		ctx, url, "pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction",
		"--dbname="+config.Database, file,
	)
}

// CountRows counts the rows of a table.
func (s *Retention) CountRows(ctx context.Context, table string) (n int64, err error) {
	err = s.Pool.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()).Scan(&n)
	return n, pg.Failure("count rows", err)
}
