package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
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

// The route's limit is known before the body is read.
func TestBodyLimitOfRoute(t *testing.T) {
	s := &Server{router: router{fixed: map[string]*site{}}}
	p := Policy{Limit: LimitOpen, Auth: Anyone, Idempotent: No, Audited: No}
	large := p
	large.Body = 1 << 20
	nothing := func(*Context) error { return nil }
	s.Handle("POST", "/one/:id", nothing, large)
	s.HandleActions("POST", "/two", Actions{Param: "action", Of: map[string]Action{"": {Do: nothing}, "much": {Do: nothing, Policy: large}}}, p)
	require.Empty(t, s.faults)
	for _, tc := range []struct {
		method, path, query string
		want                int64
	}{
		{"POST", "/one/7", "", 1 << 20}, {"POST", "/two", "", maxBody}, {"POST", "/two", "action=much", 1 << 20},
		{"POST", "/two", "action=none", maxBody}, {"POST", "/two", "%zz&action=much", 1 << 20},
		{"GET", "/two", "", 0}, {"POST", "/three", "", 0},
	} {
		require.Equal(t, tc.want, s.bodyLimit(tc.method, tc.path, tc.query), tc)
	}
}
