package suitability

import (
	"adnet/internal/subject"
)

// found is a phrase of a class that stands in a text.
type found struct {
	class, sentence int32
	from, to        int32 // its letters
	token           int32 // at which it ends
	quoted          bool
}

// mark is what the rules say of a text short of a verdict: a class of phrases, or a subject. The
// learnt table weighs it with the words.
type mark struct {
	token int32
	hash  uint64
}

// walk is a phrase that has begun.
type walk struct {
	node uint32
	from int32
}

// matcher finds the rules that a text meets. The zero value is ready.
type matcher struct {
	found  []found
	walks  []walk
	items  []uint32
	covers []found
	last   []step // by class, where one of its phrases was found last
	middle []step // of the parts of rules between the first and the last
	stamp  int32  // of the text; what another stamped is old
	steps  int
	marks  []mark
	at     int32 // the token under way
	tell   bool
	met    []uint32 // the rules that were met, where asked for
}

// step is where something was found last.
type step struct{ stamp, sentence, from, to int32 }

// match gives all subjects whose rules the words meet.
func (m *matcher) match(s *ruleSet, t *tokens) (met subject.Set) {
	m.marks = m.marks[:0]
	m.find(s, t)
	if len(m.found) == 0 {
		return 0
	}
	if len(m.last) != len(s.usesOf) {
		m.last, m.middle = make([]step, len(s.usesOf)), make([]step, s.middles)
	}
	m.stamp++
	var soft, unless subject.Set
	for i := range m.found {
		f := &m.found[i]
		if m.covered(f) {
			continue
		}
		m.last[f.class] = step{m.stamp, f.sentence, f.from, f.to}
		unless |= s.unless[f.class]
		m.marks = append(m.marks, mark{f.token, s.marks[f.class]})
		of := s.usesOf[f.class]
		for _, u := range s.uses[of.from:of.to] {
			m.steps++
			r := &s.rules[u.rule]
			if f.quoted && r.subject == subject.Child {
				continue // the writer is not who is quoted
			}
			if !m.advance(r, int(u.part), f) {
				continue
			}
			if m.tell {
				m.met = append(m.met, u.rule)
			}
			m.marks = append(m.marks, mark{f.token, hashOn(offset, rune(r.subject))})
			if r.soft {
				soft |= subject.SetOf(r.subject)
			} else {
				met |= subject.SetOf(r.subject)
			}
		}
	}
	return met | soft&^unless
}

// find lists the phrases of the words, by where they end.
func (m *matcher) find(s *ruleSet, t *tokens) {
	m.found, m.covers, m.walks = m.found[:0], m.covers[:0], m.walks[:0]
	sentence := int32(-1)
	for i := range t.list {
		one := &t.list[i]
		m.at = int32(i)
		if one.sentence != sentence {
			m.walks, sentence = m.walks[:0], one.sentence
		}
		m.items = m.items[:0]
		switch {
		case one.number >= 0:
			if one.whole && one.number >= youngest && one.number < adult && !m.counts(s, t, i+1) {
				m.items = append(m.items, s.age)
			}
			if one.item != 0 {
				m.items = append(m.items, one.item)
			}
		default:
			m.items = s.words.items(m.items, t.letters[one.from:one.to], one.item, &m.steps)
		}
		m.on(s, one)
	}
}

// Ages in years.
const (
	youngest = 3
	adult    = 18
)

// counts reports whether a number counts what the token i is: minutes, pages.
func (m *matcher) counts(s *ruleSet, t *tokens, i int) bool {
	if i >= len(t.list) || t.list[i].sentence != t.list[i-1].sentence {
		return false
	}
	one := &t.list[i]
	if !one.sign {
		return s.isUnit(one.item)
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

// on goes on with all phrases that have begun, and begins those that begin with the token.
func (m *matcher) on(s *ruleSet, one *token) {
	n := len(m.walks)
	for _, item := range m.items {
		if at := s.root[item]; at != 0 {
			m.walks = append(m.walks, walk{at, one.from})
			m.end(s, at, one.from, one)
		}
	}
	begun := len(m.walks)
	for i := range n {
		for _, item := range m.items {
			m.steps++
			if at := s.child(m.walks[i].node, item); at != 0 {
				m.walks = append(m.walks, walk{at, m.walks[i].from})
				m.end(s, at, m.walks[i].from, one)
			}
		}
	}
	kept := copy(m.walks, m.walks[n:begun])
	kept += copy(m.walks[kept:], m.walks[begun:])
	m.walks = m.walks[:kept]
}

// classesOf are the classes of the phrases that end at a node.
func (s *ruleSet) classesOf(at uint32) []uint16 {
	return s.classes[s.nodes[at].classes:s.nodes[at+1].classes]
}

// child is the node that item leads to, 0 for none.
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

// end notes the phrases that end at a node.
func (m *matcher) end(s *ruleSet, at uint32, from int32, one *token) {
	for _, class := range s.classesOf(at) {
		m.steps++
		f := found{int32(class), one.sentence, from, one.to, m.at, one.quoted}
		if uint32(class) == s.cover {
			m.covers = append(m.covers, f)
			continue
		}
		if uint32(class) != s.units {
			m.found = append(m.found, f)
		}
	}
}

// covered reports whether a phrase stands in one that is ordinary. Covers come by where they end.
func (m *matcher) covered(f *found) bool {
	low, high := 0, len(m.covers)
	for low < high { // the first that ends behind the phrase's begin
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

// advance reports whether a part that was found completes a rule. Of parts in order only those after
// the first come here: the first is only looked back at.
func (m *matcher) advance(r *rule, part int, f *found) bool {
	switch {
	case r.parts == 1:
		return true
	case r.any:
		return m.together(r)
	}
	before := &m.last[r.classes[0]]
	if part > 1 {
		before = &m.middle[r.middle+uint32(part)-2]
	}
	if before.stamp != m.stamp || before.sentence != f.sentence || f.from < before.to || f.from-before.to > r.gaps[part] {
		return false
	}
	if part == int(r.parts)-1 {
		return true
	}
	m.middle[r.middle+uint32(part)-1] = step{m.stamp, f.sentence, f.from, f.to}
	return false
}

// together reports whether the parts of a rule stand near each other.
func (m *matcher) together(r *rule) bool {
	first := &m.last[r.classes[0]]
	low, high, letters := first.from, first.to, int32(0)
	for _, class := range r.classes[:r.parts] {
		at := &m.last[class]
		if at.stamp != m.stamp || at.sentence != first.sentence {
			return false
		}
		low, high = min(low, at.from), max(high, at.to)
		letters += at.to - at.from
	}
	return high-low-letters <= r.gaps[0]*int32(r.parts-1)
}
