package offer

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
)

// Message is one turn of a conversation. Besides {role, content} it reads the messages of OpenAI's,
// Gemini's and other clients: a list of parts in content or parts, of which texts are read, the
// items of OpenAI's Responses API, and further roles (see roleOf).
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// roleOf holds the roles of other protocols by their name there.
var roleOf = map[string]string{
	"developer": "system",    // OpenAI, in place of system
	"function":  "tool",      // OpenAI, and Gemini's answers of functions
	"model":     "assistant", // Gemini
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *Message) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var in struct {
		Role    string         `json:"role"`
		Type    string         `json:"type"`
		Content jsontext.Value `json:"content"`
		Parts   jsontext.Value `json:"parts"`  // Gemini
		Output  jsontext.Value `json:"output"` // OpenAI, of a function
	}
	if err := json.UnmarshalDecode(d, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role}
	if m.Role == "" {
		m.Role = unnamedRole(in.Type, in.Parts != nil)
	}
	for _, content := range []jsontext.Value{in.Content, in.Parts, in.Output} {
		if m.Content != "" { // some clients send a text in both forms
			break
		}
		var ok bool
		if m.Content, ok = httpapi.PartsText(content); !ok {
			return wrong(
				"messages", `must have as content a text like "hello" or a list of parts like `+
					`[{"type": "text", "text": "hello"}], not %s`, httpapi.KindName(content.Kind()),
			)
		}
	}
	return nil
}

// unnamedRole returns the role of a message without one: an item of OpenAI's Responses API, or the
// user's contents of Gemini. Items without a speaker (a call of a function, a chain of thought) count
// as instructions, which are not read.
func unnamedRole(kind string, parts bool) string {
	switch {
	case strings.HasSuffix(kind, "_output"):
		return "tool"
	case kind != "" && kind != "message":
		return "system"
	case parts:
		return "user"
	}
	return ""
}
