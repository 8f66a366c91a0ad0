package cmd_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeysAndErasureByCommand follows an account from its first key to its erasure, on the real
// servers.
func TestKeysAndErasureByCommand(t *testing.T) {
	i := install(t)
	i.env = append(i.env, "ADNET_USER_PASSWORD=a long user password")
	adnet := func(args ...string) string {
		t.Helper()
		out, err := i.run(args...)
		require.NoError(t, err)
		return out
	}
	adnet("migrate")
	created := adnet("user", "create", "canary-owner@e2e.example")
	id := regexp.MustCompile(` id ([0-9a-f-]{36})`).FindStringSubmatch(created)[1]
	keys := func(args ...string) string {
		return adnet(append([]string{"user", "keys", "canary-owner@e2e.example"}, args...)...)
	}
	require.Contains(t, keys("--issue", "publisher", "--name", "my app"), "pub_live_")
	require.Contains(t, keys("--issue", "conversion"), "conv_live_")
	listed := keys("--issue", "seatpath", "--addresses", "192.0.2.0/24,2001:db8::7", "--name", "exchange")
	require.Contains(t, listed, "seatpath_live_")
	seat := regexp.MustCompile(
		`seatpath +([0-9a-f-]{36}) .*192\.0\.2\.0/24 2001:db8::7/128 +exchange`,
	).FindStringSubmatch(listed)[1]
	require.NotEqual(t, id, seat)
	require.Equal(t, 2, strings.Count(keys("--issue", "seat", "--seat", seat), seat), "two keys of one seat")
	for _, wrong := range [][]string{
		{"--issue", "seat", "--addresses", "192.0.2.0/24"}, {"--issue", "seatpath", "--addresses", "everywhere"},
		{"--issue", "seat", "--seat", "mine"},
		{"--issue", "publisher", "--seat", seat}, {"--issue", "other"},
	} {
		_, err := i.run(append([]string{"user", "keys", "canary-owner@e2e.example"}, wrong...)...)
		require.Error(t, err, wrong)
	}

	held := adnet("user", "export", "CANARY-owner@e2e.example")
	require.Contains(t, held, `"canary-owner@e2e.example"`)
	require.Contains(t, held, "my app")
	require.NotContains(t, held, "argon2")
	require.Equal(t, held, adnet("user", "export", id))
	_, err := i.run("user", "erase", id) // it needs the id again, with --yes or typed
	require.Error(t, err)
	require.Contains(t, adnet("user", "export", id), "canary-owner@e2e.example", "nothing was changed")
	require.Contains(t, adnet("user", "erase", "canary-owner@e2e.example", "--yes"), id+" is erased: 4 keys revoked")
	forgotten := adnet("user", "export", id)
	require.NotContains(t, forgotten, "canary-owner")
	require.NotContains(t, forgotten, "my app")
	require.Contains(t, adnet("user", "erase", id, "--yes"), "erased before")
	_, err = i.run("user", "export", "canary-owner@e2e.example")
	require.Error(t, err)
	_, err = i.run("user", "erase", "admin@e2e.example", "--yes")
	require.Error(t, err)
	require.Contains(t, adnet("verify"), "clean")
}
