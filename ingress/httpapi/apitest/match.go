package apitest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// Fill replaces each known `${name}`. Unknown names stay, so that mistakes are visible.
func Fill(text string, names map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		if value, known := names[v[2:len(v)-1]]; known {
			return value
		}
		return v
	})
}

// Match compares decoded JSON: objects have the same fields, lists the same length, and values are
// equal. own is called first for every value, fields in order of name; Match does not descend into
// a value that own has decided. The error contains the place of the difference.
func Match(at string, want, got any, own func(at string, want, got any) (decided bool, err error)) error {
	if decided, err := own(at, want, got); decided {
		return err
	}
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want an object, got %v", at, got)
		}
		names := slices.Sorted(maps.Keys(want))
		if there := slices.Sorted(maps.Keys(object)); !slices.Equal(names, there) {
			return fmt.Errorf("%s: want the fields %v, got %v", at, names, there)
		}
		for _, name := range names {
			if err := Match(at+"."+name, want[name], object[name], own); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: want %d items, got %v", at, len(want), got)
		}
		for i := range want {
			if err := Match(fmt.Sprintf("%s[%d]", at, i), want[i], list[i], own); err != nil {
				return err
			}
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("%s: want %v, got %v", at, want, got)
	}
	return nil
}

// MatchText compares a text in which each `${name}` stands for the value bound to the name, and
// binds new names to the text at their place. anything is the pattern for new names.
func MatchText(at, want string, got any, names map[string]string, anything string) error {
	text, ok := got.(string)
	if !ok {
		return fmt.Errorf("%s: want the text %q, got %v", at, want, got)
	}
	pattern, last := "^", 0
	var fresh []string
	for _, place := range variable.FindAllStringSubmatchIndex(want, -1) {
		pattern += regexp.QuoteMeta(want[last:place[0]])
		last = place[1]
		name := want[place[2]:place[3]]
		if value, known := names[name]; known {
			pattern += regexp.QuoteMeta(value)
		} else if !slices.Contains(fresh, name) {
			pattern += "(" + anything + ")"
			fresh = append(fresh, name)
		} else {
			return fmt.Errorf("%s: ${%s} occurs twice before it is known", at, name)
		}
	}
	found := regexp.MustCompile(pattern + regexp.QuoteMeta(want[last:]) + "$").FindStringSubmatch(text)
	if found == nil {
		return fmt.Errorf("%s: want %q, got %q", at, Fill(want, names), text)
	}
	for i, name := range fresh {
		names[name] = found[i+1]
	}
	return nil
}
