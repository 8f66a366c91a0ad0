package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRouter(t *testing.T) {
	r := router{fixed: map[string]*site{}}
	for _, e := range []*entrance{
		{method: "GET", path: "/"}, {method: "GET", path: "/api/keys"}, {method: "POST", path: "/api/keys"}, {method: "DELETE", path: "/api/keys/:id"},
		{method: "GET", path: "/api/campaigns/:id"}, {method: "GET", path: "/api/campaigns/:id/diagnose"}, {method: "GET", path: "/a/:first/b/:second"},
	} {
		_, free := r.add(e)
		require.True(t, free, e.path)
	}
	_, free := r.add(&entrance{method: "POST", path: "/api/keys"})
	require.False(t, free)
	require.Equal(t, "GET, HEAD, POST", r.named("/api/keys").allow)
	require.Same(t, r.named("/api/keys").entrance("GET"), r.named("/api/keys").answering("HEAD"))
	require.Nil(t, r.named("/api/keys/:id").answering("HEAD"))
	for path, want := range map[string]struct {
		path   string // empty for none
		values []string
	}{
		"/":                             {path: "/"},
		"/api/keys":                     {path: "/api/keys"},
		"/api/keys/":                    {},
		"/api/keysx":                    {},
		"/api/key":                      {},
		"//api/keys":                    {},
		"/api/keys/7":                   {"/api/keys/:id", []string{"7"}},
		"/api/keys/:id":                 {"/api/keys/:id", []string{":id"}},
		"/api/keys/7/":                  {},
		"/api/keys/7/8":                 {},
		"/api/campaigns/a b":            {"/api/campaigns/:id", []string{"a b"}},
		"/api/campaigns/x/diagnose":     {"/api/campaigns/:id/diagnose", []string{"x"}},
		"/api/campaigns//diagnose":      {"/api/campaigns/:id/diagnose", []string{""}}, // the handler refuses the id
		"/api/campaigns/x/diagnoses":    {},
		"/api/campaigns/x/diagnose/":    {},
		"/api/campaigns/../x/diagnose":  {},
		"/a/1/b/2":                      {"/a/:first/b/:second", []string{"1", "2"}},
		"/a/1/c/2":                      {},
		"/a/1/b/":                       {},
		"/API/keys":                     {},
		"":                              {},
		"/api/campaigns/x/diagnose?a=b": {},
	} {
		found, values := r.find(path, nil)
		if want.path == "" {
			require.Nil(t, found, path)
			continue
		}
		require.NotNil(t, found, path)
		require.Equal(t, want.path, found.path, path)
		require.Equal(t, want.values, values, path)
	}
}

func TestClientsAddress(t *testing.T) {
	trusted, err := readProxies([]string{"10.0.0.0/8", "2001:db8::1"})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		peer      string
		forwarded []string
		real      string
		want      string
	}{
		"no proxy":                     {"192.0.2.1:80", []string{"198.51.100.1"}, "198.51.100.2", "192.0.2.1"},
		"a proxy, no word":             {"10.0.0.1:80", nil, "", "10.0.0.1"},
		"a proxy":                      {"10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.2", "198.51.100.1"},
		"its own word is the last":     {"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.1"}, "", "198.51.100.1"},
		"two headers":                  {"10.0.0.1:80", []string{"203.0.113.9", "198.51.100.1"}, "", "198.51.100.1"},
		"a chain of proxies":           {"10.0.0.1:80", []string{"198.51.100.1, 10.0.0.2,10.0.0.3"}, "", "198.51.100.1"},
		"proxies only":                 {"10.0.0.1:80", []string{"10.0.0.2, 10.0.0.3"}, "", "10.0.0.2"},
		"no address in the chain":      {"10.0.0.1:80", []string{"198.51.100.1, x, 10.0.0.3"}, "198.51.100.2", "10.0.0.1"},
		"no address at its end":        {"10.0.0.1:80", []string{"198.51.100.1,"}, "", "10.0.0.1"},
		"X-Real-IP":                    {"10.0.0.1:80", nil, "198.51.100.2", "10.0.0.1"},
		"IPv6 proxy":                   {"[2001:db8::1]:80", []string{"2001:DB8::7"}, "", "2001:DB8::7"},
		"IPv6 peer":                    {"[2001:DB8:0::2]:80", []string{"198.51.100.1"}, "", "2001:db8::2"},
		"IPv4 in IPv6":                 {"[::ffff:10.0.0.1]:80", []string{"198.51.100.1"}, "", "198.51.100.1"},
		"IPv4 in IPv6, not trusted":    {"[::ffff:192.0.2.1]:80", nil, "", "192.0.2.1"},
		"a zone":                       {"[fe80::1%eth0]:80", nil, "", ""},
		"an address without its port":  {"192.0.2.1", nil, "", ""},
		"a connection without address": {"@", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tc.peer
			r.Header["X-Forwarded-For"] = tc.forwarded
			if tc.real != "" {
				r.Header.Set("X-Real-IP", tc.real)
			}
			require.Equal(t, tc.want, trusted.client(r))
		})
	}
	for _, bad := range []string{"anybody", "10.0.0.0/33", "", "1.2.3", "1.2.3.4/8/8"} {
		_, err := readProxies([]string{bad})
		require.Error(t, err, bad)
	}
}
