package docs

import (
	"strings"
)

// limits are the constraints shown with a type, and their wording.
var limits = []struct{ name, words string }{
	{"format", "%"}, {"const", "always %"}, {"minimum", "≥ %"}, {"exclusiveMinimum", "> %"}, {"maximum", "≤ %"},
	{"exclusiveMaximum", "< %"},
	{"minLength", "at least % characters"}, {"maxLength", "at most % characters"}, {"minItems", "at least % items"},
	{"maxItems", "at most % items"},
	{"pattern", "matches %"}, {"default", "default %"},
}

// kind describes the type of a schema.
func (r *reference) kind(n *node) (kind, error) {
	var words kind
	if n == nil {
		return words, nil
	}
	if ref := n.str("$ref"); ref != "" {
		_, name, err := r.resolve(n)
		if err != nil {
			return nil, err
		}
		return append(kind{{Text: name, Ref: "schema-" + name}}, limitsOf(n)...), nil
	}
	for _, union := range []string{"oneOf", "anyOf", "allOf"} {
		parts := n.list(union)
		if len(parts) == 0 || union == "allOf" && n.at("properties") != nil {
			continue
		}
		for i, part := range parts {
			alternative, err := r.kind(part)
			if err != nil {
				return nil, err
			}
			if i > 0 && union == "allOf" {
				words = append(words, word{Text: "and"})
			} else if i > 0 {
				words = append(words, word{Text: "or"})
			}
			words = append(words, alternative...)
		}
		return append(words, limitsOf(n)...), nil
	}
	names, nullable := make([]string, 0, 2), false
	for _, t := range n.list("type") {
		if nullable = nullable || t.text == "null"; t.text != "null" {
			names = append(names, t.text)
		}
	}
	words = append(words, word{Text: strings.Join(names, " or ")})
	if items := n.at("items"); items != nil {
		of, err := r.kind(items)
		if err != nil {
			return nil, err
		}
		words = append(append(words, word{Text: "of"}), of...)
	}
	if nullable {
		words = append(words, word{Text: "or null"})
	}
	return append(words, limitsOf(n)...), nil
}

func limitsOf(n *node) (words kind) {
	var values []string
	for _, value := range n.list("enum") {
		values = append(values, value.show())
	}
	if len(values) > 0 {
		words = append(words, word{Text: "· one of " + strings.Join(values, ", ")})
	}
	for _, limit := range limits {
		if value := n.at(limit.name); value != nil {
			words = append(words, word{Text: "· " + strings.Replace(limit.words, "%", value.show(), 1)})
		}
	}
	return words
}
