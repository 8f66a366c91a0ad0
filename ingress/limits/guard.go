package limits

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
)

// gate is how requests of a class are counted.
type gate uint8

const (
	free       gate = iota
	counted         // each request counts
	login           // only failures count
	guarded         // refused callers count: they look for a key that works
	converting      // as guarded, but only callers that show a conversion key
	keyed           // requests without a good key count; a good key is always let in
)

// gates are the class and the gate of each limit that a route can have.
var gates = [...]struct {
	class byte
	how   gate
}{
	httpapi.LimitNone:          {0, free},
	httpapi.LimitOpen:          {open, counted},
	httpapi.LimitRegistrations: {register, counted},
	httpapi.LimitRanking:       {benna, counted},
	httpapi.LimitLogins:        {badLogin, login},
	httpapi.LimitRefused:       {refused, guarded},
	httpapi.LimitConversionKey: {refused, converting},
	httpapi.LimitKeyless:       {keyless, keyed},
}

// Enter refuses a request of an address that has used up the limit of the route, before anything is
// read of it. The address is the connection's, or what a trusted proxy says; see
// httpapi.Config.TrustedProxies. Beacons and redirects are never refused here: there is money
// behind each, and one server may send many people's; see [Limits.Unproven]. Calls of /api/mcp and
// /api/rtb with a good key have limits per key instead, so that many may come from one exchange's
// address. Errors: errs.RateLimited.
func (l *Limits) Enter(c *gin.Context, limit httpapi.Limit) error {
	id, how := gates[limit].class, gates[limit].how
	if how == free {
		return nil
	}
	k, now := addressKey(id, c.ClientIP()), l.deps.Now()
	switch how {
	case guarded:
		return l.check(id, k, now)
	case converting:
		if !conversionKey(c) {
			return nil
		}
		return l.check(id, k, now)
	case keyed:
		err := l.check(id, k, now)
		if err != nil && l.hasKnownKey(c, now) {
			return nil
		}
		return err
	}
	// A login counts until it turns out well, so that many at once are not more tries than one
	// after the other.
	return l.take(c.Writer.Header(), id, k, now)
}

// Leave sees how a request that was let in ended.
func (l *Limits) Leave(c *gin.Context, limit httpapi.Limit) {
	id, how := gates[limit].class, gates[limit].how
	status := c.Writer.Status()
	switch {
	case (how == guarded || how == converting) && status == http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == keyed && (status == http.StatusUnauthorized || c.Request.Method != http.MethodPost || sandbox(c)):
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == login && status != http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), -1, l.deps.Now())
	}
}

// lookupsPerSecond is how many keys that this node has not seen are let through to the store, from
// all addresses that are over their limit: a good key gets in, a flood of made-up ones does not
// reach the store.
const lookupsPerSecond = 50

// hasKnownKey reports whether a caller whose address is over its limit is let in because of its
// key.
func (l *Limits) hasKnownKey(c *gin.Context, now time.Time) bool {
	if l.deps.KnownKey == nil || c.Request.Method != http.MethodPost {
		return false
	}
	known, formed := l.deps.KnownKey(c)
	return known || formed && l.lookups.AllowN(now, 1)
}

// conversionKey says whether the caller shows a conversion or browser key, right or wrong.
func conversionKey(c *gin.Context) bool {
	bearer, _ := httpapi.Bearer(c)
	return account.LooksLike(account.KindConversion, bearer) || account.LooksLike(account.KindBrowser, bearer)
}

// sandbox says whether the caller shows a sandbox key: anybody has one.
func sandbox(c *gin.Context) bool {
	bearer, _ := httpapi.Bearer(c)
	return account.IsSandbox(bearer)
}
