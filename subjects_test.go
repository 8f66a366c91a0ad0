package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"adnet/internal/campaign/subject"
	"adnet/schemas/openapi"
)

// TestOpenAPIListsSubjects holds the closed lists of openapi.json to those of the program.
func TestOpenAPIListsSubjects(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Enum []any `json:"enum"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	sensitive := subject.Names(subject.Sensitive)
	for name, want := range map[string][]string{
		"SubjectID": append(subject.Names(subject.Never), sensitive...), "SensitiveID": sensitive,
		"TradeID": subject.TradeNames(),
	} {
		var listed []string
		for _, id := range document.Components.Schemas[name].Enum {
			text, _ := id.(string)
			listed = append(listed, text)
		}
		if !slices.Equal(listed, want) {
			t.Errorf("schema %s of openapi.json lists %v, and the program %v", name, listed, want)
		}
	}
}

// subjectRows returns the rows of the table of subjects in docs/suitability.md.
func subjectRows() (rows []string) {
	for _, s := range subject.All {
		codes := func(list []string) string { return cmp.Or(strings.Join(list, ", "), "–") }
		garm, _, _ := strings.Cut(s.GARM, " ")
		iab := []string{codes(s.Content.V1), codes(s.Content.V2)}
		if newer := codes(s.Content.V3); newer != iab[1] {
			iab = append(iab, newer)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", s.Name, s.Tier, s.Means, s.Example,
			strings.TrimSuffix(garm, ","), strings.Join(iab, "; ")))
	}
	return rows
}

// TestSuitabilityPageListsSubjects holds the table of the page to the list of the program.
func TestSuitabilityPageListsSubjects(t *testing.T) {
	page := documents(t)["docs/suitability.md"]
	want := strings.Join(subjectRows(), "\n")
	if !strings.Contains(page, "|---|---|---|---|---|---|\n"+want+"\n\n") {
		t.Errorf("the table of subjects in docs/suitability.md must be:\n%s", want)
	}
	for _, name := range subject.TradeNames() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/suitability.md does not name the trade %s", name)
		}
	}
	rules, err := filepath.Glob("auction/suitability/rules/??.txt")
	if err != nil || len(rules) != len(covered) {
		t.Errorf(
			"there are rules for %d languages, and docs/suitability.md names %d: %v", len(rules), len(covered), err,
		)
	}
	for _, language := range covered {
		if !strings.Contains(page, language) {
			t.Errorf("docs/suitability.md does not name %s", language)
		}
	}
}

// covered lists the languages with rules, by their files.
var covered = []string{
	"Arabic", "German", "English", "Spanish", "French", "Hindi", "Italian", "Japanese", "Korean", "Portuguese",
	"Russian", "Thai", "Vietnamese", "Chinese",
}

// TestOpenAPIDefinesSubjects holds the definitions of openapi.json to those of the program.
func TestOpenAPIDefinesSubjects(t *testing.T) {
	var want strings.Builder
	want.WriteString("A subject of a conversation, with its tier.")
	for _, s := range subject.All {
		fmt.Fprintf(&want, " %s (%s): %s", s.Name, s.Tier, s.Means)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Description string `json:"description"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	if got := document.Components.Schemas["SubjectID"].Description; got != want.String() {
		t.Errorf("the description of SubjectID in openapi.json must be:\n%s\nand is:\n%s", want.String(), got)
	}
}
