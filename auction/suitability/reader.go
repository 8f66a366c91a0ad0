package suitability

import (
	"fmt"
	"sync"

	"adnet/internal/campaign/subject"
)

// Reader reads a conversation and judges it. The zero value is ready. One goroutine may use it at a
// time.
type Reader struct {
	verdict Verdict
	table   *Table // nil for the built-in table
}

// NewReader returns a Reader that uses another table than the built-in one.
func NewReader(table *Table) *Reader { return &Reader{table: table} }

var ofBuild = sync.OnceValue(func() *Table {
	t := learnt()
	return &t
})

// work is the working memory of one judgement.
type work struct {
	words  tokens
	rules  matcher
	scorer scorer
}

// works holds working memory for reuse. A processor reuses the same memory, which stays in its
// cache; separate memory would cost each request 120 KB.
var works = sync.Pool{New: func() any { return new(work) }}

// Reset starts another conversation.
func (r *Reader) Reset() { r.verdict = Verdict{} }

// Read judges one text of the conversation.
func (r *Reader) Read(text string, by Speaker) {
	if r.table == nil {
		r.table = ofBuild()
	}
	w := works.Get().(*work)
	r.read(w, text, by)
	works.Put(w)
}

// find reads a text into words and returns the subjects whose rules they match.
func (w *work) find(text string) subject.Set {
	set := rules()
	w.words.known = &set.words
	w.words.read(text)
	return w.rules.match(set, &w.words)
}

func (r *Reader) read(w *work, text string, by Speaker) {
	met := w.find(text)
	if never := met & subject.OfTier(subject.Never); never != 0 {
		r.verdict.Refuse(never.First(), ByRule, by == User)
	}
	r.verdict.Sensitive |= met & subject.OfTier(subject.Sensitive)
	switch is := w.scorer.kinds(r.table, &w.words, w.rules.marks); {
	case is[Need]:
		r.verdict.Refuse(subject.Distress, ByTable, by == User)
	case is[Harm]:
		r.verdict.Refuse(subject.Crime, ByTable, by == User)
	}
}

// Prepare compiles the rules and decodes the built-in table, for which the first text would
// otherwise wait (some 200 ms).
func Prepare() {
	rules()
	ofBuild()
}

// Judge returns the verdict on a single text, by the built-in table.
func Judge(text string, by Speaker) Verdict {
	var r Reader
	r.Read(text, by)
	return r.verdict
}

// Verdict returns the verdict on the texts read since Reset.
func (r *Reader) Verdict() Verdict { return r.verdict }

// SpecialWords returns words that reveal data about a person protected by GDPR Art. 9, in all
// languages. They are neither recorded nor learnt, whatever the verdict.
func SpecialWords() []string { return rules().special }

// Why returns the rules that a text matches by file and line, soft ones included, for the
// maintainers of the rules.
func Why(text string) (lines []string) {
	w, set := work{rules: matcher{tell: true}}, rules()
	w.find(text)
	for _, at := range w.rules.met {
		r := &set.rules[at]
		lines = append(lines, fmt.Sprintf("%s.txt:%d %s", set.files[r.file], r.line, r.subject))
	}
	return lines
}
