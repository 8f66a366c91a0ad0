// Package words turns text into the terms that requests and campaigns are compared by.
//
// One analyzer reads both sides: Unicode form NFKC without invisible characters, folded case,
// English stems, and letter groups of scripts written without blanks. It uses no dictionary. A
// [Reader] collects the terms of one request, weighs them by how far back they occur, and is reused
// for the next.
//
// # Not obvious
//
// The two sides treat a term that is not a content word differently: a request offers [Weak] and
// [Extra] terms, and they count where a campaign has them.
package words

import (
	"strings"
	"unicode/utf8"
)

// Unit is the weight of a term that occurs once, in the last turn.
const Unit = 256

// Kind is the role of a term in a match.
type Kind uint8

// The kinds of terms.
const (
	// Plain is a content word or its stem.
	Plain Kind = iota
	// Common is an English word of grammar or one found in requests and campaigns of any topic
	// ("you", "find", "best"). It counts little until the campaigns of a network show otherwise.
	Common
	// Letters is a group of letters of a script written without blanks.
	Letters
	// Extra is a variant of words in the text: "nodejs" of "node.js", "user" of "getUserById". It
	// counts where a campaign has it and is not missed elsewhere.
	Extra
	// Weak is a single letter or a small number. It counts where a campaign states it as a token
	// ("r", "5"). Its text begins with [WeakMark], as that of no other term does.
	Weak
)

// WeakMark begins the text of every [Weak] term.
const WeakMark = "="

// Term is one distinct term of a text.
type Term struct {
	// Text is the form in which terms are compared.
	Text string
	// Weight is its frequency in units of [Unit]: earlier occurrences count less.
	Weight uint32
	Kind   Kind
}

// Limits of a [Reader] for one text. All words are read. If there are more distinct terms, the
// latest are kept.
const (
	MaxTerms = 1<<15 - 1
	// longest is the length in bytes of the longest word; the rest becomes another word.
	longest = 64
)

// Weights of a text without marked turns. Up to oneMessage words are taken for one message and
// count in full. Of a longer text, as many fewer words at its end count in full, at least
// nearWords. Every halvingWords words farther back the weight halves.
const (
	oneMessage   = 40
	nearWords    = 10
	halvingWords = 7
)

// Reader collects the terms of one text or conversation. The zero value is ready. Reused, it
// allocates little. It belongs to one goroutine.
type Reader struct {
	found []found
	terms []Term
	slots []uint16
}

// found is one occurrence of a term.
type found struct {
	text   string
	weight uint16 // of its turn
	word   uint16 // its number in its turn, 65535 if turns are known
	kind   Kind
}

// Reset drops the words read and the references to their texts.
func (r *Reader) Reset() {
	clear(r.found)
	clear(r.terms)
	r.found, r.terms = r.found[:0], r.terms[:0]
}

// ReadContext reads part of a conversation without marked turns: weights fade with the distance
// from its end.
func (r *Reader) ReadContext(text string) {
	begin := len(r.found)
	count := r.read(text, Unit)
	if count <= oneMessage {
		return
	}
	near := max(2*oneMessage-count, nearWords)
	for i := begin; i < len(r.found); i++ {
		f := &r.found[i]
		f.weight = fade(f.weight, count-1-int(f.word)-near)
	}
}

// fade returns the weight of a word that stands back words before those that count in full.
func fade(weight uint16, back int) uint16 {
	if back < 0 {
		return weight
	}
	halvings := back / halvingWords
	if halvings >= 8 {
		return 1
	}
	from := uint32(weight) >> halvings
	return max(uint16(from-from*uint32(back%halvingWords)/(2*halvingWords)), 1)
}

// ReadTurn reads one turn of a conversation, back turns before the last (0). Each turn weighs half
// of the one after it.
func (r *Reader) ReadTurn(text string, back int) { r.read(text, Unit>>min(back, 8)) }

// ReadText reads a text of a campaign, in which [Weak] terms do not count.
func (r *Reader) ReadText(text string, weight uint16) {
	begin := len(r.found)
	r.read(text, weight)
	r.dropWeak(begin)
}

// ReadStated reads a token stated by a caller or a campaign. A single letter counts if it is the
// whole token ("r"). The common words that are also names ("go", "it") count as content words.
func (r *Reader) ReadStated(token string, weight uint16) {
	begin := len(r.found)
	if r.read(token, weight); len(r.found) == begin+1 {
		if f := &r.found[begin]; f.kind == Common && (f.text == "go" || f.text == "it") {
			f.kind = Plain
		}
		return
	}
	r.dropWeak(begin)
}

