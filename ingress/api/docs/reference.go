package docs

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
)

// reference is the content of the pages of openapi.json.
type reference struct {
	doc *node

	Title, Version, Summary, Description string
	Groups                               []group
	Schemes                              []scheme
	Common                               []parameter
	Errors                               []errorCode
	ErrorFields                          []field
	Schemas                              []schema
}

// group holds the operations of a tag.
type group struct {
	Name, Description string
	Operations        []operation
}

// scheme is a kind of credentials. Sample is a value that works for every reader, or a placeholder.
type scheme struct{ Name, Description, Variable, Sample string }

// errorCode is a row of the table of errors.
type errorCode struct {
	Code   string
	Status int
	Text   string
}

type operation struct {
	ID, Method, Path, Summary, Description string
	Credentials                            []string // names of the accepted credentials; empty: none needed
	Optional                               bool     // credentials are optional
	Parameters                             []parameter
	Body                                   *body
	Replies                                []reply
	Curl                                   string
	Address                                string // of its place in the pages
}

// parameter has a Ref if its description is long and in Common.
type parameter struct {
	Name, In, Description string
	Ref                   string
	Required              bool
	Type                  kind
}

type body struct {
	Required    bool
	ContentType string
	Type        kind
	Fields      []field
	Examples    []example
}

type reply struct {
	Status, Title, Description string
	Headers                    []string
	ContentType                string
	Type                       kind
	Examples                   []example
}

type example struct{ Name, Text string }

type schema struct {
	Name, Description string
	Type              kind
	Fields            []field
	Example           string
}

type field struct {
	Name, Description string
	Required          bool
	Type              kind
}

// kind is the description of a type. Parts are joined by spaces; parts with a Ref are links.
type kind []word

type word struct{ Text, Ref string }

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options"}

// readReference converts the document to the page's content.
func readReference(document []byte) (*reference, error) {
	doc, err := parseNode(jsontext.Value(document))
	if err != nil {
		return nil, err
	}
	r := &reference{
		doc: doc, Title: doc.str("info", "title"), Version: doc.str("info", "version"),
		Summary: doc.str("info", "summary"), Description: doc.str("info", "description"),
	}
	for _, tag := range doc.list("tags") {
		r.Groups = append(r.Groups, group{Name: tag.str("name"), Description: tag.str("description")})
	}
	for _, path := range doc.at("paths").all() {
		for _, m := range path.value.all() {
			if !slices.Contains(methods, m.name) {
				continue
			}
			if err := r.addOperation(path, m); err != nil {
				return nil, fmt.Errorf("%s %s: %w", m.name, path.name, err)
			}
		}
	}
	for _, s := range doc.at("components", "securitySchemes").all() {
		added := scheme{Name: s.name, Description: s.value.str("description"), Variable: variable(s.name), Sample: "…"}
		if s.name == "publisherKey" {
			added.Sample = account.PublicSandboxKey
		}
		r.Schemes = append(r.Schemes, added)
	}
	for _, s := range doc.at("components", "schemas").all() {
		converted, err := r.schema(s)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", s.name, err)
		}
		r.Schemas = append(r.Schemas, converted)
	}
	return r, r.readErrors()
}

// readErrors lists the codes of the schema Error with their HTTP status.
func (r *reference) readErrors() (err error) {
	schema := r.doc.at("components", "schemas", "Error")
	if r.ErrorFields, err = r.fields(schema); err != nil {
		return err
	}
	for _, code := range schema.list("properties", "code", "enum") {
		status := httpapi.Status(errs.Code(code.text))
		r.Errors = append(r.Errors, errorCode{Code: code.text, Status: status, Text: http.StatusText(status)})
	}
	slices.SortStableFunc(r.Errors, func(a, b errorCode) int { return a.Status - b.Status })
	return nil
}

func (r *reference) addOperation(path, method member) error {
	n := method.value
	o := operation{
		ID: n.str("operationId"), Method: strings.ToUpper(method.name), Path: path.name,
		Summary: n.str("summary"), Description: n.str("description"),
	}
	for _, alternative := range n.list("security") {
		if len(alternative.members) == 0 {
			o.Optional = true
		}
		for _, s := range alternative.members {
			o.Credentials = append(o.Credentials, s.name)
		}
	}
	for _, p := range append(slices.Clone(path.value.list("parameters")), n.list("parameters")...) {
		parameter, err := r.parameter(p)
		if err != nil {
			return err
		}
		o.Parameters = append(o.Parameters, parameter)
	}
	var err error
	if o.Body, err = r.body(n.at("requestBody")); err != nil {
		return err
	}
	for _, answer := range n.at("responses").all() {
		reply, err := r.reply(answer)
		if err != nil {
			return err
		}
		o.Replies = append(o.Replies, reply)
	}
	o.Curl = r.curl(o, append(slices.Clone(path.value.list("parameters")), n.list("parameters")...))
	for i := range r.Groups {
		if tags := n.list("tags"); len(tags) > 0 && tags[0].text == r.Groups[i].Name {
			r.Groups[i].Operations = append(r.Groups[i].Operations, o)
			return nil
		}
	}
	return fmt.Errorf("its tag is not listed")
}

// longText is the length of the descriptions that operations do not repeat.
const longText = 200

