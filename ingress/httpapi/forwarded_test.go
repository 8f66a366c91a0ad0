package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/process/obs"
	"adnet/internal/traffic"
)

func TestForwardedEntriesAreRead(t *testing.T) {
	for entry, want := range map[string]string{
		"203.0.113.77":             "203.0.113.77",
		"203.0.113.77:8":           "203.0.113.77",
		"203.0.113.77:":            "203.0.113.77",
		"203.0.113.77:_secret":     "203.0.113.77",
		`"203.0.113.77:65535"`:     "203.0.113.77",
		"'203.0.113.77'":           "203.0.113.77",
		"[203.0.113.77]:80":        "203.0.113.77",
		"2001:DB8:0::A":            "2001:db8::a",
		"[2001:db8::a]":            "2001:db8::a",
		"[2001:db8::a]:443":        "2001:db8::a",
		`"[2001:db8::a]:443"`:      "2001:db8::a",
		"2001:db8:1:2:3:4:5:6:443": "2001:db8:1:2:3:4:5:6",
		"2001:db8::a:51234":        "2001:db8::a",
		"fe80::9%en0":              "fe80::9",
		"[fe80::9%25en0]:80":       "fe80::9",
		"::ffff:203.0.113.77":      "203.0.113.77",
		"[::ffff:203.0.113.77]:9":  "203.0.113.77",
		"for=203.0.113.77":         "203.0.113.77",
		`For="[2001:db8::a]:4711";proto=https;by=10.0.1`: "2001:db8::a",
		`proto=https; for=203.0.113.77`:                  "203.0.113.77",

		"unknown": "", "for=unknown": "", "_SEVKISEK": "", "localhost": "", "203.0.113": "", "203.0.113.777": "",
		"203.0.113.77:http": "", "203.0.113.77:123456": "", "[2001:db8::a": "", "[2001:db8::a]443": "", "[]": "", "\"": "",
		":": "", "203.0.113.77 203.0.113.78": "", "2001:db8::g": "", "::1::2": "", "203.0.113.77/32": "",
		"0xcb.0.113.77": "", "203.0.113.077": "", strings.Repeat("1", 300): "",
	} {
		addr, ok := readForwarded(entry)
		require.Equal(t, want != "", ok, "%q: %s", entry, addr)
		if ok {
			require.Equal(t, want, addr.String(), "%q", entry)
		}
	}
}

// Clients behind a proxy whose entries are unreadable are not one client, and nobody's address is
// used for them.
func TestUnreadableEntriesAreToldApart(t *testing.T) {
	first, other := hiddenAddress("_SEVKISEK"), hiddenAddress("_gazonk")
	require.NotEqual(t, traffic.Network(first.String()), traffic.Network(other.String()))
	require.Equal(t, first, hiddenAddress("_SEVKISEK:51234"), "a port is that of a connection")
	for _, addr := range []string{first.String(), other.String()} {
		require.True(t, strings.HasPrefix(addr, "f0"), "%s is assigned", addr)
	}
	require.False(t, first.IsPrivate() || first.IsLoopback() || first.IsMulticast() || first.IsLinkLocalUnicast())
}

func TestUnreadableAddressesAreNoticed(t *testing.T) {
	var logs bytes.Buffer
	registry := prometheus.NewRegistry()
	s, err := New(Config{TrustedProxies: []string{"10.0.0.0/8"}}, Deps{
		Log: slog.New(slog.NewTextHandler(&logs, nil)), Metrics: registry, Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	send := func(peer, path string, lines ...string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-For"] = lines
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 50 {
		send("10.0.0.1:80", "/x", "Ada-203.0.113.77:51234")
	}
	send("10.0.0.1:80", "/x", "203.0.113.77:51234")
	send("10.0.0.1:80", "/x", "unknown, 203.0.113.77")
	send("192.0.2.1:80", "/x", "unknown")
	send("10.0.0.1:80", "/x")
	send("10.0.0.1:80", "/x", "")
	send("10.0.0.1:80", "/readyz")
	send("10.0.0.1:80", "/healthz")
	send("192.0.2.1:80", "/x")
	send("192.168.0.1:80", "/x", "203.0.113.77")
	got := s.Addresses()
	require.EqualValues(t, 50, got.Unreadable.Requests)
	require.EqualValues(t, 2, got.Absent.Requests)
	require.EqualValues(t, 1, got.Unlisted.Requests)
	require.False(t, got.Unreadable.LastAt.IsZero())
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP adnet_http_forwarded_unreadable_total Requests whose X-Forwarded-For entry by a trusted proxy is not an address.
# TYPE adnet_http_forwarded_unreadable_total counter
adnet_http_forwarded_unreadable_total 50
`), "adnet_http_forwarded_unreadable_total"))
	require.Equal(t, 1, strings.Count(logs.String(), "holds no address"), "the log is limited")
	require.Contains(t, logs.String(), "form=aaa-999.9.999.99:99999")
	require.NotContains(t, logs.String(), "Ada")
}

// The usual forms of the header cost no allocation.
func TestPlainAddressesAreReadInPlace(t *testing.T) {
	s := newServer(t, "10.0.0.0/8")
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	r.RemoteAddr = "10.0.0.1:80"
	r.Header["X-Forwarded-For"] = []string{"2001:db8::a"}
	require.Zero(t, testing.AllocsPerRun(100, func() { s.identify(r) }))
}
