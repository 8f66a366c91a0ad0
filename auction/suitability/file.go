package suitability

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"adnet/internal/campaign/subject"
)

// files holds the rules, a file per language; rules/README.md describes the format.
//
//go:embed rules/*.txt
var files embed.FS

// writtenRule is a line of a file: parts, each of which has alternatives.
type writtenRule struct {
	subject subject.ID
	soft    bool // void if an [unless] phrase of the subject is in the same text
	any     bool // the parts may be in any order
	parts   []string
	gap     int32
	line    int32 // of the file
}

// language is one file of rules, as written.
type language struct {
	name      string
	classes   map[string][]string // phrases by the name of a class
	rules     []writtenRule
	unless    map[subject.ID][]string
	ordinary  []string
	special   []string // words, of any subject
	ageWords  []string
	ageUnits  []string
	section   string
	soft      bool
	of        subject.ID
	lineIndex int
}

// Gaps between the parts of a rule, in letters.
const (
	wideGap  = 40
	denseGap = 20 // of scripts without spaces
	ageGap   = 10 // before an age
)

const agePart = "{age}"

// languages reads all files. An unreadable file is a fault of the build.
func languages() (all []*language, err error) {
	names, err := fs.Glob(files, "rules/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		l, err := parseLanguage(strings.TrimSuffix(strings.TrimPrefix(name, "rules/"), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func parseLanguage(name, text string) (*language, error) {
	l := &language{name: name, classes: map[string][]string{}, unless: map[subject.ID][]string{}}
	for line := range strings.Lines(text) {
		l.lineIndex++
		line = strings.TrimSpace(line)
		if at := strings.IndexByte(line, '#'); at >= 0 && (at == 0 || line[at-1] == ' ') {
			line = strings.TrimSpace(line[:at])
		}
		if line == "" {
			continue
		}
		if err := l.read(line); err != nil {
			return nil, fmt.Errorf("rules/%s.txt, line %d: %w", name, l.lineIndex, err)
		}
	}
	return l, nil
}

func (l *language) read(line string) error {
	switch line[0] {
	case '@':
		name, phrases, ok := strings.Cut(line[1:], "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("a class must have the form @name = phrase | phrase")
		}
		l.class(name, alternatives(phrases))
		return nil
	case '[':
		return l.begin(strings.Trim(line, "[]"))
	}
	switch l.section {
	case "":
		return fmt.Errorf("rule before the first section")
	case "ordinary":
		l.ordinary = append(l.ordinary, alternatives(line)...)
	case "unless":
		l.unless[l.of] = append(l.unless[l.of], alternatives(line)...)
	case "special":
		l.special = append(l.special, strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == ' ' })...)
	default:
		return l.rule(line)
	}
	return nil
}

func (l *language) class(name string, phrases []string) {
	switch name {
	case "age_words":
		l.ageWords = append(l.ageWords, phrases...)
	case "units":
		l.ageUnits = append(l.ageUnits, phrases...)
	default:
		l.classes[name] = append(l.classes[name], phrases...)
	}
}

// begin begins a section: [subject], [subject soft], [unless subject], [special subject],
// [ordinary].
func (l *language) begin(title string) error {
	words := strings.Fields(title)
	l.soft, l.of = false, subject.None
	if len(words) == 1 && words[0] == "ordinary" {
		l.section = "ordinary"
		return nil
	}
	name := ""
	switch {
	case len(words) == 1:
		l.section, name = "rules", words[0]
	case len(words) == 2 && words[1] == "soft":
		l.section, l.soft, name = "rules", true, words[0]
	case len(words) == 2 && (words[0] == "unless" || words[0] == "special"):
		l.section, name = words[0], words[1]
	}
	id, ok := subject.Parse(name)
	if !ok {
		return fmt.Errorf("section [%s] does not name a known subject", title)
	}
	l.of = id
	return nil
}

func (l *language) rule(line string) error {
	r := writtenRule{subject: l.of, soft: l.soft, gap: l.gap(), line: int32(l.lineIndex)}
	ordered, anyOrder := strings.Split(line, " .. "), strings.Split(line, " + ")
	switch {
	case len(ordered) > 1 && len(anyOrder) > 1:
		return fmt.Errorf("a rule must not mix ordered parts (..) with unordered ones (+)")
	case len(anyOrder) > 1:
		r.parts, r.any = anyOrder, true
	case len(ordered) > 1:
		r.parts = ordered
	default: // every alternative is a rule of its own, and a single part needs no class
		r.parts = []string{line}
	}
	if len(r.parts) > mostParts {
		return fmt.Errorf("a rule has at most %d parts", mostParts)
	}
	l.rules = append(l.rules, r)
	return nil
}

// mostParts is the maximum number of parts of a rule.
const mostParts = 5

func (l *language) gap() int32 {
	if slices.Contains([]string{"zh", "ja", "ko", "th"}, l.name) {
		return denseGap
	}
	return wideGap
}

// texts returns the phrases of an alternative: those of a class, or the alternative itself.
func (l *language) texts(alternative string) ([]string, error) {
	if !strings.HasPrefix(alternative, "{") || !strings.HasSuffix(alternative, "}") {
		if strings.ContainsAny(alternative, "{}") {
			return nil, fmt.Errorf("a class must be a whole alternative: %q", alternative)
		}
		return []string{alternative}, nil
	}
	if alternative == agePart {
		return []string{alternative}, nil
	}
	of, ok := l.classes[alternative[1:len(alternative)-1]]
	if !ok {
		return nil, fmt.Errorf("undefined class %s", alternative)
	}
	return of, nil
}

func alternatives(line string) (all []string) {
	for text := range strings.SplitSeq(line, "|") {
		if text = strings.TrimSpace(text); text != "" && utf8.ValidString(text) {
			all = append(all, text)
		}
	}
	return all
}
