package main

import (
	"slices"
	"testing"

	"adnet/internal/subject"
	"adnet/schemas/openapi"

	"github.com/go-json-experiment/json"
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
		"SubjectID": append(subject.Names(subject.Never), sensitive...), "SensitiveID": sensitive, "TradeID": subject.TradeNames(),
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
