package httpapi_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// Replies over 1 KB of requests that change nothing are compressed for clients that read gzip. A
// reply that may hold a secret never is.
func TestRepliesAreCompressed(t *testing.T) {
	s := server(t, httpapi.Config{})
	long := httpapi.Object{"text": strings.Repeat("abc ", 500)}
	of := func(v httpapi.Object) httpapi.Handler {
		return httpapi.Open(func(*gin.Context, httpapi.None) (httpapi.Object, error) { return v, nil })
	}
	table := httpapi.Open(func(*gin.Context, httpapi.None) (httpapi.Reply, error) {
		return httpapi.Table("t", long, func() [][]string { return [][]string{{strings.Repeat("a,b", 700)}} }), nil
	})
	read := httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone,
		Params: httpapi.Params{"format": httpapi.WordForm("csv"), "bom": httpapi.SwitchForm},
	}
	asked := read
	asked.Idempotent, asked.Audited = httpapi.No, httpapi.No
	changed := read
	changed.Idempotent, changed.Audited = httpapi.Yes, httpapi.Yes
	s.Handle(http.MethodGet, "/long", of(long), read)
	s.Handle(http.MethodGet, "/short", of(httpapi.Object{"text": "abc"}), read)
	s.Handle(http.MethodGet, "/table", table, read)
	s.Handle(http.MethodPost, "/login", of(long), asked)
	s.Handle(http.MethodPost, "/key", of(long), changed)
	s.Handle(http.MethodGet, "/plain", httpapi.Plain(func(c *gin.Context) error {
		return httpapi.JSON(c, http.StatusOK, long)
	}), read)
	for _, c := range []struct {
		method, path, accepts string
		packed, varies        bool
	}{
		{"GET", "/long", "gzip, deflate, br", true, true},
		{"GET", "/long", "br, gzip;q=0", false, true},
		{"GET", "/long", "", false, true},
		{"GET", "/table?format=csv&bom=1", "gzip", true, true},
		{"GET", "/short", "gzip", false, false},
		{"GET", "/plain", "gzip", false, false},
		{"POST", "/login", "gzip", false, false},
		{"POST", "/key", "gzip", false, false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil)
		plain := httptest.NewRecorder()
		s.ServeHTTP(plain, r.Clone(t.Context()))
		r.Header.Set("Accept-Encoding", c.accepts)
		s.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, c.path)
		require.Equal(t, c.varies, strings.Contains(w.Header().Get("Vary"), "Accept-Encoding"), c.path)
		text := w.Body.String()
		if c.packed {
			require.Equal(t, "gzip", w.Header().Get("Content-Encoding"), c.path)
			require.Less(t, len(text), plain.Body.Len()/4, c.path)
			in, err := gzip.NewReader(w.Body)
			require.NoError(t, err)
			whole, err := io.ReadAll(in)
			require.NoError(t, err)
			text = string(whole)
		} else {
			require.Empty(t, w.Header().Get("Content-Encoding"), c.path)
		}
		require.Equal(t, plain.Body.String(), text, c.path)
	}
}

// Every 429 says when to come back, in the header and in the body.
func TestEveryRateLimitStatesWhen(t *testing.T) {
	s := server(t, httpapi.Config{})
	shared := errs.New(errs.RateLimited, "slow down")
	for path, err := range map[string]error{
		"/none": shared, "/some": errs.New(errs.RateLimited, "slow down").With("retry_after", 7),
	} {
		s.Handle(http.MethodGet, path, httpapi.Plain(func(*gin.Context) error { return err }), open)
	}
	for path, want := range map[string]string{"/none": "1", "/some": "7"} {
		w := s.get(path)
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		require.Equal(t, want, w.Header().Get("Retry-After"))
		require.Contains(t, w.Body.String(), `"retry_after":`+want)
	}
	require.Empty(t, shared.Extra, "an error that requests share stays as it is")
}
