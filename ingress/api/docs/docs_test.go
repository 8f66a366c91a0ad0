package docs_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/docs"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/schemas/openapi"
)

const base = "https://ads.example.com"

// ask mounts the page of a document and requests it.
func ask(t *testing.T, document []byte) *httptest.ResponseRecorder {
	t.Helper()
	s, err := httpapi.New(httpapi.Config{BaseURL: base}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	docs.New(docs.Deps{Document: document, BaseURL: s.BaseURL}).Mount(s)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	return w
}

// read returns the page of a valid document.
func read(t *testing.T, document []byte) *httptest.ResponseRecorder {
	t.Helper()
	w := ask(t, document)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	return w
}

func TestPageContainsTheWholeDocument(t *testing.T) {
	page := read(t, openapi.Document).Body.String()
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
	var doc struct {
		Info struct{ Title, Version string }
		Tags []struct{ Name string }
		// Everything under a path that is an operation has an operationId.
		Paths      map[string]map[string]jsontext.Value
		Components struct {
			Schemas         map[string]struct{ Properties map[string]any }
			SecuritySchemes map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Document, &doc, json.MatchCaseInsensitiveNames(true)))
	require.Contains(t, plain, doc.Info.Title+" API "+doc.Info.Version)
	operations := 0
	for path, item := range doc.Paths {
		require.Contains(t, plain, path)
		for method, raw := range item {
			var op struct {
				OperationID string         `json:"operationId"`
				Responses   map[string]any `json:"responses"`
			}
			if method == "parameters" {
				continue
			}
			require.NoError(t, json.Unmarshal(raw, &op))
			operations++
			_, article, found := strings.Cut(page, `<article id="`+op.OperationID+`">`)
			require.True(t, found, op.OperationID)
			article, _, _ = strings.Cut(article, "</article>")
			require.Contains(t, article, `<span class="method `+strings.ToUpper(method)+`">`)
			require.Contains(t, article, `<span class="path">`+path+`</span>`)
			for status := range op.Responses {
				require.Contains(t, article, ">"+status+"</span>", op.OperationID)
			}
		}
	}
	require.Greater(t, operations, 20)
	for name, schema := range doc.Components.Schemas {
		_, article, found := strings.Cut(page, `<article id="schema-`+name+`">`)
		require.True(t, found, name)
		article, _, _ = strings.Cut(article, "</article>")
		for property := range schema.Properties {
			require.Contains(t, article, "<code>"+property+"</code>", name)
		}
	}
	for _, code := range apitest.Load(t).Enum(t, "Error", "code") {
		require.Contains(t, page, "<tr><td><code>"+code+"</code></td><td>"+statusText(code)+"</td></tr>")
	}
}

func statusText(code string) string {
	status := httpapi.Status(errs.Code(code))
	return strconv.Itoa(status) + " " + http.StatusText(status)
}

// Every link leads to exactly one existing anchor, or to the document.
func TestLinks(t *testing.T) {
	page := read(t, openapi.Document).Body.String()
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.NotContains(t, ids, m[1], "an anchor occurs twice")
		ids = append(ids, m[1])
	}
	links := regexp.MustCompile(` href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(links), 100)
	for _, m := range links {
		target, inside := strings.CutPrefix(m[1], "#")
		require.True(t, inside && slices.Contains(ids, target) || m[1] == "/openapi.json", m[1])
	}
}

// The page loads nothing from elsewhere, which makes it work offline. The policy enforces this.
func TestSelfContained(t *testing.T) {
	w := read(t, openapi.Document)
	page := w.Body.String()
	require.NotRegexp(
		t, `(?i)<(script|img|link|iframe|object|embed|form|base|svg|video|audio)\b|\bsrc=|url\(|@import|\son\w+=`, page,
	)
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	sum := sha256.Sum256([]byte(style))
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	require.NotContains(t, policy, "unsafe")
	require.NotContains(t, strings.ReplaceAll(page, "</style>", ""), ` style="`, "the policy refuses inline styles")
	require.Less(t, len(page), 1<<20)
}

// Texts of the document are escaped.
func TestTextsAreEscaped(t *testing.T) {
	evil := `</style><script>alert(1)</script>\"'`
	document := `{"openapi":"3.1.0","info":{"title":"` + evil + `","version":"1"},"tags":[{"name":"a","description":"` +
		evil + `"}],"paths":{"/x/{id}":{
		"parameters":[{"name":"id","in":"path","required":true,"description":"` + evil + `","schema":{"type":"string","default":"` + evil + `"}}],
		"post":{"operationId":"x","tags":["a"],"summary":"` + evil + "`" + evil + "`" + `","requestBody":{"content":{"application/json":{"schema":{"type":"object"},"example":{"a":"` + evil + `"}}}},
		"responses":{"200":{"description":"` + evil + `"}}}}},"components":{"schemas":{"Error":{"properties":{"code":{"enum":["internal"]}}}}}}`
	page := read(t, []byte(document)).Body.String()
	require.NotContains(t, page, "<script")
	require.Equal(t, 1, strings.Count(page, "</style>"))
	require.Contains(t, page, html.EscapeString("<script>alert(1)"))
}

func TestInvalidDocumentIsAnError(t *testing.T) {
	for name, document := range map[string]string{
		"no JSON":       `{`,
		"dangling":      `{"tags":[{"name":"a"}],"paths":{"/x":{"get":{"tags":["a"],"responses":{"200":{"$ref":"#/components/responses/None"}}}}}}`,
		"circle":        `{"tags":[{"name":"a"}],"paths":{"/x":{"get":{"tags":["a"],"parameters":[{"$ref":"#/components/parameters/A"}]}}},"components":{"parameters":{"A":{"$ref":"#/components/parameters/A"}}}}`,
		"elsewhere":     `{"tags":[{"name":"a"}],"paths":{"/x":{"get":{"tags":["a"],"parameters":[{"$ref":"http://example.com/p.json"}]}}}}`,
		"tag not known": `{"tags":[],"paths":{"/x":{"get":{"tags":["a"]}}}}`,
	} {
		w := ask(t, []byte(document))
		require.Equal(t, http.StatusInternalServerError, w.Code, name)
		require.NotContains(t, w.Body.String(), "reference", "%s: the cause is for the log", name)
	}
}

// The examples are valid shell: each is one curl call with the documented body, whatever characters
// the texts contain.
func TestExamplesRunInAShell(t *testing.T) {
	page := read(t, openapi.Document).Body.String()
	_, setting, _ := strings.Cut(page, "<pre>export ")
	setting, _, _ = strings.Cut(setting, "</pre>")
	setting = "export " + html.UnescapeString(setting)
	tried, bodies := 0, 0
	for _, article := range strings.Split(page, "<article ")[1:] {
		_, rest, found := strings.Cut(article, "<h4>Try it</h4>\n<pre>")
		if !found {
			continue
		}
		tried++
		line, _, _ := strings.Cut(rest, "</pre>")
		line = html.UnescapeString(line)
		script := "curl() { printf '%s\\0' \"$@\"; }\n" + setting + "\n" + line
		out, err := exec.Command("sh", "-euc", script).Output()
		require.NoError(t, err, line)
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		target := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, base+"/") })
		require.GreaterOrEqual(t, target, 0, line)
		require.NotRegexp(t, `[{}<> ]`, args[target])
		if at := slices.Index(args, "-d"); at >= 0 {
			bodies++
			require.True(t, jsontext.Value(args[at+1]).IsValid(), line)
		}
	}
	require.Greater(t, tried, 20)
	require.Positive(t, bodies)
}
