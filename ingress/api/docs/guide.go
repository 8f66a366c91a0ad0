package docs

import (
	"embed"
	"html"
	"html/template"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed guide
var guide embed.FS

// chapter is a page of the guide, as pages.json describes it: both are made of docs/ by go generate.
type chapter struct {
	Path        string `json:"path"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Sections    []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		Words string `json:"words"`
	} `json:"sections"`
}

// addGuide makes the pages of the guide.
func (s *site) addGuide() ([]page, error) {
	text, err := guide.ReadFile("guide/pages.json")
	if err != nil {
		return nil, err
	}
	var chapters []chapter
	if err := json.Unmarshal(text, &chapters); err != nil {
		return nil, err
	}
	list := make([]page, 0, len(chapters)+1)
	for _, c := range chapters {
		body, err := guide.ReadFile("guide/" + c.Path + ".html")
		if err != nil {
			return nil, err
		}
		p := page{Path: "/docs/guide/" + c.Path, Title: c.Title, Description: c.Description, Body: s.placed(body)}
		for i, section := range c.Sections {
			at := p.Path
			if i > 0 {
				p.Parts = append(p.Parts, part{ID: section.ID, Title: section.Title})
				at += "#" + section.ID
			}
			s.find(section.Title, c.Title, at, section.Words)
		}
		list = append(list, p)
		s.pages = append(s.pages, p)
	}
	_, err = s.add(page{
		Path: "/docs/guide", Title: "Guide", Description: "How to integrate, advertise with and operate this installation.",
	}, "guide", list)
	return list, err
}

// placed puts the address of the installation into a page of the guide.
func (s *site) placed(body []byte) template.HTML {
	return template.HTML(strings.NewReplacer(
		"ADNET.BASE", html.EscapeString(s.Base), "ADNET.ROOT", html.EscapeString(s.Root),
	).Replace(string(body)))
}
