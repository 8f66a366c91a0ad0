package clickhouse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

// TestDocumentedQueries runs the queries of docs/data.md.
func TestDocumentedQueries(t *testing.T) {
	s := open(t)
	queries := testenv.DocumentedQueries(t, "../../docs/data.md", "sql")
	require.Greater(t, len(queries), 8)
	for _, query := range queries {
		exec(t, s, query+" FORMAT Null")
	}
}