// parameter returns a parameter of an operation, and adds a shared one with a long text to Common.
func (r *reference) parameter(n *node) (p parameter, err error) {
	n, shared, err := r.resolve(n)
	if err != nil {
		return p, err
	}
	p = parameter{
		Name: n.str("name"), In: n.str("in"), Description: n.str("description"),
		Required: n.at("required").show() == "true",
	}
	p.Type, err = r.kind(n.at("schema"))
	if shared == "" || len(p.Description) <= longText {
		return p, err
	}
	p.Ref = "parameter-" + shared
	if !slices.ContainsFunc(r.Common, func(c parameter) bool { return c.Ref == p.Ref }) {
		r.Common = append(r.Common, p)
	}
	return p, err
}

// content returns the first media type of a body or reply.
func content(n *node) (mediaType string, value *node) {
	for _, m := range n.at("content").all() {
		return m.name, m.value
	}
	return "", nil
}

func (r *reference) body(n *node) (*body, error) {
	if n == nil {
		return nil, nil
	}
	n, _, err := r.resolve(n)
	if err != nil {
		return nil, err
	}
	b := &body{Required: n.at("required").show() == "true"}
	var media *node
	b.ContentType, media = content(n)
	if b.Type, err = r.kind(media.at("schema")); err != nil {
		return nil, err
	}
	target, _, err := r.resolve(media.at("schema"))
	if err != nil {
		return nil, err
	}
	if b.Fields, err = r.fields(target); err != nil {
		return nil, err
	}
	b.Examples, err = r.examples(media)
	return b, err
}

func (r *reference) reply(answer member) (p reply, err error) {
	n, _, err := r.resolve(answer.value)
	if err != nil {
		return p, err
	}
	p = reply{Status: answer.name, Description: n.str("description")}
	if status, err := strconv.Atoi(answer.name); err == nil {
		p.Title = http.StatusText(status)
	}
	for _, h := range n.at("headers").all() {
		p.Headers = append(p.Headers, h.name)
	}
	var media *node
	p.ContentType, media = content(n)
	if media == nil {
		return p, nil
	}
	if p.Type, err = r.kind(media.at("schema")); err != nil {
		return p, err
	}
	p.Examples, err = r.examples(media)
	return p, err
}

// examples returns the examples of a media type, or else of its schema.
func (r *reference) examples(media *node) (all []example, err error) {
	if single := media.at("example"); single != nil {
		return []example{{Text: pretty(single.raw)}}, nil
	}
	for _, m := range media.at("examples").all() {
		named, _, err := r.resolve(m.value)
		if err != nil {
			return nil, err
		}
		name := named.str("summary")
		if name == "" {
			name = m.name
		}
		all = append(all, example{name, pretty(named.at("value").raw)})
	}
	if len(all) > 0 {
		return all, nil
	}
	target, _, err := r.resolve(media.at("schema"))
	if err != nil {
		return nil, err
	}
	for _, sample := range target.list("examples") {
		all = append(all, example{Text: pretty(sample.raw)})
	}
	return all, nil
}

func (r *reference) schema(m member) (s schema, err error) {
	s = schema{Name: m.name, Description: m.value.str("description")}
	if s.Fields, err = r.fields(m.value); err != nil {
		return s, err
	}
	if len(s.Fields) == 0 {
		s.Type, err = r.kind(m.value)
	}
	if found := m.value.list("examples"); len(found) > 0 {
		s.Example = pretty(found[0].raw)
	}
	return s, err
}

// fields returns the properties of an object, after the ones it inherits by allOf.
func (r *reference) fields(n *node) (all []field, err error) {
	for _, part := range n.list("allOf") {
		target, _, err := r.resolve(part)
		if err != nil {
			return nil, err
		}
		inherited, err := r.fields(target)
		if err != nil {
			return nil, err
		}
		all = append(all, inherited...)
	}
	for _, p := range n.at("properties").all() {
		f := field{Name: p.name, Description: p.value.str("description")}
		if f.Type, err = r.kind(p.value); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if i := slices.IndexFunc(all, func(other field) bool { return other.Name == p.name }); i >= 0 {
			f.Required = all[i].Required
			all[i] = f
		} else {
			all = append(all, f)
		}
		inner, err := r.inner(p)
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	for _, name := range n.list("required") {
		for i := range all {
			if all[i].Name == name.text {
				all[i].Required = true
			}
		}
	}
	return all, nil
}

// inner returns the fields of an inline object, or list of objects, as path.field or path[].field.
func (r *reference) inner(p member) ([]field, error) {
	object, prefix := p.value, p.name+"."
	for object.at("items") != nil {
		object, prefix = object.at("items"), strings.TrimSuffix(prefix, ".")+"[]."
	}
	if object.at("properties") == nil {
		return nil, nil
	}
	inner, err := r.fields(object)
	for i := range inner {
		inner[i].Name = prefix + inner[i].Name
	}
	return inner, err
}

// richText formats `code` as such; everything else is plain text.
func richText(s string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(s, "`") {
		escaped := template.HTMLEscapeString(part)
		if i%2 == 1 {
			escaped = "<code>" + escaped + "</code>"
		}
		b.WriteString(escaped)
	}
	return template.HTML(b.String())
}
