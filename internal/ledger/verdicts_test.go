package ledger_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
)

// TestVerdictsAreListed compares the list with the constants in the source: a verdict that is
// missing would be in no metric.
func TestVerdictsAreListed(t *testing.T) {
	source, err := os.ReadFile("ledger.go")
	require.NoError(t, err)
	var constants []ledger.Verdict
	for _, found := range regexp.MustCompile(`(?m)^\s+\w+\s+Verdict = "([^"]+)"`).FindAllSubmatch(source, -1) {
		if v := ledger.Verdict(found[1]); v != ledger.InvalidTraffic {
			constants = append(constants, v)
		}
	}
	require.NotEmpty(t, constants)
	require.ElementsMatch(t, constants, ledger.Verdicts)
}
