package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
)

type nested struct {
	Name string `json:"name"`
	Cap  struct {
		Times int `json:"times"`
	} `json:"cap"`
}

// A route of typed values refuses what it does not know, by its name; a plain one ignores it.
func TestExactRoutes(t *testing.T) {
	s := server(t, httpapi.Config{})
	policy := httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No,
		Params: httpapi.Params{"since": httpapi.DayForm},
	}
	typed := httpapi.Open(func(_ *gin.Context, in nested) (nested, error) { return in, nil })
	bare := httpapi.Open(func(*gin.Context, httpapi.None) (httpapi.Object, error) { return httpapi.Object{}, nil })
	read := httpapi.Open(func(
		_ *gin.Context, in httpapi.AsRead[nested, struct {
			ID int `json:"id"`
		}],
	) (nested, error) {
		return in.In, nil
	})
	plain := httpapi.Plain(func(c *gin.Context) error {
		var in nested
		if err := httpapi.Decode(c, &in); err != nil {
			return err
		}
		return httpapi.JSON(c, http.StatusOK, in)
	})
	for path, h := range map[string]httpapi.Handler{"/typed": typed, "/bare": bare, "/read": read, "/plain": plain} {
		s.Handle(http.MethodPost, path, h, policy)
	}
	s.HandleActions(http.MethodPost, "/acts", httpapi.Actions{
		Param: "action", Of: map[string]httpapi.Action{"go": {Do: bare}},
	}, policy)
	long := strings.Repeat("é", 100)
	for _, c := range []struct {
		url, body string
		field     any // nil: the request is answered
	}{
		{"/typed?since=2026-01-31", `{"name":"a","cap":{"times":3}}`, nil},
		{"/typed?until=2026-01-31", `{}`, "until"},
		{"/typed?Since=2026-01-31", `{}`, "Since"},
		{"/typed?since=2026-01-31&since=2026-01-31", `{}`, "since"},
		{"/typed?since=x", `{}`, "since"},
		{"/typed?" + long + "=1", `{}`, long[:100]},
		{"/typed?%ff=1", `{}`, "\uFFFD"},
		{"/typed", `{"nam":"a"}`, "nam"},
		{"/typed", `{"Name":"a"}`, "name"},
		{"/typed", `{"cap":{"times":3,"a/b":1}}`, "cap.a/b"},
		{"/typed", `{"cap":{"times":3.0},"x":1}`, "x"},
		{"/bare", ``, nil},
		{"/bare", ` `, nil},
		{"/bare", `{}`, nil},
		{"/bare", `{"id":1}`, "id"},
		{"/read", `{"id":1,"name":"a"}`, nil},
		{"/read", `{"id":1,"nam":"a"}`, "nam"},
		{"/plain?until=1&since=2026-01-31&since=2026-01-31", `{"nam":"a","cap":{"x":1}}`, nil},
		{"/plain?since=x", `{}`, "since"},
		{"/acts?action=go", ``, nil},
		{"/acts/go", ``, nil},
		{"/acts?action=go&action=go", ``, "action"},
		{"/acts/go?action=go", ``, "action"},
		{"/acts?action=go&id=1", ``, "id"},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, c.url, strings.NewReader(c.body)))
		if c.field == nil {
			require.Equal(t, http.StatusOK, w.Code, "%s %s: %s", c.url, c.body, w.Body)
			continue
		}
		require.Equal(t, http.StatusBadRequest, w.Code, "%s %s: %s", c.url, c.body, w.Body)
		require.Equal(t, c.field, envelope(t, w)["field"], "%s %s", c.url, c.body)
	}
	for _, query := range []string{"since=%zz", "a;b=1"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/typed?"+query, strings.NewReader(`{}`)))
		require.Equal(t, http.StatusBadRequest, w.Code, query)
	}
}
