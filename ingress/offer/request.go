package offer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/auction/words"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits/frequency"
	"adnet/internal/consent"
	"adnet/internal/errs"
	"adnet/internal/share"
	"adnet/internal/traffic"
)

// Limits of an ad request (specification, section Limits; lists and short texts are adnet's own).
const (
	maxContext  = 2000 // code points
	maxMessages = 32
	maxSaid     = 8000 // code points of all messages
	maxTools    = 64
	maxToolID   = 128 // bytes
	maxSeen     = 64
	maxShort    = 128 // bytes of platform, host_app, session_id and surface
	defaultForm = "embed"
)

// Request is a publisher's request for an ad: the body of POST /v1/ad-request. Other wires fill it
// from their own fields, so that one set of rules holds on all of them; the JSON names are what
// errors call the fields.
type Request struct {
	Context string `json:"context"`
	// Messages are the last turns of the conversation, the oldest first; with them Context may be
	// left out.
	Messages []Message `json:"messages"`
	// MinRelevance is the least probability that the ad answers the request, 0 to 1 to the
	// millionth; nil leaves it to the network.
	MinRelevance *share.Share `json:"min_relevance"`
	Format       string       `json:"format"`
	Placement    string       `json:"placement"`
	Platform     string       `json:"platform"`
	ActiveTools  []string     `json:"active_tools"`
	HostApp      string       `json:"host_app"`
	UserRegion   string       `json:"user_region"`
	UserLanguage string       `json:"user_language"`
	SessionID    string       `json:"session_id"`

	// Seen has the ad_id of each ad that the page has shown since it was loaded, one entry a time.
	// Where there is no session they count for frequency caps; nothing of them is kept.
	Seen []string `json:"seen"`

	// Turn of the conversation, from 1; without it requests of the session are counted. The other
	// two override the settings of the same name.
	Turn            *int `json:"turn"`
	FirstAdTurn     *int `json:"first_ad_turn"`
	TurnsBetweenAds *int `json:"turns_between_ads"`

	// Integration is how the ad reaches its reader: rest (also when empty), js_snippet or npm_sdk.
	// For the last two the events come from the reader's browser, and are held to it.
	Integration string `json:"integration_method"`

	// Consent is what the reader agreed to, as the page was told; see [consent.Flags].
	Consent consent.Signals `json:"consent"`

	// Suitability is what the publisher knows of the conversation.
	Suitability Suitability `json:"suitability"`

	Views   bool   `json:"-"` // what shows the ad can report a view: the host of MCP Apps
	Surface string `json:"-"` // targeting value; empty means that of Placement
	Method  string `json:"-"` // integration method: rest, mcp, …
	// SessionAge is how long the user's session has lasted, 0 when unknown. It is recorded with the
	// outcome; the ranking model has no such signal.
	SessionAge time.Duration `json:"-"`
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

var (
	roles        = []string{"user", "assistant", "tool", "system"}
	formats      = []string{"embed", "card", "text", "native", "banner"}
	integrations = []string{"", "rest", "js_snippet", "npm_sdk"}

	placements = []string{"", "card", "welcome", "buttons", "toolrec"}
	// ISO 3166-1 alpha-2 or alpha-3, or an ISO 3166-2 subdivision.
	region = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,3})?$`)
	// ISO 639-1, with the subtags that clients append (BCP 47).
	language = regexp.MustCompile(`^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$`)
)

// IntegrationOf is how the ad of caller's request reaches its reader. A browser key is in a page,
// whatever the body says: its events are held to a reader's.
func (r *Request) IntegrationOf(caller httpapi.Caller) string {
	switch {
	case r.Integration == traffic.MethodSDK:
		return traffic.MethodSDK
	case caller.Browser:
		return traffic.MethodSnippet
	}
	return cmp.Or(r.Integration, traffic.MethodREST)
}

// Check applies the specification's rules and fills the default format. Errors:
// errs.MissingContext, errs.InvalidRequest; their extra field `field` is the JSON name above, or
// surface.
func (r *Request) Check() error {
	if strings.TrimSpace(r.Context) == "" && len(r.Messages) == 0 {
		return errs.New(
			errs.MissingContext, "context is required: send a piece of the conversation, or its messages",
		).With("field", "context")
	}
	if err := r.checkMessages(); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(r.Context); n > maxContext {
		return wrong("context", "is %d characters long, at most %d are allowed", n, maxContext)
	}
	if strings.IndexByte(r.Context, 0) >= 0 {
		return wrong("context", "must not hold NUL characters")
	}
	if r.Format == "" {
		r.Format = defaultForm
	}
	switch {
	case !slices.Contains(integrations, r.Integration):
		return wrong("integration_method", "must be one of %s", strings.Join(integrations[1:], ", "))
	case !slices.Contains(formats, r.Format):
		return wrong("format", "must be one of %s", strings.Join(formats, ", "))
	case !slices.Contains(placements, r.Placement):
		return wrong("placement", "must be one of %s", strings.Join(placements[1:], ", "))
	case r.UserRegion != "" && !region.MatchString(r.UserRegion):
		return wrong("user_region", "must be an ISO 3166 code like US or US-CA")
	case r.UserLanguage != "" && !language.MatchString(r.UserLanguage):
		return wrong("user_language", "must be an ISO 639-1 code like en")
	case r.MinRelevance != nil && !r.MinRelevance.Valid():
		return wrong("min_relevance", "must be from 0 (off) to 1")
	case len(r.ActiveTools) > maxTools:
		return wrong("active_tools", "may hold at most %d tools", maxTools)
	}
	for _, text := range [...]struct{ field, value string }{
		{"platform", r.Platform}, {"host_app", r.HostApp}, {"session_id", r.SessionID}, {"surface", r.Surface},
	} {
		if len(text.value) > maxShort {
			return wrong(text.field, "must be at most %d bytes", maxShort)
		}
		if strings.IndexByte(text.value, 0) >= 0 {
			return wrong(text.field, "must not hold NUL characters")
		}
	}
	if err := r.checkTurns(); err != nil {
		return err
	}
	if err := r.checkSeen(); err != nil {
		return err
	}
	for _, tool := range r.ActiveTools {
		if len(tool) > maxToolID || strings.IndexByte(tool, 0) >= 0 {
			return wrong("active_tools", "has a tool id of more than %d bytes or with NUL characters", maxToolID)
		}
	}
	return nil
}

func (r *Request) checkMessages() error {
	if len(r.Messages) > maxMessages {
		return wrong("messages", "may hold at most %d messages: send the last ones", maxMessages)
	}
	length := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		if !slices.Contains(roles, m.Role) {
			return wrong("messages", "has a role that is none of %s", strings.Join(roles, ", "))
		}
		if strings.IndexByte(m.Content, 0) >= 0 {
			return wrong("messages", "must not hold NUL characters")
		}
		length += utf8.RuneCountInString(m.Content)
	}
	if length > maxSaid {
		return wrong("messages", "hold %d characters, at most %d are allowed in all", length, maxSaid)
	}
	return nil
}

// read reads what was said. What instructs the assistant (role system) is not of the conversation.
func (r *Request) read(to *words.Reader) {
	to.Reset()
	back := 0
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "system" {
			to.ReadTurn(r.Messages[i].Content, back)
			back++
		}
	}
	if r.Context != "" {
		to.ReadContext(r.Context)
	}
}

// judge reads what people and the assistant said, and the context.
func (r *Request) judge(to *Conversation) {
	to.Reset()
	for i := range r.Messages {
		switch r.Messages[i].Role {
		case "user":
			to.Read(r.Messages[i].Content, suitability.User)
		case "assistant":
			to.Read(r.Messages[i].Content, suitability.Assistant)
		}
	}
	to.Read(r.Context, suitability.User)
}

// stated is what the publisher states of the conversation. Where consent says that the reader is a
// child, that is an age.
func (r *Request) stated(given consent.Flags) Stated {
	return r.Suitability.Stated.With(AgeOf(given))
}

// AgeOf is what the signals of consent state of the reader's age.
func AgeOf(given consent.Flags) (s Stated) {
	if given&consent.Child != 0 {
		s.Age = AgeChild
	}
	return s
}

func (r *Request) checkTurns() error {
	for _, number := range [...]struct {
		field string
		value *int
		least int
	}{{"turn", r.Turn, 1}, {"first_ad_turn", r.FirstAdTurn, 0}, {"turns_between_ads", r.TurnsBetweenAds, 0}} {
		if number.value != nil && (*number.value < number.least || *number.value > frequency.MaxTurn) {
			return wrong(number.field, "must be from %d to %d", number.least, frequency.MaxTurn)
		}
	}
	return nil
}

func (r *Request) checkSeen() error {
	if len(r.Seen) > maxSeen {
		return wrong("seen", "may hold at most %d ids of ads: send the last ones", maxSeen)
	}
	for _, text := range r.Seen {
		if _, err := httpapi.ParseID("seen", text); err != nil {
			return wrong("seen", "must hold values of ad_id")
		}
	}
	return nil
}

func wrong(field, format string, args ...any) error {
	return errs.New(errs.InvalidRequest, field+" "+format, args...).With("field", field)
}

// surface is the targeting value of a placement: campaigns target surfaces (chat, tool_result,
// welcome, …), requests name placements.
func (r *Request) surface() string {
	if r.Surface != "" {
		return r.Surface
	}
	switch r.Placement {
	case "":
		return "chat"
	case "toolrec":
		return "tool_result"
	}
	return r.Placement
}

// host is the host signal: the app when it is given, else the platform.
func (r *Request) host() string {
	if r.HostApp != "" {
		return r.HostApp
	}
	return r.Platform
}

// place is where the ad of r is shown, for a publisher.
func (r *Request) place(developer uuid.UUID) Place {
	p := Place{
		Developer: developer, Method: r.Method, Format: r.Format, Surface: r.surface(), Host: r.host(),
		Region:   r.UserRegion,
		Language: r.UserLanguage, Session: r.SessionID, SessionAge: r.SessionAge, FirstTurn: r.FirstAdTurn,
		TurnGap: r.TurnsBetweenAds, Consent: r.Consent.Read(),
	}
	if r.Turn != nil {
		p.Turn = *r.Turn
	}
	for _, text := range r.Seen {
		if id, err := uuid.Parse(text); err == nil { // always: Check has read it
			p.Seen = append(p.Seen, auction.ID(id))
		}
	}
	return p
}
