// Package agents knows the user agents of robots and of tools: the list of the npm package
// crawler-user-agents (MIT), which patterns.txt holds with its licence and `go generate` brings up
// to date.
//
// A user agent is not tried against every pattern. Each pattern that must contain some text is
// filed under the first three bytes of it; a user agent is walked once, and only the patterns filed
// under its own bytes are tried. What was found is remembered for the newest 4,096 user agents.
package agents

//go:generate go run ./gen

import (
	_ "embed"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

//go:embed patterns.txt
var patterns string

const (
	remembered = 4096
	maxAgent   = 512 // bytes of a user agent that are looked at
	gram       = 3
)

// List answers whether a user agent is on the list. It is safe for concurrent use.
type List struct {
	filed  map[[gram]byte][]*entry // by the first bytes of a text that each must contain
	always []*entry                // patterns without such a text
	known  *lru.Cache[string, bool]
	size   int
}

type entry struct {
	text string         // must occur
	re   *regexp.Regexp // nil when text is all of the pattern
}

// New reads the list of this build. Error: the list is damaged.
func New() (*List, error) {
	known, err := lru.New[string, bool](remembered)
	if err != nil {
		return nil, err
	}
	l := &List{filed: make(map[[gram]byte][]*entry), known: known}
	for line := range strings.Lines(patterns) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := l.add(line); err != nil {
			return nil, fmt.Errorf("user agents: %w", err)
		}
	}
	return l, nil
}

// Len is how many patterns the list has.
func (l *List) Len() int { return l.size }

func (l *List) add(pattern string) error {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	e := new(entry)
	var whole bool
	e.text, whole = required(tree.Simplify())
	if !whole {
		if e.re, err = regexp.Compile(pattern); err != nil {
			return err
		}
	}
	l.size++
	if len(e.text) < gram {
		if e.re == nil {
			e.re, err = regexp.Compile(pattern)
		}
		l.always = append(l.always, e)
		return err
	}
	key := [gram]byte([]byte(e.text[:gram]))
	l.filed[key] = append(l.filed[key], e)
	return nil
}

// required is the longest text that every match contains, and whether the text alone is the
// pattern.
func required(tree *syntax.Regexp) (text string, whole bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune), true
		}
	case syntax.OpCapture:
		text, _ = required(tree.Sub[0])
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if t, _ := required(sub); len(t) > len(text) {
				text = t
			}
		}
	}
	return text, false
}

// Listed says whether the user agent is a listed robot's or tool's.
func (l *List) Listed(agent string) bool {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	if listed, ok := l.known.Get(agent); ok {
		return listed
	}
	listed := l.match(agent)
	l.known.Add(strings.Clone(agent), listed)
	return listed
}

func (l *List) match(agent string) bool {
	for _, e := range l.always {
		if e.re.MatchString(agent) {
			return true
		}
	}
	for i := 0; i+gram <= len(agent); i++ {
		for _, e := range l.filed[[gram]byte([]byte(agent[i:i+gram]))] {
			if strings.HasPrefix(agent[i:], e.text) && (e.re == nil || e.re.MatchString(agent)) {
				return true
			}
		}
	}
	return false
}
