package httpapi

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

func TestPathsAndTheirParameters(t *testing.T) {
	s := newServer(t)
	p := Policy{Limit: LimitOpen, Auth: Anyone, Idempotent: No, Audited: No}
	var found string
	var values []string
	tell := Plain(func(c *gin.Context) error {
		found = of(c).route()
		for _, param := range c.Params {
			values = append(values, param.Value)
		}
		return nil
	})
	for _, route := range [][2]string{
		{"GET", "/"}, {"GET", "/api/keys"}, {"POST", "/api/keys"}, {"DELETE", "/api/keys/:id"},
		{"GET", "/api/campaigns/:id"}, {"GET", "/api/campaigns/:id/diagnose"}, {"GET", "/a/:first/b/:second"},
	} {
		s.Handle(route[0], route[1], tell, p)
	}
	s.HandleTree("/tree/*path", tell, p)
	s.Handle("GET", "/tree/fixed/:leaf", tell, p)
	require.Empty(t, s.faults)
	s.Handle("POST", "/api/keys", tell, p)
	require.Len(t, s.faults, 1)
	s.Handle("GET", "/api/keys/:name", tell, p)
	require.Len(t, s.faults, 2, "gin cannot tell two names of one parameter apart")
	ask := func(method, path string) *httptest.ResponseRecorder {
		found, values = "", nil
		r := httptest.NewRequest(method, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]struct {
		method string
		path   string // empty for none
		values []string
	}{
		"/":                         {path: "/"},
		"/api/keys":                 {path: "/api/keys"},
		"/api/keys/":                {},
		"/api/keysx":                {},
		"/api/key":                  {},
		"//api/keys":                {},
		"/api/keys/7":               {"DELETE", "/api/keys/:id", []string{"7"}},
		"/api/keys/:id":             {"DELETE", "/api/keys/:id", []string{":id"}},
		"/api/keys/7/":              {},
		"/api/keys/7/8":             {},
		"/api/campaigns/a b":        {"", "/api/campaigns/:id", []string{"a b"}},
		"/api/campaigns/x/diagnose": {"", "/api/campaigns/:id/diagnose", []string{"x"}},
		// the handler refuses the id
		"/api/campaigns//diagnose":      {"", "/api/campaigns/:id/diagnose", []string{""}},
		"/api/campaigns/x/diagnoses":    {},
		"/api/campaigns/x/diagnose/":    {},
		"/api/campaigns/../x/diagnose":  {},
		"/a/1/b/2":                      {"", "/a/:first/b/:second", []string{"1", "2"}},
		"/a/1/c/2":                      {},
		"/a/1/b/":                       {},
		"/API/keys":                     {},
		"/api/campaigns/x/diagnose?a=b": {},
		"/tree":                         {"", "/tree/*path", []string{""}},
		"/tree/fixed/x":                 {"", "/tree/fixed/:leaf", []string{"x"}},
		"/tree/fixed":                   {"", "/tree/*path", []string{"/fixed"}},
		"/tree/":                        {"", "/tree/*path", []string{"/"}},
		"/tree/a/b/":                    {"", "/tree/*path", []string{"/a/b/"}},
		"/trees":                        {},
	} {
		w := ask(cmp.Or(want.method, "GET"), path)
		require.Equal(t, want.path, found, path)
		require.Equal(t, want.values, values, path)
		if want.path == "" {
			require.Equal(t, http.StatusNotFound, w.Code, path)
		}
	}
	w := ask("PATCH", "/api/keys")
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "GET, HEAD, POST", w.Header().Get("Allow"))
	ask("HEAD", "/api/keys")
	require.Equal(t, "/api/keys", found, "a HEAD is answered where a GET is")
	w = ask("HEAD", "/api/keys/7")
	require.Equal(t, "DELETE", w.Header().Get("Allow"))
	w = ask("PROPFIND", "/api/keys")
	require.Equal(t, http.StatusMethodNotAllowed, w.Code, "a method that gin takes no routes for")
	require.Contains(t, w.Body.String(), "PROPFIND")
}

func TestClientsAddress(t *testing.T) {
	s := newServer(t, "10.0.0.0/8", "2001:db8::1")
	var got string
	s.Handle(http.MethodGet, "/address", Plain(func(c *gin.Context) error {
		got = c.ClientIP()
		return nil
	}), Policy{Limit: LimitOpen, Auth: Anyone})
	for name, tc := range map[string]struct {
		peer      string
		forwarded []string
		real      string
		want      string
	}{
		"no proxy":                 {"192.0.2.1:80", []string{"198.51.100.1"}, "198.51.100.2", "192.0.2.1"},
		"a proxy, no word":         {"10.0.0.1:80", nil, "", "10.0.0.1"},
		"a proxy":                  {"10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.2", "198.51.100.1"},
		"its own word is the last": {"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.1"}, "", "198.51.100.1"},
		"two headers":              {"10.0.0.1:80", []string{"203.0.113.9", "198.51.100.1"}, "", "198.51.100.1"},
		"a chain of proxies": {
			"10.0.0.1:80", []string{"198.51.100.1, 10.0.0.2,10.0.0.3"}, "", "198.51.100.1",
		},
		"proxies only": {"10.0.0.1:80", []string{"10.0.0.2, 10.0.0.3"}, "", "10.0.0.2"},
		"no address in the chain": {
			"10.0.0.1:80", []string{"198.51.100.1, x, 10.0.0.3"}, "198.51.100.2", hiddenAddress("x").String(),
		},
		"an empty part at its end":     {"10.0.0.1:80", []string{"198.51.100.1,"}, "", "198.51.100.1"},
		"empty parts only":             {"10.0.0.1:80", []string{" , ,"}, "", "10.0.0.1"},
		"an empty line after":          {"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.1", ""}, "", "198.51.100.1"},
		"a port":                       {"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.1:51234"}, "", "198.51.100.1"},
		"a proxy with a port":          {"10.0.0.1:80", []string{"198.51.100.1:1, 10.0.0.2:80"}, "", "198.51.100.1"},
		"a forged address before one":  {"10.0.0.1:80", []string{"203.0.113.9:1, [2001:db8::7]:2"}, "", "2001:db8::7"},
		"an unclosed quote before one": {"10.0.0.1:80", []string{"\"203.0.113.9, 198.51.100.1"}, "", "198.51.100.1"},
		"a port, not trusted":          {"192.0.2.1:80", []string{"198.51.100.1:51234"}, "", "192.0.2.1"},
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
			r := httptest.NewRequest(http.MethodGet, "/address", nil)
			r.RemoteAddr = tc.peer
			r.Header["X-Forwarded-For"] = tc.forwarded
			if tc.real != "" {
				r.Header.Set("X-Real-IP", tc.real)
			}
			s.ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, tc.want, got)
		})
	}
	for _, bad := range []string{"anybody", "10.0.0.0/33", "", "1.2.3", "1.2.3.4/8/8"} {
		_, err := traffic.ParseNetworks([]string{bad})
		require.Error(t, err, bad)
	}
}
