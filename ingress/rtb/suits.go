package rtb

import (
	"context"
	"net/url"
	"strings"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/ingress/offer"
	"adnet/internal/campaign/subject"
)

// judge judges the conversation of p: all texts of the request level, once per request, and the
// texts of the imp itself.
func (s *bidSession) judge(ctx context.Context, p *imp) offer.Judged {
	until := s.started.Add(s.tmax)
	if !s.judging {
		s.suits.Reset()
		s.readTexts()
		st := s.stated()
		st.Until = until
		s.judged, s.judging = s.deps.Seller.Judge(ctx, &s.suits, st), true
	}
	own := &p.Ext.v
	if !own.Context.set && own.Suitability.Stated == (offer.Stated{}) {
		return s.judged
	}
	s.suits.Reset()
	s.readContext(&own.Context.v)
	st := own.Suitability.Stated
	st.Until = until
	return s.judged.With(s.deps.Seller.Judge(ctx, &s.suits, st))
}

// readTexts reads all texts of the request level. Texts from or about the reader count as the
// reader's. Descriptions of page, app and content do not, so a refusal because of them applies to
// this request only.
func (s *bidSession) readTexts() {
	s.readContext(&s.in.Ext.v.Context.v)
	for _, c := range [...]*object[channel]{&s.in.Site, &s.in.App, &s.in.DOOH} {
		if c.set {
			s.readChannel(&c.v)
		}
	}
	u := &s.in.User.v
	s.readUser(u.Keywords)
	s.readUser(joined(u.KWArray))
	for i := range u.Data.list {
		for j := range u.Data.list[i].Segments.list {
			s.readPage(u.Data.list[i].Segments.list[j].Name)
		}
	}
}

// readContext reads ext.mcp_context, with each field on its own.
func (s *bidSession) readContext(c *mcpContext) {
	s.readUser(c.Intent)
	s.readUser(c.Summary)
	s.readUser(c.Context)
	s.readUser(joined(c.IntentTokens))
}

func (s *bidSession) readChannel(c *channel) {
	about := &c.Content.v
	s.readUser(c.Search)
	for _, t := range [...]text{
		c.Name, c.Keywords, joined(c.KWArray), c.Publisher.v.Name, linkWords(c.Page), linkWords(c.Ref),
		about.Title, about.Series, about.Season, about.Episode, about.Artist, about.Album, about.Genre, about.Keywords,
		joined(about.KWArray),
		about.Producer.v.Name, linkWords(about.URL),
	} {
		s.readPage(t)
	}
}

func (s *bidSession) readUser(t text) {
	if t != "" {
		s.suits.Read(string(t), suitability.User)
	}
}

func (s *bidSession) readPage(t text) {
	if t != "" {
		s.suits.Read(string(t), suitability.Assistant)
	}
}

// joined returns words as one text, so that phrases of several words are found.
func joined(words texts) text { return text(strings.Join(words, " ")) }

// linkWords returns the words of a link: its host, path and query.
func linkWords(link text) text {
	if link == "" {
		return ""
	}
	_, rest, whole := strings.Cut(string(link), "://")
	if !whole {
		rest = string(link)
	}
	if plain, err := url.QueryUnescape(rest); err == nil {
		rest = plain
	}
	return text(strings.Map(func(r rune) rune {
		if strings.ContainsRune("/?&=#-_+.,;:%", r) {
			return ' '
		}
		return r
	}, rest))
}

// stated returns the statements of the request level besides its texts.
func (s *bidSession) stated() offer.Stated {
	in := &s.in
	st := in.Ext.v.Suitability.Stated.With(offer.AgeOf(s.consent)).With(offer.Stated{Age: s.age()})
	for _, c := range [...]*channel{&in.Site.v, &in.App.v, &in.DOOH.v} {
		about := &c.Content.v
		st.Flags |= ofCategories(c.CatTax, c.Cat) | ofCategories(c.CatTax, c.SectionCat) | ofCategories(c.CatTax,
			c.PageCat) |
			ofCategories(c.Publisher.v.CatTax, c.Publisher.v.Cat) | ofCategories(about.CatTax, about.Cat) |
			ofCategories(about.Producer.v.CatTax, about.Producer.v.Cat)
		if about.QAG.is(qagMature) || mature(about.Rating) {
			st.Flags |= subject.SetOf(subject.Sexual)
		}
	}
	return st
}

// unclassified reports whether a category or rating for adults in site, app or screen may be hidden
// in an unreadable value.
func (b *bidRequest) unclassified() bool {
	for _, c := range [...]*channel{&b.Site.v, &b.App.v, &b.DOOH.v} {
		about := &c.Content.v
		if max(
			c.CatTax.state, c.Cat.state, c.SectionCat.state, c.PageCat.state, c.Publisher.v.CatTax.state,
			c.Publisher.v.Cat.state, about.CatTax.state, about.Cat.state, about.Producer.v.CatTax.state,
			about.Producer.v.Cat.state, about.QAG.state,
		) == unreadable || about.Rating == unreadableCode {
			return true
		}
	}
	return false
}

// qagMature is the media rating for mature audiences (AdCOM, Media Ratings).
const qagMature = 3

// age returns the age group by year of birth. The birthday is unknown, so in the year of the 18th
// birthday a person counts as 17. An unreadable or impossible year counts as a child's.
func (s *bidSession) age() offer.Age {
	born := s.in.User.v.Born
	switch years := int64(s.started.UTC().Year()) - born.n; {
	case !born.set:
		return offer.AgeUnknown
	case years < 0, years > 130, years <= 13:
		return offer.AgeChild
	case years <= 18:
		return offer.AgeTeen
	}
	return offer.AgeUnknown // an exchange's statement unlocks nothing
}

func ofCategories(tax whole, list names) (set subject.Set) {
	for _, code := range list.list {
		set |= subject.OfCategory(int(tax.n), code)
	}
	return set
}

// matureRatings lists the ratings in contentrating for adults only, as their schemes write them:
// the MPA's for films and the TV Parental Guidelines in the USA, ESRB, PEGI and USK for games, BBFC
// and FSK for films in the United Kingdom and Germany. Letters that another scheme uses for younger
// audiences (M, 18) count only together with their scheme.
var matureRatings = map[string]bool{
	"R": true, "NC17": true, "X": true, "XXX": true, "MPAR": true, "MPAAR": true, "MPANC17": true, "MPAANC17": true,
	"TVMA": true, "AO": true, "ADULTSONLY": true, "ADULTSONLY18+": true, "ESRBM": true, "ESRBAO": true,
	"MATURE17+": true,
	"PEGI18":    true, "USK18": true, "BBFC18": true, "BBFCR18": true, "R18": true, "FSK18": true,
}

// mature reports whether a rating is one of [matureRatings], ignoring case and separators.
func mature(rating text) bool {
	var room [24]byte
	name := room[:0]
	for i := range len(rating) {
		c := rating[i]
		if strings.IndexByte(" -_:/()", c) >= 0 {
			continue
		}
		if len(name) == len(room) {
			return false
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		name = append(name, c)
	}
	return matureRatings[string(name)]
}

// unsuited reports whether an imp was refused for the subject of its conversation.
func unsuited(reason auction.Reason) bool {
	return reason == auction.Unsuitable || reason == auction.SensitiveSubject
}
