package clickhouse_test

import (
	"testing"

	"adnet/internal/testenv"

	"github.com/stretchr/testify/require"
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
