package cmd_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

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
	shell := exec.Command("sh", "-euc", tour)
	shell.Dir = t.TempDir()
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	page, err := os.ReadFile(shell.Dir + "/ad.html") // lab/browser looks at it
	require.NoError(t, err)
	require.Contains(t, string(page), `publisher-key="pk_live_`)
	for _, want := range []string{
		`"auto_approved":true`, `"status":"active"`, `"headline":"Chess lessons for curious beginners"`, "\n200\n",
		`"impressions":1,`, `"spend_usd":0,`, `"available":25,`, `"credits":1,`,
	} {
		require.Contains(t, string(out), want)
	}
}

// TestIntegratingExamples runs the examples of docs/integrating.md as they stand there, in their
// order. An exchange has its seat key from the operator.
func TestIntegratingExamples(t *testing.T) {
	_, base, _ := standalone(t, "--admin-email", "root@adnet.example", "--admin-password", "a long password")
	text, err := os.ReadFile("../docs/integrating.md")
	require.NoError(t, err)
	var examples strings.Builder
	for i, block := range strings.Split(string(text), "```") {
		if commands, shell := strings.CutPrefix(block, "sh\n"); shell && i%2 == 1 {
			examples.WriteString(commands)
		}
	}
	api := client{t, base}
	admin := api.do(
		"POST", "/api/auth", "", `{"email":"root@adnet.example","password":"a long password"}`, http.StatusOK,
	)["token"].(string)
	seat := api.do("POST", "/api/keys", admin, `{"kind":"seat","name":"exchange"}`, http.StatusCreated)["key"].(string)
	script := strings.ReplaceAll(examples.String(), "http://127.0.0.1:8080", base)
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
