package endpoints_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/ingresstest/endpoints"
)

// schemes are the callers of a policy as openapi.json names them.
var schemes = map[httpapi.Access]string{
	httpapi.Anyone: "", httpapi.UserToken: "userToken", httpapi.AdminToken: "userToken",
	httpapi.PublisherKey: "publisherKey", httpapi.SeatKey: "seatKey", httpapi.SeatPathKey: "",
	httpapi.ConversionKey: "conversionKey", httpapi.BrowserKey: "browserKey",
}

// mounted is the combined policy of the routes behind one method and path.
type mounted struct {
	callers    map[string]bool
	values     []string
	idempotent bool
	exact      bool
	params     map[string]bool // of the query
}

// add adds the properties of a route that a document's operation combines.
func (m *mounted) add(route httpapi.Route) {
	for access, scheme := range schemes {
		if route.Policy.Auth&access != 0 {
			m.callers[scheme] = true
		}
	}
	m.idempotent = m.idempotent || route.Policy.Idempotent == httpapi.Yes
	m.exact = m.exact || route.Exact
	for name := range route.Policy.Params {
		m.params[name] = true
	}
}

func newMounted() *mounted { return &mounted{callers: map[string]bool{}, params: map[string]bool{}} }

// onlyOf is the policy of an action's path, without the other actions.
func onlyOf(route httpapi.Route) *mounted {
	m := newMounted()
	m.add(route)
	return m
}

var parameter = regexp.MustCompile(`:(\w+)`)

// The table of routes and openapi.json have the same operations, with the same actions, callers,
// idempotency keys and, where a route refuses unknown parameters, the same parameters.
func TestRoutesAndDocumentAgree(t *testing.T) {
	routes := map[string]*mounted{}
	for _, route := range endpoints.Routes(t) {
		name := route.Method + " " + parameter.ReplaceAllString(route.Path, "{$1}")
		if routes[name] == nil {
			routes[name] = newMounted()
		}
		m := routes[name]
		m.add(route)
		if route.Value != "" {
			m.values = append(m.values, route.Value)
		}
		if route.Param != "" {
			m.params[route.Param] = true
		}
		if route.Param == "action" && route.Value != "" && route.Value != "payout" { // retired
			routes[name+"/"+route.Value] = onlyOf(route)
		}
	}
	contract := apitest.Load(t)
	require.ElementsMatch(t, contract.Operations(), slices.Collect(maps.Keys(routes)))
	for _, op := range contract.Describe() {
		name := op.Method + " " + op.Path
		m := routes[name]
		require.Equal(t, m.callers, op.Callers, "the callers of %s", name)
		require.Equal(t, m.idempotent, op.Idempotent, "the Idempotency-Key of %s", name)
		require.ElementsMatch(t, m.values, op.Values, "the actions of %s", name)
		if m.exact {
			assert.ElementsMatch(t, slices.Collect(maps.Keys(m.params)), op.Query, "the parameters of %s", name)
		}
	}
}

// A route that changes nothing is not audited and accepts no key: only a route that may change
// something can be Idempotent or Audited.
func TestReadsChangeNothing(t *testing.T) {
	for _, route := range endpoints.Routes(t) {
		if route.Method == http.MethodGet || route.Method == http.MethodHead || route.Method == http.MethodOptions {
			require.NotEqual(t, httpapi.Yes, route.Policy.Audited, "%s %s", route.Method, route.Path)
			require.NotEqual(t, httpapi.Yes, route.Policy.Idempotent, "%s %s", route.Method, route.Path)
		}
	}
}
