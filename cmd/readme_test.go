package cmd_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// examples returns the shell blocks of a document, in their order.
func examples(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../" + name)
	require.NoError(t, err)
	var commands strings.Builder
	for i, block := range strings.Split(string(text), "```") {
		if block, shell := strings.CutPrefix(block, "sh\n"); shell && i%2 == 1 {
			commands.WriteString(block)
		}
	}
	return commands.String()
}

// walk runs the examples of a document against base in dir and returns what they print.
func walk(t *testing.T, name, base, dir string) string {
	t.Helper()
	commands := examples(t, name)
	require.Contains(t, commands, "BASE=http://127.0.0.1:8080\n")
	shell := exec.Command("sh", "-euc", strings.Replace(commands, "http://127.0.0.1:8080", base, 1))
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestReadmeTour runs the README's examples.
func TestReadmeTour(t *testing.T) {
	_, base, _ := standalone(t)
	out := walk(t, "README.md", base, t.TempDir())
	for _, want := range []string{`"disclosure_label":"Sponsored"`, "impression: 200\n", `"impressions":1,`} {
		require.Contains(t, out, want)
	}
}

// TestTour runs the examples of docs/tour.md.
func TestTour(t *testing.T) {
	_, base, _ := standalone(t)
	dir := t.TempDir()
	out := walk(t, "docs/tour.md", base, dir)
	page, err := os.ReadFile(filepath.Join(dir, "ad.html")) // the browser tests open it
	require.NoError(t, err)
	require.Contains(t, string(page), `publisher-key="pk_live_`)
	for _, want := range []string{
		`"auto_approved":true`, `"status":"active"`, `"headline":"Chess lessons for curious beginners"`, "\n200\n",
		`"impressions":1,`, `"spend_usd":0,`, `"available":25,`, `"credits":1,`,
	} {
		require.Contains(t, out, want)
	}
}

// TestIntegratingExamples runs the examples of docs/integrating.md as they stand there, in their
// order. An exchange has its seat key from the operator.
func TestIntegratingExamples(t *testing.T) {
	_, base, _ := standalone(t, "--admin-email", "root@adnet.example", "--admin-password", "a long password")
	api := client{t, base}
	admin := api.do(
		"POST", "/api/auth", "", `{"email":"root@adnet.example","password":"a long password"}`, http.StatusOK,
	)["token"].(string)
	seat := api.do("POST", "/api/keys", admin, `{"kind":"seat","name":"exchange"}`, http.StatusCreated)["key"].(string)
	script := strings.ReplaceAll(examples(t, "docs/integrating.md"), "http://127.0.0.1:8080", base)
	shell := exec.Command("sh", "-euc", script)
	shell.Env = append(os.Environ(), "SEAT="+seat)
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{
		`"disclosure_label":"Sponsored"`, "impression: 200\n", "click: 302\n", `"event":"close"`, `{"tracked":2}`,
		`"structuredContent":{"campaign_id"`,
		`"credits":1`, `"auto_approved":true`, `"status":"paused"`, `"bid_amount":1.2`, `"status":"paid"`,
		`"available":50,`, `"event":"conversion"`,
		`"conversion_type":"signup"`, `"type":"campaign"`, `"causes":[`, `"seatbid":[`, `"openrtb_version":"2.6"`,
		`"reason":"unsuitable"}`, `"structuredContent":{"ad":null`, `"known_flags":[`,
	} {
		require.Contains(t, string(out), want)
	}
	require.NotContains(t, string(out), `"error"`)
}
