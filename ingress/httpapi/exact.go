package httpapi

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/errs"
)

// Exact reports whether the route of c is exact. An exact route answers 400 to a parameter that its
// [Policy.Params] do not name, to a parameter that occurs twice, and to a field of the body that its
// input has no place for: to ignore a condition is to answer another question. The handlers of [Do]
// and [Open] make a route exact, those of [Plain] and [Server.HandleKey] do not.
func Exact(c *gin.Context) bool {
	to := of(c).to
	return to != nil && to.exact
}

// checkQuery rejects a query that breaks the forms of its route's parameters. Of an exact route it
// also rejects unknown parameters, parameters that occur twice, and a query that cannot be read.
func (r *request) checkQuery(c *gin.Context) error {
	raw, params, exact := c.Request.URL.RawQuery, r.to.policy.Params, r.to.exact
	if raw == "" || !exact && len(params) == 0 {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil && exact {
		return errs.Wrap(
			err, errs.InvalidRequest, "the query cannot be read: separate parameters by &, and encode their values",
		)
	}
	for _, name := range sortedKeys(query) { // in one order, so that a call has one error
		if exact {
			if err := r.refuseParameter(name, query[name]); err != nil {
				return err
			}
		}
		if err := params.check(name, query[name]); err != nil {
			return err
		}
	}
	return nil
}

// refuseParameter rejects a parameter that the exact route does not have, or that occurs twice.
func (r *request) refuseParameter(name string, values []string) error {
	_, known := r.to.policy.Params[name]
	selects := r.at.param != "" && r.at.value == ""
	switch {
	case !known && (!selects || name != r.at.param):
		return errs.New(
			errs.InvalidRequest, "this call has no parameter %s; %s", quoted(name), r.takes(selects),
		).With("field", clipped(name))
	case len(values) > 1:
		return errs.New(errs.InvalidRequest, "%s occurs twice; send it once", name).With("field", name)
	}
	return nil
}

// takes lists the parameters of the route for a person.
func (r *request) takes(selects bool) string {
	names := sortedKeys(r.to.policy.Params)
	if selects {
		names = append(names, r.at.param)
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

// unknownField returns the error for a field that the decoder rejected as unknown.
func unknownField(rejected error) error {
	field, _, _ := Unfit(rejected)
	return errs.New(
		errs.InvalidRequest, "this call has no field %s; leave it out", quoted(field),
	).With("field", clipped(field))
}

// maxEcho is the length in bytes to which a name of the caller's is cut in an error.
const maxEcho = 100

// clipped returns a name of the caller's as a reply may repeat it: short, and in UTF-8.
func clipped(name string) string {
	if len(name) > maxEcho {
		name = name[:maxEcho]
		for !utf8.ValidString(name) && len(name) > maxEcho-utf8.UTFMax {
			name = name[:len(name)-1]
		}
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// quoted returns a name of the caller's for an error text: in quotes, without control characters.
func quoted(name string) string {
	text, err := jsontext.AppendQuote(nil, clipped(name))
	if err != nil {
		return "of this name"
	}
	return string(text)
}
