package rtb

import (
	"strings"
	"unicode/utf8"

	"adnet/auction/words"
	"adnet/internal/campaign/locale"
	"adnet/internal/traffic"
)

// method is the integration method of all bids; see the contract in the package comment.
const method = traffic.MethodRTB

// Limits of signals; longer ones are cut.
const (
	maxSignal = 128 // bytes
	maxTools  = 64
	maxTokens = 64
)

// place is the context of an impression: where it is shown and what the page is about.
type place struct {
	context                         text // a stated context, or
	about                           text // the channel's description of itself
	tokens, tools                   []string
	host, surface, region, language string
	session                         string // for frequency caps
}

// signals holds the signals of the request level and the lists of all its places.
type signals struct {
	context  *mcpContext
	stated   bool // the request has ext.mcp_context
	region   string
	language string
	channel  *channel
	words    []string // all tokens and tools read so far
	about    text     // channel words, computed when an imp needs them
	tokens   []string // of the context
	tools    []string // of the context
	read     bool
}

// begin reads the signals of the request level.
func (s *signals) begin(in *bidRequest) {
	*s = signals{context: &in.Ext.v.Context.v, stated: in.Ext.v.Context.set, channel: &in.Site.v, words: s.words}
	switch {
	case in.App.set:
		s.channel = &in.App.v
	case in.DOOH.set:
		s.channel = &in.DOOH.v
	}
	where := &in.Device.v.Geo
	if !where.set || where.v.Country == "" {
		where = &in.User.v.Geo
	}
	s.region = region(string(where.v.Country), string(where.v.Region))
	s.language = locale.Reader(string(first(in.Device.v.Language, in.Device.v.LangB)))
}

// forget clears the signals for the next request.
func (s *signals) forget() { *s = signals{words: emptied(s.words)} }

// of returns the place of one imp: its own ext.mcp_context overrides the request's, field by field.
// It is valid until forget.
func (s *signals) of(p *imp) place {
	own, stated := &p.Ext.v.Context.v, s.stated || p.Ext.v.Context.set
	outer := s.context
	out := place{
		host:     clean(first(own.HostApp, own.Host, outer.HostApp, outer.Host)),
		surface:  clean(first(own.Surface, outer.Surface)),
		session:  clean(first(own.Session, outer.Session)),
		region:   s.region,
		language: s.language,
		context:  first(own.Intent, own.Summary, own.Context),
		tokens:   s.tokensOf(own),
		tools:    s.toolsOf(own),
	}
	if !stated {
		out.host = clean(p.TagID)
	}
	if code := first(own.Region, own.RegionShort, outer.Region, outer.RegionShort); code != "" {
		country, part, _ := strings.Cut(strings.ReplaceAll(string(code), "_", "-"), "-")
		out.region = region(country, part)
	}
	if language := locale.Reader(string(first(own.Language, own.LangShort, outer.Language, outer.LangShort))); language != "" {
		out.language = language
	}
	silent := out.context == "" && len(out.tokens) == 0
	if silent || len(out.tools) == 0 {
		s.readOuter()
	}
	if silent {
		out.context, out.about, out.tokens = first(outer.Intent, outer.Summary, outer.Context), s.about, s.tokens
	}
	if len(out.tools) == 0 {
		out.tools = s.tools
	}
	return out
}

// readOuter reads the tokens and tools of the request level, once for all imps without their own.
func (s *signals) readOuter() {
	if s.read {
		return
	}
	s.read = true
	s.tools = s.toolsOf(s.context)
	s.tokens = s.tokensOf(s.context)
	if len(s.tokens) == 0 && first(s.context.Intent, s.context.Summary, s.context.Context) == "" {
		s.about = s.channelWords()
	}
}

// since returns the words after an index of the list; nil if there are none.
func (s *signals) since(from int) []string {
	if len(s.words) == from {
		return nil
	}
	return s.words[from:len(s.words):len(s.words)]
}

// tokensOf returns the tokens of a context.
func (s *signals) tokensOf(c *mcpContext) []string {
	from := len(s.words)
	for _, t := range c.IntentTokens {
		if t = clean(text(t)); t != "" && len(s.words)-from < maxTokens {
			s.words = append(s.words, t)
		}
	}
	return s.since(from)
}

// toolsOf returns the tools of a context.
func (s *signals) toolsOf(c *mcpContext) []string {
	from := len(s.words)
	if tool := clean(c.Tool); tool != "" {
		s.words = append(s.words, tool)
	}
	for _, tool := range c.Tools {
		if tool = clean(text(tool)); tool != "" && len(s.words)-from < maxTools {
			s.words = append(s.words, tool)
		}
	}
	return s.since(from)
}

// channelWords returns the words that describe page, app and content.
func (s *signals) channelWords() text {
	c, about := s.channel, &s.channel.Content.v
	var b strings.Builder
	for _, part := range []text{about.Title, about.Keywords, c.Keywords, c.Search, about.Genre, about.Series, c.Name} {
		if part != "" {
			b.WriteString(string(part))
			b.WriteByte(' ')
		}
	}
	for _, list := range []texts{about.KWArray, c.KWArray} {
		for _, word := range list {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	return text(b.String())
}

// read reads the words of the place.
func (p *place) read(to *words.Reader) []words.Term {
	to.Reset()
	to.ReadTurn(string(p.about), 0)
	to.ReadContext(string(p.context))
	return to.Terms()
}

func first(values ...text) text {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// clean returns a signal without control characters and at most maxSignal bytes long.
func clean(v text) string {
	s := strings.TrimSpace(string(v))
	if len(s) > maxSignal {
		n := maxSignal
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if strings.IndexFunc(s, control) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, s)
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// region returns a country and its part as campaigns target them, like US-CA; OpenRTB countries
// have three letters. It is empty if the country is unknown.
func region(country, part string) string {
	out, _ := locale.Region(country)
	if out == "" || strings.Contains(out, "-") {
		return out
	}
	part = strings.TrimSpace(part)
	if prefix, rest, whole := strings.Cut(part, "-"); whole && len(prefix) <= 3 {
		part = rest // some exchanges send the whole ISO 3166-2 code
	}
	if len(part) >= 1 && len(part) <= 3 && word(part) {
		out += "-" + upper(part)
	}
	return out
}

func word(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

func upper(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }
