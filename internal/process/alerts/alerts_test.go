package alerts

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAlertsAreWhole(t *testing.T) {
	name := regexp.MustCompile(`^Adnet[A-Z][A-Za-z]+$`)
	known := map[string]bool{}
	require.GreaterOrEqual(t, len(All()), 22)
	handbook := Handbook()
	for _, a := range All() {
		require.Regexp(t, name, a.Name)
		require.False(t, known[a.Name], "%s stands twice", a.Name)
		known[a.Name] = true
		require.NotEmpty(t, a.Expr, a.Name)
		require.Contains(t, []Severity{Page, Ticket}, a.Severity, a.Name)
		require.True(t, strings.HasSuffix(a.Summary, "."), a.Name)
		require.NotContains(t, a.Summary, "{{", "%s: the summary is compared as it is", a.Name)
		require.NotEmpty(t, a.Check, a.Name)
		_, anchor, _ := strings.Cut(a.Runbook(""), "#")
		require.Contains(t, strings.ToLower(handbook), "\n## "+anchor+"\n", "the runbook has no section")
	}
}
