package product

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cure is a protection that a build can omit, to verify that a suite fails.
type Cure struct {
	Without []Replacement
	Breach  string // text of the breach that the run must report
}

// Cures holds the protections that a suite can omit, by name.
type Cures map[string]Cure

// Print prints the names, one a line.
func (c Cures) Print() {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Println(name)
	}
}

// Without returns the replacements that omit a cure; none without a name.
func (c Cures) Without(name string) ([]Replacement, error) {
	if _, known := c[name]; name != "" && !known {
		return nil, fmt.Errorf("there is no protection %q", name)
	}
	return c[name].Without, nil
}

// Noticed reports whether breaches include the one of the omitted cure. Breaches of a slow machine
// do not count.
func (c Cures) Noticed(name string, breaches []string) bool {
	is := func(breach string) bool { return strings.Contains(breach, c[name].Breach) }
	return name != "" && slices.ContainsFunc(breaches, is)
}

// Fit checks that each cure names its breach and applies to the module in a folder.
func (c Cures) Fit(module string) error {
	for name, cure := range c {
		if len(cure.Without) == 0 || cure.Breach == "" {
			return fmt.Errorf("%s has no replacement or no breach", name)
		}
		for _, r := range cure.Without {
			if err := r.Fits(module); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if r.Old == r.New {
				return fmt.Errorf("%s changes nothing", name)
			}
		}
	}
	return nil
}
