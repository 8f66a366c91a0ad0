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
	"adnet/internal/campaign/locale"
	"adnet/internal/compliance/consent"
	"adnet/internal/errs"
	"adnet/internal/money/share"
	"adnet/internal/traffic"
)

// Limits of an ad request (specification, section Limits; lists and short texts are adnet's own).
const (
	maxContext  = 2000 // code points
	maxMessages = 32
	maxSaid     = 8000 // code points, all messages together
	maxTools    = 64
	maxToolID   = 128 // bytes
	maxSeen     = 64
	maxShort    = 128 // bytes of platform, host_app, session_id and surface
	defaultForm = "embed"
)

//go:generate go run adnet/internal/jsonscan/gen Request Message

// Request is a publisher's request for an ad: the body of POST /v1/ad-request. Other protocols fill
// it from their own fields, so that the same rules apply to all. Errors use the JSON names for the
// fields.
type Request struct {
	Context string `json:"context" loose:"parts"`
	// Messages are the last turns of the conversation, oldest first. With them Context may be
	// omitted.
	Messages []Message `json:"messages"`
	// Contents is Gemini's name of Messages. It counts where Messages is empty.
	Contents []Message `json:"contents"`
	// MinRelevance is the minimum probability that the ad answers the request, 0 to 1 to the
	// millionth; nil means the network's value.
	MinRelevance *share.Share `json:"min_relevance"`
	Format       string       `json:"format"`
	Placement    string       `json:"placement"`
	Platform     string       `json:"platform"`
	ActiveTools  []string     `json:"active_tools"`
	HostApp      string       `json:"host_app"`
	UserRegion   string       `json:"user_region"`
	UserLanguage string       `json:"user_language" loose:"first"`
	SessionID    string       `json:"session_id"`

	// Seen lists the ad_id of each ad that the page has shown since it was loaded, one entry per
	// showing. Without a session they count for frequency caps; none of them is stored.
	Seen []string `json:"seen"`

	// Turn is the turn of the conversation, from 1; without it the session's requests are counted.
	// The other two fields override the settings of the same name.
	Turn            *int `json:"turn"`
	FirstAdTurn     *int `json:"first_ad_turn"`
	TurnsBetweenAds *int `json:"turns_between_ads"`

	// Integration is the way the ad reaches its reader: rest (also when empty), js_snippet or
	// npm_sdk. With the last two, events come from the reader's browser and are checked as such.
	Integration string `json:"integration_method"`

	// Consent holds the reader's consent as the page received it; see [consent.Flags].
	Consent consent.Signals `json:"consent"`

	// Suitability holds the publisher's statements about the conversation.
	Suitability Suitability `json:"suitability"`

	Views   bool   `json:"-"` // the display can report a view: a host of MCP Apps
	Surface string `json:"-"` // targeting value; empty: derived from Placement
	Method  string `json:"-"` // integration method: rest, mcp, …

	otherRegion, otherLanguage bool // see [Place]
	// SessionAge is the duration of the user's session so far, 0 when unknown. It is recorded with
	// the outcome; the ranking model does not use it.
	SessionAge time.Duration `json:"-"`
}

var (
	roles        = []string{"user", "assistant", "tool", "system"}
	formats      = []string{"embed", "card", "text", "native", "banner"}
	integrations = []string{"", "rest", "js_snippet", "npm_sdk"}

	placements = []string{"", "card", "welcome", "buttons", "toolrec"}
	// Codes of these forms are accepted even if they are unknown: XX, T1 and qq of some clients.
	regionForm   = regexp.MustCompile(`^[A-Za-z0-9]{2,3}([-_][A-Za-z0-9]{1,3})?$`)
	languageForm = regexp.MustCompile(`^([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*|\*([;,].*)?|(C|POSIX)(\.[A-Za-z0-9-]+)?)$`)
)

// IntegrationOf returns the way the ad of caller's request reaches its reader. A browser key is in
// a page, whatever the body states, so its events are checked as a reader's.
func (r *Request) IntegrationOf(caller httpapi.Caller) string {
	switch {
	case r.Integration == traffic.MethodSDK:
		return traffic.MethodSDK
	case caller.Browser:
		return traffic.MethodSnippet
	}
	return cmp.Or(r.Integration, traffic.MethodREST)
}

