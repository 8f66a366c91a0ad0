package obs

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/process/link"
	"adnet/internal/testenv/linktest"
)

const adminToken = "an admin token of the tests"

// Off loopback the listener knows its clients, and they are encrypted, or it does not start.
func TestAdminOffLoopback(t *testing.T) {
	a, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	cert, key := a.File("server.pem"), a.File("server.key")
	for name, c := range map[string]struct {
		config AdminConfig
		says   string
	}{
		"loopback":             {AdminConfig{Addr: "127.0.0.1:0"}, ""},
		"nobody is known":      {AdminConfig{Addr: "0.0.0.0:0"}, "ADNET_ADMIN_TOKEN"},
		"all networks":         {AdminConfig{Addr: ":0"}, "ADNET_ADMIN_TOKEN"},
		"nobody, insecure":     {AdminConfig{Addr: ":0", Insecure: true}, "ADNET_ADMIN_TOKEN"},
		"short token":          {AdminConfig{Addr: "127.0.0.1:0", Token: "short"}, "16 characters"},
		"token in plain text":  {AdminConfig{Addr: ":0", Token: adminToken}, "--insecure"},
		"said so":              {AdminConfig{Addr: ":0", Token: adminToken, Insecure: true}, ""},
		"token, encrypted":     {AdminConfig{Addr: ":0", Token: adminToken, Cert: cert, Key: key}, ""},
		"certificates":         {AdminConfig{Addr: ":0", CA: a.CA(), Cert: cert, Key: key}, ""},
		"no certificate shown": {AdminConfig{Addr: ":0", CA: a.CA()}, "ADNET_ADMIN_CERT"},
		"no key":               {AdminConfig{Addr: ":0", Token: adminToken, Cert: cert}, "ADNET_ADMIN_KEY"},
		"no such file": {
			AdminConfig{Addr: ":0", Token: adminToken, Cert: filepath.Join(a.Dir, "no"), Key: key}, "ADNET_ADMIN_CERT",
		},
	} {
		_, err := NewAdmin(c.config, AdminDeps{Gatherer: NewRegistry(), Readiness: NewReadiness()})
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
}

// askAs sends a request with an Authorization header.
func askAs(t *testing.T, client *http.Client, url, authorization string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	res, err := client.Do(r)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

func TestAdminAsksForTheToken(t *testing.T) {
	admin, err := NewAdmin(
		AdminConfig{Addr: "127.0.0.1:0", Token: adminToken},
		AdminDeps{Gatherer: NewRegistry(), Readiness: NewReadiness()},
	)
	require.NoError(t, err)
	base, _ := run(t, admin)
	for _, path := range []string{
		"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/nothing",
	} {
		for _, wrong := range []string{"", "Bearer", "Bearer x", "Basic " + adminToken, "Bearer " + adminToken + "x"} {
			require.Equal(t, http.StatusUnauthorized, askAs(t, client, base+path, wrong), path)
		}
	}
	require.Equal(t, http.StatusOK, askAs(t, client, base+"/metrics", "bearer "+adminToken))
	require.Equal(t, http.StatusOK, askAs(t, client, base+"/debug/pprof/heap", "Bearer "+adminToken))
	require.Equal(t, http.StatusOK, askAs(t, client, base+"/healthz", ""))
	require.Equal(t, http.StatusOK, askAs(t, client, base+"/readyz", ""))
}

func TestAdminAsksForACertificate(t *testing.T) {
	a, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	other, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	for _, authority := range []*linktest.Authority{a, other} {
		require.NoError(t, authority.Issue(linktest.Wish{File: "client", Name: "operator"}))
	}
	admin, err := NewAdmin(AdminConfig{
		Addr: "127.0.0.1:0", Token: adminToken, CA: a.CA(), Cert: a.File("server.pem"), Key: a.File("server.key"),
	},
		AdminDeps{Gatherer: NewRegistry(), Readiness: NewReadiness()})
	require.NoError(t, err)
	base, _ := run(t, admin)
	base = strings.Replace(base, "http://127.0.0.1", "https://localhost", 1)
	with := func(files link.Files) *http.Client {
		config, err := files.Client(link.NamesOf("ADNET_X", "ADNET_X"))
		require.NoError(t, err)
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	}
	mine := with(link.Files{CA: a.CA(), Cert: a.File("client.pem"), Key: a.File("client.key")})
	require.Equal(t, http.StatusOK, askAs(t, mine, base+"/metrics", ""))
	none := with(link.Files{CA: a.CA()})
	require.Equal(t, http.StatusUnauthorized, askAs(t, none, base+"/metrics", ""))
	require.Equal(t, http.StatusOK, askAs(t, none, base+"/metrics", "Bearer "+adminToken))
	foreign := with(link.Files{CA: a.CA(), Cert: other.File("client.pem"), Key: other.File("client.key")})
	require.Zero(t, askAs(t, foreign, base+"/metrics", "Bearer "+adminToken), "the handshake fails")
	unchecked := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}, DisableKeepAlives: true}}
	require.Zero(t, askAs(t, unchecked, base+"/healthz", ""), "not an authority of this system")
}
