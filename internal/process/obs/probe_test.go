package obs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv/linktest"
)

func TestProbe(t *testing.T) {
	admin, readiness := newAdmin(t, "127.0.0.1:0")
	readiness.Add("budget", Ads, func() error { return errors.New("Redis is down") })
	run(t, admin)
	config := AdminConfig{Addr: admin.Addr()}
	report, err := config.Probe(t.Context(), "")
	require.NoError(t, err)
	require.True(t, report.Ready)
	require.Equal(t, []string{"budget"}, report.Degraded)
	report, err = config.Probe(t.Context(), "ads")
	require.NoError(t, err)
	require.False(t, report.Ready)
}

// The probe of a container has no token and knows no authority.
func TestProbeOfAnEncryptedListener(t *testing.T) {
	authority, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	require.NoError(t, authority.Issue(linktest.Wish{File: "admin", Name: "node1", Hosts: []string{"node1"}}))
	config := AdminConfig{
		Addr: "127.0.0.1:0", Token: "0123456789abcdef", Cert: authority.File("admin.pem"), Key: authority.File("admin.key"),
	}
	admin, err := NewAdmin(config, AdminDeps{Gatherer: NewRegistry(), Readiness: NewReadiness()})
	require.NoError(t, err)
	run(t, admin)
	config.Addr = admin.Addr()
	report, err := config.Probe(t.Context(), "")
	require.NoError(t, err)
	require.True(t, report.Ready)
}

func TestProbeAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:9090": "http://127.0.0.1:9090/readyz", ":9090": "http://127.0.0.1:9090/readyz",
		"[::]:9090": "http://[::1]:9090/readyz", "10.0.0.1:9090": "http://10.0.0.1:9090/readyz",
		"localhost:8081": "http://localhost:8081/readyz",
	} {
		got, err := AdminConfig{Addr: addr}.probed()
		require.NoError(t, err)
		require.Equal(t, want, got.String())
	}
	for _, addr := range []string{"9090", "127.0.0.1:0"} {
		_, err := AdminConfig{Addr: addr}.Probe(t.Context(), "")
		require.Error(t, err, addr)
	}
	_, err := AdminConfig{Addr: "127.0.0.1:1"}.Probe(t.Context(), "")
	require.ErrorContains(t, err, "ADNET_ADMIN_ADDR")
}
