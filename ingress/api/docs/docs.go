// Package docs serves the reference page of the HTTP API at GET /docs, rendered from openapi.json.
//
// The page is rendered once, on the first request. It is self-contained: no script, font, picture
// or request to another address, which its Content-Security-Policy enforces. So it works offline
// and behind any firewall, and it always matches the openapi.json of the same binary.
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

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// Deps holds the dependencies of the page.
type Deps struct {
	Document []byte        // openapi.json, valid
	BaseURL  func() string // of this installation, for the examples
}

// Page is the rendered reference.
type Page struct {
	html   func() ([]byte, error)
	policy string
}

// New returns the page. It is rendered on the first read, since few nodes ever serve it (benchmark
// rows start and memory_100k). Tests check that this build's document renders.
func New(deps Deps) *Page {
	sum := sha256.Sum256([]byte(pageStyle))
	return &Page{
		html: sync.OnceValues(func() ([]byte, error) { return render(deps) }),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

func render(deps Deps) ([]byte, error) {
	read, err := readReference(deps.Document)
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	tmpl, err := template.New("page").Funcs(template.FuncMap{"text": richText}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, struct {
		*reference
		Style template.CSS
		Base  string
	}{read, template.CSS(pageStyle), deps.BaseURL()})
	if err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	return out.Bytes(), nil
}

// Mount adds GET /docs to s.
func (p *Page) Mount(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/docs", httpapi.Plain(p.show), httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone})
}

func (p *Page) show(c *gin.Context) error {
	page, err := p.html()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", p.policy)
	httpapi.Send(c, http.StatusOK, "text/html; charset=utf-8", page)
	return nil
}
