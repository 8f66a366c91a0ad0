package docs_test

import (
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

const base = "https://ads.example.org/net"

// serve mounts the pages of a document.
func serve(t *testing.T, document []byte, contact string) func(path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := httpapi.New(httpapi.Config{BaseURL: base}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	docs.New(docs.Deps{
		Document: document, BaseURL: s.BaseURL, Contact: contact,
		Now: func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
	}).Mount(s)
	return func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
}

var href = regexp.MustCompile(` href="([^"]*)"`)

// known are the pages of this build's document, which most tests read.
var known map[string]string

// read returns all pages by path: those that links reach from the first.
func read(t *testing.T, document []byte) map[string]string {
	t.Helper()
	if &document[0] != &openapi.Document[0] {
		return crawl(t, document)
	}
	if known == nil {
		known = crawl(t, document)
	}
	return known
}

func crawl(t *testing.T, document []byte) map[string]string {
	t.Helper()
	ask := serve(t, document, "")
	pages := map[string]string{}
	for next := []string{"/docs"}; len(next) > 0; next = next[1:] {
		if pages[next[0]] != "" {
			continue
		}
		w := ask(next[0])
		require.Equal(t, http.StatusOK, w.Code, next[0])
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		pages[next[0]] = w.Body.String()
		for _, m := range href.FindAllStringSubmatch(w.Body.String(), -1) {
			path, _, _ := strings.Cut(m[1], "#")
			path = strings.TrimPrefix(path, "/net")
			if strings.HasPrefix(path, "/docs") && path != "/docs/style.css" {
				next = append(next, path)
			}
		}
	}
	return pages
}

// whole returns the text of all pages, in no order.
func whole(t *testing.T, document []byte) string {
	t.Helper()
	return strings.Join(slices.Collect(maps.Values(read(t, document))), "\n")
}

func TestPagesContainTheWholeDocument(t *testing.T) {
	pages := read(t, openapi.Document)
	page := strings.Join(slices.Collect(maps.Values(pages)), "\n")
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
		article := pages["/docs/schemas/"+name]
		require.NotEmpty(t, article, name)
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

// Every link leads to exactly one existing place.
func TestLinks(t *testing.T) {
	pages := read(t, openapi.Document)
	ids := map[string][]string{}
	for path, page := range pages {
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			require.NotContains(t, ids[path], m[1], "%s: an anchor occurs twice", path)
			ids[path] = append(ids[path], m[1])
		}
	}
	elsewhere := []string{"/openapi.json", "/llms.txt", "/favicon.ico", "/console", "/docs/style.css"}
	links := 0
	for path, page := range pages {
		for _, m := range href.FindAllStringSubmatch(page, -1) {
			links++
			if strings.Contains(m[1], ":") && !strings.HasPrefix(m[1], base) {
				continue // the guide names other sites
			}
			target, anchor, deep := strings.Cut(html.UnescapeString(m[1]), "#")
			if target == "" {
				target = "/net" + path
			}
			target, own := strings.CutPrefix(target, "/net")
			require.True(t, own, "%s: %s", path, m[1])
			require.True(t, pages[target] != "" || slices.Contains(elsewhere, target), "%s: %s", path, m[1])
			require.True(t, !deep || slices.Contains(ids[target], anchor), "%s: %s", path, m[1])
		}
	}
	require.Greater(t, links, 1000)
}

var heading = regexp.MustCompile(`<h([1-6])[ >]`)

// Every page is small, compressed, described, and has its headings in order.
func TestShapeOfPages(t *testing.T) {
	ask := serve(t, openapi.Document, "")
	descriptions := map[string]string{}
	for path, page := range read(t, openapi.Document) {
		require.LessOrEqual(t, len(page), 100_000, path)
		packed := ask(path, "Accept-Encoding", "br, gzip")
		require.Equal(t, "br", packed.Header().Get("Content-Encoding"))
		require.Less(t, packed.Body.Len(), 25_000, path)
		again := ask(path, "Accept-Encoding", "br", "If-None-Match", packed.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Equal(t, packed.Body.Bytes(), ask(path+"/", "Accept-Encoding", "br").Body.Bytes())
		description := regexp.MustCompile(`<meta name="description" content="([^"]+)">`).FindStringSubmatch(page)
		require.NotNil(t, description, path)
		descriptions[description[1]] = path
		level := "0"
		for i, m := range heading.FindAllStringSubmatch(page, -1) {
			require.Equal(t, i == 0, m[1] == "1", "%s: heading %d", path, i)
			require.LessOrEqual(t, m[1][0], level[0]+1, "%s: heading %d", path, i)
			level = m[1]
		}
		require.NotEqual(t, "0", level, path)
	}
	require.Greater(t, len(descriptions), 100)
}

// The index of the search is small, and leads to what it names.
func TestIndex(t *testing.T) {
	ask := serve(t, openapi.Document, "")
	w := ask("/docs/index.json", "Accept-Encoding", "br")
	require.Equal(t, "br", w.Header().Get("Content-Encoding"))
	require.Less(t, w.Body.Len(), 64_000)
	var entries []struct {
		T string `json:"t"`
		U string `json:"u"`
	}
	require.NoError(t, json.Unmarshal(ask("/docs/index.json").Body.Bytes(), &entries))
	pages := read(t, openapi.Document)
	named := map[string]bool{}
	for _, e := range entries {
		named[e.T] = true
		path, anchor, deep := strings.Cut(strings.TrimPrefix(e.U, "/net"), "#")
		require.Contains(t, pages, path)
		require.True(t, !deep || strings.Contains(pages[path], `id="`+anchor+`"`), e.U)
	}
	for _, title := range []string{"POST /v1/ad-request", "Campaign", "Integrating with adnet", "Back up, restore and set retention"} {
		require.Contains(t, named, title)
	}
	require.Equal(t, http.StatusOK, ask("/docs/search.js").Code)
	require.Equal(t, http.StatusNotFound, ask("/docs/nothing").Code)
}

// The guide has the address of the installation in its examples.
func TestGuideHasTheAddress(t *testing.T) {
	guides := 0
	for path, page := range read(t, openapi.Document) {
		require.NotContains(t, page, "ADNET.", path)
		if strings.HasPrefix(path, "/docs/guide/") {
			guides++
			require.NotContains(t, page, "https://ads.example.com", path)
			require.NotContains(t, page, "http://127.0.0.1:8080", path)
		}
	}
	require.Greater(t, guides, 20)
	require.Contains(
		t, read(t, openapi.Document)["/docs/guide/integrating"], `BASE=https://ads.example.org/net`,
	)
}

func TestFilesForPrograms(t *testing.T) {
	ask := serve(t, openapi.Document, "adnet <security@ads.example.org>")
	robots := ask("/robots.txt")
	require.Equal(t, "text/plain; charset=utf-8", robots.Header().Get("Content-Type"))
	require.True(t, strings.HasPrefix(robots.Body.String(), "User-agent: *\nDisallow: /net/api/\n"))
	require.NotContains(t, robots.Body.String(), "docs")
	llms := ask("/llms.txt").Body.String()
	require.True(t, strings.HasPrefix(llms, "# "))
	for _, m := range regexp.MustCompile(`\((https://[^)]*)\): \S`).FindAllStringSubmatch(llms, -1) {
		require.Equal(t, http.StatusOK, ask(strings.TrimPrefix(m[1], base)).Code, m[1])
	}
	require.Contains(t, llms, base+"/docs/guide/integrating)")
	require.Equal(
		t, "Contact: mailto:security@ads.example.org\nExpires: 2026-08-31T00:00:00Z\nPreferred-Languages: en\n"+
			"Canonical: "+base+"/.well-known/security.txt\n", ask("/.well-known/security.txt").Body.String(),
	)
	for contact, want := range map[string]string{
		"": base + "/", " a@b.example ": "mailto:a@b.example", "mailto:a@b.example": "mailto:a@b.example",
		"https://b.example/report": "https://b.example/report",
	} {
		text := serve(t, openapi.Document, contact)("/.well-known/security.txt").Body.String()
		require.True(t, strings.HasPrefix(text, "Contact: "+want+"\n"), text)
	}
}

// The pages load nothing from elsewhere, which makes them work offline. The policy enforces this.
func TestSelfContained(t *testing.T) {
	for path, page := range read(t, openapi.Document) {
		require.NotRegexp(
			t, `(?i)<(img|iframe|object|embed|base|svg|video|audio|style)\b|url\(|@import|\son\w+=| style=`, page, path,
		)
		require.Equal(t, 1, strings.Count(page, "<script"), path)
		require.Equal(t, 1, strings.Count(page, ` src="`), path)
		require.Contains(t, page, `<script type="module" src="/net/docs/search.js"></script>`, path)
	}
	policy := serve(t, openapi.Document, "")("/docs").Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
}

// Texts of the document are escaped.
func TestTextsAreEscaped(t *testing.T) {
	evil := `</style><script>alert(1)</script>\"'`
	document := `{"openapi":"3.1.0","info":{"title":"` + evil + `","version":"1"},"tags":[{"name":"a","description":"` +
		evil + `"}],"paths":{"/x/{id}":{
		"parameters":[{"name":"id","in":"path","required":true,"description":"` + evil + `","schema":{"type":"string","default":"` + evil + `"}}],
		"post":{"operationId":"x","tags":["a"],"summary":"` + evil + "`" + evil + "`" + `","requestBody":{"content":{"application/json":{"schema":{"type":"object"},"example":{"a":"` + evil + `"}}}},
		"responses":{"200":{"description":"` + evil + `"}}}}},"components":{"schemas":{"Error":{"properties":{"code":{"enum":["internal"]}}}}}}`
	pages := read(t, []byte(document))
	for path, page := range pages {
		require.Equal(t, 1, strings.Count(page, "<script"), path)
		require.NotContains(t, page, "</style>", path)
	}
	page := pages["/docs/api/a"]
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
		w := serve(t, []byte(document), "")("/docs")
		require.Equal(t, http.StatusInternalServerError, w.Code, name)
		require.NotContains(t, w.Body.String(), "reference", "%s: the cause is for the log", name)
	}
}

// The examples are valid shell: each is one curl call with the documented body, whatever characters
// the texts contain.
func TestExamplesRunInAShell(t *testing.T) {
	page := whole(t, openapi.Document)
	_, setting, _ := strings.Cut(page, `<pre tabindex="0">export `)
	setting, _, _ = strings.Cut(setting, "</pre>")
	setting = "export " + html.UnescapeString(setting)
	tried, bodies := 0, 0
	for _, article := range strings.Split(page, "<article ")[1:] {
		_, rest, found := strings.Cut(article, "<h3>Try it</h3>\n<pre tabindex=\"0\">")
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
