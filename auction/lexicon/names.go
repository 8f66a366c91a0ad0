package lexicon

import "hash/maphash"

// names holds the texts of the terms of a table, and their ids by text. A context looks up all of
// its words among those of all campaigns. Each lookup touches a few distant cache lines, so the
// texts are one string, the ids are in a hash table with open addressing, and neither has pointers
// for the garbage collector (benchmark row ad_request_100k).
type names struct {
	seed  maphash.Seed // keeps outsiders from provoking collisions
	text  string       // each term after its length in one byte
	at    []uint32     // by id: the start of its text
	marks []uint8      // by slot: some bits of the hash; 0 is empty
	slots []slot       // a power of two, at most three quarters full
}

// slot is an entry of the hash table.
type slot struct{ at, id uint32 }

// longestName is the maximum length of a term in bytes; package words makes none as long.
const longestName = 255

// namesOf lays out distinct terms by their ids.
func namesOf(terms []string) names {
	size := 8
	for size*3 < len(terms)*4 {
		size *= 2
	}
	length := len(terms)
	for _, term := range terms {
		length += len(term)
	}
	n := names{
		seed: maphash.MakeSeed(), at: make([]uint32, len(terms)), marks: make([]uint8, size), slots: make([]slot, size),
	}
	text := make([]byte, 0, length)
	for id, term := range terms {
		text = append(text, uint8(len(term)))
		n.at[id] = uint32(len(text))
		text = append(text, term...)
		n.enter(term, slot{n.at[id], uint32(id)})
	}
	n.text = string(text)
	return n
}

func (n *names) enter(term string, s slot) {
	place, mark := n.place(term)
	for n.marks[place] != 0 {
		place = (place + 1) & (len(n.marks) - 1)
	}
	n.marks[place], n.slots[place] = mark, s
}

// place returns the first slot to probe for a term, and its mark.
func (n *names) place(term string) (at int, mark uint8) {
	h := maphash.String(n.seed, term)
	return int(h) & (len(n.marks) - 1), uint8(h>>56) | 1
}

// id returns the id of a term, or [None].
func (n *names) id(term string) uint32 {
	if len(n.marks) == 0 || len(term) > longestName {
		return None
	}
	place, mark := n.place(term)
	for ; n.marks[place] != 0; place = (place + 1) & (len(n.marks) - 1) {
		if n.marks[place] != mark {
			continue
		}
		s := n.slots[place]
		if begin := int(s.at); int(n.text[begin-1]) == len(term) && n.text[begin:begin+len(term)] == term {
			return s.id
		}
	}
	return None
}

// of returns the text of a term.
func (n *names) of(id uint32) string {
	begin := int(n.at[id])
	return n.text[begin : begin+int(n.text[begin-1])]
}

// len returns the number of terms.
func (n *names) len() int { return len(n.at) }

// idSet is a set of terms of a table.
type idSet []uint64

func newIDSet(terms int) idSet { return make(idSet, (terms+63)/64) }

func (s idSet) add(id uint32) { s[id/64] |= 1 << (id % 64) }

func (s idSet) has(id uint32) bool { return s[id/64]>>(id%64)&1 != 0 }
