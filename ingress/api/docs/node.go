package docs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that keeps the order of its members, because the pages list them in that
// order. The package parses the document itself: kin-openapi, which the tests use, keeps members in
// unordered maps, and the binary does not need it.
type node struct {
	members []member       // of an object
	items   []*node        // of an array
	text    string         // of a string
	raw     jsontext.Value // compact
}

type member struct {
	name  string
	value *node
}

func parseNode(raw jsontext.Value) (*node, error) {
	n := &node{raw: raw}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	switch raw.Kind() {
	case '"':
		return n, json.Unmarshal(raw, &n.text)
	case '{', '[':
	default:
		return n, nil
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for decoder.PeekKind() != '}' && decoder.PeekKind() != ']' {
		var name string
		if raw.Kind() == '{' {
			token, err := decoder.ReadToken()
			if err != nil {
				return nil, err
			}
			name = token.String()
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		child, err := parseNode(value.Clone())
		if err != nil {
			return nil, err
		}
		if raw.Kind() == '{' {
			n.members = append(n.members, member{name, child})
		} else {
			n.items = append(n.items, child)
		}
	}
	return n, nil
}

// at walks into objects. It returns nil for a missing path; all methods accept a nil node.
func (n *node) at(path ...string) *node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		var next *node
		for _, m := range n.members {
			if m.name == name {
				next = m.value
			}
		}
		n = next
	}
	return n
}

func (n *node) str(path ...string) string {
	if n = n.at(path...); n == nil {
		return ""
	}
	return n.text
}

// list returns the items under path. A single value counts as a list of one.
func (n *node) list(path ...string) []*node {
	switch n = n.at(path...); {
	case n == nil:
		return nil
	case n.raw.Kind() == '[':
		return n.items
	}
	return []*node{n}
}

func (n *node) all() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// show formats a scalar: a string without its quotes.
func (n *node) show() string {
	switch {
	case n == nil:
		return ""
	case n.raw.Kind() == '"':
		return n.text
	}
	return string(n.raw)
}

// pretty formats the value over several lines.
func pretty(raw jsontext.Value) string {
	v := raw.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(raw)
	}
	return string(v)
}

const refPrefix = "#/components/"

// resolve follows $ref inside the document. name is the last part of the reference, or empty
// without one.
func (r *reference) resolve(n *node) (target *node, name string, err error) {
	for hops := 0; ; hops++ {
		ref := n.str("$ref")
		if ref == "" {
			return n, name, nil
		}
		path, inside := strings.CutPrefix(ref, refPrefix)
		target = r.doc.at(append([]string{"components"}, strings.Split(path, "/")...)...)
		if !inside || target == nil || hops > 8 {
			return nil, "", fmt.Errorf("%s refers to nothing", ref)
		}
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		n = target
	}
}
