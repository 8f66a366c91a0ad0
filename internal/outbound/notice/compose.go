package notice

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// words are the texts of a kind in one language. Names in braces are replaced: see [values].
type words struct {
	subject string // without anything that an account wrote
	line    string // of each fact
	act     string // label of the link
	path    string // of the link, below the installation's address
}

// frame are the texts of every mail in one language.
type frame struct {
	lang, hello, more, end, endAct, settings, unnamed string
	decisions                                         map[string]string // of cases
	kinds                                             map[string]words
}

// Fact is a line of a mail with the name of its campaign.
type Fact struct {
	Line
	Name string
}

// Mail is a mail to compose.
type Mail struct {
	Account  uuid.UUID
	To, Kind string
	Language string
	Base     string // address of the installation
	Token    string // ends this kind
	Facts    []Fact
}

// mostShown bounds the facts that a mail lists; it counts the others.
const mostShown = 20

// composed are the values of the page.
type composed struct {
	Lang, Subject, Hello       string
	Lines                      []link
	More                       string
	End, EndAct, EndURL        string
	Settings, SettingsURL, Act string
}

type link struct{ Text, URL, Act string }

// page is a mail as HTML. The template escapes what accounts wrote.
var page = template.Must(template.New("mail").Parse(`<!doctype html><html lang="{{.Lang}}"><head><meta charset="utf-8">
<title>{{.Subject}}</title></head><body style="font:16px/1.5 sans-serif;max-width:36em;color:#1a1a1a">
<h1 style="font-size:20px">{{.Subject}}</h1><p>{{.Hello}}</p>
{{range .Lines}}<p>{{.Text}}<br><a href="{{.URL}}">{{.Act}}</a></p>
{{end}}{{if .More}}<p>{{.More}}</p>
{{end}}<p style="font-size:13px;color:#555">{{.End}} <a href="{{.EndURL}}">{{.EndAct}}</a> · <a href="{{.SettingsURL}}">{{.Settings}}</a></p>
</body></html>
`))

// Compose returns the letter of a mail. Errors: errs.InvalidRequest for an unknown kind.
func Compose(m Mail) (l account.Letter, err error) {
	f := frameOf(m.Language)
	w, known := f.kinds[m.Kind]
	if !known {
		return l, errs.New(errs.InvalidRequest, "there are no mails of the kind %q", m.Kind)
	}
	c := composed{
		Lang: f.lang, Subject: w.subject, Hello: f.hello, End: f.end, EndAct: f.endAct,
		EndURL: m.Base + "/unsubscribe/" + m.Token, Settings: f.settings, SettingsURL: m.Base + "/console/profile",
	}
	shown := m.Facts[:min(len(m.Facts), mostShown)]
	for i := range shown {
		replace := f.values(&shown[i])
		c.Lines = append(c.Lines, link{
			strings.TrimSpace(replace.Replace(w.line)), m.Base + replace.Replace(w.path), w.act,
		})
	}
	if left := len(m.Facts) - len(shown); left > 0 {
		c.More = fmt.Sprintf(f.more, left)
	}
	var html strings.Builder
	if err := page.Execute(&html, c); err != nil {
		return l, err
	}
	return account.Letter{
		To: m.To, Subject: c.Subject, Text: c.text(), HTML: html.String(), Unsubscribe: c.EndURL,
	}, nil
}

// frameOf returns the texts of a language, English for any other.
func frameOf(language string) *frame {
	if language == German {
		return &german
	}
	return &english
}

// Subject returns the subject of the mails of a kind; empty for an unknown one.
func Subject(kind, language string) string { return frameOf(language).kinds[kind].subject }

// text returns the mail as plain text.
func (c *composed) text() string {
	var b strings.Builder
	b.WriteString(c.Hello + "\n\n")
	for _, l := range c.Lines {
		b.WriteString(l.Text + "\n" + l.Act + ": " + l.URL + "\n\n")
	}
	if c.More != "" {
		b.WriteString(c.More + "\n\n")
	}
	b.WriteString("-- \n" + c.End + "\n" + c.EndAct + ": " + c.EndURL + "\n" + c.Settings + ": " + c.SettingsURL + "\n")
	return b.String()
}

// values replaces the names in braces.
func (f *frame) values(of *Fact) *strings.Replacer {
	name := plain(of.Name)
	if name == "" {
		name = f.unnamed
	}
	return strings.NewReplacer(
		"{name}", name, "{notes}", plain(of.Notes), "{decision}", f.decisions[of.Decision], "{date}", plain(of.Date),
		"{since}", plain(of.Since), "{balance}", usd(of.Balance), "{days}", fmt.Sprint(of.Days),
		"{credits}", fmt.Sprint(of.Credits), "{count}", fmt.Sprint(of.Count), "{spent}", usd(of.Spent),
		"{shown}", fmt.Sprint(of.Shown), "{clicks}", fmt.Sprint(of.Clicks), "{campaign}", of.CampaignID.String(),
	)
}

// usd returns an amount in whole cents, rounded down.
func usd(m money.Micros) string {
	cents := int64(m) / int64(money.USD/100)
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// plain returns a text as one line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
