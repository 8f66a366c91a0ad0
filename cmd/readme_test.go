package cmd_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(text)
}

// TestReadmeTour runs the README's tour as it stands there.
func TestReadmeTour(t *testing.T) {
	_, base, _ := standalone(t)
	_, rest, found := strings.Cut(readme(t), "```sh\n")
	require.True(t, found)
	tour, _, _ := strings.Cut(rest, "```")
	require.Contains(t, tour, "BASE=http://127.0.0.1:8080\n")
	tour = strings.Replace(tour, "http://127.0.0.1:8080", base, 1)
	out, err := exec.Command("sh", "-euc", tour).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{`"auto_approved":true`, `"status":"active"`, `"headline":"Chess lessons for curious beginners"`, "\n200\n", `"impressions":1,`, `"spend_usd":0,`, `"available":25,`} {
		require.Contains(t, string(out), want)
	}
}

// TestReadmeSettingsExist holds the table against the program: every variable there is one of a command, with
// the default that is stated.
func TestReadmeSettingsExist(t *testing.T) {
	var known strings.Builder
	for _, command := range []string{"standalone", "ingress", "consumers", "verify", "load", "migrate"} {
		p := start(t, command, "--print-config")
		require.Zero(t, p.ends(t, 5*time.Second))
		known.WriteString(p.out.String())
	}
	_, table, _ := strings.Cut(readme(t), "## Settings")
	table, _, _ = strings.Cut(table, "## Documents")
	names := regexp.MustCompile(`ADNET_[A-Z_]+`).FindAllString(table, -1)
	require.Greater(t, len(names), 15)
	for _, name := range names {
		require.Contains(t, known.String(), name+"=")
	}
}
