package lexicon

import (
	"slices"

	"adnet/auction/ranker"
)

// ByTermID is the term of an id as it is recorded; of several the first. [None] when the table has
// none.
func (t *Table) ByTermID(id uint32) uint32 {
	t.once.Do(func() {
		t.byTermID = make(map[uint32]uint32, t.Len())
		for id := range uint32(t.Len()) {
			if term := TermID(t.Term(id)); t.byTermID[term] == 0 {
				t.byTermID[term] = id + 1
			}
		}
	})
	return t.byTermID[id] - 1 // None without an entry
}

// Learnt appends the vector of a campaign after its lessons: a term adds what it did and what was
// learnt, at least next to nothing. In what it gives, terms are those of the table.
func (t *Table) Learnt(dst, said []Posting, lessons []ranker.Lesson) []Posting {
	from := len(dst)
	dst = append(dst, said...)
	for _, l := range lessons {
		id := t.ByTermID(l.Term)
		if id == None {
			continue
		}
		at := slices.IndexFunc(dst[from:], func(p Posting) bool { return p.ID == id })
		switch {
		case at >= 0:
			dst[from+at].By = Taught(dst[from+at].By, l.By)
		case l.By > 0:
			dst = append(dst, Posting{ID: id, By: Taught(0, l.By)})
		}
	}
	return dst
}

// Taught is what a term of a campaign adds after a lesson; said is what it did, 0 for one that the
// campaign does not say, whose lesson counts only if it adds. A term that was said stays: where
// tokens are a filter it is how the campaign is found.
func Taught(said uint16, lesson int32) uint16 {
	if said == 0 && lesson <= 0 {
		return 0
	}
	return uint16(max(min(int32(said)+lesson, Full-1), 1))
}

// Rarity is how much a term weighs, in units of 1/256 bit: the fewer advertisers use it, the more.
func (t *Table) Rarity(id uint32) uint16 { return t.weights[id] }
