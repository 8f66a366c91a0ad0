package limits

import (
	"net/http"
	"time"

	"adnet/ingress/httpapi"
	"adnet/internal/account"

	"github.com/gin-gonic/gin"
)

// gate is how a route is limited by address.
type gate uint8

const (
	free    gate = iota // beacons, redirects, notices, health
	counted             // each request counts in its class
	login               // only failures count
	guarded             // refused callers count: they look for a key that works
	keyed               // what comes without a good key counts; a good key is always let in
)

// Enter refuses a request of an address that has used up the limit of the route, before anything is read of it.
// The address is the connection's, or what a trusted proxy says; see httpapi.Config.TrustedProxies. Beacons and
// redirects are never refused: there is money behind each, and one server may send many people's. Calls of /api/mcp and
// /api/rtb with a good key have limits per key instead, so that many may come from one exchange's address.
// Errors: errs.RateLimited.
func (l *Limits) Enter(c *gin.Context) error {
	id, how := routeClass(c)
	if how == free {
		return nil
	}
	k, now := addressKey(id, c.ClientIP()), l.deps.Now()
	switch how {
	case guarded:
		return l.check(id, k, now)
	case keyed:
		err := l.check(id, k, now)
		if err != nil && l.holds(c, now) {
			return nil
		}
		return err
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
	case how == keyed && (status == http.StatusUnauthorized || c.Request.Method != http.MethodPost || sandbox(c)):
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == login && status != http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), -1, l.deps.Now())
	}
}

// lookupsPerSecond is how many keys that this node has not seen are let through to the store, from all addresses
// that are over their limit: a good key gets in, a flood of made-up ones does not reach the store.
const lookupsPerSecond = 50

// holds says whether a caller whose address is over its limit is let in for its key.
func (l *Limits) holds(c *gin.Context, now time.Time) bool {
	if l.deps.Holds == nil || c.Request.Method != http.MethodPost {
		return false
	}
	known, formed := l.deps.Holds(c)
	return known || formed && l.lookups.AllowN(now, 1)
}

// sandbox says whether the caller shows a sandbox key: anybody has one.
func sandbox(c *gin.Context) bool {
	bearer, _ := httpapi.Bearer(c)
	return account.IsSandbox(bearer)
}

func routeClass(c *gin.Context) (class byte, how gate) {
	switch c.FullPath() {
	case "/api/track", "/s/:token", "/healthz", "/readyz":
		return 0, free
	case "/api/rtb", "/api/mcp":
		return keyless, keyed
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
