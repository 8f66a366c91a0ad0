package postgres

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

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
	require.NoError(t, migrate(t.Context(), conn, files, quiet))

	edited := fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE a (id bigint)")}, "0002_b.sql": files["0002_b.sql"],
	}
	require.ErrorContains(t, migrate(t.Context(), conn, edited, quiet), "0001_a.sql was edited")

	older := fstest.MapFS{"0001_a.sql": files["0001_a.sql"]}
	require.ErrorContains(t, migrate(t.Context(), conn, older, quiet), "0002_b.sql")

	require.NoError(t, migrate(t.Context(), conn, files, quiet))
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	conn := connect(t)
	files := fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE a (id int)")},
		"0002_b.sql": {Data: []byte("CREATE TABLE b (id int); SELECT 1/0;")},
	}
	quiet := func(string) {}
	require.ErrorContains(t, migrate(t.Context(), conn, files, quiet), "0002_b.sql")
	var left int
	require.NoError(
		t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE tablename IN ('a', 'b')`).Scan(&left),
	)
	require.Equal(t, 1, left)

	files["0002_b.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE b (id int)")}
	require.NoError(t, migrate(t.Context(), conn, files, quiet))
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testenv.Postgres(t))
	require.NoError(t, err)
	return conn // ended when the database is dropped
}
