package cmd

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/analytics/stats"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/kafka"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/obs"
	"adnet/internal/store/redis"
	"adnet/internal/testenv"
)

// remote returns a Redis behind a cable, in place of the one of in-memory mode.
func remote(t *testing.T) (*cable, *redis.Client) {
	t.Helper()
	cache, err := redis.NewEmbedded(redis.EmbeddedConfig{})
	require.NoError(t, err)
	require.NoError(t, cache.Start())
	line := newCable(t, cache.Addr())
	client, err := redis.Open(redis.Config{Addr: line.listener.Addr().String()}, redis.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return line, client
}

func (w *wired) probe(t *testing.T, path string) (status int, report obs.Report) {
	t.Helper()
	reply := w.send(t, request{method: "GET", path: path})
	require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &report))
	return reply.Code, report
}

// Without Redis a node sells no ads, and a balancer must keep it: it records beacons and serves the
// API.
func TestReadyWithoutRedis(t *testing.T) {
	line, client := remote(t)
	w := wire(t, func(b *backends.All) { b.Redis = client })
	require.Eventually(t, func() bool {
		status, report := w.probe(t, "/readyz?for=ads")
		return status == 200 && len(report.Degraded) == 0
	}, time.Minute, 10*time.Millisecond)
	line.cut()
	require.Eventually(t, func() bool {
		_, report := w.probe(t, "/readyz")
		return slices.Contains(report.Degraded, "catalog") && slices.Contains(report.Degraded, "budget")
	}, time.Minute, 10*time.Millisecond)
	status, report := w.probe(t, "/readyz")
	require.Equal(t, 200, status)
	require.True(t, report.Ready)
	status, report = w.probe(t, "/readyz?for=ads")
	require.Equal(t, 503, status)
	require.False(t, report.Ready)
	w.readiness.SetDraining()
	status, _ = w.probe(t, "/readyz")
	require.Equal(t, 503, status)
}

// ingressOver runs the HTTP role as `adnet ingress` does, over the servers of in-memory mode with
// change made to them.
func ingressOver(t *testing.T, change func(*backends.All)) *ingressRole {
	t.Helper()
	var line commands
	parser, err := kong.New(&line)
	require.NoError(t, err)
	_, err = parser.Parse([]string{
		"ingress", "--http-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--token-keys", testenv.Key(t),
		"--session-keys", testenv.Key(t), "--verify-email", "off", "--spool-dir", t.TempDir(),
	})
	require.NoError(t, err)
	c := &line.Ingress
	ctx, cancel := context.WithCancel(context.Background())
	h, err := newHost(
		cli.Process{Ctx: ctx, Stdout: io.Discard, Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, c.Host, 0,
	)
	require.NoError(t, err)
	servers, err := backends.OpenEmbedded(kafka.EmbeddedConfig{}, c.Money, h.backendDeps())
	require.NoError(t, err)
	change(&servers.All)
	ring, sessions, err := c.Role.keys(false)
	require.NoError(t, err)
	role, err := newIngress(
		h, parts{Config: c.Role, Money: c.Money, Spool: c.Spool, Ring: ring, Sessions: sessions}, &servers.All,
	)
	require.NoError(t, err)
	require.NoError(t, role.spool.Open())
	h.group.Add(lifecycle.Named("broker", servers.Broker), lifecycle.Named("redis", servers.Cache))
	h.group.Add(lifecycle.Task("administrator", role.ensureAdmin))
	role.addStages()
	ended := make(chan error, 1)
	go func() { ended <- h.run() }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		servers.Close()
	})
	select {
	case <-role.http.Ready():
	case err := <-ended:
		ended <- err
		require.NoError(t, err)
	}
	return role
}

// During an outage of Redis and ClickHouse a node must be replaceable: it starts degraded, and
// records beacons.
func TestIngressStartsWithoutRedisAndClickHouse(t *testing.T) {
	line, client := remote(t)
	line.cut()
	w := &wired{ingressRole: ingressOver(t, func(b *backends.All) {
		b.Redis = client
		reader := noStats(t)
		b.Stats, b.Past = reader, reader
	})}
	status, report := w.probe(t, "/readyz")
	require.Equal(t, 200, status)
	require.Subset(t, report.Degraded, []string{"catalog", "budget"})
	status, _ = w.probe(t, "/readyz?for=ads")
	require.Equal(t, 503, status)
}

// noStats returns a reader of a ClickHouse that is away.
func noStats(t *testing.T) *stats.Reader {
	t.Helper()
	store, err := clickhouse.New(clickhouse.Config{URL: "clickhouse://" + testenv.Free(t) + "/adnet"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	reader, err := stats.New(stats.Config{Timeout: time.Minute}, stats.Deps{Store: store})
	require.NoError(t, err)
	return reader
}

func TestStatsWithoutClickHouse(t *testing.T) {
	reader := noStats(t)
	w := wire(t, func(b *backends.All) { b.Stats, b.Past = reader, reader })
	reply := w.send(t, request{method: "GET", path: "/api/stats", scheme: "userToken"})
	require.Equal(t, 503, reply.Code, reply.Body)
	require.Equal(t, "5", reply.Header().Get("Retry-After"))
	require.Contains(t, reply.Body.String(), `"retry_after":5`)
	require.Eventually(t, func() bool {
		status, _ := w.probe(t, "/readyz?for=ads")
		return status == 200
	}, time.Minute, 10*time.Millisecond, "ads do without ClickHouse")
}

// Operators see every part that works behind the requests.
func TestChecksOfTheConsumers(t *testing.T) {
	w := wire(t, nil)
	names := []string{}
	for _, c := range w.readiness.Check(obs.Traffic).Checks {
		names = append(names, c.Name)
	}
	require.Subset(t, names, []string{"http", "catalog", "budget", "recording", "settle", "archive", "project"})
}
