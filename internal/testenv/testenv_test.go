package testenv

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// recorder is a testing.TB that notes how it was ended instead of ending the surrounding test.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record runs fn on a goroutine of its own, which Skipf and Fatalf end as the testing package
// would.
func record(t *testing.T, fn func(testing.TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(r)
	}()
	<-done
	return r
}

// every lists all four accessors, so that the rules on empty variables are checked for each.
var every = map[string]func(testing.TB){
	EnvPostgres:   func(t testing.TB) { Postgres(t) },
	EnvRedis:      func(t testing.TB) { Redis(t) },
	EnvKafka:      func(t testing.TB) { Kafka(t) },
	EnvClickHouse: func(t testing.TB) { ClickHouse(t) },
}

func TestEmptyVariableSkipsLocallyAndFailsInCI(t *testing.T) {
	for name, get := range every {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "")
			t.Setenv("CI", "")
			r := record(t, get)
			require.Empty(t, r.failed)
			require.Contains(t, r.skipped, "make stack")
			require.Contains(t, r.skipped, name)

			t.Setenv("CI", "true")
			r = record(t, get)
			require.Empty(t, r.skipped)
			require.Contains(t, r.failed, name)
		})
	}
}

func TestDeadServerFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := listener.Addr().String()
	require.NoError(t, listener.Close())

	values := map[string]string{
		EnvPostgres: "postgres://postgres@" + dead + "/postgres", EnvRedis: dead, EnvKafka: dead,
		EnvClickHouse: "clickhouse://" + dead + "/default",
	}
	for name, get := range every {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, values[name])
			r := record(t, get)
			require.Empty(t, r.skipped)
			require.Contains(t, r.failed, name)
		})
	}
}

func TestKafkaSplitsBrokers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().String()
	t.Setenv(EnvKafka, addr+", "+addr+",")
	require.Equal(t, []string{addr, addr}, Kafka(t))

	t.Setenv(EnvKafka, " , ")
	require.Contains(t, record(t, every[EnvKafka]).failed, "no broker")
}

func TestPostgresGivesAFreshDatabaseAndDropsIt(t *testing.T) {
	server := lookup(t, EnvPostgres)
	var name string
	t.Run("inner", func(t *testing.T) {
		first, second := Postgres(t), Postgres(t)
		require.NotEqual(t, first, second)
		conn, err := pgx.Connect(t.Context(), first)
		require.NoError(t, err)
		// The connection stays open on purpose: clean-up must drop the database all the same.
		_, err = conn.Exec(t.Context(), "CREATE TABLE only_here (id int)")
		require.NoError(t, err)
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	})
	conn, err := pgx.Connect(t.Context(), server)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	var left int
	require.NoError(
		t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&left),
	)
	require.Zero(t, left)
}

func TestClickHouseGivesAFreshDatabaseAndDropsIt(t *testing.T) {
	server := lookup(t, EnvClickHouse)
	open := func(url string) clickhouse.Conn {
		options, err := clickhouse.ParseDSN(url)
		require.NoError(t, err)
		conn, err := clickhouse.Open(options)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var name string
	t.Run("inner", func(t *testing.T) {
		conn := open(ClickHouse(t))
		require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE only_here (id UInt8) ENGINE = MergeTree ORDER BY id"))
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&name))
	})
	var left uint64
	require.NoError(
		t, open(server).QueryRow(t.Context(), "SELECT count() FROM system.databases WHERE name = $1", name).Scan(&left),
	)
	require.Zero(t, left)
}
