package suitability

import (
	"adnet/internal/campaign/subject"
)

// found is a phrase of a class in a text: its first and its last token.
type found struct {
	class       uint16
	first, last int32
}

// mark is a finding of the rules short of a verdict: a class of phrases, or a subject. The learnt
// table weighs it together with the words.
type mark struct {
	token int32
	hash  uint64
}

// walk is a partly matched phrase.
type walk struct {
	node  uint32
	first int32 // token
}

// matcher finds the rules that a text matches. The zero value is ready.
type matcher struct {
	found  []found
	walks  []walk
	items  []uint32
	covers []step
	last   []step   // the last match of each class and of each middle part of a rule
	seen   []uint64 // a bit for each entry of last: whether this text set it
	steps  int
	marks  []mark
	tell   bool
	met    []uint32 // the matched rules, if tell is set
}

// step is the position of a match.
type step struct{ sentence, from, to int32 }

// match returns all subjects whose rules the words match.
func (m *matcher) match(s *ruleSet, t *tokens) (met subject.Set) {
	m.marks = m.marks[:0]
	m.find(s, t)
	if len(m.found) == 0 {
		return 0
	}
	if len(m.last) != int(s.steps) {
		m.last, m.seen = make([]step, s.steps), make([]uint64, s.steps/64+1)
	}
	clear(m.seen)
	var soft, unless subject.Set
	for i := range m.found {
		f := &m.found[i]
		last := &t.list[f.last]
		at := step{last.sentence, t.list[f.first].from, last.to}
		if len(m.covers) > 0 && m.covered(&at) {
			continue
		}
		m.put(uint32(f.class), at)
		unless |= s.unless[f.class]
		m.marks = append(m.marks, mark{f.last, s.marks[f.class]})
		of := s.usesOf[f.class]
		for _, u := range s.uses[of.from:of.to] {
			m.steps++
			if u.before != 0 && !m.has(u.before) {
				continue
			}
			r := &s.rules[u.rule]
			if last.quoted && r.subject == subject.Child {
				continue // the person quoted is not the writer
			}
			if !m.advance(r, u, &at) {
				continue
			}
			if m.tell {
				m.met = append(m.met, u.rule)
			}
			m.marks = append(m.marks, mark{f.last, hashOn(offset, rune(r.subject))})
			if r.soft {
				soft |= subject.SetOf(r.subject)
			} else {
				met |= subject.SetOf(r.subject)
			}
		}
	}
	return met | soft&^unless
}

func (m *matcher) has(place uint32) bool { return m.seen[place/64]>>(place%64)&1 != 0 }

func (m *matcher) put(place uint32, at step) {
	m.seen[place/64] |= 1 << (place % 64)
	m.last[place] = at
}

// find lists the phrases in the words, in the order of their ends.
func (m *matcher) find(s *ruleSet, t *tokens) {
	m.found, m.covers, m.walks = m.found[:0], m.covers[:0], m.walks[:0]
	sentence := int32(-1)
	for i := range t.list {
		tok := &t.list[i]
		if tok.sentence != sentence {
			m.walks, sentence = m.walks[:0], tok.sentence
		}
		m.items = m.items[:0]
		switch {
		case tok.number < 0:
			m.items = s.words.items(m.items, t.letters[tok.from:tok.to], tok.item, &m.steps)
		case tok.item != 0:
			m.items = append(m.items, tok.item)
			fallthrough
		default:
			if tok.whole && tok.number >= youngest && tok.number < adult && !m.counts(s, t, i+1) {
				m.items = append(m.items, s.age)
			}
		}
		if len(m.items) == 0 {
			m.walks = m.walks[:0]
			continue
		}
		m.on(s, t, int32(i))
	}
}

// Ages in years.
const (
	youngest = 3
	adult    = 18
)

// counts reports whether a number counts a unit at token i: minutes, pages.
func (m *matcher) counts(s *ruleSet, t *tokens, i int) bool {
	if i >= len(t.list) || t.list[i].sentence != t.list[i-1].sentence {
		return false
	}
	tok := &t.list[i]
	if !tok.sign {
		return s.isUnit(tok.item)
	}
	at := s.root[0] // a unit of several signs
	for ; i < len(t.list) && t.list[i].sign; i++ {
		item := t.list[i].item
		if item == 0 {
			return false
		}
		if at == 0 {
			at = s.root[item]
		} else {
			at = s.child(at, item)
		}
		if at == 0 {
			return false
		}
		if s.ends(at, s.units) {
			return true
		}
	}
	return false
}

