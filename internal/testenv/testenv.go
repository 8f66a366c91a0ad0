// Package testenv connects tests to the real services of the test run.
//
// Contract: each function reads one ADNET_TEST_… variable, checks that the server behind it
// replies, and returns the connection data for a client. Postgres and ClickHouse give every caller
// its own database, dropped in t.Cleanup, so tests on one server may run in parallel. Redis and
// Kafka are shared: a test there must choose key prefixes and topic names that no other test uses.
//
// An empty variable skips the test with the command that starts the servers, but fails it when
// CI=true: CI must not skip real services. A variable with a server that does not reply always
// fails the test.
//
// [Shared] finds the data beside the repository by the same rule.
//
// Only tests import this package.
package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// Names of the variables that point tests at real servers. `make -s stack-env` prints all
// four.
const (
	// EnvPostgres is a postgres:// URL of a role that may create databases.
	EnvPostgres = "ADNET_TEST_POSTGRES"
	// EnvRedis is host:port.
	EnvRedis = "ADNET_TEST_REDIS"
	// EnvKafka is host:port, or several separated by commas.
	EnvKafka = "ADNET_TEST_KAFKA"
	// EnvClickHouse is a clickhouse://host:port/database URL of a user that may create databases.
	EnvClickHouse = "ADNET_TEST_CLICKHOUSE"
)

// answerTimeout bounds every single request to a server; a slower test server is broken.
const answerTimeout = 30 * time.Second

// Redis returns the host:port of the test Redis. The server is shared with every other test.
func Redis(t testing.TB) string {
	t.Helper()
	addr := lookup(t, EnvRedis)
	dial(t, EnvRedis, addr)
	return addr
}

// Kafka returns the bootstrap brokers (host:port each) of the test cluster. Topics are not created
// automatically; the cluster is shared with every other test.
func Kafka(t testing.TB) []string {
	t.Helper()
	var brokers []string
	for _, addr := range strings.Split(lookup(t, EnvKafka), ",") {
		if addr = strings.TrimSpace(addr); addr != "" {
			brokers = append(brokers, addr)
		}
	}
	if len(brokers) == 0 {
		t.Fatalf("%s names no broker", EnvKafka)
	}
	for _, addr := range brokers {
		dial(t, EnvKafka, addr)
	}
	return brokers
}

// lookup returns the value of a variable, or ends the test: skipped on a developer's machine,
// failed in CI.
func lookup(t testing.TB, name string) string {
	t.Helper()
	value := strings.TrimSpace(os.Getenv(name))
	if value != "" {
		return value
	}
	const how = "%s is not set: run `make stack`, then `eval \"$(make -s stack-env)\"`"
	if os.Getenv("CI") == "true" {
		t.Fatalf(how+" (CI=true: real services may not be skipped)", name)
	}
	t.Skipf(how, name)
	return ""
}

// dial fails the test if addr does not accept connections.
func dial(t testing.TB, name, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatalf("%s=%s does not answer: %v", name, addr, err)
		return
	}
	_ = conn.Close()
}

// databaseName returns a name that is unique among concurrent tests and processes, and a plain
// lower-case SQL identifier.
func databaseName(t testing.TB) string {
	t.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatalf("random database name: %v", err)
	}
	return "adnet_test_" + hex.EncodeToString(b[:])
}

// forCleanup returns a bounded context that outlives t.Context, which is cancelled before clean-up
// functions run.
func forCleanup(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), answerTimeout)
}
