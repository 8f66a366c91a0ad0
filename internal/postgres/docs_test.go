package postgres

import (
	"testing"

	"adnet/internal/testenv"

	"github.com/stretchr/testify/require"
)

// TestDocumentedQueries runs the queries of docs/data.md.
func TestDocumentedQueries(t *testing.T) {
	s := openStore(t)
	queries := testenv.DocumentedQueries(t, "../../docs/data.md", "postgresql")
	require.Greater(t, len(queries), 4)
	for _, query := range queries {
		_, err := s.pool.Exec(t.Context(), query)
		require.NoError(t, err, query)
	}
}
