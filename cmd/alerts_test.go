package cmd

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAlerts(t *testing.T) {
	out := func(args ...string) (string, string, int) {
		var stdout, stderr bytes.Buffer
		status := Main(t.Context(), Invocation{Args: append([]string{"alerts"}, args...), Stdout: &stdout, Stderr: &stderr})
		return stdout.String(), stderr.String(), status
	}
	committed, err := os.ReadFile("../deploy/monitoring/adnet.rules.yml")
	require.NoError(t, err)
	rules, _, status := out()
	require.Zero(t, status)
	require.Equal(t, rules, string(committed[bytes.IndexByte(committed, '\n')+1:]))

	rules, _, status = out("--docs=https://ads.example/docs/guide/", "--operator")
	require.Zero(t, status)
	require.True(t, strings.HasPrefix(rules, "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n"))
	require.Contains(t, rules, `"https://ads.example/docs/guide/operate/alerts#adnetbeaconsrefused"`)

	_, stderr, status := out("--docs=guide")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "--docs")
}
