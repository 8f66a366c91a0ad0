package limits

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// gate is how a route is limited by address.
type gate uint8

const (
	free    gate = iota // beacons, redirects, notices, health
	counted             // each request counts in its class
	login               // only failures count
	guarded             // refused callers count: they look for a key that works
)

// Enter refuses a request of an address that has used up the limit of the route, before anything is read of it.
// The address is the connection's, or what a trusted proxy says; see httpapi.Config.TrustedProxies. Beacons,
// redirects and notices are never refused: there is money behind each, and one server may send many people's. Nor are
// /api/mcp and /api/rtb, which have their own forms of errors and their own limits.
// Errors: errs.RateLimited.
func (l *Limits) Enter(c *gin.Context) error {
	id, how := routeClass(c)
	if how == free {
		return nil
	}
	k, now := addressKey(id, c.ClientIP()), l.deps.Now()
	if how == guarded {
		return l.check(id, k, now)
	}
	// A login counts until it turns out well, so that many at once are not more tries than one after the other.
	return l.take(c.Writer.Header(), id, k, now)
}

// Leave sees how a request that was let in ended.
func (l *Limits) Leave(c *gin.Context) {
	id, how := routeClass(c)
	status := c.Writer.Status()
	switch {
	case how == guarded && status == http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == login && status != http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), -1, l.deps.Now())
	}
}

func routeClass(c *gin.Context) (class byte, how gate) {
	switch c.FullPath() {
	case "/api/track", "/s/:token", "/healthz", "/readyz", "/api/rtb", "/api/mcp":
		return 0, free
	case "/api/auth":
		if c.Query("action") == "register" {
			return register, counted
		}
		return badLogin, login
	case "/api/benna":
		return benna, counted
	case "", "/r/:token", "/openapi.json", "/docs", "/checkout/:id":
		return open, counted
	}
	return refused, guarded
}
