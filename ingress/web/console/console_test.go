package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/web/console"
	"adnet/internal/process/obs"
)

// serve mounts the console of an installation at base.
func serve(t *testing.T, base string) func(method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := httpapi.New(httpapi.Config{BaseURL: base}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	pages, err := console.New(console.Deps{BaseURL: h.BaseURL})
	require.NoError(t, err)
	pages.Mount(h)
	return func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

// policy is the exact policy of the pages.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src " +
	"'self'; font-src 'self'; frame-src 'self'; media-src 'self' https:; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'"

func TestPages(t *testing.T) {
	ask := serve(t, "https://ads.example")
	front := ask("GET", "/")
	for _, path := range []string{
		"/", "/console", "/console/", "/console/campaigns",
		"/console/campaigns/5f0c1f0e-0000-4000-8000-000000000000/edit", "/console/a.b/%2e%2e?x=1",
	} {
		w := ask("GET", path)
		require.Equal(t, 200, w.Code, path)
		require.Equal(t, policy, w.Header().Get("Content-Security-Policy"), path)
		require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"), path)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), path)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), path)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"), path)
		require.Equal(t, front.Body.String(), w.Body.String(), path)
		head := ask("HEAD", path)
		require.Equal(t, 200, head.Code, path)
		require.Equal(t, w.Header().Get("ETag"), head.Header().Get("ETag"), path)
		again := ask("GET", path, "If-None-Match", w.Header().Get("ETag"))
		require.Equal(t, 304, again.Code, path)
		require.Empty(t, again.Body.String(), path)
	}
	// Nothing is inline: the policy would refuse it.
	require.NotRegexp(t, regexp.MustCompile(`(?i)<style|style=|\son\w+=|<script[^>]*>[^<]`), front.Body.String())
	require.Equal(t, "image/svg+xml", ask("GET", "/favicon.ico").Header().Get("Content-Type"))
}

// Only paths below /console fall back to the page.
func TestOtherPathsKeepTheirErrors(t *testing.T) {
	ask := serve(t, "https://ads.example")
	for _, path := range []string{
		"/consoles", "/nothing", "/index.html", "/api/nothing", "/console/assets/none.js", "/console/assets/",
		"/console/assets/../index.html",
	} {
		w := ask("GET", path)
		require.Equal(t, 404, w.Code, path)
		require.Contains(t, w.Body.String(), `"code":"not_found"`, path)
	}
	w := ask("POST", "/console/campaigns")
	require.Equal(t, 405, w.Code)
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

var address = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

func TestAssets(t *testing.T) {
	ask := serve(t, "https://ads.example")
	found := address.FindAllStringSubmatch(ask("GET", "/").Body.String(), -1)
	require.Greater(t, len(found), 3)
	for _, m := range found {
		if strings.HasSuffix(m[1], "/docs") {
			continue
		}
		plain := ask("GET", m[1])
		require.Equal(t, 200, plain.Code, m[1])
		require.Equal(t, "public, max-age=31536000, immutable", plain.Header().Get("Cache-Control"))
		require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
		require.Regexp(t, `-[0-9A-Z]{8}\.(js|css|svg)$`, m[1])
		require.Empty(t, plain.Header().Get("Content-Encoding"))
		for accepts, want := range map[string]string{
			"gzip, deflate, br": "br", "gzip": "gzip", "br;q=0, gzip": "gzip", "br;q=0.0,gzip;q=0": "", "identity": "",
			"BR": "br", "gzip;q=0.5": "gzip", "zbr": "",
		} {
			w := ask("GET", m[1], "Accept-Encoding", accepts)
			require.Equal(t, want, w.Header().Get("Content-Encoding"), accepts)
			require.Equal(t, plain.Body.Bytes(), opened(t, want, w.Body.Bytes()), accepts)
			again := ask("GET", m[1], "Accept-Encoding", accepts, "If-None-Match", `"other", W/`+w.Header().Get("ETag"))
			require.Equal(t, 304, again.Code, accepts)
		}
	}
}

func opened(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	switch encoding {
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		var err error
		r, err = gzip.NewReader(r)
		require.NoError(t, err)
	}
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return text
}

// For an installation below a path, the proxy strips the path and the page adds it back.
func TestBasePath(t *testing.T) {
	ask := serve(t, `https://ads.example/net"work/`)
	page := ask("GET", "/console/campaigns").Body.String()
	require.Contains(t, page, `<meta name="adnet-base" content="/net%22work">`)
	for _, m := range address.FindAllStringSubmatch(page, -1) {
		require.True(t, strings.HasPrefix(m[1], "/net%22work/"), m[1])
	}
	require.NotContains(t, page, "%BASE%")
	require.Equal(t, http.StatusOK, ask("GET", "/").Code)
}

var linked = regexp.MustCompile(`<([^>]+)>; rel=modulepreload`)

// The page names the modules of its screen, so that the browser loads them together with the page's
// own.
func TestModulesOfTheScreenComeWithThePage(t *testing.T) {
	ask := serve(t, "https://ads.example/network")
	own := map[string]string{
		"campaigns": "campaigns", "campaigns/": "campaigns", "campaigns/new": "wizard",
		"campaigns/5f0c1f0e": "campaign", "campaigns/5f0c1f0e/edit": "edit", "overview": "advertiser",
		"forgot": "links",
	}
	for path, module := range own {
		found := linked.FindAllStringSubmatch(ask("GET", "/console/"+path).Header().Get("Link"), -1)
		require.NotEmpty(t, found, path)
		require.Regexp(t, `^/network/console/assets/`+module+`-`, found[0][1], path)
		for _, m := range found {
			file := strings.TrimPrefix(m[1], "/network")
			require.Equal(t, 200, ask("GET", file).Code, file)
			require.NotContains(t, ask("GET", "/").Body.String(), file, "the page names it already")
		}
	}
	for _, path := range []string{"/", "/console", "/console/", "/console/nothing", "/console/campaigns/a/b"} {
		require.Empty(t, ask("GET", path).Header().Get("Link"), path)
	}
}
