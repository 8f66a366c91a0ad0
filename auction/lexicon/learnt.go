package lexicon

import (
	"slices"

	"adnet/auction/ranker"
)

// ByTermID returns the table's id of a recorded term id (the first term if several share it), or
// [None].
func (t *Table) ByTermID(id uint32) uint32 {
	t.once.Do(func() {
		t.byTermID = make(map[uint32]uint32, t.Len())
		for id, number := range t.numbers {
			if t.byTermID[number] == 0 {
				t.byTermID[number] = uint32(id) + 1
			}
		}
	})
	return t.byTermID[id] - 1 // None without an entry
}

// Learnt appends the vector of a campaign after its lessons: each term adds its former amount plus
// its lesson, at least next to nothing. The terms of the result are those of the table.
func (t *Table) Learnt(dst, vector []Posting, lessons []ranker.Lesson) []Posting {
	from := len(dst)
	dst = append(dst, vector...)
	for _, l := range lessons {
		id := t.ByTermID(l.Term)
		if id == None {
			continue
		}
		at := slices.IndexFunc(dst[from:], func(p Posting) bool { return p.ID == id })
		switch {
		case at >= 0:
			dst[from+at].By = Taught(dst[from+at].By, l.By)
		case l.By > 0 && id < t.voted: // others' terms without votes change no vector
			dst = append(dst, Posting{ID: id, By: Taught(0, l.By)})
		}
	}
	return dst
}

// Taught returns the amount that a term of a campaign adds after a lesson. by is its former amount,
// 0 for a term that the campaign does not have, for which only a positive lesson counts. A term of
// the campaign never drops to 0: where tokens are a filter, the campaign is found by it.
func Taught(by uint16, lesson int32) uint16 {
	if by == 0 && lesson <= 0 {
		return 0
	}
	return uint16(max(min(int32(by)+lesson, Full-1), 1))
}

// Rarity returns the weight of a term, in units of 1/256 bit: the fewer advertisers use it, the
// greater.
func (t *Table) Rarity(id uint32) uint16 { return t.weights[id] }
