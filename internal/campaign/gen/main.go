// Command gen writes the properties of campaigns into schemas/openapi/openapi.json, from the table
// of fields. Types and limits come from the table. Descriptions, and all else that the table does
// not determine, stay as they are in the file. Run it with go generate ./internal/campaign.
package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/money/share"
)

const document = "../../schemas/openapi/openapi.json"

func main() {
	text, err := os.ReadFile(document)
	for _, s := range schemas() {
		if err == nil {
			text, err = s.write(text)
		}
	}
	if err == nil {
		err = os.WriteFile(document, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "internal/campaign/gen:", err)
		os.Exit(1)
	}
}

// schema is an object of the document.
type schema struct {
	name       string
	required   bool // it lists required properties
	properties []property
}

// property is a field with a zero value of its type.
type property struct {
	campaign.Spec
	at   any
	sent bool // by an owner, as null for the default
}

func schemas() []schema {
	var creative, owned, all []property
	for _, f := range campaign.CreativeTable {
		creative = append(creative, property{f.Spec, f.At(new(campaign.Creative)), false})
	}
	for _, f := range campaign.Table {
		all = append(all, property{f.Spec, f.At(new(campaign.Campaign)), false})
		if f.By == campaign.ByOwner {
			owned = append(owned, property{f.Spec, f.At(new(campaign.Campaign)), true})
		}
	}
	return []schema{{"Creative", true, creative}, {"CampaignFields", false, owned}, {"Campaign", true, all}}
}

// write returns text with the properties of s. An object of the document has its members on lines
// with 8 spaces and its properties on lines with 10.
func (s *schema) write(text []byte) ([]byte, error) {
	before, block, found := bytes.Cut(text, []byte("\n      \""+s.name+"\": {\n"))
	head, rest, listed := bytes.Cut(block, []byte("\n        \"properties\": {\n"))
	old, after, closed := bytes.Cut(rest, []byte("\n        }"))
	if !found || !listed || !closed {
		return nil, fmt.Errorf("no schema %s in the expected form", s.name)
	}
	known, err := members([]byte("{" + string(old) + "}"))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.name, err)
	}
	var names, lines []string
	for i := range s.properties {
		p := &s.properties[i]
		line, err := p.line(known)
		if err != nil {
			return nil, fmt.Errorf("schema %s, property %s: %w", s.name, p.Name, err)
		}
		lines = append(lines, line)
		if !p.OmitEmpty {
			names = append(names, `"`+p.Name+`"`)
		}
	}
	if from := bytes.Index(head, []byte(`"required": [`)); s.required && from >= 0 {
		to := from + bytes.IndexByte(head[from:], ']')
		list := `"required": [` + strings.Join(names, ", ")
		head = slices.Concat(head[:from], []byte(list), head[to:])
	}
	return slices.Concat(
		before, []byte("\n      \""+s.name+"\": {\n"), head, []byte("\n        \"properties\": {\n"),
		[]byte(strings.Join(lines, ",\n")), []byte("\n        }"), after,
	), nil
}

// member is a member of a JSON object. Value is its text.
type member struct{ name, value string }

func members(object []byte) (list []member, err error) {
	in := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := in.ReadToken(); err != nil {
		return nil, err
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		list = append(list, member{key, string(value)})
	}
	_, err = in.ReadToken()
	return list, err
}

// determined are the keywords of a property that the table determines.
var determined = []string{
	"$ref", "oneOf", "type", "format", "enum", "minLength", "maxLength", "minimum", "maximum", "maxItems",
}

// line returns the line of the property, with what only the document knows.
func (p *property) line(known []member) (string, error) {
	list := p.keywords()
	if i := slices.IndexFunc(known, func(m member) bool { return m.name == p.Name }); i >= 0 {
		stated, err := members([]byte(known[i].value))
		if err != nil {
			return "", err
		}
		for _, m := range stated {
			has := slices.ContainsFunc(list, func(own member) bool { return own.name == m.name })
			if !has && !slices.Contains(determined, m.name) {
				list = append(list, m)
			}
		}
	}
	if p.Kind == campaign.List && p.Schema == "" &&
		!slices.ContainsFunc(list, func(m member) bool { return m.name == "items" }) {
		list = append(list, member{"items", `{"type": "string"}`})
	}
	var parts []string
	for _, m := range list {
		parts = append(parts, `"`+m.name+`": `+m.value)
	}
	return `          "` + p.Name + `": {` + strings.Join(parts, ", ") + "}", nil
}

// keywords returns the keywords that the table determines.
func (p *property) keywords() (list []member) {
	add := func(name, format string, args ...any) {
		list = append(list, member{name, fmt.Sprintf(format, args...)})
	}
	kind, format, null := p.jsonType()
	null = null || p.sent && !p.Required
	if ref := p.ref(); ref != "" && null {
		add("oneOf", `[%s, {"type": "null"}]`, ref)
	} else if ref != "" {
		add("$ref", "%s", strings.TrimSuffix(strings.TrimPrefix(ref, `{"$ref": `), "}"))
	} else if null {
		add("type", `["%s", "null"]`, kind)
	} else {
		add("type", `"%s"`, kind)
	}
	if format != "" {
		add("format", `"%s"`, format)
	}
	if p.sent && p.Required {
		add("minLength", "1")
	}
	switch p.Kind {
	case campaign.Text, campaign.Line:
		add("maxLength", "%d", p.Max)
	case campaign.Choice:
		if p.Schema == "" {
			add("enum", "%s", enum(p.Values, null))
		}
	case campaign.Number:
		add("minimum", "%s", p.number(p.Low))
		if p.High != 0 {
			add("maximum", "%s", p.number(p.High))
		}
	case campaign.List, campaign.Object:
		if p.Kind == campaign.List && p.Max > 0 {
			add("maxItems", "%d", p.Max)
		}
		if p.Items != "" {
			add("items", `{"$ref": "#/components/schemas/%s"}`, p.Items)
		}
	}
	return list
}

// ref returns a reference to the schema of the value, if it has a name.
func (p *property) ref() string {
	name := p.Schema
	if p.Kind == campaign.Link {
		name = "Link"
	}
	if name == "" {
		return ""
	}
	return `{"$ref": "#/components/schemas/` + name + `"}`
}

// jsonType returns the type and format of the value. null reports whether it may be null.
func (p *property) jsonType() (kind, format string, null bool) {
	switch p.at.(type) {
	case *uuid.UUID:
		return "string", "uuid", false
	case *time.Time:
		return "string", "date-time", false
	case **time.Time:
		return "string", "date-time", true
	case *bool:
		return "boolean", "", false
	case *int, *int64:
		return "integer", "", false
	case *money.Micros, *share.Share:
		return "number", "", false
	case **money.Micros:
		return "number", "", true
	case *[]string, *[]campaign.Violation:
		return "array", "", false
	case *string:
		return "string", "", false
	}
	return "object", "", false
}

// number returns n as a number of JSON. Amounts and shares are in millionths.
func (p *property) number(n int64) string {
	switch p.at.(type) {
	case *int, *int64:
		return fmt.Sprint(n)
	}
	return money.Micros(n).String()
}

func enum(values []string, null bool) string {
	var list []string
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // a text without invalid UTF-8
		}
		list = append(list, string(text))
	}
	if null {
		list = append(list, "null")
	}
	return "[" + strings.Join(list, ", ") + "]"
}
