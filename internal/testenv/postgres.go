package testenv

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres creates an empty database on the server of ADNET_TEST_POSTGRES and returns its
// postgres:// URL. The database is dropped when the test ends, even while connections are open:
// close pools in t.Cleanup or earlier, otherwise they see their connections end.
func Postgres(t testing.TB) string {
	t.Helper()
	server := lookup(t, EnvPostgres)
	target, err := url.Parse(server)
	if err != nil || (target.Scheme != "postgres" && target.Scheme != "postgresql") {
		t.Fatalf("%s must be a postgres:// URL", EnvPostgres)
	}
	name := databaseName(t)
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	if err := postgresExec(ctx, server, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("%s: create a database: %v", EnvPostgres, err)
	}
	t.Cleanup(func() {
		ctx, cancel := forCleanup(t)
		defer cancel()
		if err := postgresExec(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("%s: drop database %s: %v", EnvPostgres, name, err)
		}
	})
	target.Path = "/" + name
	return target.String()
}

// PostgresApp returns the address of a database of Postgres for the application's role there: one
// role for all databases of the server, created by postgres.Grant.
func PostgresApp(t testing.TB, owner string) string {
	t.Helper()
	target, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	target.User = url.UserPassword("adnet_test_app", "adnet_test_app")
	return target.String()
}

// postgresExec runs one statement on its own connection: CREATE and DROP DATABASE cannot run in
// transactions.
func postgresExec(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// Exec runs one statement on a database of Postgres, for tests that damage or prepare it behind the
// product's back.
func Exec(t testing.TB, url, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	if err := postgresExec(ctx, url, sql); err != nil {
		t.Fatal(err)
	}
}

// Reader opens one connection to a database of Postgres and returns a function that runs a query
// and returns rows of values, for tests that often read tables behind the product's back.
func Reader(t testing.TB, url string) func(sql string, args ...any) [][]any {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := forCleanup(t)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return func(sql string, args ...any) [][]any {
		rows, err := conn.Query(ctx, sql, args...)
		if err == nil {
			var values [][]any
			values, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
			if err == nil {
				return values
			}
		}
		t.Fatalf("%s: %v", sql, err)
		return nil
	}
}
