package snippet_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/web/snippet"
)

func serve(t *testing.T) (*snippet.Script, func(method, path string, header ...string) *httptest.ResponseRecorder) {
	t.Helper()
	w := ingresstest.New(t, ingresstest.Options{})
	script, err := snippet.New()
	require.NoError(t, err)
	script.Mount(w.HTTP)
	return script, func(method, path string, header ...string) *httptest.ResponseRecorder {
		return w.Do(method, path, "", header...)
	}
}

// Both addresses serve the same bytes to pages of every origin, and only the one with the hash may
// be cached forever.
func TestScript(t *testing.T) {
	script, ask := serve(t)
	whole := ask("GET", "/sdk/adnet.js").Body.Bytes()
	require.Contains(t, string(whole), "adnet-ad")
	require.Regexp(t, `^/sdk/adnet\.[0-9a-f]{16}\.js$`, script.Path())
	sum := sha512.Sum384(whole)
	require.Equal(t, "sha384-"+base64.StdEncoding.EncodeToString(sum[:]), script.Integrity())
	for path, keep := range map[string]string{
		"/sdk/adnet.js": "public, max-age=300", script.Path(): "public, max-age=31536000, immutable",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := ask(method, path, "Origin", "https://anywhere.example", "Accept-Encoding", "gzip")
			require.Equal(t, 200, w.Code, path)
			for name, want := range map[string]string{
				"Cache-Control": keep, "Access-Control-Allow-Origin": "*",
				"Cross-Origin-Resource-Policy": "cross-origin",
				"Content-Type":                 "text/javascript; charset=utf-8", "Content-Encoding": "gzip",
				"Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff",
			} {
				require.Equal(t, want, w.Header().Get(name), "%s %s %s", method, path, name)
			}
			require.Empty(t, w.Header().Values("Set-Cookie"))
			require.Equal(
				t, 304, ask(method, path, "Accept-Encoding", "gzip", "If-None-Match", w.Header().Get("ETag")).Code,
			)
		}
		unzip, err := gzip.NewReader(ask("GET", path, "Accept-Encoding", "gzip").Body)
		require.NoError(t, err)
		for _, r := range []io.Reader{
			unzip, brotli.NewReader(ask("GET", path, "Accept-Encoding", "br, gzip").Body), ask("GET", path).Body,
		} {
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole, text), path)
		}
	}
	for _, path := range []string{"/sdk/adnet.0000000000000000.js", "/sdk/adnet.js.gz", "/sdk/", "/sdk/../go.mod"} {
		w := ask("GET", path)
		require.Equal(t, 404, w.Code, path)
		require.NotContains(t, w.Header().Get("Cache-Control"), "immutable", path)
	}
	require.Equal(t, 405, ask("POST", "/sdk/adnet.js").Code)
}

// The script has at most 5 kB, and stores nothing in the browser.
func TestScriptIsSmallAndForgets(t *testing.T) {
	_, ask := serve(t)
	require.LessOrEqual(t, ask("GET", "/sdk/adnet.js", "Accept-Encoding", "gzip").Body.Len(), 5000)
	text := ask("GET", "/sdk/adnet.js").Body.String()
	for _, word := range []string{
		"cookie", "localStorage", "sessionStorage", "indexedDB", "caches", "innerHTML", "outerHTML",
		"insertAdjacentHTML", "eval(", "Function(",
	} {
		require.NotContains(t, text, word)
	}
}

// The line in the documents matches this script.
func TestManualNamesTheScript(t *testing.T) {
	script, _ := serve(t)
	page, err := os.ReadFile("../../../docs/integrating.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "https://ads.example.com"+script.Path()+`"`)
	require.Equal(t, 1, strings.Count(string(page), `integrity="`+script.Integrity()+`"`))
}

// The archives are those of this version, for npm and pip, and small enough for git.
func TestPackages(t *testing.T) {
	script, ask := serve(t)
	version, err := os.ReadFile("../../../VERSION")
	require.NoError(t, err)
	npm, python := script.Packages()
	manual, err := os.ReadFile("../../../docs/integrating.md")
	require.NoError(t, err)
	for path, kind := range map[string]string{npm: "application/gzip", python: "application/zip"} {
		require.True(t, strings.HasPrefix(path, "/sdk/adnet-"+strings.TrimSpace(string(version))), path)
		require.Contains(t, string(manual), "https://ads.example.com"+path)
		w := ask("GET", path, "Accept-Encoding", "br, gzip")
		require.Equal(t, 200, w.Code)
		require.Equal(t, kind, w.Header().Get("Content-Type"))
		require.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Header().Get("Content-Encoding"), "it is compressed already")
		require.Less(t, w.Body.Len(), 1_000_000)
	}
	opened, err := gzip.NewReader(ask("GET", npm).Body)
	require.NoError(t, err)
	files := tar.NewReader(opened)
	for {
		entry, err := files.Next()
		require.NoError(t, err, "no package.json")
		if entry.Name == "package/package.json" {
			text, err := io.ReadAll(files)
			require.NoError(t, err)
			require.Contains(t, string(text), `"version": "`+strings.TrimSpace(string(version))+`"`)
			break
		}
	}
	wheel := ask("GET", python).Body.Bytes()
	archive, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	require.NoError(t, err)
	_, err = archive.Open("adnet/client.py")
	require.NoError(t, err)
}
