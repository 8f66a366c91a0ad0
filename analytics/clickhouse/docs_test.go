package clickhouse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentedQueries runs the queries of docs/data.md.
func TestDocumentedQueries(t *testing.T) {
	text, err := os.ReadFile("../../docs/data.md")
	require.NoError(t, err)
	s, asked := open(t), 0
	for i, block := range strings.Split(string(text), "```") {
		queries, marked := strings.CutPrefix(block, "sql\n")
		if !marked || i%2 == 0 {
			continue
		}
		for query := range strings.SplitSeq(queries, ";\n") {
			if query = strings.TrimSpace(query); query != "" {
				exec(t, s, query+" FORMAT Null")
				asked++
			}
		}
	}
	require.Greater(t, asked, 8)
}
