package cmd

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		var out, failures bytes.Buffer
		require.Zero(t, Main(t.Context(), Invocation{Args: args, Stdout: &out, Stderr: &failures}), failures.String())
		require.Regexp(t, `^adnet \S+ \(revision \S+, go1\.\S+, \w+/\w+\)\n$`, out.String())
	}
	require.Equal(t, "unknown", revisionOf(nil, false))
	noted := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: strings.Repeat("ab", 20)}}}
	require.Equal(t, "abababababab", revisionOf(noted, true))
	file, err := os.ReadFile("../VERSION")
	require.NoError(t, err)
	changes, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	require.Contains(t, string(changes), "## "+strings.TrimSpace(string(file)), "VERSION names a release of CHANGELOG.md")
}

// TestBuildInfo reads the build from the metrics of a process.
func TestBuildInfo(t *testing.T) {
	w := wire(t, nil)
	want := fmt.Sprintf(`adnet_build_info{revision=%q,version=%q} 1`, revisionOf(debug.ReadBuildInfo()), version)
	require.True(t, slices.Contains(series(t, w), want), want)
}
