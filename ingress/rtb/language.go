package rtb

import (
	"strings"

	"golang.org/x/text/language"

	"adnet/auction"
)

// languages holds the languages that a request allows for creatives (wlang, wlangb). A creative is
// in the language of its campaign's target_languages, if all of them are of one language. The
// language of other creatives is unknown.
type languages struct {
	limited bool
	base    names // wlang, primary languages
	tag     names // wlangb, whole tags
}

// readLanguages reads wlang and wlangb. Entries that are no languages allow nothing.
func (s *bidSession) readLanguages() {
	l := &s.languages
	l.base, l.tag = s.in.WLang, s.in.WLangB
	if l.limited = l.base.state != absent || l.tag.state != absent; !l.limited {
		return
	}
	for i, entry := range l.base.list {
		l.base.list[i] = primary(entry)
	}
	for i, entry := range l.tag.list {
		l.tag.list[i] = canonical(entry)
	}
}

// canonical returns a BCP 47 tag in its canonical form, "" for another text.
func canonical(tag string) string {
	parsed, err := language.Parse(strings.ReplaceAll(tag, "_", "-"))
	if err != nil {
		return ""
	}
	return parsed.String()
}

// primary returns the primary language of a tag, by ISO 639-1 where it has a code; "" for another
// text.
func primary(tag string) string {
	base, _, _ := strings.Cut(canonical(tag), "-")
	return base
}

// of returns the primary language and the tag of a campaign's creative. The language is "" if it is
// unknown, and the tag if there are several of one language. The snapshot has target_languages, the
// catalog's creatives do not.
func (l *languages) of(c *auction.Campaign) (base, tag string) {
	if c.Targeting == nil {
		return "", ""
	}
	for i, targeted := range c.Targeting.Languages {
		switch own := primary(targeted); {
		case own == "" || i > 0 && own != base:
			return "", ""
		case i == 0:
			base, tag = own, canonical(targeted)
		default:
			tag = base
		}
	}
	return base, tag
}

// refuse reports whether the creative of a campaign is not in an allowed language.
func (l *languages) refuse(c *auction.Campaign) bool {
	if !l.limited {
		return false
	}
	base, tag := l.of(c)
	return base == "" || !l.base.allows(func(wanted string) bool { return wanted == base }) ||
		!l.tag.allows(func(wanted string) bool {
			return wanted != "" && (tag == wanted || strings.HasPrefix(tag, wanted+"-"))
		})
}

// append writes the language of a bid if the request limits it.
func (l *languages) append(b []byte, c *auction.Campaign) []byte {
	base, tag := l.of(c)
	if l.base.state != absent {
		b = quote(append(b, `,"language":`...), base)
	}
	if l.tag.state != absent {
		b = quote(append(b, `,"langb":`...), tag)
	}
	return b
}
