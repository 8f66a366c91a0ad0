package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// printed is the configuration that a command prints under these variables.
func printed(t *testing.T, command string, env map[string]string) (text string, status int) {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
	p := start(t, command, "--print-config")
	status = p.ends(t, time.Minute)
	return p.out.String() + p.err.String(), status
}

// No form of a DSN shows its password.
func TestPrintConfigMasksEveryForm(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"URL": {
			"ADNET_POSTGRES_URL": "postgres://u:canary1@h/db", "ADNET_CLICKHOUSE_URL": "clickhouse://u:canary1@h/db",
		},
		"query": {
			"ADNET_POSTGRES_URL":   "postgres://h/db?user=u&password=canary1",
			"ADNET_CLICKHOUSE_URL": "clickhouse://h/db?username=u&password=canary1",
		},
		"pairs":        {"ADNET_POSTGRES_URL": "host=h user=u password=canary1 dbname=db"},
		"quoted":       {"ADNET_POSTGRES_URL": `host=h password = 'canary1 \' canary1' user=u`},
		"several":      {"ADNET_POSTGRES_URL": "postgres://u:canary1@h1:5432,h2:5433/db?target_session_attrs=any"},
		"key's":        {"ADNET_POSTGRES_URL": "postgres://u@h/db?sslpassword=canary1"},
		"broken":       {"ADNET_POSTGRES_URL": "postgres://u:cana/ry1canary1@h:port/db"},
		"escaped":      {"ADNET_POSTGRES_URL": "postgres://u:canary1%40x@h/db"},
		"key of pairs": {"ADNET_POSTGRES_URL": "postgresql://h/db?x=1&PASSWORD=canary1"},
	} {
		t.Run(name, func(t *testing.T) {
			text, status := printed(t, "ingress", env)
			require.Zero(t, status, text)
			require.NotContains(t, text, "canary1")
			require.Contains(t, text, "ADNET_POSTGRES_URL=")
		})
	}
}

// Every secret can come from a file; given twice it is an error.
func TestSecretsFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("postgres://someone:canary1@db.example/adnet\n"), 0o600))
	text, status := printed(
		t, "ingress",
		map[string]string{
			"ADNET_POSTGRES_URL": "", "ADNET_POSTGRES_URL_FILE": file, "ADNET_SESSION_KEYS": "",
			"ADNET_REDIS_PASSWORD": "", "ADNET_SESSION_KEYS_FILE": file, "ADNET_REDIS_PASSWORD_FILE": file,
		},
	)
	require.Zero(t, status, text)
	require.Contains(t, text, "someone:********@db.example")
	require.NotContains(t, text, "canary1")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "ADNET_SESSION_KEYS=") || strings.HasPrefix(line, "ADNET_REDIS_PASSWORD=") {
			require.Contains(t, line, "=********", "it was read")
		}
	}
	text, status = printed(t, "ingress", map[string]string{"ADNET_POSTGRES_URL": "postgres://h/db"})
	require.NotZero(t, status)
	require.Contains(t, text, "ADNET_POSTGRES_URL and ADNET_POSTGRES_URL_FILE are both set")
	text, status = printed(
		t, "ingress", map[string]string{"ADNET_POSTGRES_URL": "", "ADNET_POSTGRES_URL_FILE": file + "x"},
	)
	require.NotZero(t, status)
	require.Contains(t, text, "ADNET_POSTGRES_URL_FILE")
}

// Standalone's demo accounts and unsigned billing are for one machine, unless more is said.
func TestStandaloneIsNotOpenByDefault(t *testing.T) {
	for _, args := range [][]string{nil, {"--demo=off"}, {"--unsigned-beacons=record"}} {
		p := start(t, append([]string{"standalone", "--http-addr=0.0.0.0:0", "--admin-addr=127.0.0.1:0"}, args...)...)
		require.Equal(t, 1, p.ends(t, time.Minute), args)
		require.Contains(t, p.err.String(), "is open to other machines", args)
		require.Equal(t, len(args) == 0 || args[0] != "--demo=off", strings.Contains(p.err.String(), "--demo=off"))
	}
	p := start(
		t, "standalone", "--http-addr=0.0.0.0:0", "--admin-addr=127.0.0.1:0", "--demo=off", "--unsigned-beacons=record",
	)
	require.Eventually(
		t, func() bool { return strings.Contains(p.out.String(), "adnet listens on") }, time.Minute,
		10*time.Millisecond, p.err,
	)
	p.stop()
	require.Zero(t, p.ends(t, time.Minute))
}

// A setting says where its value came from, and what is secret stays hidden whatever the origin.
func TestSettingsSayTheirOrigin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("canary1"), 0o600))
	t.Setenv("ADNET_STRIPE_WEBHOOK_SECRET_FILE", file)
	t.Setenv("ADNET_SIGNUP", "closed")
	_, base, _ := standalone(
		t, "--demo=off", "--admin-email", "boss@settings.example", "--admin-password", "canary2 long enough",
	)
	api := client{t, base}
	boss := api.do(
		"POST", "/api/auth", "", `{"email":"boss@settings.example","password":"canary2 long enough"}`, 200,
	)["token"].(string)
	got := map[string]map[string]any{}
	for _, s := range api.do("GET", "/api/admin/settings", boss, "", 200)["settings"].([]any) {
		setting := s.(map[string]any)
		got[setting["name"].(string)] = setting
		require.NotContains(t, setting["value"], "canary")
	}
	for name, want := range map[string][]any{
		"ADNET_STRIPE_WEBHOOK_SECRET": {"file", "********", true}, "ADNET_SIGNUP": {"environment", "closed", false},
		"ADNET_ADMIN_PASSWORD": {"flag", "********", true}, "ADNET_CREDIT_VALUE_USD": {"default", "0.005", false},
	} {
		require.Equal(t, want, []any{got[name]["origin"], got[name]["value"], got[name]["secret"]}, name)
	}
}
