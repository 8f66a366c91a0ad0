package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

// fakeAdnet puts a script in the place of the built binary; its argument is the role.
func fakeAdnet(t *testing.T, s *stack, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.binary("adnet"), []byte("#!/bin/sh\n"+script), 0o755))
}

func requireNoRole(t *testing.T, s *stack) {
	t.Helper()
	for _, name := range []string{roleIngress, roleConsumers} {
		_, running := s.processes.running(name)
		require.False(t, running, name)
	}
}

// deadAddr is an address on which nothing answers, so that announce keeps waiting.
func deadAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestServeStopsBothRolesInOrder(t *testing.T) {
	s := testStack(t)
	fakeAdnet(t, s, `[ "$1" = migrate ] && { echo migrated; exit 0; }
trap 'echo bye; exit 0' TERM
echo "up $ADNET_ADMIN_ADDR"
while :; do sleep 0.05; done`)
	c := serveOpts{HTTPAddr: deadAddr(t), AdminAddr: "127.0.0.1:9090"}
	env, err := s.roleEnv(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	out := new(testenv.Output)
	done := make(chan error, 1)
	go func() { done <- s.runRoles(ctx, c, env, out) }()
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "ingress   | up 127.0.0.1:9090\n") &&
			strings.Contains(out.String(), "consumers | up 127.0.0.1:9091\n")
	}, 20*time.Second, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	text := out.String()
	require.True(t, strings.HasPrefix(text, "migrate   | migrated\n"), text)
	ingress, consumers := strings.Index(text, "ingress   | bye"), strings.Index(text, "consumers | bye")
	require.Positive(t, ingress)
	require.Greater(t, consumers, ingress)
	requireNoRole(t, s)
}

func TestServeEndsWhenOneRoleDies(t *testing.T) {
	for _, dead := range []string{roleIngress, roleConsumers} {
		t.Run(dead, func(t *testing.T) {
			s := testStack(t)
			fakeAdnet(t, s, fmt.Sprintf(`case $1 in migrate) exit 0;; %s) printf 'last words'; exit 3;; esac
exec sleep 600`, dead))
			c := serveOpts{HTTPAddr: deadAddr(t), AdminAddr: "127.0.0.1:9090"}
			env, err := s.roleEnv(c)
			require.NoError(t, err)
			out := new(testenv.Output)
			require.ErrorContains(t, s.runRoles(t.Context(), c, env, out), dead+" ended: exit status 3")
			require.Contains(t, out.String(), "| last words\n")
			requireNoRole(t, s)
		})
	}
}

func TestServeNeedsAMigratedDatabaseAndARunningStack(t *testing.T) {
	s := testStack(t)
	require.ErrorContains(t, s.serve(t.Context(), serveOpts{}), "make stack")
	fakeAdnet(t, s, `[ "$1" = migrate ] && exit 1; touch "$0.started"`)
	require.ErrorContains(t, s.runRoles(t.Context(), serveOpts{}, nil, new(testenv.Output)), "migrate")
	require.NoFileExists(t, s.binary("adnet")+".started")
}

func TestSigningKeysAreMadeOnceAndPrivate(t *testing.T) {
	t.Setenv("ADNET_TOKEN_KEYS", "")
	t.Setenv("ADNET_SESSION_KEYS", "")
	s := testStack(t)
	first, err := s.roleKeys()
	require.NoError(t, err)
	second, err := s.roleKeys()
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NotEqual(t, first[0].value, first[1].value)
	for _, key := range first {
		require.Regexp(t, `^k1:[A-Za-z0-9+/]{43}=$`, key.value)
		info, err := os.Stat(s.cfg.Dir + "/" + strings.ToLower(key.name) + ".secret")
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	t.Setenv("ADNET_TOKEN_KEYS", "k9:given")
	listed, err := s.roleKeys()
	require.NoError(t, err)
	require.Equal(t, "k9:given", listed[0].value)
}

func TestRolesGetTheKeysThatTheyUse(t *testing.T) {
	t.Setenv("ADNET_TOKEN_KEYS", "")
	t.Setenv("ADNET_SESSION_KEYS", "")
	env, err := testStack(t).roleEnv(serveOpts{HTTPAddr: "127.0.0.1:8080", AdminAddr: "127.0.0.1:9090"})
	require.NoError(t, err)
	require.Contains(t, strings.Join(env[roleIngress], "\n"), "ADNET_TOKEN_KEYS=k1:")
	require.Contains(t, strings.Join(env[roleConsumers], "\n"), "ADNET_TOKEN_KEYS=k1:", "settlement verifies")
	require.Contains(t, strings.Join(env[roleIngress], "\n"), "ADNET_SESSION_KEYS=k1:")
	require.NotContains(t, strings.Join(env[roleConsumers], "\n"), "ADNET_SESSION_KEYS=k1:")
}

func TestNextPort(t *testing.T) {
	next, err := nextPort("[::1]:9090")
	require.NoError(t, err)
	require.Equal(t, "[::1]:9091", next)
	for _, bad := range []string{"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65535", "127.0.0.1:http"} {
		_, err := nextPort(bad)
		require.Error(t, err, bad)
	}
}
