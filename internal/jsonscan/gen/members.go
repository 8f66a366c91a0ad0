package main

import (
	"slices"
	"strings"
)

// lost is the option of a field that becomes unreadable with its object.
const lost = "lost"

// members writes the methods member and lose of a struct of ingress/rtb with tags rtb. The method of
// its reader that reads a field is called like the field's type unless the tag states it.
func (s *source) members(name string) {
	list := s.tagged(name, "rtb")
	if len(list) == 0 {
		return
	}
	s.write("\nfunc (o *%s) member(r *reader, name string) {\nswitch name {\n", name)
	for i := range list {
		s.write("case %q:\n%s\n", list[i].key, s.memberOf(&list[i]))
	}
	s.write("default:\nr.skip()\n}\n}\n")

	list = slices.DeleteFunc(list, func(m member) bool { return !slices.Contains(m.options, lost) })
	if len(list) == 0 {
		return
	}
	s.write("\nfunc (o *%s) lose() {\n", name)
	for i := range list {
		s.write("o.%s\n", s.lose(&list[i]))
	}
	s.write("}\n")
}

// memberOf returns the statement that reads a field.
func (s *source) memberOf(m *member) string {
	if strings.HasPrefix(m.kind, "object[") {
		return "into(r, &o." + m.name + ")"
	}
	if of, is := strings.CutPrefix(m.kind, "objects["); is {
		return "o." + m.name + " = list(r, &r." + s.listOf(strings.TrimSuffix(of, "]")) + ")"
	}
	method := strings.ToLower(m.kind[strings.LastIndexByte(m.kind, '.')+1:])
	if method == "text" { // a field of the reader
		method = "string"
	}
	for _, option := range m.options {
		if option != lost {
			method = option
		}
	}
	return "o." + m.name + " = r." + method + "()"
}

// listOf returns the field of the reader that holds all lists of a type.
func (s *source) listOf(kind string) string {
	for _, f := range s.structs["reader"] {
		if f.kind == "[]"+kind {
			return f.name
		}
	}
	s.fail("reader has no list of %s", kind)
	return ""
}

// lose returns the statement that makes a field unreadable.
func (s *source) lose(m *member) string {
	if m.kind == "consent.Choice" {
		s.use("consent")
		return m.name + " = consent.Unclear"
	}
	if strings.HasPrefix(m.kind, "object[") {
		return m.name + ".v.lose()"
	}
	return m.name + ".lose()"
}
