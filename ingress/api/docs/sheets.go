package docs

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// sheet is a page with operations of a tag.
type sheet struct {
	Path, Title, Description string
	Operations               []operation
	Articles                 []template.HTML
}

// sheetBytes is the length in bytes from which the articles of a tag go on in a further page, so
// that no page exceeds 100 kB with its frame.
const sheetBytes = 80_000

// link returns the address of what a page refers to: a path, or a scheme, parameter or schema.
func (s *site) link(ref string) string {
	switch {
	case strings.HasPrefix(ref, "/"):
		return s.Root + ref
	case strings.HasPrefix(ref, "schema-"):
		return s.Root + "/docs/schemas/" + strings.TrimPrefix(ref, "schema-")
	}
	return s.Root + "/docs#" + ref
}

// addReference makes the pages of openapi.json, and returns those that the contents list.
func (s *site) addReference() (list []page, err error) {
	for _, g := range s.Groups {
		if err := s.addSheets(g); err != nil {
			return nil, err
		}
	}
	start, err := s.add(page{Path: "/docs", Title: "API", Description: s.Summary}, "start", s)
	if err != nil {
		return nil, err
	}
	list = append(list, start)
	for _, sheet := range s.Sheets {
		p := page{Path: sheet.Path, Title: sheet.Title, Description: sheet.Description}
		for _, o := range sheet.Operations {
			p.Parts = append(p.Parts, part{ID: o.ID, Title: o.Summary, Method: o.Method})
			s.find(o.Method+" "+o.Path, sheet.Title, o.Address, wordsOfOperation(o))
		}
		if p, err = s.add(p, "sheet", sheet); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return s.addSchemas(list)
}

// addSheets divides the operations of a tag into pages.
func (s *site) addSheets(g group) error {
	length, number := 0, 0
	for _, o := range g.Operations {
		article, err := s.execute("operation", o)
		if err != nil {
			return err
		}
		if number == 0 || length+len(article) > sheetBytes {
			number, length = number+1, 0
			s.Sheets = append(s.Sheets, numbered(g, number))
		}
		length += len(article)
		last := &s.Sheets[len(s.Sheets)-1]
		o.Address = last.Path + "#" + o.ID
		last.Operations, last.Articles = append(last.Operations, o), append(last.Articles, article)
	}
	return nil
}

func numbered(g group, number int) sheet {
	made := sheet{Path: "/docs/api/" + g.Name, Title: g.Name, Description: g.Description}
	if number > 1 {
		made.Path += "-" + strconv.Itoa(number)
		made.Title += fmt.Sprintf(" (%d)", number)
	}
	return made
}

// addSchemas makes a page of each schema, and one with their list.
func (s *site) addSchemas(list []page) ([]page, error) {
	all, err := s.add(page{
		Path: "/docs/schemas", Title: "Schemas", Description: "The objects in request bodies and replies of the API.",
	}, "schemas", s)
	if err != nil {
		return nil, err
	}
	for _, of := range s.Schemas {
		p := page{Path: "/docs/schemas/" + of.Name, Title: of.Name, Description: of.Description}
		if p.Description == "" {
			p.Description = "The fields of " + of.Name + " in request bodies and replies of the API."
		}
		if _, err := s.add(p, "schema", of); err != nil {
			return nil, err
		}
		s.find(of.Name, "Schemas", p.Path, wordsOfSchema(of))
	}
	return append(list, all), nil
}
