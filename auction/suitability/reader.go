package suitability

import (
	"fmt"
	"sync"

	"adnet/internal/subject"
)

// Reader reads a conversation and judges it. The zero value is ready; reused, it spares
// allocations. One goroutine at a time may use it.
type Reader struct {
	verdict Verdict
	words   tokens
	rules   matcher
	table   *Table // nil for that of the build
	scorer  scorer
}

// NewReader returns a Reader that judges by another table than that of the build.
func NewReader(table *Table) *Reader { return &Reader{table: table} }

var ofBuild = sync.OnceValue(func() *Table {
	t := learnt()
	return &t
})

// Reset begins another conversation.
func (r *Reader) Reset() { r.verdict = Verdict{} }

// Read judges one text of the conversation.
func (r *Reader) Read(text string, by Speaker) {
	if r.table == nil {
		r.table = ofBuild()
	}
	set := rules()
	r.words.known = &set.words
	r.words.read(text)
	met := r.rules.match(set, &r.words)
	if never := met & subject.OfTier(subject.Never); never != 0 {
		r.verdict.Refuse(never.First(), ByRule, by == User)
	}
	r.verdict.Sensitive |= met & subject.OfTier(subject.Sensitive)
	switch is := r.scorer.kinds(r.table, &r.words, r.rules.marks); {
	case is[Need]:
		r.verdict.Refuse(subject.Distress, ByTable, by == User)
	case is[Harm]:
		r.verdict.Refuse(subject.Crime, ByTable, by == User)
	}
}

// Verdict is the verdict on what was read since Reset.
func (r *Reader) Verdict() Verdict { return r.verdict }

// SpecialWords are words that tell about a person what GDPR Art. 9 protects, in all languages: they
// are neither recorded nor learnt about, whatever the verdict.
func SpecialWords() []string { return rules().special }

// Why names the rules that a text meets by file and line, soft ones included, for who maintains
// them.
func Why(text string) (lines []string) {
	set := rules()
	r := Reader{words: tokens{known: &set.words}, rules: matcher{tell: true}}
	r.words.read(text)
	r.rules.match(set, &r.words)
	for _, at := range r.rules.met {
		one := &set.rules[at]
		lines = append(lines, fmt.Sprintf("%s.txt:%d %s", set.files[one.file], one.line, one.subject))
	}
	return lines
}
