package httpapi

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// part is a part of a message, of any kind.
type part struct {
	Type    string         `json:"type"`
	Text    jsontext.Value `json:"text"` // a text, or OpenAI's {"value": "…"}
	Thought jsontext.Value `json:"thought"`
}

// PartsText returns the texts of a content, one a line: a text, or the part or list of parts that
// OpenAI's, Gemini's and other clients send. ok is false if it is neither.
func PartsText(content jsontext.Value) (text string, ok bool) {
	if content == nil || content.Kind() == 'n' {
		return "", true
	}
	parts := []jsontext.Value{content}
	if content.Kind() == '[' {
		if err := json.Unmarshal(content, &parts); err != nil {
			return "", false
		}
	}
	for _, p := range parts {
		more, ok := partText(p)
		if !ok {
			return "", false
		}
		if text != "" && more != "" {
			text += "\n"
		}
		text += more
	}
	return text, true
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