func (s *ruleSet) isUnit(item uint32) bool {
	return item != 0 && s.root[item] != 0 && s.ends(s.root[item], s.units)
}

func (s *ruleSet) ends(at, class uint32) bool {
	for _, c := range s.classesOf(at) {
		if uint32(c) == class {
			return true
		}
	}
	return false
}

// on continues all phrases in progress, and starts those that begin with the token.
func (m *matcher) on(s *ruleSet, t *tokens, token int32) {
	n := len(m.walks)
	for _, item := range m.items {
		if at := s.root[item]; at != 0 {
			m.walk(s, t, at, token, token)
		}
	}
	begun := len(m.walks)
	for i := range n {
		for _, item := range m.items {
			m.steps++
			if at := s.child(m.walks[i].node, item); at != 0 {
				m.walk(s, t, at, m.walks[i].first, token)
			}
		}
	}
	count := copy(m.walks, m.walks[n:begun])
	count += copy(m.walks[count:], m.walks[begun:])
	m.walks = m.walks[:count]
}

// walk enters a node: it records the phrases that end there and keeps those that may continue.
func (m *matcher) walk(s *ruleSet, t *tokens, at uint32, first, last int32) {
	if s.nodes[at].edges < s.nodes[at+1].edges {
		m.walks = append(m.walks, walk{at, first})
	}
	for _, class := range s.classesOf(at) {
		m.steps++
		switch uint32(class) {
		case s.cover:
			m.covers = append(m.covers, step{t.list[last].sentence, t.list[first].from, t.list[last].to})
		case s.units:
		default:
			m.found = append(m.found, found{class, first, last})
		}
	}
}

// classesOf returns the classes of the phrases that end at a node.
func (s *ruleSet) classesOf(at uint32) []uint16 {
	return s.classes[s.nodes[at].classes:s.nodes[at+1].classes]
}

// child returns the node that item leads to, or 0.
func (s *ruleSet) child(at, item uint32) uint32 {
	low, end := s.nodes[at].edges, s.nodes[at+1].edges
	high := end
	for low < high {
		if mid := (low + high) / 2; uint32(s.edges[mid]) < item {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < end && uint32(s.edges[low]) == item {
		return low + 1
	}
	return 0
}

// covered reports whether a phrase is part of an ordinary one. Covers are ordered by their ends.
func (m *matcher) covered(f *step) bool {
	low, high := 0, len(m.covers)
	for low < high { // the first that ends after the phrase's start
		if mid := (low + high) / 2; m.covers[mid].to <= f.from {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for ; low < len(m.covers) && m.covers[low].to < f.to+wideGap; low++ {
		m.steps++
		if m.covers[low].from < f.to {
			return true
		}
	}
	return false
}

// advance reports whether a matched part completes a rule. For ordered parts it is not called with
// the first, at which later parts look back.
func (m *matcher) advance(r *rule, u use, at *step) bool {
	switch {
	case r.parts == 1:
		return true
	case r.any:
		return m.together(r)
	}
	before := &m.last[u.before]
	if before.sentence != at.sentence || at.from < before.to || at.from-before.to > r.gaps[u.part] {
		return false
	}
	if u.part == r.parts-1 {
		return true
	}
	m.put(r.middle+uint32(u.part)-1, *at)
	return false
}

// together reports whether the parts of a rule are close to each other.
func (m *matcher) together(r *rule) bool {
	first := &m.last[r.classes[0]]
	low, high, letters := first.from, first.to, int32(0)
	for _, class := range r.classes[:r.parts] {
		at := &m.last[class]
		if !m.has(class) || at.sentence != first.sentence {
			return false
		}
		low, high = min(low, at.from), max(high, at.to)
		letters += at.to - at.from
	}
	return high-low-letters <= r.gaps[0]*int32(r.parts-1)
}