// Put adds terms that were read before.
func (r *Reader) Put(terms []Term) {
	for i := range terms {
		t := &terms[i]
		r.found = append(r.found, found{text: t.Text, weight: uint16(min(t.Weight, 1<<16-1)), kind: t.Kind})
	}
}

func (r *Reader) dropWeak(begin int) {
	strong := r.found[:begin]
	for _, f := range r.found[begin:] {
		if f.kind != Weak {
			strong = append(strong, f)
		}
	}
	r.found = strong
}

// Terms returns the distinct terms read, the latest first. They are valid until [Reader.Reset].
func (r *Reader) Terms() []Term {
	r.terms = r.terms[:0]
	size := 64
	for size < 4*min(len(r.found), MaxTerms) {
		size *= 2
	}
	if cap(r.slots) < size {
		r.slots = make([]uint16, size)
	}
	r.slots = r.slots[:size]
	clear(r.slots)
	for i := len(r.found) - 1; i >= 0; i-- {
		r.collect(&r.found[i])
	}
	return r.terms
}

func (r *Reader) collect(f *found) {
	at := Hash(f.text) & uint32(len(r.slots)-1)
	for r.slots[at] != 0 {
		t := &r.terms[r.slots[at]-1]
		if t.Text == f.text {
			t.Weight += uint32(f.weight)
			t.Kind = min(t.Kind, f.kind)
			return
		}
		at = (at + 1) & uint32(len(r.slots)-1)
	}
	if len(r.terms) < MaxTerms && f.weight > 0 {
		r.terms = append(r.terms, Term{Text: f.text, Weight: uint32(f.weight), Kind: f.kind})
		r.slots[at] = uint16(len(r.terms))
	}
}

// Hash distributes words over hash tables.
func Hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}

// read appends the terms of text and returns how many words it has.
func (r *Reader) read(text string, weight uint16) (count int) {
	original, lower := canonical(text)
	s := scanner{r: r, original: original, lower: lower, weight: weight}
	s.scan()
	return s.count
}

// scanner walks over one text.
type scanner struct {
	r               *Reader
	original, lower string // at equal offsets; lower is compared, original has the capitals
	weight          uint16
	at              int // start of the run being read
	count           int // words so far
	fenced          bool
	urlEnd          int // text before this offset is a URL
	// chain holds runs joined by single signs, such as "node" and "js".
	chain      [maxChain]run
	links      int
	chainEnd   int
	chainBroke bool // too many runs to join
}

const maxChain = 4

type run struct{ from, to int }

func (s *scanner) scan() {
	for at := 0; at < len(s.lower); {
		c := s.lower[at]
		if !wordBytes[c] {
			if c < utf8.RuneSelf {
				at = s.sign(at, c)
				continue
			}
			r, size := utf8.DecodeRuneInString(s.lower[at:])
			if !isWordRune(r) {
				s.endChain()
				at += size
				continue
			}
		}
		at = s.word(at)
	}
	s.endChain()
}

// sign skips one ASCII character outside of words.
func (s *scanner) sign(at int, c byte) (next int) {
	if c == '`' && strings.HasPrefix(s.lower[at:], "```") {
		s.endChain()
		s.fenced = !s.fenced
		return at + 3
	}
	joins := c == '.' || c == '-' || c == '_' || c == '\'' || c == '&'
	if !joins || s.links == 0 || s.chainEnd != at || at+1 >= len(s.lower) {
		s.endChain()
	}
	return at + 1
}

// word consumes the run of word characters at at.
func (s *scanner) word(at int) (next int) {
	script := s.scriptAt(at)
	end := at
	for end < len(s.lower) && end-at < longest {
		if c := s.lower[end]; c < utf8.RuneSelf {
			if !wordBytes[c] || script != spaced {
				break
			}
			end++
			continue
		}
		r, size := utf8.DecodeRuneInString(s.lower[end:])
		if !isWordRune(r) || end > at && scriptOf(r, script) != script {
			break
		}
		end += size
	}
	s.enterURL(at, end)
	s.at = at
	if script != spaced {
		s.endChain()
		s.letters(at, end, script)
		return end
	}
	s.link(at, end)
	s.spacedWord(at, end)
	return s.signed(at, end)
}

