// Package console serves the web console of advertisers, publishers and administrators.
//
// The console is one document, a style sheet and modules, built from web/console by web/build and
// embedded. The document is the reply to / and to every path below /console/, because the pages
// route by the address themselves. They load all their data from the public API. Nothing comes from
// another server and nothing is inline; the Content-Security-Policy enforces both.
package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

//go:embed dist
var built embed.FS

// Config holds the settings of the console.
type Config struct {
	Console string `name:"console" env:"ADNET_CONSOLE" default:"on" enum:"on,off" help:"Serve the console at / and /console/. Off: these paths return 404 and only the API is available."`
}

// On reports whether the console is served.
func (c Config) On() bool { return c.Console != "off" }

// Deps holds the dependencies of the pages.
type Deps struct {
	BaseURL func() string // of this installation; may have a path
}

// Pages is the console.
type Pages struct {
	document func() httpapi.Document  // the page for the base path of the installation
	base     func() string            // the path of BaseURL, without a trailing slash
	files    map[string]*httpapi.File // below /console/assets/
	screens  []screen
}

// screen maps a path below /console/ to the modules it needs besides the page's own.
type screen struct {
	Path    string   `json:"path"` // a segment that begins with a colon matches any value
	Modules []string `json:"modules"`
}

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src " +
	"'self'; " +
	"font-src 'self'; frame-src 'self'; media-src 'self' https:; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

// New reads the built files. Errors: the build is incomplete.
func New(deps Deps) (*Pages, error) {
	page, err := built.ReadFile("dist/index.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	files, err := httpapi.ReadFiles(built, "dist/assets")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	p := &Pages{files: files, base: sync.OnceValue(func() string { return httpapi.PathOf(deps.BaseURL()) })}
	if p.screens, err = readScreens(); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	p.document = sync.OnceValue(func() httpapi.Document { return placed(page, p.base()) })
	return p, nil
}

func readScreens() (list []screen, err error) {
	text, err := built.ReadFile("dist/screens.json")
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text, &list)
}

// placed inserts base into the page. The page uses absolute addresses, because pages at every depth
// share it and the policy forbids a base element.
func placed(page []byte, base string) httpapi.Document {
	content := bytes.ReplaceAll(page, []byte("%BASE%"), []byte(html.EscapeString(base)))
	return httpapi.NewDocument("text/html; charset=utf-8", content)
}

// at reports whether the screen matches a path below /console/.
func (s *screen) at(path string) bool {
	segments, own := strings.Split(strings.Trim(path, "/"), "/"), strings.Split(s.Path, "/")
	return slices.EqualFunc(
		segments, own, func(a, o string) bool { return a == o || a != "" && strings.HasPrefix(o, ":") },
	)
}

// preload returns the Link header for a path below /console/: the modules of its screen, so that
// the browser fetches them together with the page's own. Without it they would be requested only
// once the page knows the signed-in user, and their imports even later. It is empty if no screen
// matches.
func (p *Pages) preload(path string) string {
	i := slices.IndexFunc(p.screens, func(s screen) bool { return s.at(path) })
	if i < 0 {
		return ""
	}
	links := make([]string, 0, len(p.screens[i].Modules))
	for _, name := range p.screens[i].Modules {
		links = append(links, "<"+p.base()+"/console/assets/"+name+">; rel=modulepreload")
	}
	return strings.Join(links, ", ")
}

// Mount adds the pages to s.
func (p *Pages) Mount(s *httpapi.Server) {
	open := httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone}
	s.Handle(http.MethodGet, "/", httpapi.Plain(p.page), open)
	s.Handle(http.MethodGet, "/favicon.ico", httpapi.Plain(p.icon), open)
	s.HandleTree("/console/*path", httpapi.Plain(p.below), open)
}

// below serves a path below /console/: a built file, or the page.
func (p *Pages) below(c *gin.Context) error {
	path := strings.TrimPrefix(c.Param("path"), "/")
	if name, is := strings.CutPrefix(path, "assets/"); is {
		return p.asset(c, name)
	}
	if links := p.preload(path); links != "" {
		c.Header("Link", links)
	}
	return p.page(c)
}

func (p *Pages) page(c *gin.Context) error {
	d := p.document()
	c.Header("Content-Security-Policy", policy)
	c.Header("X-Frame-Options", "DENY") // for browsers without frame-ancestors
	c.Header("Cross-Origin-Opener-Policy", "same-origin")
	c.Header("Cache-Control", "no-cache")
	d.Send(c)
	return nil
}

// asset serves a built file. Its name contains its hash, so it never changes.
func (p *Pages) asset(c *gin.Context, name string) error {
	f := p.files[name]
	if f == nil {
		return errs.New(errs.NotFound, "no such file; reload the page")
	}
	c.Header("Cache-Control", httpapi.Forever)
	return f.Send(c)
}

// icon serves browsers that request the icon at the root regardless of the page.
func (p *Pages) icon(c *gin.Context) error {
	for name, f := range p.files {
		if strings.HasPrefix(name, "icon-") {
			c.Header("Cache-Control", "public, max-age=86400")
			return f.Send(c)
		}
	}
	return errs.New(errs.NotFound, "no such path")
}
