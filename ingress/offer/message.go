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

// part is a part of a message, of any kind.
type part struct {
	Type    string         `json:"type"`
	Text    jsontext.Value `json:"text"` // a text, or OpenAI's {"value": "…"}
	Thought jsontext.Value `json:"thought"`
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
		if !m.add(content) {
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

// add adds the texts of a content. ok is false if it is neither a text nor parts.
func (m *Message) add(content jsontext.Value) (ok bool) {
	if content == nil || content.Kind() == 'n' {
		return true
	}
	parts := []jsontext.Value{content}
	if content.Kind() == '[' {
		if err := json.Unmarshal(content, &parts); err != nil {
			return false
		}
	}
	for _, p := range parts {
		text, ok := partText(p)
		if !ok {
			return false
		}
		if m.Content != "" && text != "" {
			m.Content += "\n"
		}
		m.Content += text
	}
	return true
}

// partText returns the text of a part; it is empty for pictures, calls, thoughts and null.
func partText(v jsontext.Value) (text string, ok bool) {
	switch v.Kind() {
	case 'n':
		return "", true
	case '"':
		return textOf(v), true
	case '{':
	default:
		return "", false
	}
	var p part
	if err := json.Unmarshal(v, &p); err != nil || string(p.Thought) == "true" {
		return "", true
	}
	switch p.Type {
	case "", "text", "input_text", "output_text":
		return textOf(p.Text), true
	}
	return "", true
}

// textOf returns the text of a string or of {"value": "…"}; empty for another value.
func textOf(v jsontext.Value) (text string) {
	if v.Kind() == '{' {
		var in struct {
			Value jsontext.Value `json:"value"`
		}
		if json.Unmarshal(v, &in) != nil {
			return ""
		}
		v = in.Value
	}
	if v.Kind() == '"' {
		_ = json.Unmarshal(v, &text) // v is valid
	}
	return text
}
