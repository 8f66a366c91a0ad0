package consent

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/jsonscan"
)

// Choice is an optional yes or no.
type Choice int8

// The choices. Any other value is unclear, which counts as no consent.
const (
	Unsaid  Choice = 0
	Yes     Choice = 1
	No      Choice = 2
	Unclear Choice = 3
)

// UnmarshalJSONFrom reads what [ParseChoice] accepts.
func (c *Choice) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err == nil {
		*c = ParseChoice(string(v))
	}
	return err
}

// Scan reads what [ParseChoice] accepts.
func (c *Choice) Scan(in *jsonscan.Reader) { *c = ParseChoice(in.Raw()) }

// Strict reports whether a flag must be treated as set: it is a yes, or unclear.
func (c Choice) Strict() bool { return c == Yes || c == Unclear }

// ParseChoice returns the choice for a JSON value: a boolean, a number, or a text of one or of yes
// or no. Null and a blank text are [Unsaid].
func ParseChoice(v string) Choice {
	switch v {
	case "null", `""`:
		return Unsaid
	case "true", "1", `"1"`, `"true"`:
		return Yes
	case "false", "0", `"0"`, `"false"`:
		return No
	}
	if len(v) > 1 && v[0] == '"' {
		plain, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return Unclear
		}
		v = strings.ToLower(strings.TrimSpace(string(plain)))
	}
	return word(v)
}

// word returns the choice for the content of a text, or for a number.
func word(v string) Choice {
	switch v {
	case "":
		return Unsaid
	case "true", "yes":
		return Yes
	case "false", "no":
		return No
	}
	switch f, err := strconv.ParseFloat(v, 64); {
	case err == nil && f == 1:
		return Yes
	case err == nil && f == 0:
		return No
	}
	return Unclear
}
