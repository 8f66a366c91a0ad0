package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// A route whose policy leaves something open is not there, and the server says so instead of
// starting.
func TestARouteWithoutItsPolicyIsNotMounted(t *testing.T) {
	read := httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	auth := httpapi.NewAuth(httpapi.AuthDeps{})
	for name, tc := range map[string]struct {
		method  string
		policy  httpapi.Policy
		missing string
	}{
		"nothing":          {http.MethodGet, httpapi.Policy{}, "Limit, Auth"},
		"no limit":         {http.MethodGet, httpapi.Policy{Auth: httpapi.Anyone}, "Limit"},
		"no callers":       {http.MethodGet, httpapi.Policy{Limit: httpapi.LimitNone}, "Auth"},
		"a change, unsaid": {http.MethodPost, read, "Idempotent, Audited"},
		"a change, no key": {
			http.MethodDelete,
			httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Audited: httpapi.No}, "Idempotent",
		},
		"a change, no word": {
			http.MethodPatch,
			httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes}, "Audited",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, local(0), auth)
			before := len(s.Routes())
			s.Handle(tc.method, "/thing", ok, tc.policy)
			require.Len(t, s.Routes(), before)
			require.Equal(t, http.StatusNotFound, s.get("/thing").Code)
			require.EqualError(
				t, s.Run(t.Context()), "route "+tc.method+" /thing is not mounted: its policy does not set "+tc.missing,
			)
		})
	}
	t.Run("one action", func(t *testing.T) {
		s := server(t, local(0), auth)
		s.HandleActions(http.MethodGet, "/thing", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
			"a": {Do: ok}, "b": {Do: ok, Policy: httpapi.Policy{Auth: httpapi.Anyone}},
		}}, read)
		require.Equal(t, http.StatusNotFound, s.get("/thing?op=a").Code)
		require.EqualError(
			t, s.Run(t.Context()), "route GET /thing is not mounted: the policy of op=b does not set Limit",
		)
	})
	t.Run("no authentication", func(t *testing.T) {
		s := server(t, local(0))
		s.Handle(http.MethodGet, "/thing", ok, read)
		require.Equal(t, http.StatusNotFound, s.get("/thing").Code)
		require.EqualError(
			t, s.Run(t.Context()),
			"route GET /thing is not mounted: it needs credentials, and the server has no authentication",
		)
	})
	t.Run("a key that may be a login", func(t *testing.T) {
		s := server(t, local(0), auth)
		s.HandleKey(http.MethodGet, "/thing", func(*gin.Context, httpapi.Caller) error { return nil }, read)
		require.Equal(t, http.StatusNotFound, s.get("/thing").Code)
		require.EqualError(
			t, s.Run(t.Context()), "route GET /thing is not mounted: its policy admits callers without a key",
		)
	})
	t.Run("two error forms", func(t *testing.T) {
		s := server(t, local(0), auth)
		s.Handle(http.MethodGet, "/thing", ok, read)
		other := change
		other.Errors = func(*gin.Context, *errs.Error, int) error { return nil }
		s.Handle(http.MethodPost, "/thing", ok, other)
		require.ErrorContains(t, s.Run(t.Context()), "route POST /thing is not mounted: its error form differs")
	})
}

func TestActionsHaveTheirOwnPolicies(t *testing.T) {
	s := server(t, httpapi.Config{})
	before := len(s.Routes())
	login := change
	login.Limit, login.Audited = httpapi.LimitLogins, httpapi.No
	answer := func(text string) httpapi.Handler {
		return httpapi.Plain(func(c *gin.Context) error { return httpapi.JSON(c, http.StatusOK, text) })
	}
	s.HandleActions(http.MethodPost, "/thing", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
		"": {Do: answer("default")}, "go": {Do: answer("go"), Policy: login},
	}}, change)
	for query, want := range map[string]string{"": `"default"`, "?op=": "", "?op=go": `"go"`, "?op=no": ""} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/thing"+query, nil))
		if want == "" {
			require.Equal(t, http.StatusBadRequest, w.Code)
			require.Equal(t, "query parameter op must be one of go", envelope(t, w)["error"])
			continue
		}
		require.Equal(t, want, w.Body.String())
	}
	require.Equal(t, []httpapi.Route{
		{Method: "POST", Path: "/thing", Param: "op", Policy: change},
		{Method: "POST", Path: "/thing", Param: "op", Value: "go", Policy: login},
	}, s.Routes()[before:])
}
