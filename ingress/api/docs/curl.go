package docs

import (
	"net/url"
	"strings"
	"unicode"
)

// variable returns the shell variable that the examples use for a security scheme: USER_TOKEN for
// userToken.
func variable(scheme string) string {
	var b strings.Builder
	for i, letter := range scheme {
		if i > 0 && unicode.IsUpper(letter) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(letter))
	}
	return b.String()
}

// curl returns the operation as a shell command. The top of the page sets its variables.
func (r *reference) curl(o operation, parameters []*node) string {
	path, query := o.Path, url.Values{}
	headers := []string{}
	for _, p := range parameters {
		p, _, err := r.resolve(p)
		if err != nil {
			continue // the parameter itself reports the error
		}
		value := r.sample(p)
		switch name := p.str("name"); p.str("in") {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
		case "query":
			if p.at("required").show() == "true" || name == "action" || name == "type" {
				query.Set(name, value)
			}
		case "header":
			if p.at("required").show() == "true" {
				headers = append(headers, name+": "+value)
			}
		}
	}
	var b strings.Builder
	b.WriteString("curl")
	switch {
	case o.Method == "HEAD":
		b.WriteString(" --head")
	case o.Method == "POST" && o.Body != nil && len(o.Body.Examples) > 0, o.Method == "GET":
	default:
		b.WriteString(" -X " + o.Method)
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	b.WriteString(` "$ADNET` + target + `"`)
	if len(o.Credentials) > 0 && !o.Optional {
		b.WriteString(" \\\n  -H \"Authorization: Bearer $" + variable(o.Credentials[0]) + `"`)
	}
	for _, header := range headers {
		b.WriteString(" \\\n  -H " + quote(header))
	}
	if o.Body != nil && len(o.Body.Examples) > 0 {
		b.WriteString(" \\\n  -H 'Content-Type: " + o.Body.ContentType + "'")
		b.WriteString(" \\\n  -d " + quote(o.Body.Examples[0].Text))
	}
	return b.String()
}

// sample returns a value for a parameter: its example, else a value from its schema, else a
// placeholder.
func (r *reference) sample(p *node) string {
	schema, _, err := r.resolve(p.at("schema"))
	if err != nil {
		schema = nil
	}
	for _, found := range []*node{
		p.at("example"), schema.at("example"), first(schema.list("examples")), schema.at("default"), schema.at("const"),
		first(schema.list("enum")),
	} {
		if found != nil {
			return found.show()
		}
	}
	switch {
	case schema.str("format") == "uuid":
		return "01890a5d-ac96-774b-bcce-b302099a8057"
	case schema.str("format") == "date":
		return "2026-01-31"
	}
	return strings.ToUpper(p.str("name"))
}

func first(list []*node) *node {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// quote quotes text as one word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
