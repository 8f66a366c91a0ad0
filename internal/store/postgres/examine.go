package postgres

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/process/link"
	"adnet/internal/store/postgres/books"
	schema "adnet/schemas/postgres"
)

const (
	examineServer = `
SELECT current_setting('server_version'), current_user, pg_is_in_recovery()
	OR current_setting('transaction_read_only')::bool,
	to_regclass('schema_migration') IS NOT NULL,
	has_schema_privilege(current_schema(), 'CREATE'), (SELECT rolcreaterole OR rolsuper FROM pg_roles
		WHERE rolname = current_user),
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`

	examineTables = `
SELECT coalesce(bool_and(has_table_privilege(t, 'SELECT') AND has_table_privilege(t, 'INSERT')), false)
FROM unnest(ARRAY['ledger_transaction', 'ledger_entry', 'applied_batch']::regclass[]) t`
)

// Examine checks PostgreSQL as the serving role sees it: version, latency, encryption, whether the
// schema is this build's, and whether the role has the rights it needs and no more. It changes
// nothing.
func Examine(ctx context.Context, cfg Config) link.Report {
	report := link.Report{Server: "PostgreSQL", Setting: EnvURL}
	examined(ctx, cfg, &report, (*Stores).examineServing)
	return report
}

// ExamineOwner checks PostgreSQL as the role that owns the tables and migrates.
func ExamineOwner(ctx context.Context, owner OwnerConfig, app Config) link.Report {
	report := link.Report{Server: "PostgreSQL, owner", Setting: EnvOwnerURL}
	app.URL = owner.OwnerURL
	examined(ctx, app, &report, (*Stores).examineOwning)
	return report
}

// examination holds the facts that are read for both roles.
type examination struct {
	version, user                           string
	readOnly, migrated, creates, makesRoles bool
	connections                             int
}

func examined(
	ctx context.Context, cfg Config, report *link.Report,
	more func(*Stores, context.Context, *link.Report, examination) error,
) {
	var watch link.Watch
	config, err := pgx.ParseConfig(cfg.URL)
	if err == nil && cfg.URL != "" {
		report.Address = strings.Join(servers(config), ",") + "/" + config.Database
	}
	cfg.MaxConns = cmp.Or(cfg.MaxConns, 1)
	store, err := open(ctx, cfg, watch.Seen)
	if err != nil {
		report.Away(err, "start PostgreSQL, or correct "+report.Setting)
		return
	}
	defer store.Close()
	if err := store.examine(ctx, report, &watch, more); err != nil {
		report.Away(err, "repeat; if it stays, read the server's log")
	}
}

func (s *Stores) examine(
	ctx context.Context, report *link.Report, watch *link.Watch,
	more func(*Stores, context.Context, *link.Report, examination) error,
) error {
	err := report.Measure(func() (now time.Time, err error) {
		return now, s.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	})
	if err != nil {
		return err
	}
	local := true
	for _, server := range servers(s.Pool.Config().ConnConfig) {
		local = local && link.Local(server)
	}
	report.Encrypted(watch, local, "add sslmode=verify-full to "+report.Setting)
	var e examination
	err = s.Pool.QueryRow(ctx, examineServer).Scan(
		&e.version, &e.user, &e.readOnly, &e.migrated, &e.creates, &e.makesRoles, &e.connections,
	)
	if err != nil {
		return err
	}
	report.Version, report.Conns = e.version, e.connections
	if e.readOnly {
		report.Mend(
			"the server is read-only, a standby perhaps",
			"name the primary, or several hosts and target_session_attrs=read-write, in "+report.Setting,
		)
	}
	return more(s, ctx, report, e)
}

// examineServing checks which rights the serving role has, and that it has no others.
func (s *Stores) examineServing(ctx context.Context, report *link.Report, e examination) error {
	if !e.migrated {
		report.Mend("the schema is missing", "run `adnet migrate`")
		return nil
	}
	behind, err := s.missingMigrations(ctx)
	if err != nil {
		return err
	}
	if len(behind) > 0 {
		report.Mend(
			fmt.Sprintf("%d migrations of this version are missing, the first is %s", len(behind), behind[0]),
			"run `adnet migrate`",
		)
		return nil
	}
	var serves bool
	if err := s.Pool.QueryRow(ctx, examineTables).Scan(&serves); err != nil {
		return err
	}
	report.Right(
		"read the ledger and add to it", serves, "run `adnet migrate` with "+EnvOwnerURL+", which repeats all grants",
	)
	rows, err := s.Pool.Query(ctx, books.VerifyRights)
	if err != nil {
		return err
	}
	harm, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(harm) > 0 {
		report.Mend(
			fmt.Sprintf("role %q could change the ledger (%s)", e.user, harm[0]),
			"connect as a role that does not own the tables: set "+EnvOwnerURL+" and run `adnet migrate`",
		)
	}
	return nil
}

// missingMigrations lists the files of this build that were not applied.
func (s *Stores) missingMigrations(ctx context.Context) ([]string, error) {
	rows, err := s.Pool.Query(ctx, selectMigrations)
	if err != nil {
		return nil, err
	}
	applied, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(schema.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(applied, name) }), nil
}

// examineOwning checks that the migrating role has the rights it needs.
func (s *Stores) examineOwning(_ context.Context, report *link.Report, e examination) error {
	report.Right(
		"create tables", e.creates, "GRANT CREATE ON SCHEMA public to this role, or name the owner of the database",
	)
	if !e.makesRoles {
		report.Advise(
			"this role cannot create other roles", "create the role of "+EnvURL+" by hand, or give this one CREATEROLE",
		)
	}
	return nil
}
