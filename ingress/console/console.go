// Package console serves the console: the pages in which advertisers, publishers and administrators
// work in a browser.
//
// The pages are one document, a style sheet and modules, built from web/console by web/build and
// embedded. The document is the answer to / and to every path below /console/, since the pages
// choose by the address themselves; everything that they show they ask the public API for. Nothing
// comes from another server, and nothing is inline, which the Content-Security-Policy enforces.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

//go:embed dist
var built embed.FS

// Config is the settings of the console.
type Config struct {
	Console string `name:"console" env:"ADNET_CONSOLE" default:"on" enum:"on,off" help:"Serve the console at / and /console/. Off: these paths are 404, and everything is done by the API."`
}

// On says whether the console is served.
func (c Config) On() bool { return c.Console != "off" }

// Deps are what the pages need.
type Deps struct {
	BaseURL func() string // of this installation; may have a path
}

// Pages is the console.
type Pages struct {
	document func() document
	files    map[string]*file // below /console/assets/
}

// document is the page for the base path of the installation.
type document struct {
	html []byte
	etag string
}

// file is a built file with its compressed forms, which may be nil.
type file struct {
	kind            string
	etag            string
	plain, gzip, br []byte
}

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; " +
	"font-src 'self'; frame-src 'self'; media-src 'self' https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

// New reads the built files. Errors: the build is not whole.
func New(deps Deps) (*Pages, error) {
	page, err := built.ReadFile("dist/index.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	p := &Pages{files: map[string]*file{}, document: sync.OnceValue(func() document { return placed(page, deps.BaseURL()) })}
	entries, err := fs.ReadDir(built, "dist/assets")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	for _, e := range entries {
		content, err := built.ReadFile("dist/assets/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		p.add(e.Name(), content)
	}
	return p, nil
}

// add takes a built file, or a compressed form of one.
func (p *Pages) add(name string, content []byte) {
	of := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".br")
	f := p.files[of]
	if f == nil {
		f = &file{kind: kindOf(of)}
		p.files[of] = f
	}
	switch path.Ext(name) {
	case ".gz":
		f.gzip = content
	case ".br":
		f.br = content
	default:
		f.plain, f.etag = content, etagOf(content)
	}
}

// kindOf is the media type of a file. What the system of the machine says of it must not count.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func etagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// placed puts the path of baseURL into the page, whose addresses are absolute: pages of any depth
// share it, and the policy forbids a base element.
func placed(page []byte, baseURL string) document {
	base := ""
	if u, err := url.Parse(baseURL); err == nil {
		base = strings.TrimRight(u.EscapedPath(), "/")
	}
	made := bytes.ReplaceAll(page, []byte("%BASE%"), []byte(html.EscapeString(base)))
	return document{made, etagOf(made)}
}

// Mount adds the pages to s.
func (p *Pages) Mount(s *httpapi.Server) {
	open := httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone}
	s.Handle(http.MethodGet, "/", p.page, open)
	s.Handle(http.MethodGet, "/favicon.ico", p.icon, open)
	s.HandleTree("/console/:path", p.below, open)
}

// below answers what is below /console/: a built file, or the page for an address of its own.
func (p *Pages) below(c *httpapi.Context) error {
	if name, is := strings.CutPrefix(c.Param("path"), "assets/"); is {
		return p.asset(c, name)
	}
	return p.page(c)
}

func (p *Pages) page(c *httpapi.Context) error {
	d := p.document()
	c.Header("Content-Security-Policy", policy)
	c.Header("X-Frame-Options", "DENY") // for browsers that know no frame-ancestors
	c.Header("Cross-Origin-Opener-Policy", "same-origin")
	c.Header("Cache-Control", "no-cache")
	answer(c, "text/html; charset=utf-8", d.etag, d.html)
	return nil
}

// asset answers a built file. Its name holds its hash, so it never changes.
func (p *Pages) asset(c *httpapi.Context, name string) error {
	f := p.files[name]
	if f == nil {
		return errs.New(errs.NotFound, "no such file; load the page again")
	}
	c.Header("Cache-Control", "public, max-age=31536000, immutable")
	c.Header("Vary", "Accept-Encoding")
	encoding, body := f.accepted(c.GetHeader("Accept-Encoding"))
	etag := f.etag
	if encoding != "" {
		c.Header("Content-Encoding", encoding)
		etag = strings.TrimSuffix(etag, `"`) + "-" + encoding + `"`
	}
	answer(c, f.kind, etag, body)
	return nil
}

// icon answers the browsers that ask at the root, whatever the page says.
func (p *Pages) icon(c *httpapi.Context) error {
	for name, f := range p.files {
		if strings.HasPrefix(name, "icon-") {
			c.Header("Cache-Control", "public, max-age=86400")
			answer(c, f.kind, f.etag, f.plain)
			return nil
		}
	}
	return errs.New(errs.NotFound, "no such path")
}

// answer sends body, unless the client has what etag names.
func answer(c *httpapi.Context, kind, etag string, body []byte) {
	c.Header("ETag", etag)
	for known := range strings.SplitSeq(c.GetHeader("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == etag || known == "*" {
			c.Status(http.StatusNotModified)
			return
		}
	}
	c.Data(http.StatusOK, kind, body)
}

// accepted chooses the smallest form that the header Accept-Encoding allows.
func (f *file) accepted(header string) (encoding string, body []byte) {
	switch {
	case f.br != nil && accepts(header, "br"):
		return "br", f.br
	case f.gzip != nil && accepts(header, "gzip"):
		return "gzip", f.gzip
	}
	return "", f.plain
}

// accepts says whether the header names a coding without refusing it (RFC 9110, section 12.5.3).
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		_, q, _ := strings.Cut(weight, "=")
		return strings.Trim(strings.TrimSpace(q), "0.") != "" || strings.TrimSpace(q) == ""
	}
	return false
}