// readRegion gives the region its canonical form, an unknown one none, and reports whether it is a
// region's code or name.
func (r *Request) readRegion() bool {
	code, _ := locale.Region(r.UserRegion)
	ok := code != "" || r.UserRegion == "" || regionForm.MatchString(r.UserRegion)
	r.otherRegion, r.UserRegion = code == "" && r.UserRegion != "", code
	return ok
}

// readLanguage gives the language its canonical form, an unknown one none, and reports whether it
// is a language's tag or name, or one of the texts that programs send for any: * (RFC 9110) or C.
func (r *Request) readLanguage() bool {
	tag := locale.Reader(r.UserLanguage)
	ok := tag != "" || r.UserLanguage == "" || languageForm.MatchString(r.UserLanguage)
	r.otherLanguage, r.UserLanguage = tag == "" && r.UserLanguage != "", tag
	return ok
}

// Check applies the specification's rules and sets the default format. Errors: errs.MissingContext,
// errs.InvalidRequest. Their extra field `field` is a JSON name of Request, or surface.
func (r *Request) Check() error {
	if len(r.Messages) == 0 {
		r.Messages, r.Contents = r.Contents, nil
	}
	r.Context = withoutNUL(r.Context)
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
	case !r.readRegion():
		return wrong("user_region", "must be an ISO 3166 code like US or US-CA, or a country's name")
	case !r.readLanguage():
		return wrong("user_language", "must be a BCP 47 tag like en or pt-BR, or the name of a language")
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
		m.Role = cmp.Or(roleOf[m.Role], m.Role)
		if !slices.Contains(roles, m.Role) {
			return wrong("messages", "has a role that is none of %s", strings.Join(roles, ", "))
		}
		m.Content = withoutNUL(m.Content)
		length += utf8.RuneCountInString(m.Content)
	}
	if length > maxSaid {
		return wrong("messages", "hold %d characters, at most %d are allowed in all", length, maxSaid)
	}
	return nil
}

// read reads the words of the request. Instructions to the assistant (role system) are not part of
// the conversation.
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

// judge reads the texts of people and assistant, and the context, into a conversation.
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

// stated returns the publisher's statements about the conversation. Consent signals that mark the
// reader as a child count as a stated age.
func (r *Request) stated(signals consent.Flags) Stated {
	return r.Suitability.Stated.With(AgeOf(signals))
}

// AgeOf returns the reader's age as the consent signals state it.
func AgeOf(signals consent.Flags) (s Stated) {
	if signals&consent.Child != 0 {
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

// withoutNUL drops the NUL characters of a text: the padding of a buffer, or halves of UTF-16.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }

func wrong(field, format string, args ...any) error {
	return errs.New(errs.InvalidRequest, field+" "+format, args...).With("field", field)
}

// surface returns the targeting value of a placement: campaigns target surfaces (chat, tool_result,
// welcome, …), while requests name placements.
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

// host returns the host signal: the app if it is set, else the platform.
func (r *Request) host() string {
	if r.HostApp != "" {
		return r.HostApp
	}
	return r.Platform
}

// place returns the placement of the ad of r, for a publisher.
func (r *Request) place(developer uuid.UUID) Place {
	p := Place{
		Developer: developer, Method: r.Method, Format: r.Format, Surface: r.surface(), Host: r.host(),
		Region:   r.UserRegion,
		Language: r.UserLanguage, Session: r.SessionID, SessionAge: r.SessionAge, FirstTurn: r.FirstAdTurn,
		TurnGap: r.TurnsBetweenAds, Consent: r.Consent.Read(),
		OtherRegion: r.otherRegion, OtherLanguage: r.otherLanguage,
	}
	if r.Turn != nil {
		p.Turn = *r.Turn
	}
	for _, text := range r.Seen {
		if id, err := uuid.Parse(text); err == nil { // always valid after Check
			p.Seen = append(p.Seen, auction.ID(id))
		}
	}
	return p
}
