package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"adnet/internal/store/postgres/books"
)

// EnvOwnerURL names the setting with the URL of the role that owns the tables.
const EnvOwnerURL = "ADNET_POSTGRES_OWNER_URL"

// OwnerConfig holds the URL of the migrating role. Only commands that change the schema have it: a
// serving process must not hold the owner's password.
type OwnerConfig struct {
	OwnerURL string `name:"postgres-owner-url" env:"ADNET_POSTGRES_OWNER_URL" secret:"url" default:"" help:"PostgreSQL as the role that owns the tables, for migrate and other commands that change the schema (default: ADNET_POSTGRES_URL)."`
}

// Or returns the owner's URL, or app's if no owner is set. Errors: one of the two URLs would send
// plain text off loopback, which is not allowed.
func (c OwnerConfig) Or(app Config) (string, error) {
	for _, setting := range []struct{ setting, url string }{{EnvURL, app.URL}, {EnvOwnerURL, c.OwnerURL}} {
		if setting.url == "" {
			continue
		}
		config, err := pgx.ParseConfig(setting.url)
		if err != nil {
			return "", fmt.Errorf("%s: %w", setting.setting, err)
		}
		if err := allow(app.Insecure, config, setting.setting); err != nil {
			return "", err
		}
	}
	return cmp.Or(c.OwnerURL, app.URL), nil
}

// grantSQL gives role the rights that the application needs on every table, and only the right to
// read and add on the ledger. Ownership does not change, so the role can neither alter or drop
// tables nor disable a trigger. It is repeated after every migration, so it covers tables of later
// versions.
const grantSQL = `
DO $$
DECLARE
	role text := %s;
	tab record;
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA %%I TO %%I', current_schema(), role);
	FOR tab IN
		SELECT c.relname, c.oid IN (` + books.AppendOnly + `) OR c.relname = 'billed_event' AS adds,
			c.relname IN ('schema_migration', 'campaign_highest_bid') AS reads
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT c.relispartition
	LOOP
		EXECUTE format('REVOKE ALL ON %%I FROM %%I', tab.relname, role);
		EXECUTE format(CASE WHEN tab.reads THEN 'GRANT SELECT ON %%I TO %%I'
			WHEN tab.adds THEN 'GRANT SELECT, INSERT ON %%I TO %%I'
			ELSE 'GRANT SELECT, INSERT, UPDATE, DELETE ON %%I TO %%I' END, tab.relname, role);
	END LOOP;
	EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %%I TO %%I', current_schema(), role);
	-- What it may have done in the owner's name: functions that check what they are asked.
	FOR tab IN SELECT oid::regprocedure AS f FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
		AND prosecdef LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION %%s TO %%I', tab.f, role);
	END LOOP;
	EXECUTE format('REVOKE CREATE ON SCHEMA %%I FROM PUBLIC', current_schema());
END $$`

const (
	// If two processes create the role at once, in any databases of the server, the second finds
	// it.
	createRoleSQL = `
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = %[1]s) THEN
		EXECUTE format('CREATE ROLE %%I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD %%L', %[1]s, %[2]s);
	END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$`

	passwordSQL = `DO $$ BEGIN EXECUTE format('ALTER ROLE %%I LOGIN PASSWORD %%L', %[1]s, %[2]s); END $$`
)

// Grant creates the role of appURL if it does not exist, and gives it the application's rights on
// the schema that ownerURL migrated: read all tables, change all but the ledger, only add to the
// ledger. At the end it logs in as that role. If both URLs have the same role nothing can be
// restricted: Grant logs that and changes nothing. It is safe to repeat. Errors name the wrong
// setting and never contain a password.
func Grant(ctx context.Context, ownerURL, appURL string, log func(string)) error {
	owner, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvOwnerURL, err)
	}
	app, err := pgx.ParseConfig(appURL)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvURL, err)
	}
	if owner.User == app.User {
		log(fmt.Sprintf(
			"postgres: role %q owns its tables and could change the ledger: give %s a role of its own (%s names the "+
				"owner)", app.User, EnvURL, EnvOwnerURL,
		))
		return nil
	}
	owner.ConnectTimeout, app.ConnectTimeout = connectTimeout, connectTimeout
	conn, err := pgx.ConnectConfig(ctx, owner)
	if err != nil {
		return unreachable(owner, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	role, password := literal(app.User), literal(app.Password)
	if _, err := conn.Exec(ctx, fmt.Sprintf(createRoleSQL, role, password)); err != nil {
		return fmt.Errorf(
			"create role %q (the owner needs CREATEROLE, or create it yourself with LOGIN): %w", app.User, err,
		)
	}
	err = exclusively(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(grantSQL, role))
		return err
	})
	if err != nil {
		return fmt.Errorf("give role %q its rights: %w", app.User, err)
	}
	if err := logIn(ctx, app); isWrongPassword(err) {
		// The setting takes precedence: it was changed, or the role was created without a password.
		if _, err := conn.Exec(ctx, fmt.Sprintf(passwordSQL, role, password)); err != nil {
			return fmt.Errorf("set the password of role %q: %w", app.User, err)
		}
		err = logIn(ctx, app)
		if err != nil {
			return unreachable(app, err)
		}
	} else if err != nil {
		return unreachable(app, err)
	}
	log(fmt.Sprintf("postgres: role %q may add to the ledger and not change it", app.User))
	return nil
}

// logIn connects and disconnects.
func logIn(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func isWrongPassword(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "28P01" || refused.Code == "28000")
}

// literal returns text as an SQL string.
func literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
