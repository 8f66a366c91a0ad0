package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"adnet/internal/schedule"
)

// stored returns the number of rows and bytes in PostgreSQL, ClickHouse and Redis, once it no longer
// changes: events are settled and archived within seconds.
func (w *world) stored(ctx context.Context) (rows, bytes int64, err error) {
	for until, before := time.Now().Add(patience), int64(-1); ; {
		if rows, bytes, err = w.storedNow(ctx); err != nil || rows == before || time.Now().After(until) {
			return rows, bytes, err
		}
		before = rows
		if err := schedule.Pause(ctx, 1500*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
}

func (w *world) storedNow(ctx context.Context) (rows, bytes int64, err error) {
	for _, one := range []func(context.Context) (int64, int64, error){w.inPostgres, w.inClickHouse, w.inRedis} {
		moreRows, moreBytes, err := one(ctx)
		if err != nil {
			return 0, 0, err
		}
		rows, bytes = rows+moreRows, bytes+moreBytes
	}
	return rows, bytes, nil
}

// inPostgres counts the rows of all tables, and the bytes of the database.
func (w *world) inPostgres(ctx context.Context) (rows, bytes int64, err error) {
	found, err := w.rows.Query(ctx, `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil {
		return 0, 0, err
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return 0, 0, err
	}
	parts := make([]string, len(tables))
	for i, table := range tables { // names that PostgreSQL quoted
		parts[i] = "SELECT count(*) AS n FROM " + table
	}
	err = w.rows.QueryRow(
		ctx, "SELECT sum(n)::bigint, pg_database_size(current_database()) FROM ("+strings.Join(parts, " UNION ALL ")+") all_tables",
	).Scan(&rows, &bytes)
	return rows, bytes, err
}

// inClickHouse sums the active parts of the database.
func (w *world) inClickHouse(ctx context.Context) (rows, bytes int64, err error) {
	err = w.events.QueryRow(
		ctx, `SELECT toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = ?`,
		strings.ReplaceAll(w.prefix, "-", "_"),
	).Scan(&rows, &bytes)
	return rows, bytes, err
}

// inRedis counts the keys and their memory.
func (w *world) inRedis(ctx context.Context) (rows, bytes int64, err error) {
	var sizes []*redis.IntCmd
	pipe := w.cache.Pipeline()
	rows, err = w.keys(ctx, func(key string) error {
		sizes = append(sizes, pipe.MemoryUsage(ctx, key))
		return nil
	})
	if err != nil || len(sizes) == 0 {
		return rows, 0, err
	}
	_, _ = pipe.Exec(ctx) // keys that expired meanwhile have no size
	for _, size := range sizes {
		bytes += size.Val()
	}
	return rows, bytes, nil
}
