// Package corpus composes user agents of people and of robots, with which the list of package
// agents is tested. The agents are our own: people.txt and robots.txt combine systems, engines and
// names by the forms that programs use. No agent is copied from another corpus. The package is not
// part of the binary.
package corpus

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed people.txt
var people string

//go:embed robots.txt
var robots string

// Agent is a user agent of a class of programs.
type Agent struct {
	Class string
	Text  string
}

// People returns agents of people's browsers and applications.
func People() []Agent { return compose(people) }

// Robots returns agents of robots and of tools that send requests.
func Robots() []Agent { return compose(robots) }

// compose reads a table. "[name]" begins a class, "$name = value" names a part, and any other line
// is a form. A form with alternatives {a|b|c} yields as many agents as its longest list has
// alternatives; shorter lists begin again. It panics if the table is damaged, which a test shows.
func compose(table string) []Agent {
	var (
		class string
		all   []Agent
		parts = make(map[string]string)
	)
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		switch name, value, isPart := strings.Cut(line, " = "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			class = strings.Trim(line, "[]")
		case isPart && strings.HasPrefix(line, "$"):
			parts[name] = insert(value, parts)
		default:
			for _, text := range alternatives(insert(line, parts)) {
				all = append(all, Agent{class, text})
			}
		}
	}
	return all
}

// insert replaces the names of parts, written ${name}, by their values.
func insert(line string, parts map[string]string) string {
	for {
		before, rest, found := strings.Cut(line, "${")
		if !found {
			return line
		}
		name, after, _ := strings.Cut(rest, "}")
		value, known := parts["$"+name]
		if !known {
			panic(fmt.Sprintf("corpus: the part %q is not defined above %q", name, line))
		}
		line = before + value + after
	}
}

// alternatives returns the agents of a form.
func alternatives(form string) []string {
	var (
		fixed []string
		lists [][]string
		most  = 1
	)
	for {
		before, rest, found := strings.Cut(form, "{")
		fixed = append(fixed, before)
		if !found {
			break
		}
		list, after, closed := strings.Cut(rest, "}")
		if !closed {
			panic(fmt.Sprintf("corpus: a list of alternatives is not closed in %q", form))
		}
		lists = append(lists, strings.Split(list, "|"))
		most, form = max(most, strings.Count(list, "|")+1), after
	}
	all := make([]string, most)
	for i := range all {
		var text strings.Builder
		for j, part := range fixed {
			text.WriteString(part)
			if j < len(lists) {
				text.WriteString(lists[j][i%len(lists[j])])
			}
		}
		all[i] = text.String()
	}
	return all
}
