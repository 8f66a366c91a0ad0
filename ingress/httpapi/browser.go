package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// Browser keys stand in pages, so what protects them is the page's origin, which a browser does not
// let a script forge. A program can send any origin; of what it gets with a stolen key see
// ingress/limits and the rules of invalid traffic.

// originKey is an origin in the cache of origins that keys name.
type originKey string

// pagesSize bounds the cache: strangers may send any origin.
const pagesSize = 10_000

var errPage = errs.New(
	errs.Forbidden,
	"the key is not for pages of this origin; its owner can make one that names it (origins of POST /api/keys)",
)

// Headers of replies; shared by all, never changed in place.
var (
	varyOrigin     = []string{"Origin"}
	exposedHeaders = []string{"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"}
	allowedMethods = []string{http.MethodPost}
	allowedHeaders = []string{"Authorization, Content-Type, Idempotency-Key"}
	preflightAge   = []string{"7200"} // seconds; no browser keeps it longer
)

// Publisher is the caller that holds a publisher key, or a browser key on a page of one of its
// origins: only that page gets the headers by which it may read the reply. Errors: as [Auth.Key],
// and errs.Forbidden for a browser key elsewhere.
func (a *Auth) Publisher(c *gin.Context) (Caller, error) {
	bearer, ok := Bearer(c)
	switch {
	case !ok:
		return Caller{}, errNoBearer
	case account.LooksLike(account.KindBrowser, bearer):
		return a.holder(c, bearer, account.KindBrowser)
	}
	return a.shown(c, bearer, account.KindPublisher)
}

// allowPage says whether key names the origin that c comes from, and if so lets its page read the
// reply. A request without an origin comes from no page.
func allowPage(c *gin.Context, key *account.Key) bool {
	sent := c.Request.Header["Origin"]
	if len(sent) != 1 || !key.Allows(sent[0]) {
		return false
	}
	header := c.Writer.Header()
	header["Access-Control-Allow-Origin"], header["Vary"], header["Access-Control-Expose-Headers"] = sent, varyOrigin,
		exposedHeaders
	return true
}

// Preflight answers whether pages of the origin that c names may ask. The browser sends no key with
// that question, so it is yes for each origin that some working browser key names; the call itself
// is held to its own key. Cookies are never allowed. Errors: errs.Forbidden.
func (a *Auth) Preflight(c *gin.Context) error {
	sent := c.Request.Header["Origin"]
	if len(sent) != 1 {
		return errPage
	}
	patterns := account.Patterns(sent[0])
	if len(patterns) == 0 {
		return errPage
	}
	named, err := cached(c.Request.Context(), a, a.pages, outageFor, originKey(sent[0]),
		func(ctx context.Context) (bool, error) {
			return a.deps.Keys.NamesOrigin(ctx, patterns, a.deps.Now())
		})
	if err != nil {
		return err
	}
	if !named {
		return errPage
	}
	header := c.Writer.Header()
	header["Access-Control-Allow-Origin"], header["Vary"] = sent, varyOrigin
	header["Access-Control-Allow-Methods"], header["Access-Control-Allow-Headers"] = allowedMethods, allowedHeaders
	header["Access-Control-Max-Age"] = preflightAge
	c.Status(http.StatusNoContent)
	return nil
}
