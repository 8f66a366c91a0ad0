package testenv

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// PostgresText returns every row of every table, dead letters included.
func PostgresText(t testing.TB, url string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := conn.Query(
		t.Context(),
		`SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace`,
	)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range names {
		var text string
		require.NoError(
			t,
			conn.QueryRow(
				t.Context(),
				`SELECT coalesce(string_agg(t::text, E'\n'), '') FROM `+pgx.Identifier{name}.Sanitize()+` t`,
			).Scan(&text),
		)
		all.WriteString(text)
	}
	// An id in the payload of a dead letter must not hide behind hex digits.
	rows, err = conn.Query(t.Context(), `SELECT encode(raw, 'escape') FROM dlq`)
	require.NoError(t, err)
	dead, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all.String() + strings.Join(dead, "\n")
}

// RedisText returns every key of a prefix with its value, as Redis dumps it.
func RedisText(t testing.TB, addr, prefix string) string {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer func() { require.NoError(t, client.Close()) }()
	var all strings.Builder
	keys := client.Scan(t.Context(), 0, "*"+prefix+"*", 1000).Iterator()
	for keys.Next(t.Context()) {
		dump, err := client.Dump(t.Context(), keys.Val()).Result()
		if err == goredis.Nil {
			continue // expired meanwhile
		}
		require.NoError(t, err)
		all.WriteString(keys.Val() + dump)
	}
	require.NoError(t, keys.Err())
	return all.String()
}
