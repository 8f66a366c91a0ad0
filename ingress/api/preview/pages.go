package preview

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/ingress/mcp"
	"adnet/internal/errs"
)

//go:embed dist media
var built embed.FS

// The paths of the demo's media, below the base URL.
const (
	mediaPath   = "/demo/media/"
	picturePath = mediaPath + "picture.svg"
	filmPath    = mediaPath + "film.webm"
)

// surfaces are the surfaces that have their own page; cardSurface has the card of MCP Apps.
var surfaces = [...]string{"banner", "card", "embed", "text", "vast"}

const (
	cardSurface = "mcp"
	script      = "preview.js" // draws the surfaces
)

// sandboxed is the policy of every page. Whatever an ad contains, it runs no code except ours,
// connects nowhere, navigates nowhere and cannot read this origin. Only the console may frame it.
const sandboxed = "default-src 'none'; script-src %s; style-src 'unsafe-inline'; img-src 'self' data: https:; " +
	"media-src 'self' https:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"

// Pages serves the pages of previews and the media of the demo.
type Pages struct {
	script *httpapi.File
	media  map[string]*httpapi.File
	base   func() string
}

// NewPages reads the built files. Errors: the build is incomplete.
func NewPages(baseURL func() string) (*Pages, error) {
	files, err := httpapi.ReadFiles(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("previews: %w", err)
	}
	media, err := httpapi.ReadFiles(built, "media")
	if err != nil {
		return nil, fmt.Errorf("demo media: %w", err)
	}
	drawing := files[script]
	if drawing == nil {
		return nil, errors.New("previews are not built: make console")
	}
	return &Pages{script: drawing, media: media, base: baseURL}, nil
}

// Mount adds the pages to s.
func (p *Pages) Mount(s *httpapi.Server) {
	open := httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone}
	s.Handle(http.MethodGet, "/console/preview/:surface", httpapi.Plain(p.surface), open)
	s.Handle(http.MethodGet, mediaPath+":file", httpapi.Plain(p.file), open)
}

// surface serves the page of a surface, or the script that draws it.
func (p *Pages) surface(c *gin.Context) error {
	switch surface := c.Param("surface"); {
	case surface == cardSurface:
		return p.card(c)
	case slices.Contains(surfaces[:], surface):
		return p.page(c, surface)
	case surface == script:
		c.Header("Cache-Control", "no-cache")
		return p.script.Send(c)
	}
	return errs.New(
		errs.NotFound, "no such preview; choose from %s and %s", strings.Join(surfaces[:], ", "), cardSurface,
	)
}

// file serves one of the demo's media files.
func (p *Pages) file(c *gin.Context) error {
	file := p.media[c.Param("file")]
	if file == nil {
		return errs.New(errs.NotFound, "no such file")
	}
	c.Header("Cache-Control", "public, max-age=86400")
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return file.Send(c)
}

// page serves the page of a surface, which its script draws.
func (p *Pages) page(c *gin.Context, surface string) error {
	at := html.EscapeString(httpapi.PathOf(p.base()))
	send(c, "'self'", `<!doctype html><html lang="en" data-surface="`+surface+
		`"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<meta name="color-scheme" content="light dark"><title>Preview</title><main></main>`+
		`<script src="`+at+`/console/preview/`+script+`"></script><script src="`+at+`/sdk/adnet.js"></script></html>`)
	return nil
}

// card serves the card of MCP Apps, identical to that of ingress/mcp. Its inline script is the only
// one that may run.
func (p *Pages) card(c *gin.Context) error {
	media := ""
	if u, err := url.Parse(p.base()); err == nil && u.Host != "" {
		media = u.Scheme + "://" + u.Host
	}
	page := mcp.Card(media)
	_, rest, _ := strings.Cut(page, "<script>")
	own, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(own))
	send(c, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", page)
	return nil
}

func send(c *gin.Context, scripts, page string) {
	c.Header("Content-Security-Policy", fmt.Sprintf(sandboxed, scripts))
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("Cache-Control", "no-cache")
	d := httpapi.NewDocument("text/html; charset=utf-8", []byte(page))
	d.Send(c)
}
