package httpapi

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// ConsoleHeader marks a request of the console's pages. A page of another origin cannot send it
// without a preflight, and no route answers one.
const ConsoleHeader = "X-Adnet-Console"

// The names of the session cookie, and the end of the name of the cookie of an earlier login. A
// browser accepts a name that begins with __Host- only over https and only from this host, so
// another host of the same domain cannot set its own session.
const (
	secureCookie = "__Host-adnet"
	plainCookie  = "adnet"
	browserPart  = "-browser"
)

// FromConsole reports whether c was sent by a page of the console at baseURL: it has the console's
// header, the browser marks it as same-origin, and its host is that of baseURL. Each check stops a
// case that the others may miss: forms of other sites, pages of sibling hosts, and names that an
// attacker points at this server.
func FromConsole(c *gin.Context, baseURL string) bool {
	r := c.Request
	return r.Header.Get(ConsoleHeader) == "1" &&
		r.Header.Get("Sec-Fetch-Site") == "same-origin" &&
		baseURL != "" && SameHost(r.Host, baseURL)
}

// SameHost reports whether host, a Host header, is the host of baseURL. The scheme's default port
// may be omitted.
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

// OnLoopback reports whether the host of baseURL is a loopback address, so that all its users are
// on this machine.
func OnLoopback(baseURL string) bool {
	base, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := base.Hostname()
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// SetSession sets the session cookie of the browser for a time; an empty token deletes it. Scripts
// cannot read the cookie, and other sites cannot send it.
func SetSession(c *gin.Context, baseURL, token string, life time.Duration) {
	setCookie(c, baseURL, http.Cookie{Value: token, MaxAge: int(life.Seconds())})
}

// SetBrowser sets the cookie that proves an earlier login of the browser for a time.
func SetBrowser(c *gin.Context, baseURL, value string, life time.Duration) {
	setCookie(c, baseURL, http.Cookie{Name: browserPart, Value: value, MaxAge: int(life.Seconds())})
}

// Browser returns the value of [SetBrowser], and the session token of the same browser. Each is
// empty without its cookie, and in a request that no page of the console sent.
func Browser(c *gin.Context, baseURL string) (value, session string) {
	return consoleCookie(c, baseURL, browserPart), consoleCookie(c, baseURL, "")
}

// consoleCookie returns the value of a cookie of the console, whose name ends with part.
func consoleCookie(c *gin.Context, baseURL, part string) string {
	if !FromConsole(c, baseURL) {
		return ""
	}
	cookie, err := c.Request.Cookie(cookieName(strings.HasPrefix(baseURL, "https://")) + part)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie of the console. Its name becomes the end of that of the session's.
func setCookie(c *gin.Context, baseURL string, cookie http.Cookie) {
	secure := strings.HasPrefix(baseURL, "https://")
	cookie.Name = cookieName(secure) + cookie.Name
	cookie.Path, cookie.Secure, cookie.HttpOnly, cookie.SameSite = "/", secure, true, http.SameSiteStrictMode
	if cookie.Value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.Writer, &cookie)
}

func cookieName(secure bool) string {
	if secure {
		return secureCookie
	}
	return plainCookie
}

// session returns the session token of a request: the bearer token if there is an Authorization
// header, else the cookie of the console's pages, which send no such header.
func (a *Auth) session(c *gin.Context) (string, bool) {
	if _, sent := c.Request.Header["Authorization"]; sent || a.deps.BaseURL == nil {
		return Bearer(c)
	}
	value := consoleCookie(c, a.deps.BaseURL(), "")
	return value, value != ""
}

// rightPassword is the key of a request's context after a right password.
const rightPassword = "adnet/right-password"

// RightPassword records that the password of a request was right, so that a reply with 401, to a
// wrong code for example, is no guess of a password.
func RightPassword(c *gin.Context) { c.Set(rightPassword, true) }

// PasswordWasRight reports whether [RightPassword] was called.
func PasswordWasRight(c *gin.Context) bool { return c.GetBool(rightPassword) }