func (s *scanner) scriptAt(at int) script {
	if s.lower[at] < utf8.RuneSelf {
		return spaced
	}
	r, _ := utf8.DecodeRuneInString(s.lower[at:])
	return scriptOf(r, spaced)
}

// enterURL records the end of a URL that begins here.
func (s *scanner) enterURL(at, end int) {
	rest := s.lower[end:]
	if at >= s.urlEnd && (strings.HasPrefix(rest, "://") || strings.HasPrefix(rest, ".") && s.lower[at:end] == "www") {
		length := strings.IndexAny(s.lower[at:], " \t\n\r<>\"`")
		if length < 0 {
			length = len(s.lower) - at
		}
		s.urlEnd = at + length
	}
}

// link appends a run to the chain that it may continue.
func (s *scanner) link(at, end int) {
	if s.links > 0 && s.chainEnd+1 != at {
		s.endChain()
	}
	if s.links == maxChain {
		s.chainBroke = true
	} else {
		s.chain[s.links] = run{at, end}
		s.links++
	}
	s.chainEnd = end
}

// endChain adds the joined form of a chain: "nodejs" of "node.js".
func (s *scanner) endChain() {
	links := s.links
	s.links, s.chainEnd = 0, 0
	if s.chainBroke || links < 2 {
		s.chainBroke = false
		return
	}
	var joined strings.Builder
	for _, part := range s.chain[:links] {
		joined.WriteString(s.lower[part.from:part.to])
	}
	if word := joined.String(); len(word) <= longest {
		s.add(stem(word), Extra)
	}
}

// spacedWord adds a word of a script with blanks, and its parts separated by capitals.
func (s *scanner) spacedWord(at, end int) {
	s.count++
	word := s.lower[at:end]
	if at < s.urlEnd && urlWord(word) {
		return
	}
	if weak(word) {
		s.add(WeakMark+word, Weak)
		return
	}
	stem, common := known(word)
	kind := Plain
	if common {
		kind = Common
	}
	s.add(stem, kind)
	from := at
	for i := at + 1; i < end; i++ {
		if !s.capital(i) || s.capital(i-1) && (i+1 == end || s.capital(i+1) || !letter(s.original[i+1])) {
			continue
		}
		s.part(from, i)
		from = i
	}
	if from > at {
		s.part(from, end)
	}
}

func (s *scanner) capital(i int) bool { return 'A' <= s.original[i] && s.original[i] <= 'Z' }

func letter(c byte) bool { return 'a' <= c && c <= 'z' }

// part adds one part of a compound such as getUserById.
func (s *scanner) part(from, to int) {
	if word := s.lower[from:to]; !weak(word) {
		s.add(stem(word), Extra)
	}
}

// signed adds "c++", "c#" and "f#" and skips their signs.
func (s *scanner) signed(at, end int) (next int) {
	rest := s.lower[end:]
	signs := 0
	switch {
	case end-at > 3:
	case strings.HasPrefix(rest, "++"):
		signs = 2
	case strings.HasPrefix(rest, "#"):
		signs = 1
	}
	if signs == 0 || len(rest) > signs && wordBytes[rest[signs]] {
		return end
	}
	s.endChain()
	s.add(s.lower[at:end+signs], Plain)
	return end + signs
}

// letters adds the letter groups of a run of a script without blanks.
func (s *scanner) letters(at, end int, script script) {
	least, most := script.groups()
	var starts [longest + 1]uint8 // of the runes
	n := 0
	for i := range s.lower[at:end] {
		starts[n] = uint8(i)
		n++
	}
	starts[n] = uint8(end - at)
	s.count += script.words(n)
	for size := least; size <= most; size++ {
		for i := 0; i+size <= n; i++ {
			if i > 0 && size == 1 && script == hangul {
				break // within a word a single letter is mostly an ending
			}
			s.add(s.lower[at+int(starts[i]):at+int(starts[i+size])], Letters)
		}
	}
	if n < least {
		s.add(s.lower[at:end], Letters)
	}
}

func (s *scanner) add(text string, kind Kind) {
	weight := s.weight
	if s.fenced || s.at < s.urlEnd {
		weight /= 2 // code and URLs count less than words
	}
	s.r.found = append(
		s.r.found, found{text: text, weight: weight, word: uint16(min(max(s.count, 1)-1, 1<<16-1)), kind: kind},
	)
}
