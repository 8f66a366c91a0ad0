package httpapi

import (
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/internal/errs"
)

const ifMatch = "If-Match"

// IfMatch returns the entity tags of the header If-Match without their quotes, nil if any version
// will do: there is no such header, or it is *. Weak tags are left out, since they match nothing
// (RFC 9110, section 13.1.1). Errors: errs.InvalidRequest for a header that is not of this form.
func IfMatch(c *gin.Context) (tags []string, err error) {
	lines := c.Request.Header[ifMatch]
	if len(lines) == 0 {
		return nil, nil
	}
	rest := strings.Join(lines, ",")
	if strings.TrimSpace(rest) == "*" {
		return nil, nil
	}
	tags = []string{}
	named := false
	for rest = strings.TrimLeft(rest, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
		text, weak := strings.CutPrefix(rest, "W/")
		tag, after, closed := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		after = strings.TrimLeft(after, " \t")
		if text == "" || text[0] != '"' || !closed || after != "" && after[0] != ',' ||
			strings.ContainsFunc(tag, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return nil, errTag
		}
		if named = true; !weak {
			tags = append(tags, tag)
		}
		rest = after
	}
	if !named {
		return nil, errTag
	}
	return tags, nil
}

var errTag = errs.New(
	errs.InvalidRequest, `%s must be * or a list of entity tags in quotes, such as "42" from the header ETag`, ifMatch,
).With("field", ifMatch)
