// Package docs is the reference page of the HTTP API at GET /docs: openapi.json as a person reads it.
//
// The page is rendered here, once, and is whole in itself: no script, no font, no picture and no request to
// anywhere, which its Content-Security-Policy enforces. So it works offline and behind any firewall, and it
// cannot differ from the document that the same binary serves.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"adnet/ingress/httpapi"

	"github.com/gin-gonic/gin"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// Deps are what the page is made from.
type Deps struct {
	Document []byte        // openapi.json, valid
	BaseURL  func() string // of this installation, for the examples; asked when the page is first read
}

// Page is the rendered reference.
type Page struct {
	html   func() ([]byte, error)
	policy string
}

// New reads the document and renders it once, so that a document that cannot be shown fails the start.
func New(deps Deps) (*Page, error) {
	read, err := readReference(deps.Document)
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	tmpl, err := template.New("page").Funcs(template.FuncMap{"text": richText}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	render := func(base string) ([]byte, error) {
		var out bytes.Buffer
		err := tmpl.Execute(&out, struct {
			*reference
			Style template.CSS
			Base  string
		}{read, template.CSS(pageStyle), base})
		return out.Bytes(), err
	}
	if _, err := render(""); err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageStyle))
	return &Page{
		html: sync.OnceValues(func() ([]byte, error) { return render(deps.BaseURL()) }),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// Mount adds GET /docs to s.
func (p *Page) Mount(s *httpapi.Server) { s.Handle(http.MethodGet, "/docs", p.show) }

func (p *Page) show(c *gin.Context) error {
	page, err := p.html()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", p.policy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
	return nil
}
