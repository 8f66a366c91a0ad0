package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/token"
)

// console is a request of the console's pages at base, with session as its cookie.
func console(base, host, session string) *http.Request {
	r := httptest.NewRequest("GET", "/api/keys", nil)
	r.Host = host
	r.Header.Set("X-Adnet-Console", "1")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	name := "adnet"
	if base[:8] == "https://" {
		name = "__Host-adnet"
	}
	r.AddCookie(&http.Cookie{Name: name, Value: session})
	return r
}

// The session cookie counts with the console's header, from the same origin, at the installation's
// host, and never otherwise: a page of another site can make a browser send the cookie, and no
// more.
func TestCookieCountsForTheConsoleOnly(t *testing.T) {
	d := newDoor(t)
	_, session := d.account(t, "a@example.com")
	for _, base := range []string{"https://ads.example", "http://127.0.0.1:8080", "https://ads.example:8443/net"} {
		auth := httpapi.NewAuth(httpapi.AuthDeps{
			Users: d.store.Accounts, Keys: d.store.Accounts, Sessions: d.sessions, Logins: d.store.Logins,
			Now:     func() time.Time { return d.now },
			BaseURL: func() string { return base },
		})
		host := map[string]string{
			"https://ads.example": "ads.example", "http://127.0.0.1:8080": "127.0.0.1:8080",
			"https://ads.example:8443/net": "ads.example:8443",
		}[base]
		user := func(r *http.Request) error {
			_, err := auth.User(httpapi.NewContext(httptest.NewRecorder(), r))
			return err
		}
		require.NoError(t, user(console(base, host, session)), base)
		for what, change := range map[string]func(r *http.Request){
			"no header":          func(r *http.Request) { r.Header.Del("X-Adnet-Console") },
			"another header":     func(r *http.Request) { r.Header.Set("X-Adnet-Console", "true") },
			"cross-site":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"a sibling host":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
			"typed by a person":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") },
			"no Sec-Fetch-Site":  func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") },
			"a foreign host":     func(r *http.Request) { r.Host = "evil.example" },
			"the host as a part": func(r *http.Request) { r.Host = host + ".evil.example" },
			"another port":       func(r *http.Request) { r.Host = "ads.example:1" },
			"no host":            func(r *http.Request) { r.Host = "" },
			"a wrong bearer":     func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
			"an empty bearer":    func(r *http.Request) { r.Header.Set("Authorization", "") },
			"no cookie":          func(r *http.Request) { r.Header.Del("Cookie") },
			"an empty cookie":    func(r *http.Request) { r.Header.Set("Cookie", "adnet=; __Host-adnet=") },
			"an old cookie":      func(r *http.Request) { r.Header.Set("Cookie", "session="+session) },
			"the other one's name": func(r *http.Request) {
				name := "__Host-adnet"
				if base[:8] == "https://" { // a neighbour under the same domain can plant this one
					name = "adnet"
				}
				r.Header.Set("Cookie", name+"="+session)
			},
		} {
			r := console(base, host, session)
			change(r)
			require.Error(t, user(r), "%s: %s", base, what)
		}
	}
	auth := httpapi.NewAuth(httpapi.AuthDeps{
		Users: d.store.Accounts, Keys: d.store.Accounts, Sessions: d.sessions, Logins: d.store.Logins,
		Now: func() time.Time { return d.now },
	})
	_, err := auth.User(httpapi.NewContext(
		httptest.NewRecorder(), console("https://ads.example", "ads.example", session),
	))
	require.Error(t, err)
}

func TestSessionCookie(t *testing.T) {
	for base, want := range map[string]string{
		"https://ads.example":   "__Host-adnet=x; Path=/; Max-Age=28800; HttpOnly; Secure; SameSite=Strict",
		"http://127.0.0.1:8080": "adnet=x; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict",
	} {
		w := httptest.NewRecorder()
		httpapi.SetSession(
			httpapi.NewContext(w, httptest.NewRequest("POST", "/", nil)), base, "x", token.AdminConsoleLife,
		)
		require.Equal(t, []string{want}, w.Header().Values("Set-Cookie"))
	}
	w := httptest.NewRecorder()
	httpapi.SetSession(
		httpapi.NewContext(w, httptest.NewRequest("POST", "/", nil)), "https://ads.example", "", time.Hour,
	)
	require.Contains(t, w.Header().Get("Set-Cookie"), "Max-Age=0")
}
