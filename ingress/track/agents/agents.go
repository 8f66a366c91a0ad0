// Package agents detects the user agents of robots and tools. It uses the list of the npm package
// crawler-user-agents (MIT), which patterns.txt contains with its licence and `go generate`
// updates, and the link previews missing from that list. narrowed.txt narrows or drops patterns of
// that list that people's agents contain; no pattern may match an agent of people in package corpus.
// An agent that no pattern matches is judged by its form. Tools are libraries that programs of any
// kind use to send requests, including a publisher's server. All others are robots: crawlers,
// monitors, and the fetchers of link previews in chat applications.
//
// A user agent is not matched against every pattern. Each pattern that must contain some text is
// indexed under the first three bytes of that text. A lookup walks the user agent once and tries
// only the patterns indexed under its own bytes. Results for the latest 4,096 user agents are
// cached.
package agents

//go:generate go run ./gen

import (
	_ "embed"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

//go:embed patterns.txt
var patterns string

const (
	remembered = 4096
	maxAgent   = 512 // maximum bytes of a user agent that are examined
	gram       = 3

	toolsBegin = "# Tools." // the line of patterns.txt after which the tools follow
)

// previews are link preview fetchers that patterns.txt lacks. Signal and iMessage use the names of
// others (WhatsApp, Facebot).
var previews = [...]string{
	`[Ll]ink[ -]?[Pp]review`, `[Uu]nfurl`, `U[Rr][Ll][ -]?Preview`, `[Ll]inkExpanding`, `Google-PageRenderer`,
	`kakaotalk-scrap`,
	`line-poker`, `^Rocket\.Chat`, `^Pleroma `, `^Akkoma `, `Misskey/`, `Cardyb`,
}

// Kind is the kind of sender of a user agent.
type Kind uint8

// The kinds.
const (
	Unlisted Kind = iota // presumably a person's browser or app
	Tool                 // a library or program that sends requests for another program
	Robot                // a crawler, a monitor, a link preview
)

// List detects listed user agents. It is safe for concurrent use.
type List struct {
	filed  map[[gram]byte][]*entry // by the first bytes of a text that each pattern requires
	always []*entry                // patterns without such a text
	known  *lru.Cache[string, Kind]
	size   int
}

type entry struct {
	kind Kind
	text string         // text that the pattern, or an alternative of it, requires
	re   *regexp.Regexp // nil if text is the whole pattern
}

// New reads the list of this build. Errors: the list is damaged.
func New() (*List, error) {
	known, err := lru.New[string, Kind](remembered)
	if err != nil {
		return nil, err
	}
	l := &List{filed: make(map[[gram]byte][]*entry), known: known}
	kind := Robot
	for line := range strings.Lines(patterns) {
		if line = strings.TrimSuffix(line, "\n"); line == toolsBegin {
			kind = Tool
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := l.add(kind, line); err != nil {
			return nil, fmt.Errorf("user agents: %w", err)
		}
	}
	for _, pattern := range previews {
		if err := l.add(Robot, pattern); err != nil {
			return nil, fmt.Errorf("user agents: %w", err)
		}
	}
	return l, nil
}

// Len returns the number of patterns.
func (l *List) Len() int { return l.size }

func (l *List) add(kind Kind, pattern string) error {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	tree = tree.Simplify()
	e := entry{kind: kind}
	if text, whole := required(tree); whole {
		e.text = text
	} else if e.re, err = regexp.Compile(pattern); err != nil {
		return err
	}
	l.size++
	texts := oneOf(tree)
	if len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return len(text) < gram }) {
		if e.re == nil {
			e.re, err = regexp.Compile(pattern)
		}
		l.always = append(l.always, &e)
		return err
	}
	for _, text := range texts {
		filed, key := e, [gram]byte([]byte(text[:gram]))
		filed.text = text
		l.filed[key] = append(l.filed[key], &filed)
	}
	return nil
}

// oneOf returns texts of which every match contains at least one.
func oneOf(tree *syntax.Regexp) []string {
	alternatives := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpAlternate {
		alternatives = tree.Sub
	}
	texts := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		texts[i], _ = required(alternative)
	}
	return texts
}

// required returns the longest text that every match contains, and reports whether the pattern is
// only that text.
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

// Kind returns the kind of a user agent. If patterns of both kinds match it is Robot.
func (l *List) Kind(agent string) Kind {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	if kind, ok := l.known.Get(agent); ok {
		return kind
	}
	kind := l.match(agent)
	l.known.Add(strings.Clone(agent), kind)
	return kind
}

func (l *List) match(agent string) Kind {
	if found := l.listed(agent); found != Unlisted {
		return found
	}
	return form(agent)
}

// listed returns the kind of the patterns that match an agent.
func (l *List) listed(agent string) (found Kind) {
	for _, e := range l.always {
		if e.kind > found && e.re.MatchString(agent) {
			found = e.kind
		}
	}
	for i := 0; i+gram <= len(agent) && found < Robot; i++ {
		for _, e := range l.filed[[gram]byte([]byte(agent[i:i+gram]))] {
			if e.kind > found && strings.HasPrefix(agent[i:], e.text) && (e.re == nil || e.re.MatchString(agent)) {
				found = e.kind
			}
		}
	}
	return found
}
