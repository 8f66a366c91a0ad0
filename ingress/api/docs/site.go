package docs

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"adnet/ingress/httpapi"
)

var (
	//go:embed layout.tmpl
	layoutTemplate string
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	style []byte
	//go:embed search.js
	script []byte
)

const htmlKind = "text/html; charset=utf-8"

// page is the content of a page. Path is its address below the base URL.
type page struct {
	Path, Title, Description string
	Parts                    []part // for the contents
	Body                     template.HTML
}

// part is a place in a page. Method is that of an operation, otherwise empty.
type part struct{ ID, Title, Method string }

// contents is a list of links to pages.
type contents struct {
	Title string
	Links []page
}

// site holds the content of all pages.
type site struct {
	*reference
	Base, Root string // the address of the installation, and its path
	Sheets     []sheet
	templates  *template.Template
	pages      []page
	index      []found
}

// render makes all files by path.
func render(deps Deps) (map[string]*httpapi.File, error) {
	read, err := readReference(deps.Document)
	if err != nil {
		return nil, fmt.Errorf("reference pages: %w", err)
	}
	s := &site{reference: read, Base: deps.BaseURL()}
	s.Root = httpapi.PathOf(s.Base)
	s.templates, err = template.New("page").Funcs(template.FuncMap{"text": richText, "link": s.link}).Parse(pageTemplate)
	if err == nil {
		_, err = s.templates.New("layout").Parse(layoutTemplate)
	}
	if err != nil {
		return nil, fmt.Errorf("reference pages: %w", err)
	}
	contents, err := s.build()
	if err != nil {
		return nil, fmt.Errorf("reference pages: %w", err)
	}
	return s.finish(contents)
}

// build makes the body of every page, and returns the contents that all of them show.
func (s *site) build() (list []contents, err error) {
	guide, err := s.addGuide()
	if err != nil {
		return nil, err
	}
	api, err := s.addReference()
	return []contents{{"Guide", guide}, {"API", api}}, err
}

// finish puts every page into its frame, and adds the files that the pages load.
func (s *site) finish(list []contents) (map[string]*httpapi.File, error) {
	files := map[string]*httpapi.File{
		"/docs/style.css": httpapi.NewFile("text/css; charset=utf-8", style),
		"/docs/search.js": httpapi.NewFile("text/javascript; charset=utf-8", script),
		robotsPath:        httpapi.NewFile(textKind, s.robots()),
		llmsPath:          httpapi.NewFile(textKind, s.llms(list)),
	}
	for _, p := range s.pages {
		body, err := s.execute("layout", struct {
			Page       page
			Contents   []contents
			Root, Site string
		}{p, list, s.Root, s.Title})
		if err != nil {
			return nil, err
		}
		files[p.Path] = httpapi.NewFile(htmlKind, []byte(body))
	}
	index, err := s.packIndex()
	files["/docs/index.json"] = httpapi.NewFile("application/json", index)
	return files, err
}

// execute renders a template.
func (s *site) execute(name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := s.templates.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err
}

// add makes a page from a template.
func (s *site) add(p page, name string, data any) (page, error) {
	body, err := s.execute(name, data)
	p.Body = body
	s.pages = append(s.pages, p)
	return p, err
}
