package testenv

import (
	"context"
	"net/url"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ClickHouse creates an empty database (engine Atomic) on the server of ADNET_TEST_CLICKHOUSE and
// returns its clickhouse:// URL (native protocol). The database is dropped, with its data, when the
// test ends.
func ClickHouse(t testing.TB) string {
	t.Helper()
	server := lookup(t, EnvClickHouse)
	target, err := url.Parse(server)
	if err != nil || target.Scheme != "clickhouse" {
		t.Fatalf("%s must be a clickhouse:// URL", EnvClickHouse)
	}
	name := databaseName(t)
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	if err := clickhouseExec(ctx, server, "CREATE DATABASE "+name+" ENGINE = Atomic"); err != nil {
		t.Fatalf("%s: create a database: %v", EnvClickHouse, err)
	}
	t.Cleanup(func() {
		ctx, cancel := forCleanup(t)
		defer cancel()
		if err := clickhouseExec(ctx, server, "DROP DATABASE IF EXISTS "+name+" SYNC"); err != nil {
			t.Errorf("%s: drop database %s: %v", EnvClickHouse, name, err)
		}
	})
	target.Path = "/" + name
	return target.String()
}

// clickhouseExec runs one statement on its own connection.
func clickhouseExec(ctx context.Context, url, sql string) error {
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		return err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	err = conn.Exec(ctx, sql)
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}
