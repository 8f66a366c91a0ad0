package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"

	"adnet/internal/process/schedule"
)

// stored is the content of PostgreSQL, ClickHouse, Redis and Kafka.
type stored struct {
	rows  map[string]int64 // by table; keys of Redis by kind, records of Kafka by topic
	bytes int64
}

func (s stored) all() (n int64) {
	for _, rows := range s.rows {
		n += rows
	}
	return n
}

// since returns the tables that grew most since an earlier state.
func (s stored) since(before stored) string {
	var grown []string
	more := func(table string) int64 { return s.rows[table] - before.rows[table] }
	for _, table := range slices.SortedFunc(maps.Keys(s.rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(more(b), more(a)), cmp.Compare(a, b))
	}) {
		if n := more(table); n > 0 && len(grown) < 8 {
			grown = append(grown, fmt.Sprintf("%s +%d", table, n))
		}
	}
	return strings.Join(grown, ", ")
}

// stored returns the content of all stores once it no longer changes: events are settled and
// archived within seconds.
func (w *world) stored(ctx context.Context) (now stored, err error) {
	for until, before := time.Now().Add(patience), int64(-1); ; {
		now = stored{rows: map[string]int64{}}
		for _, item := range []func(context.Context, *stored) error{
			w.inPostgres, w.inClickHouse, w.inRedis, w.inKafka,
		} {
			if err := item(ctx, &now); err != nil {
				return now, err
			}
		}
		if now.all() == before || time.Now().After(until) {
			return now, nil
		}
		before = now.all()
		if err := schedule.Pause(ctx, 1500*time.Millisecond); err != nil {
			return now, err
		}
	}
}

// inPostgres counts the rows of all tables, and the bytes of the database.
func (w *world) inPostgres(ctx context.Context, to *stored) error {
	found, err := w.rows.Query(ctx, `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return err
	}
	parts := make([]string, len(tables))
	for i, table := range tables { // names that PostgreSQL quoted
		parts[i] = fmt.Sprintf("SELECT %d AS of, count(*) AS n FROM %s", i, table)
	}
	counts, err := w.rows.Query(ctx, strings.Join(parts, " UNION ALL "))
	if err != nil {
		return err
	}
	var of int
	var n, bytes int64
	if _, err := pgx.ForEachRow(counts, []any{&of, &n}, func() error {
		to.rows[tables[of]] += n
		return nil
	}); err != nil {
		return err
	}
	err = w.rows.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
	to.bytes += bytes
	return err
}

// inClickHouse sums the active parts of the database.
func (w *world) inClickHouse(ctx context.Context, to *stored) error {
	tables, err := w.Events.Query(
		ctx, `SELECT table, toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts
WHERE active AND database = ? GROUP BY table`, w.Name,
	)
	if err != nil {
		return err
	}
	defer func() { _ = tables.Close() }()
	for tables.Next() {
		var table string
		var rows, bytes int64
		if err := tables.Scan(&table, &rows, &bytes); err != nil {
			return err
		}
		to.rows["clickhouse "+table] += rows
		to.bytes += bytes
	}
	return tables.Err()
}

// inRedis counts the keys and their memory.
func (w *world) inRedis(ctx context.Context, to *stored) error {
	var sizes []*redis.IntCmd
	pipe := w.Cache.Pipeline()
	if _, err := w.Keys(ctx, func(key string) error {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, w.Prefix+":"), ":")
		to.rows["redis "+kind]++
		sizes = append(sizes, pipe.MemoryUsage(ctx, key))
		return nil
	}); err != nil {
		return err
	}
	_, _ = pipe.Exec(ctx) // keys that expired meanwhile have no size
	for _, size := range sizes {
		to.bytes += size.Val()
	}
	return nil
}

// inKafka counts the records of the topics and their bytes, of one replica.
func (w *world) inKafka(ctx context.Context, to *stored) error {
	admin := kadm.NewClient(w.broker)
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	topics.FilterInternal()
	names := slices.DeleteFunc(topics.Names(), func(name string) bool { return !strings.HasPrefix(name, w.Prefix+".") })
	if len(names) == 0 {
		return fmt.Errorf("no topic begins with %s", w.Prefix)
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		to.rows["kafka "+strings.TrimPrefix(end.Topic, w.Prefix+".")] += end.Offset - start.Offset
	})
	brokers, err := admin.DescribeAllLogDirs(ctx, topics.TopicsSet())
	if err != nil {
		return err
	}
	failed := errors.Join(starts.Error(), ends.Error())
	brokers.Each(func(dir kadm.DescribedLogDir) {
		failed = errors.Join(failed, dir.Err)
		dir.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if slices.Contains(names, p.Topic) {
				to.bytes += p.Size
			}
		})
	})
	return failed
}
