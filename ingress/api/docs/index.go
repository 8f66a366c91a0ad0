package docs

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

// found is an entry of the index that the search reads.
type found struct {
	Title string `json:"t"`
	In    string `json:"p"` // title of the page
	Path  string `json:"u"`
	Words string `json:"w"`
}

// find adds an entry to the index.
func (s *site) find(title, in, path, words string) {
	s.index = append(s.index, found{title, in, s.Root + path, words})
}

func (s *site) packIndex() ([]byte, error) { return json.Marshal(s.index) }

// wordsOfOperation are the words that a search finds an operation by.
func wordsOfOperation(o operation) string {
	texts := []string{o.ID, o.Summary, o.Description}
	for _, p := range o.Parameters {
		texts = append(texts, p.Name)
	}
	if o.Body != nil {
		for _, f := range o.Body.Fields {
			texts = append(texts, f.Name)
		}
	}
	return words(texts)
}

func wordsOfSchema(of schema) string {
	texts := []string{of.Description}
	for _, f := range of.Fields {
		texts = append(texts, f.Name)
	}
	return words(texts)
}

// words returns each word of texts once. Shorter ones find too much.
func words(texts []string) string {
	list := strings.FieldsFunc(strings.ToLower(strings.Join(texts, " ")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	list = slices.DeleteFunc(list, func(word string) bool { return len(word) < 4 })
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}
