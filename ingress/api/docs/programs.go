package docs

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
)

const (
	robotsPath   = "/robots.txt"
	llmsPath     = "/llms.txt"
	securityPath = "/.well-known/security.txt" // RFC 9116
	textKind     = "text/plain; charset=utf-8"
)

// closed are the paths that have nothing for search engines: the API, and links that count.
var closed = []string{"/api/", "/v1/", "/s/", "/r/", "/checkout/", "/console/"}

// robots returns robots.txt (RFC 9309).
func (s *site) robots() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for _, path := range closed {
		fmt.Fprintf(&b, "Disallow: %s%s\n", s.Root, path)
	}
	return []byte(b.String())
}

// llms returns the list of pages for language models (llmstxt.org).
func (s *site) llms(list []contents) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", s.Title, s.Summary)
	fmt.Fprintf(&b, "\nThe API as OpenAPI 3.1: %s/openapi.json. MCP server: %s/api/mcp.\n", s.Base, s.Base)
	for _, part := range list {
		fmt.Fprintf(&b, "\n## %s\n\n", part.Title)
		for _, p := range part.Links {
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", p.Title, s.Base, p.Path, p.Description)
		}
	}
	return []byte(b.String())
}

// validity is the life of a copy of security.txt. The file is made for each request, so it never
// expires where it is served.
const validity = 180 * 24 * time.Hour

// security serves security.txt.
func (p *Site) security(c *gin.Context) error {
	contact, base := contactOf(p.deps.Contact), p.deps.BaseURL()
	if contact == "" {
		contact = base + "/"
	}
	expires := p.deps.Now().UTC().Truncate(24 * time.Hour).Add(validity)
	httpapi.Send(c, http.StatusOK, textKind, fmt.Appendf(
		nil, "Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s%s\n",
		contact, expires.Format(time.RFC3339), base, securityPath,
	))
	return nil
}

// contactOf returns a contact as a URI. It is an address, or an e-mail with or without a name.
func contactOf(contact string) string {
	if contact = strings.TrimSpace(contact); contact == "" || strings.Contains(contact, "://") {
		return contact
	}
	if _, mail, named := strings.Cut(contact, "<"); named {
		contact, _, _ = strings.Cut(mail, ">")
	}
	return "mailto:" + strings.TrimPrefix(contact, "mailto:")
}
