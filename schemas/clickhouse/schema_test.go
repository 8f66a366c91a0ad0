package clickhouse

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var (
	repeatable = regexp.MustCompile(
		`^(CREATE (TABLE|VIEW|MATERIALIZED VIEW) IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE \w+ \w+ \w+ IF (NOT )?EXISTS|ALTER TABLE \w+_mv MODIFY QUERY|ALTER TABLE \w+ MODIFY SETTING|DROP \w+ IF EXISTS) `,
	)
	created   = regexp.MustCompile(`^CREATE (?:(?:TABLE|VIEW|MATERIALIZED VIEW) IF NOT EXISTS|OR REPLACE VIEW) (\w+)`)
	target    = regexp.MustCompile(`^CREATE MATERIALIZED VIEW IF NOT EXISTS \w+ TO (\w+)`)
	added     = regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN IF NOT EXISTS (\w+) `)
	changed   = regexp.MustCompile(`^ALTER TABLE \w+ MODIFY COLUMN IF EXISTS \w+ `)
	requeried = regexp.MustCompile(`^ALTER TABLE \w+_mv MODIFY QUERY SELECT\s`)
	commented = regexp.MustCompile(`^ALTER TABLE \w+ COMMENT COLUMN IF EXISTS \w+ '[^']+'$`)
	column    = regexp.MustCompile(`^    (\w+) +[A-Z]\w+`)
	snake     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

func statements(t *testing.T) []string {
	list, err := Migrations()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	var all []string
	for _, m := range list {
		require.NotEmpty(t, m.Statements, m.Name)
		require.Len(t, m.Sum, 64)
		all = append(all, m.Statements...)
	}
	return all
}

// A migrator that dies between two statements runs the whole file again.
func TestStatementsMayRunAgain(t *testing.T) {
	for _, s := range statements(t) {
		require.Regexp(t, repeatable, s)
		require.Equal(t, 1, strings.Count(s, "CREATE ")+strings.Count(s, "ALTER "), s)
	}
}

func TestTargetsOfViewsHaveADeduplicationWindow(t *testing.T) {
	tables, targets := map[string]string{}, 0
	for _, s := range statements(t) {
		if m := created.FindStringSubmatch(s); m != nil {
			tables[m[1]] = s
		}
	}
	for _, s := range statements(t) {
		if m := target.FindStringSubmatch(s); m != nil {
			targets++
			require.Contains(t, tables[m[1]], "non_replicated_deduplication_window = 100000", m[1])
		}
	}
	require.Positive(t, targets)
	for _, source := range []string{"events", "auctions", "notices"} {
		require.Contains(t, tables[source], "non_replicated_deduplication_window = 100000")
	}
}

func TestNamesAndComments(t *testing.T) {
	columns := 0
	for _, s := range statements(t) {
		if m := added.FindStringSubmatch(s); m != nil {
			columns++
			require.Regexp(t, snake, m[1])
			require.Contains(t, s, "COMMENT '", m[1])
			continue
		}
		if commented.MatchString(s) || requeried.MatchString(s) || strings.Contains(s, " MODIFY SETTING ") {
			continue
		}
		if changed.MatchString(s) {
			require.Regexp(t, `(?s)COMMENT '([^']|'')+'( TTL day \+ INTERVAL \d+ DAY)?$`, s)
			continue
		}
		name := created.FindStringSubmatch(s)[1]
		require.Regexp(t, snake, name)
		if strings.HasPrefix(s, "CREATE MATERIALIZED VIEW") {
			continue
		}
		require.Regexp(t, `(?s)COMMENT '[^']+'$`, s, name)
		if !strings.HasPrefix(s, "CREATE TABLE") {
			continue
		}
		for line := range strings.Lines(s) {
			m := column.FindStringSubmatch(line)
			if m == nil || strings.Contains(line, "multiIf(") { // its comment stands at the end of the expression
				continue
			}
			columns++
			require.Regexp(t, snake, m[1])
			require.Contains(t, line, "COMMENT '", "%s.%s", name, m[1])
		}
	}
	require.Positive(t, columns)
}

func TestNumbersMustFollow(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	_, err := read(fstest.MapFS{"0001_a.sql": file("x;"), "0003_b.sql": file("y;")})
	require.ErrorContains(t, err, "expected the number 0002")
	_, err = read(fstest.MapFS{"0001_a.sql": file("x;"), "0001_b.sql": file("y;")})
	require.Error(t, err)
	_, err = read(fstest.MapFS{"1_a.sql": file("x;")})
	require.Error(t, err)
}

func TestSplit(t *testing.T) {
	require.Equal(t, []string{"a\nb", "c ';' d", "e"}, split("-- note;\na\nb;\n\nc ';' d ; \n-- other\ne\n"))
}
