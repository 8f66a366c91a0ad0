package limits

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
)

// gate is the way a class of requests is counted.
type gate uint8

const (
	free       gate = iota
	counted         // each request counts
	login           // only failed logins count
	guarded         // refused callers count, against guessing of keys
	converting      // like guarded, but only for callers with a conversion key
	keyed           // requests without a good key count; a good key is always accepted
)

// gates maps each limit of a route to its class and gate.
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

// Enter rejects a request of an address that has used up the limit of the route, before it reads
// anything of the request. The address is the connection's, or the one that a trusted proxy
// reports; see httpapi.Config.TrustedProxies. Beacons and redirects are never rejected here: each
// may be worth money, and one server may send them for many people; see [Limits.Unproven]. Calls of
// /api/mcp and /api/rtb with a good key have limits per key instead, because an exchange sends many
// from one address. Errors: errs.RateLimited.
func (l *Limits) Enter(c *gin.Context, limit httpapi.Limit) error {
	id, how := gates[limit].class, gates[limit].how
	checks := how == guarded || how == converting || how == keyed
	if how == free || checks && l.has.Load()>>id&1 == 0 { // no address has counted yet: spare its hash
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
	// A login counts until it succeeds, so that parallel attempts gain nothing over sequential
	// ones.
	return l.take(c.Writer.Header(), id, k, now)
}

// Leave counts an accepted request by its outcome.
func (l *Limits) Leave(c *gin.Context, limit httpapi.Limit) {
	id, how := gates[limit].class, gates[limit].how
	status := c.Writer.Status()
	switch {
	case (how == guarded || how == converting) && status == http.StatusUnauthorized:
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == keyed && (status == http.StatusUnauthorized || c.Request.Method != http.MethodPost || sandbox(c)):
		l.count(id, addressKey(id, c.ClientIP()), 1, l.deps.Now())
	case how == login && (status != http.StatusUnauthorized || httpapi.PasswordWasRight(c)):
		l.count(id, addressKey(id, c.ClientIP()), -1, l.deps.Now())
	}
}

// lookupsPerSecond is the number of unknown keys per second that this node looks up in the store
// for addresses over their limit. A good key gets in, and a flood of invented keys does not reach
// the store.
const lookupsPerSecond = 50

// hasKnownKey reports whether the key of a caller over its address' limit lets it in.
func (l *Limits) hasKnownKey(c *gin.Context, now time.Time) bool {
	if l.deps.KnownKey == nil || c.Request.Method != http.MethodPost {
		return false
	}
	known, formed := l.deps.KnownKey(c)
	return known || formed && l.lookups.AllowN(now, 1)
}

// conversionKey reports whether the bearer has the form of a conversion or browser key, valid or
// not.
func conversionKey(c *gin.Context) bool {
	bearer, _ := httpapi.Bearer(c)
	return account.LooksLike(account.KindConversion, bearer) || account.LooksLike(account.KindBrowser, bearer)
}

// sandbox reports whether the caller uses a sandbox key, which anyone can have.
func sandbox(c *gin.Context) bool {
	bearer, _ := httpapi.Bearer(c)
	return account.IsSandbox(bearer)
}
