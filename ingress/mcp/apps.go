package mcp

import (
	_ "embed"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// MCP Apps (SEP-1865, revision 2026-01-26): a host that supports the extension shows a card beside
// the model's text. Other hosts ignore the members of _meta and get the usual text.
const (
	extension = "io.modelcontextprotocol/ui"
	cardURI   = "ui://adnet/ad"
	cardType  = "text/html;profile=mcp-app"
)

// card is the page that web/build builds from web/mcp.
//
//go:embed card.html
var card string

// Card returns the page that hosts show. It loads pictures from the origin media only, and none if
// media is empty.
func Card(media string) string { return strings.Replace(card, "ADNET_MEDIA", media, 1) }

// announces reports whether a client's capabilities, a JSON object, include the extension with the
// type of our card.
func announces(capabilities string) bool {
	if !strings.Contains(capabilities, extension) {
		return false
	}
	var c struct {
		Extensions map[string]struct {
			MIMETypes []string `json:"mimeTypes"`
		} `json:"extensions"`
	}
	return json.Unmarshal([]byte(capabilities), &c) == nil &&
		slices.Contains(c.Extensions[extension].MIMETypes, cardType)
}

// withApps is the prefix of the session id of a host that announced the extension in initialize.
// There is no session: the id only marks the requests that follow. It is sealed, so that no other
// caller can claim to show the card.
const withApps = "apps-"

const headerSession = "Mcp-Session-Id"

// newSession returns the session id of a host with the extension.
func (s *Server) newSession() string {
	id := withApps + uuid.NewString()
	return string(s.deps.Hosts.Append([]byte(id+"."), []byte(id)))
}

// announced reports whether a session id is one of [Server.newSession].
func (s *Server) announced(session string) bool {
	if s.deps.Hosts == nil || !strings.HasPrefix(session, withApps) {
		return false
	}
	id, seal, _ := strings.Cut(session, ".")
	return s.deps.Hosts.Check(id, seal, s.deps.Now()) == nil
}

// shows reports whether the sender of a request can show the card.
func (s *Server) shows(header http.Header, r *call) bool {
	switch {
	case r.modern:
		return announces(r.params.abilities)
	case r.method == methodInitialize:
		return announces(r.params.capabilities)
	}
	session, _ := single(header, headerSession)
	return s.announced(session)
}

// Metadata of the card: its policy allows pictures only from our own origin.
type (
	cardMeta struct {
		UI cardUI `json:"ui"`
	}
	cardUI struct {
		CSP           cardPolicy `json:"csp"`
		PrefersBorder bool       `json:"prefersBorder"`
	}
	cardPolicy struct {
		Connect  []string `json:"connectDomains"`
		Resource []string `json:"resourceDomains"`
	}
)

// resource is the card in resources/list and, with its text, in resources/read.
type resource struct {
	URI         string   `json:"uri"`
	Name        string   `json:"name,omitzero"`
	Title       string   `json:"title,omitzero"`
	Description string   `json:"description,omitzero"`
	MIMEType    string   `json:"mimeType"`
	Text        string   `json:"text,omitzero"`
	Meta        cardMeta `json:"_meta"`
}

// resources is the result of the methods of resources.
type resources struct {
	Resources *[]resource           `json:"resources,omitzero"`
	Templates *[]struct{}           `json:"resourceTemplates,omitzero"`
	Contents  *[]resource           `json:"contents,omitzero"`
	Type      string                `json:"resultType,omitzero"`
	TTL       int                   `json:"ttlMs,omitzero"`
	Scope     string                `json:"cacheScope,omitzero"`
	Meta      map[string]serverInfo `json:"_meta,omitzero"`
}

// resourceResult is the result of a method of resources.
func (s *Server) resourceResult(r *call) ([]byte, *failure) {
	base := s.origin()
	own := resource{URI: cardURI, MIMEType: cardType}
	own.Meta.UI.CSP = cardPolicy{Connect: []string{}, Resource: []string{}}
	if base != "" {
		own.Meta.UI.CSP.Resource = append(own.Meta.UI.CSP.Resource, base)
	}
	var out resources
	switch r.method {
	case methodTemplates:
		out.Templates = &[]struct{}{}
	case methodResources:
		own.Name, own.Title = "sponsored-content", "Sponsored content"
		own.Description = "Shows the ad that get_sponsored_content answered, with its label."
		out.Resources = &[]resource{own}
	case methodRead:
		if r.params.uri != cardURI {
			return nil, &failure{
				status: http.StatusOK, code: notFound(r.modern), message: "no such resource; there is " + cardURI,
			}
		}
		own.Text = Card(base)
		out.Contents = &[]resource{own}
	}
	if r.modern {
		out.Type, out.TTL, out.Scope, out.Meta = "complete", listTTL, "public", s.fixed.own
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, failed(err)
	}
	return text, nil
}

// notFound returns the code of a missing resource: the revisions with initialize have a different
// one.
func notFound(modern bool) int {
	if modern {
		return codeInvalidParams
	}
	return codeResourceNotFound
}

// origin returns the origin of the base URL; empty without one.
func (s *Server) origin() string {
	if s.deps.BaseURL == nil {
		return ""
	}
	base, err := url.Parse(s.deps.BaseURL())
	if err != nil || base.Host == "" {
		return ""
	}
	return base.Scheme + "://" + base.Host
}
