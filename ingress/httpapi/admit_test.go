package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
)

// The engine admits exactly the callers of the policy, before it reads the body, and hands them to
// the handler.
func TestPolicyIsEnforced(t *testing.T) {
	d := newDoor(t)
	u, login := d.account(t, "a@example.com")
	boss, err := d.accounts.CreateAdmin(t.Context(), "boss@example.com", "long enough!")
	require.NoError(t, err)
	bearers := map[string]string{"": "", "login": login, "admin": d.token(t, boss), "public": account.PublicSandboxKey}
	for name, kind := range map[string]account.KeyKind{
		"publisher": account.KindPublisher, "conversion": account.KindConversion,
	} {
		key, err := d.accounts.CreateKey(t.Context(), u, account.KeyRequest{Kind: kind})
		require.NoError(t, err)
		bearers[name] = key.Plain
	}
	suspended, _ := d.account(t, "late@example.com")
	suspended, err = d.accounts.Suspend(t.Context(), boss, suspended.ID, "spam")
	require.NoError(t, err)
	bearers["suspended"] = d.token(t, suspended)
	handler := httpapi.Do(func(_ *gin.Context, who account.User, _ struct{}) (string, error) {
		return who.DeveloperID.String(), nil
	})
	for path, tc := range map[string]struct {
		policy    httpapi.Policy
		admits    string
		forbidden []string // answered 403; the rest gets 401
	}{
		"/login":  {httpapi.Policy{Auth: httpapi.UserToken}, "login admin", []string{"suspended"}},
		"/appeal": {httpapi.Policy{Auth: httpapi.UserToken, Admits: httpapi.Suspended}, "login admin suspended", nil},
		"/boss":   {httpapi.Policy{Auth: httpapi.AdminToken}, "admin", []string{"login", "suspended"}},
		"/review": {
			httpapi.Policy{Auth: httpapi.AdminToken, NotAdmin: errs.InvalidToken}, "admin", []string{"suspended"},
		},
		"/publisher": {httpapi.Policy{Auth: httpapi.PublisherKey}, "publisher", nil},
		"/both": {
			httpapi.Policy{Auth: httpapi.UserToken | httpapi.PublisherKey}, "login admin publisher",
			[]string{"suspended"},
		},
		"/conversion": {
			httpapi.Policy{Auth: httpapi.UserToken | httpapi.ConversionKey}, "login admin conversion",
			[]string{"suspended"},
		},
	} {
		p := tc.policy
		p.Limit, p.Idempotent, p.Audited = httpapi.LimitOpen, httpapi.No, httpapi.No
		d.Handle(http.MethodPost, path, handler, p)
		for name, bearer := range bearers {
			want := http.StatusUnauthorized
			if slices.Contains(tc.forbidden, name) {
				want = http.StatusForbidden
			}
			admitted := slices.Contains(strings.Fields(tc.admits), name)
			if admitted {
				want = http.StatusBadRequest
			}
			require.Equal(t, want, d.post(path, bearer, "no object").Code, "%s %s", path, name)
			if admitted {
				require.Equal(t, http.StatusOK, d.post(path, bearer, "{}").Code, "%s %s", path, name)
			}
		}
	}
	require.Contains(t, d.post("/publisher", bearers["publisher"], "{}").Body.String(), u.DeveloperID.String())
}

// post sends a body with a bearer token.
func (d *door) post(path, bearer, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// A handler that needs a caller is not mounted where the policy admits anyone, and the server does
// not start.
func TestTypedHandlerNeedsACaller(t *testing.T) {
	auth := httpapi.NewAuth(httpapi.AuthDeps{})
	email := httpapi.Do(new(door).email)
	for name, mount := range map[string]func(s *setup){
		"": func(s *setup) { s.Handle(http.MethodGet, "/mistake", email, open) },
		"op=a: ": func(s *setup) {
			s.HandleActions(http.MethodGet, "/mistake", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
				"a": {Do: email, Policy: open},
			}}, httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.UserToken})
		},
		"op=b: ": func(s *setup) {
			p := open
			p.Auth |= httpapi.UserToken
			s.HandleActions(http.MethodGet, "/mistake", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
				"": {Do: ok}, "b": {Do: email},
			}}, p)
		},
	} {
		s := server(t, local(0), auth)
		mount(s)
		require.Equal(t, http.StatusNotFound, s.get("/mistake?op=a").Code)
		require.EqualError(
			t, s.Run(t.Context()), "route GET /mistake is not mounted: "+name+
				"its policy admits anyone, and its handler needs a caller",
		)
	}
}
