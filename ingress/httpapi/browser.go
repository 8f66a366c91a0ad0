package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// Browser keys are public in pages. Their protection is the origin of the page, which a browser
// does not let a script forge. A program can send any origin; ingress/limits and the rules of
// invalid traffic bound the use of a stolen key.

// originKey is the cache key of an origin that keys may list.
type originKey string

// pagesSize bounds the cache, because strangers may send any origin.
const pagesSize = 10_000

var errPage = errs.New(
	errs.Forbidden,
	"the key is not valid on pages of this origin; its owner can create one that lists it (origins of POST /api/keys)",
)

// Headers of replies. They are shared and must not be changed in place.
var (
	varyOrigin     = []string{"Origin"}
	exposedHeaders = []string{"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"}
	allowedMethods = []string{http.MethodPost}
	allowedHeaders = []string{"Authorization, Content-Type, Idempotency-Key"}
	preflightAge   = []string{"7200"} // seconds; no browser keeps it longer
)

// Publisher returns the caller with a publisher key, or with a browser key on a page of one of its
// origins. Only such a page gets the headers that allow it to read the reply. Errors: as
// [Auth.Key], and errs.Forbidden for a browser key elsewhere.
func (a *Auth) Publisher(c *gin.Context) (Caller, error) {
	bearer, ok := Bearer(c)
	switch {
	case !ok:
		return Caller{}, errNoBearer
	case account.LooksLike(account.KindBrowser, bearer):
		return a.holder(c, bearer, account.KindBrowser)
	}
	return a.resolve(c, bearer, account.KindPublisher)
}

// allowPage reports whether key lists the origin of c, and if so allows the page to read the reply.
// A request without an origin does not come from a page.
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

// Preflight answers the CORS preflight for pages of the origin of c. The browser sends no key with
// it, so the answer is yes for each origin that some valid browser key lists. The request itself is
// checked against its own key. Cookies are never allowed. Errors: errs.Forbidden.
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
