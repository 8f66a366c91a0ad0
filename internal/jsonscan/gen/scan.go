package main

import "strings"

// scan writes the method Scan of a struct, which reads its fields with tags json from a plain
// object. It declines every other name, which may be a known name in a different case.
func (s *source) scan(name string) {
	list := s.tagged(name, "json")
	if len(list) == 0 {
		s.fail("%s has no tags json", name)
	}
	s.use("jsonscan")
	s.write("\n// Scan reads a plain object and declines any other.\n")
	s.write("func (o *%s) Scan(in *jsonscan.Reader) {\nmembers := in.Object()\n", name)
	s.write("for name, more := members.Next(); more; name, more = members.Next() {\nswitch name {\n")
	for i := range list {
		s.write("case %q:\n%s\n", list[i].key, s.plain("o."+list[i].name, list[i].kind))
	}
	s.write("default:\nin.Decline()\n}\n}\n}\n")
}

// plain returns the statements that read a variable of a type.
func (s *source) plain(variable, kind string) string {
	switch kind {
	case "string":
		return variable + " = in.Text()"
	case "[]string":
		return variable + " = in.Texts()"
	case "*int":
		return variable + " = in.Int()"
	case "*float64":
		return variable + " = in.Float()"
	case "*share.Share":
		s.use("share")
		return variable + " = new(jsonscan.Parsed(in, in.Number(), share.Parse))"
	}
	of, list := strings.CutPrefix(kind, "[]")
	if !list {
		return variable + ".Scan(in)"
	}
	if name, _, qualified := strings.Cut(of, "."); qualified {
		s.use(name)
	}
	return variable + " = []" + of + "{}\nfor in.Enter('['); in.More(']'); {\nvar element " + of + "\n" +
		s.plain("element", of) + "\n" + variable + " = append(" + variable + ", element)\n}"
}
