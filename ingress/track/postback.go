package track

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
)

var (
	errNoKey = errs.New(
		errs.MissingAuthorization, "key is required: a conversion by GET needs the conversion key of the advertiser",
	).With("field", "key")
	errPrefetched = errs.New(
		errs.Forbidden, "a prefetch or preview reports no conversion; call this address from your server",
	)
)

// postback serves GET /api/track?event=conversion, the usual form of affiliate systems. Its key is
// in the query, so nothing of the query may be logged. The key alone identifies the sender: neither
// a cookie nor a header does, so that no page can report for its visitor.
func (t *Tracker) postback(c *gin.Context) error {
	if prefetched(c.Request.Header) {
		return errPrefetched
	}
	in := Report{needsCampaign: true, Origin: Origin{request: c, posted: true}}
	if err := readFields(c.Request.URL.RawQuery, &in); err != nil {
		return err
	}
	if in.key == "" {
		return errNoKey
	}
	var err error
	if in.By, err = t.keyed(c, in.key); err != nil {
		return err
	}
	if in.By.Err != nil {
		return in.By.Err
	}
	if looksOnly(c) {
		return httpapi.JSON(c, http.StatusOK, struct{}{})
	}
	taken, err := t.Take(c.Request.Context(), &in)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, taken)
}

// sender returns the reporter of a posted report. A form may contain a conversion key, for senders
// that cannot set headers.
func (t *Tracker) sender(c *gin.Context, in *Report) (Reporter, error) {
	if in.key == "" || c.GetHeader("Authorization") != "" {
		return t.reporter(c)
	}
	return t.keyed(c, in.key)
}

// keyed returns the reporter with a conversion key in the query or a form. A key that this node does
// not know counts against its address, so that invented keys do not reach the store without limit.
func (t *Tracker) keyed(c *gin.Context, key string) (Reporter, error) {
	key = trimmed(key)
	if t.deps.Strangers != nil && !t.deps.Auth.Knows(key) {
		if err := t.deps.Strangers.Unproven(c.ClientIP(), t.deps.Now()); err != nil {
			return Reporter{}, err
		}
	}
	caller, err := t.deps.Auth.Holder(c, key, account.KindConversion)
	if err != nil {
		return Reporter{Err: err}, nil
	}
	return Reporter{Key: &caller}, nil
}
