package testenv

import (
	"os"
	"strings"
	"testing"
)

// DocumentedQueries returns the statements of the code blocks of a language (sql, postgresql) in a
// document, in order. A block may hold several, each but the last ended by a semicolon at the end
// of its line. It fails the test when the document is unreadable or has no such block.
func DocumentedQueries(t *testing.T, document, language string) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "```") {
		statements, marked := strings.CutPrefix(block, language+"\n")
		if !marked || i%2 == 0 {
			continue
		}
		for query := range strings.SplitSeq(statements, ";\n") {
			if query = strings.TrimSpace(query); query != "" {
				queries = append(queries, query)
			}
		}
	}
	if len(queries) == 0 {
		t.Fatalf("%s has no code block of %s", document, language)
	}
	return queries
}
