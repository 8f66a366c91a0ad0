package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

// TestDocumentedQueries runs the queries of docs/data.md.
func TestDocumentedQueries(t *testing.T) {
	s := openStore(t)
	queries := testenv.DocumentedQueries(t, "../../../docs/data.md", "postgresql")
	require.Greater(t, len(queries), 4)
	for _, query := range queries {
		_, err := s.Pool.Exec(t.Context(), query)
		require.NoError(t, err, query)
	}
}
