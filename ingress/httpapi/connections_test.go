package httpapi

import (
	"log/slog"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/process/obs"
)

// Connections leave descriptors to the stores and the admin listener, and there are some in a small
// process.
func TestMaxConns(t *testing.T) {
	for _, tc := range []struct {
		files  uint64
		others int
		want   int
	}{{20_000, 300, 19_700}, {1024, 300, 724}, {256, 300, 128}, {1 << 63, 300, 1<<31 - 1 - 300}} {
		require.Equal(t, tc.want, maxConns(tc.files, tc.others))
	}
	require.NotZero(t, openFiles())
}

// The most that a path may take is known before the body is read; a handler reads what its own
// policy allows.
func TestBodyLimitOfRoute(t *testing.T) {
	s := newServer(t)
	p := Policy{Limit: LimitOpen, Auth: Anyone, Idempotent: No, Audited: No}
	large := p
	large.Body = 1 << 20
	nothing := Plain(func(*gin.Context) error { return nil })
	s.Handle("POST", "/one/:id", nothing, large)
	s.HandleActions(
		"POST", "/two",
		Actions{Param: "action", Of: map[string]Action{"": {Do: nothing}, "much": {Do: nothing, Policy: large}}}, p,
	)
	require.Empty(t, s.faults)
	for _, tc := range []struct {
		method, path string
		want         int64
	}{
		{"POST", "/one/7", 1 << 20}, {"POST", "/two", 1 << 20}, {"POST", "/two/much", 1 << 20},
		{"GET", "/two", maxBody}, {"GET", "/one/7", maxBody}, {"POST", "/three", maxBody},
	} {
		require.Equal(t, tc.want, s.bodyLimit(tc.method, tc.path), tc)
	}
}

// newServer returns an engine with the routes that every role has.
func newServer(t *testing.T, proxies ...string) *Server {
	t.Helper()
	s, err := New(Config{TrustedProxies: proxies}, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	return s
}
