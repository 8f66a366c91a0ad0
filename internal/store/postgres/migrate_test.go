package postgres

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
	schema "adnet/schemas/postgres"
)

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	names, err := fs.Glob(schema.Migrations, "*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	form := regexp.MustCompile(`^(\d{4})_[a-z_]+\.sql$`)
	for i, name := range names {
		match := form.FindStringSubmatch(name)
		require.NotNil(t, match, name)
		require.Equal(
			t, i+1, int(match[1][0]-'0')*1000+int(match[1][1]-'0')*100+int(match[1][2]-'0')*10+int(match[1][3]-'0'),
			name,
		)
	}
}

func TestMigrateIsIdempotent(t *testing.T) {
	url := testenv.Postgres(t)
	var first, second []string
	require.NoError(t, Migrate(t.Context(), url, func(line string) { first = append(first, line) }))
	require.NoError(t, Migrate(t.Context(), url, func(line string) { second = append(second, line) }))
	require.Greater(t, len(first), 1)
	require.Contains(t, first[0], "0001_")
	require.Len(t, second, 1)
	require.Contains(t, second[0], "0 applied now")
}

func TestProcessesThatMigrateAtOnceTakeTurns(t *testing.T) {
	url := testenv.Postgres(t)
	var mu sync.Mutex
	applied := map[string]int{}
	failures := make([]error, 4)
	var wg sync.WaitGroup
	for i := range failures {
		wg.Go(func() {
			failures[i] = Migrate(t.Context(), url, func(line string) {
				if name, found := strings.CutPrefix(line, "postgres: applied "); found {
					mu.Lock()
					defer mu.Unlock()
					applied[strings.Fields(name)[0]]++
				}
			})
		})
	}
	wg.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	names, err := fs.Glob(schema.Migrations, "*.sql")
	require.NoError(t, err)
	require.Len(t, applied, len(names))
	for name, times := range applied {
		require.Equal(t, 1, times, name)
	}
}

