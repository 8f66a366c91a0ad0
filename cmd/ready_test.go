package cmd

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/internal/backends"
	"adnet/internal/obs"
	"adnet/internal/redis"
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

// Operators see every part that works behind the requests.
func TestChecksOfTheConsumers(t *testing.T) {
	w := wire(t, nil)
	names := []string{}
	for _, c := range w.readiness.Check(obs.Traffic).Checks {
		names = append(names, c.Name)
	}
	require.Subset(t, names, []string{"http", "catalog", "budget", "recording", "settle", "archive", "project"})
}
