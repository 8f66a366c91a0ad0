package postgres

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConcurrent(t *testing.T) {
	index, alone, err := Concurrent([]byte(
		"-- concurrently\n-- Reports read by day.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a_day\n    ON a (day);\n",
	))
	require.NoError(t, err)
	require.True(t, alone)
	require.Equal(t, "a_day", index)

	_, alone, err = Concurrent([]byte("CREATE TABLE a (id int);\n"))
	require.NoError(t, err)
	require.False(t, alone)

	for _, wrong := range []string{
		"-- concurrently\nCREATE INDEX a_day ON a (day);\n",
		"-- concurrently\nCREATE INDEX CONCURRENTLY a_day ON a (day);\n",
		"-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a_day ON a (day); DROP TABLE a;\n",
		"-- concurrently\n",
	} {
		_, _, err := Concurrent([]byte(wrong))
		require.Error(t, err, wrong)
	}
}

// An index that is built in a transaction on a table with rows stops all its writers meanwhile, and
// with the ledger's tables settlement.
func TestIndexesOfEarlierTablesAreBuiltConcurrently(t *testing.T) {
	require.Empty(t, blocking(t, map[string]string{
		"0001_a.sql": "CREATE TABLE a (id int);\nCREATE INDEX a_id ON a (id);\n",
		"0002_b.sql": "CREATE TABLE IF NOT EXISTS b (id int);\nCREATE UNIQUE INDEX b_id ON b (id);\n",
		"0003_c.sql": "-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a_two ON a (id);\n",
	}))
	require.Equal(t, []string{"0002_b.sql: a", "0003_c.sql: b"}, blocking(t, map[string]string{
		"0001_a.sql": "CREATE TABLE a (id int);\nCREATE TABLE b (id int);\n",
		"0002_b.sql": "CREATE TABLE c (id int);\ncreate index a_id on a (id);\nCREATE INDEX c_id ON c (id);\n",
		"0003_c.sql": "CREATE UNIQUE INDEX IF NOT EXISTS b_id\n    ON ONLY b (id);\n",
	}))

	names, err := fs.Glob(Migrations, "*.sql")
	require.NoError(t, err)
	files := map[string]string{}
	for _, name := range names {
		sql, err := fs.ReadFile(Migrations, name)
		require.NoError(t, err)
		files[name] = string(sql)
		_, _, err = Concurrent(sql)
		require.NoError(t, err, name)
	}
	require.Empty(t, blocking(t, files))
}

var (
	creates = regexp.MustCompile(`(?i)\bCREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	indexes = regexp.MustCompile(`(?i)\bCREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(?:\w+\s+)?ON (?:ONLY )?(\w+)`)
)

// blocking lists the indexes that files build in their transaction on tables of earlier files.
func blocking(t *testing.T, files map[string]string) []string {
	t.Helper()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		created := map[string]bool{}
		for _, match := range creates.FindAllStringSubmatch(files[name], -1) {
			created[match[1]] = true
		}
		_, alone, err := Concurrent([]byte(files[name]))
		require.NoError(t, err, name)
		for _, match := range indexes.FindAllStringSubmatch(files[name], -1) {
			if !alone && !created[match[1]] {
				found = append(found, name+": "+match[1])
			}
		}
	}
	return found
}
