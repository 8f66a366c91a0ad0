package httpapi

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// ConsoleHeader marks a request of the console's pages. A page of another origin cannot send it: it
// would need a preflight, which no route answers.
const ConsoleHeader = "X-Adnet-Console"

// The names of the session cookie. A browser takes one whose name begins with __Host- only over
// https from this very host, so that no neighbour under the same domain can plant its own session.
const (
	secureCookie = "__Host-adnet"
	plainCookie  = "adnet"
)

// FromConsole says whether c was sent by a page of the console of the installation at baseURL: it
// has the console's header, the browser says that it comes from the same origin, and it was sent to
// the host of baseURL. Each keeps out what the others might let through: forms of other sites,
// pages of sibling hosts, and names that an attacker points at this server.
func FromConsole(c *gin.Context, baseURL string) bool {
	r := c.Request
	return r.Header.Get(ConsoleHeader) == "1" &&
		r.Header.Get("Sec-Fetch-Site") == "same-origin" &&
		baseURL != "" && SameHost(r.Host, baseURL)
}

// SameHost says whether host, the header of a request, is that of baseURL. The scheme's own port
// may be left out.
func SameHost(host, baseURL string) bool {
	base, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	port := ":80"
	if base.Scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(host, port), strings.TrimSuffix(base.Host, port))
}

// OnLoopback says whether the host of an address is this machine for everybody who uses it.
func OnLoopback(baseURL string) bool {
	base, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := base.Hostname()
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// SetSession gives the browser a session for a time; an empty token ends it. The cookie is out of
// reach of scripts and of requests that another site begins.
func SetSession(c *gin.Context, baseURL, token string, life time.Duration) {
	secure := strings.HasPrefix(baseURL, "https://")
	cookie := &http.Cookie{
		Name: cookieName(secure), Value: token, Path: "/", MaxAge: int(life.Seconds()),
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.Writer, cookie)
}

func cookieName(secure bool) string {
	if secure {
		return secureCookie
	}
	return plainCookie
}

// session is the session token of a request: what its Authorization header says; of the console's
// pages, which send none, what their cookie says.
func (a *Auth) session(c *gin.Context) (string, bool) {
	if _, says := c.Request.Header["Authorization"]; says || a.deps.BaseURL == nil {
		return Bearer(c)
	}
	base := a.deps.BaseURL()
	if !FromConsole(c, base) {
		return "", false
	}
	cookie, err := c.Request.Cookie(cookieName(strings.HasPrefix(base, "https://")))
	if err != nil {
		return "", false
	}
	return cookie.Value, cookie.Value != ""
}
