package httpapi_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest/endpoints"
	"adnet/ingress/mcp"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
)

// trouble is a guard that fails each request in the way that its header says, as any code before or
// in a handler may.
type trouble struct{}

func (trouble) Enter(c *gin.Context, _ httpapi.Limit) error {
	switch c.GetHeader("X-Trouble") {
	case "panic":
		panic("secret of the handler")
	case "limit":
		return httpapi.RetryAfter(errs.New(errs.RateLimited, "slow down"), 7)
	case "large":
		return errs.New(errs.PayloadTooLarge, "the body is larger than 1 byte").With("limit", 1)
	}
	return nil
}

func (trouble) Leave(*gin.Context, httpapi.Limit) {}

// everything is every endpoint of the HTTP role; none has anything to work with.
func everything(t *testing.T) *httpapi.Server {
	log, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	auth := httpapi.NewAuth(httpapi.AuthDeps{})
	h, err := httpapi.New(
		httpapi.Config{BaseURL: "https://ads.example"},
		httpapi.Deps{Log: log, Metrics: metrics, Readiness: obs.NewReadiness(), Auth: auth, Guard: trouble{}},
	)
	require.NoError(t, err)
	endpoints.Mount(t, h, endpoints.Parts{Auth: auth})
	return h
}

var parameter = regexp.MustCompile(`[:*](\w+)`)

// Every route, whatever goes wrong: the answer has the form of its wire, which is one table of
// codes in three forms.
func TestEveryWireAnswersErrorsInItsForm(t *testing.T) {
	h := everything(t)
	paths := map[string][]string{}   // methods by path
	queries := map[string][]string{} // of the endpoints behind a path
	for _, route := range h.Routes() {
		path := parameter.ReplaceAllString(route.Path, "5f0c1f0e-0000-4000-8000-000000000000")
		if !slices.Contains(paths[path], route.Method) {
			paths[path] = append(paths[path], route.Method)
		}
		if route.Value != "" {
			queries[path] = append(queries[path], "?"+route.Param+"="+route.Value)
		}
	}
	require.Greater(t, len(paths), 15)
	type ask struct{ method, path, trouble string }
	check := func(a ask, status int, code errs.Code) {
		t.Helper()
		r := httptest.NewRequest(a.method, a.path, nil)
		r.Header.Set("X-Trouble", a.trouble)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		at := a.method + " " + a.path + " " + a.trouble
		if a.method == http.MethodGet && strings.Contains(a.path, "/api/rtb?op=") &&
			!strings.HasSuffix(a.path, "=status") {
			require.Equal(t, http.StatusOK, w.Code, at)
			require.Equal(t, "image/gif", w.Header().Get("Content-Type"), at)
			require.Len(t, w.Body.Bytes(), 43, at)
			return
		}
		require.NotContains(t, w.Body.String(), "secret", at)
		require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"), at)
		if status == http.StatusTooManyRequests {
			require.Equal(t, "7", w.Header().Get("Retry-After"), at)
		}
		if status == http.StatusMethodNotAllowed {
			require.NotEmpty(t, w.Header().Get("Allow"), at)
		}
		if a.path == mcp.Path {
			requireRPC(t, at, w, status, code)
			return
		}
		require.Equal(t, status, w.Code, at)
		var body struct {
			Error string    `json:"error"`
			Code  errs.Code `json:"code"`
			NBR   *int      `json:"nbr"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), at)
		require.NotEmpty(t, body.Error, at)
		require.Equal(t, code, body.Code, at)
		if strings.HasPrefix(a.path, "/api/rtb") && a.method == http.MethodPost && code != errs.RateLimited {
			require.NotNil(t, body.NBR, at)
			require.Equal(t, map[errs.Code]int{errs.Internal: 1, errs.PayloadTooLarge: 2}[code], *body.NBR, at)
		} else {
			require.Nil(t, body.NBR, at)
		}
	}
	for path, methods := range paths {
		for _, method := range methods {
			for _, query := range append(queries[path], "") {
				check(ask{method, path + query, "panic"}, 500, errs.Internal)
				check(ask{method, path + query, "limit"}, 429, errs.RateLimited)
				check(ask{method, path + query, "large"}, 413, errs.PayloadTooLarge)
			}
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "PROPFIND"} {
			if !slices.Contains(methods, method) && (method != "HEAD" || !slices.Contains(methods, "GET")) {
				check(ask{method, path, ""}, 405, errs.MethodNotAllowed)
			}
		}
		if !strings.HasPrefix(path, "/console/") { // all below it is the page
			check(ask{"GET", path + "/no/such/path", ""}, 404, errs.NotFound)
		}
	}
}

func requireRPC(t *testing.T, at string, w *httptest.ResponseRecorder, status int, code errs.Code) {
	t.Helper()
	var body struct {
		Version string `json:"jsonrpc"`
		ID      *any   `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    struct {
				Code errs.Code `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	raw, err := io.ReadAll(bytes.NewReader(w.Body.Bytes()))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &body), at)
	require.Equal(t, "2.0", body.Version, at)
	require.Nil(t, body.ID, at)
	require.NotEmpty(t, body.Error.Message, at)
	require.Equal(t, code, body.Error.Data.Code, at)
	if status == http.StatusInternalServerError {
		status = http.StatusOK // of JSON-RPC's own range
		require.Equal(t, -32603, body.Error.Code, at)
	} else {
		require.Equal(t, status, body.Error.Code, at)
	}
	require.Equal(t, status, w.Code, at)
}