func TestMigrateRefusesADifferentHistory(t *testing.T) {
	conn := connect(t)
	files := fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE a (id int); INSERT INTO a VALUES (1);")},
		"0002_b.sql": {Data: []byte("CREATE TABLE b (id int)")},
	}
	quiet := func(string) {}
	require.NoError(t, migrate(t.Context(), conn, files, locking, quiet))

	edited := fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE a (id bigint)")}, "0002_b.sql": files["0002_b.sql"],
	}
	require.ErrorContains(t, migrate(t.Context(), conn, edited, locking, quiet), "0001_a.sql was edited")

	older := fstest.MapFS{"0001_a.sql": files["0001_a.sql"]}
	require.ErrorContains(t, migrate(t.Context(), conn, older, locking, quiet), "0002_b.sql")

	require.NoError(t, migrate(t.Context(), conn, files, locking, quiet))
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	conn := connect(t)
	files := fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE a (id int)")},
		"0002_b.sql": {Data: []byte("CREATE TABLE b (id int); SELECT 1/0;")},
	}
	quiet := func(string) {}
	require.ErrorContains(t, migrate(t.Context(), conn, files, locking, quiet), "0002_b.sql")
	var left int
	require.NoError(
		t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE tablename IN ('a', 'b')`).Scan(&left),
	)
	require.Equal(t, 1, left)

	files["0002_b.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE b (id int)")}
	require.NoError(t, migrate(t.Context(), conn, files, locking, quiet))
}

// A report reads a table while a migration changes it. Whoever writes to the table waits behind the
// migration for one try at most, and the migration succeeds after the report.
func TestMigrationsLetOthersPass(t *testing.T) {
	conn := connect(t)
	writer, reader := sibling(t, conn), sibling(t, conn)
	files := fstest.MapFS{"0001_a.sql": {Data: []byte("CREATE TABLE a (id int)")}}
	var log lines
	require.NoError(t, migrate(t.Context(), conn, files, locking, log.add))
	report, err := reader.Begin(t.Context())
	require.NoError(t, err)
	_, err = report.Exec(t.Context(), "SELECT * FROM a")
	require.NoError(t, err)

	files["0002_b.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE a ADD COLUMN name text")}
	wait := patience{lock: 300 * time.Millisecond, tries: 1_000, pause: 100 * time.Millisecond}
	done := make(chan error, 1)
	go func() { done <- migrate(t.Context(), conn, files, wait, log.add) }()
	require.Eventually(t, func() bool { return log.has("0002_b.sql waits for a lock (try 2 of 1000)") },
		time.Minute, 10*time.Millisecond)
	for range 5 { // the report still reads
		_, err = writer.Exec(t.Context(), "INSERT INTO a VALUES (1)")
		require.NoError(t, err)
	}
	require.NoError(t, report.Rollback(t.Context()))
	require.NoError(t, <-done)
	_, err = writer.Exec(t.Context(), "INSERT INTO a (id, name) VALUES (2, 'two')")
	require.NoError(t, err)
}

func TestMigrationsGiveUpOnALockThatStays(t *testing.T) {
	conn := connect(t)
	reader := sibling(t, conn)
	files := fstest.MapFS{"0001_a.sql": {Data: []byte("CREATE TABLE a (id int)")}}
	quiet := func(string) {}
	require.NoError(t, migrate(t.Context(), conn, files, locking, quiet))
	report, err := reader.Begin(t.Context())
	require.NoError(t, err)
	_, err = report.Exec(t.Context(), "SELECT * FROM a")
	require.NoError(t, err)

	files["0002_b.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE b (id int); ALTER TABLE a ADD COLUMN name text;")}
	wait := patience{lock: 50 * time.Millisecond, tries: 3, pause: time.Millisecond}
	require.ErrorContains(t, migrate(t.Context(), conn, files, wait, quiet), "through 3 tries; find it in pg_stat_activity")
	require.NoError(t, report.Rollback(t.Context()))
	require.NoError(t, migrate(t.Context(), conn, files, wait, quiet), "nothing of the failed tries is left")
}

// An index is built while a transaction that wrote to its table is open, by several processes that
// take turns, and over the invalid remains of an earlier build.
func TestIndexesAreBuiltBesideWriters(t *testing.T) {
	conn := connect(t)
	writer, second := sibling(t, conn), sibling(t, conn)
	files := fstest.MapFS{"0001_a.sql": {Data: []byte("CREATE TABLE a (id int); INSERT INTO a VALUES (1), (1);")}}
	quiet := func(string) {}
	require.NoError(t, migrate(t.Context(), conn, files, locking, quiet))
	_, err := conn.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY a_id ON a (id)")
	require.Error(t, err, "two rows are equal, so an invalid index remains")
	_, err = conn.Exec(t.Context(), "DELETE FROM a")
	require.NoError(t, err)

	open, err := writer.Begin(t.Context())
	require.NoError(t, err)
	_, err = open.Exec(t.Context(), "INSERT INTO a VALUES (2)")
	require.NoError(t, err)
	files["0002_b.sql"] = &fstest.MapFile{Data: []byte(
		"-- concurrently\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a_id ON a (id);\n",
	)}
	done := make(chan error, 2)
	for _, c := range []*pgx.Conn{conn, second} {
		go func() { done <- migrate(t.Context(), c, files, locking, quiet) }()
	}
	other := sibling(t, writer)
	require.Eventually(t, func() bool { // the migration waits for the open transaction
		var waits bool
		err := other.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE '% INDEX CONCURRENTLY %'
				AND wait_event_type = 'Lock'`).Scan(&waits)
		return err == nil && waits
	}, time.Minute, 10*time.Millisecond)
	_, err = other.Exec(t.Context(), "INSERT INTO a VALUES (3)")
	require.NoError(t, err, "writers go on")
	require.NoError(t, open.Commit(t.Context()))
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	var valid bool
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT indisvalid AND indisunique FROM pg_index
		WHERE indexrelid = 'a_id'::regclass`).Scan(&valid))
	require.True(t, valid)
}

// lines collects a log of several goroutines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.all, func(line string) bool { return strings.Contains(line, part) })
}

// sibling opens another connection to the database of conn.
func sibling(t *testing.T, conn *pgx.Conn) *pgx.Conn {
	t.Helper()
	other, err := pgx.ConnectConfig(t.Context(), conn.Config())
	require.NoError(t, err)
	return other // ended when the database is dropped
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testenv.Postgres(t))
	require.NoError(t, err)
	return conn // ended when the database is dropped
}
