package cmd_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/cmd"
	"adnet/internal/testenv"
)

// After SIGTERM a node is not ready, and serves new connections until balancers have noticed. A
// second signal ends the wait.
func TestStopWaitsForBalancers(t *testing.T) {
	addr := testenv.Free(t)
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	p := &program{out: new(testenv.Output), err: new(testenv.Output), stop: stop, status: make(chan int, 1)}
	hurry := make(chan struct{})
	go func() {
		p.status <- cmd.Main(ctx, cmd.Invocation{
			Args: []string{
				"standalone", "--http-addr", addr, "--admin-addr", "127.0.0.1:0", "--log-level", "warn",
				"--http-lameduck", "1h", "--stop-budget", "2h",
			},
			Stdout: p.out, Stderr: p.err, Hurry: hurry,
		})
	}()
	p.says(t, "http://"+addr)
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) int {
		reply, err := fresh.Get("http://" + addr + path)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		return reply.StatusCode
	}
	require.Equal(t, http.StatusOK, get("/readyz"))
	stop()
	require.Eventually(t, func() bool { return get("/readyz") == http.StatusServiceUnavailable }, time.Minute,
		time.Millisecond)
	require.Equal(t, http.StatusOK, get("/console/"), "new connections are served")
	close(hurry)
	require.Zero(t, p.ends(t, time.Minute), p.err)
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
}

// A stop that could not end within its budget would be cut off by its supervisor.
func TestStopBudgetMustSuffice(t *testing.T) {
	for flags, least := range map[string]string{
		"standalone --http-lameduck=20s":                   "28s",
		"standalone --stop-budget=7s":                      "8s",
		"standalone --stop-budget=10s --http-drain=5001ms": "10.001s",
	} {
		p := start(t, append(strings.Fields(flags), "--http-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")...)
		require.Equal(t, 1, p.ends(t, time.Minute), flags)
		require.Contains(t, p.err.String(), "ADNET_STOP_BUDGET", flags)
		require.Contains(t, p.err.String(), "must be at least "+least, flags)
	}
}
