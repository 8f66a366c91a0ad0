// Package docs serves the guide and the reference of the HTTP API below /docs, and what programs
// look for: /robots.txt, /llms.txt and /.well-known/security.txt.
//
// The reference is rendered from openapi.json, so it always matches the document of the same
// binary. The guide is rendered from docs/ by go generate; here it gets the installation's address.
// All pages are made once, on the first request. They load a style sheet and the script of the
// search, both from here: they work offline and behind any firewall, which their
// Content-Security-Policy enforces.
package docs

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/process/schedule"
)

// Config holds the settings of the package.
type Config struct {
	SecurityContact string `name:"security-contact" env:"ADNET_SECURITY_CONTACT" help:"Where to report a security problem of this installation: an e-mail or an https address, for /.well-known/security.txt. Empty: the sender of mails, else this installation's address."`
}

// Deps holds the dependencies of the pages.
type Deps struct {
	Document []byte        // openapi.json, valid
	BaseURL  func() string // of this installation, for the examples
	Contact  string        // for reports of security problems: an e-mail or an address
	Now      func() time.Time
}

// Site holds the rendered pages.
type Site struct {
	files func() (map[string]*httpapi.File, error) // by path
	deps  Deps
}

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// New returns the pages. They are rendered on the first read, since few nodes ever serve them
// (benchmark rows start and memory_100k). Tests check that this build's documents render.
func New(deps Deps) *Site {
	deps.Now = schedule.Clock(deps.Now)
	return &Site{
		deps:  deps,
		files: sync.OnceValues(func() (map[string]*httpapi.File, error) { return render(deps) }),
	}
}

// Mount adds the pages to s.
func (p *Site) Mount(s *httpapi.Server) {
	open := httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone}
	s.HandleTree("/docs/*path", httpapi.Plain(p.page), open)
	s.Handle(http.MethodGet, robotsPath, httpapi.Plain(p.file(robotsPath)), open)
	s.Handle(http.MethodGet, llmsPath, httpapi.Plain(p.file(llmsPath)), open)
	s.Handle(http.MethodGet, securityPath, httpapi.Plain(p.security), open)
}

// page serves a page, or a file that pages load.
func (p *Site) page(c *gin.Context) error {
	return p.file("/docs" + strings.TrimRight(c.Param("path"), "/"))(c)
}

func (p *Site) file(path string) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		files, err := p.files()
		if err != nil {
			return err
		}
		f := files[path]
		if f == nil {
			return errs.New(errs.NotFound, "no such page; /docs lists them")
		}
		c.Header("Content-Security-Policy", policy)
		c.Header("Cache-Control", "no-cache")
		return f.Send(c)
	}
}
