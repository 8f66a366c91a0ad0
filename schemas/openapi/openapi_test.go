package openapi

import (
	"encoding/json"
	"slices"
	"testing"

	"adnet/schemas/event"
)

func TestDocumentHasEveryEventType(t *testing.T) {
	var document struct {
		Components struct {
			Schemas struct {
				EventType struct {
					Enum []string `json:"enum"`
				}
				Counts struct {
					Required   []string                   `json:"required"`
					Properties map[string]json.RawMessage `json:"properties"`
				}
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(Document, &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	counts := &document.Components.Schemas.Counts
	for _, k := range event.Kinds() {
		names = append(names, k.Name)
		if !slices.Contains(counts.Required, k.Column) || counts.Properties[k.Column] == nil {
			t.Errorf("Counts lacks %s", k.Column)
		}
	}
	if got := document.Components.Schemas.EventType.Enum; !slices.Equal(got, names) {
		t.Errorf("EventType lists %v, the table %v", got, names)
	}
}
