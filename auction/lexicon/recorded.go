package lexicon

import (
	"cmp"
	"slices"
)

// TermID returns the number under which a term is recorded and learnt. It is the same on every node
// and in every table; two terms may share one.
func TermID(term string) uint32 {
	h := uint32(2166136261)
	for i := range len(term) {
		h = (h ^ uint32(term[i])) * 16777619
	}
	h ^= h >> 16
	h *= 0x85ebca6b
	return h ^ h>>13
}

// numbersOf returns the numbers of terms, by their ids. The texts of a request's terms lie far
// apart, so reading them again for each record would cost more than the table of numbers (benchmark
// row ad_request_100k).
func numbersOf(terms []string) []uint32 {
	numbers := make([]uint32, len(terms))
	for id, term := range terms {
		numbers[id] = TermID(term)
	}
	return numbers
}

// LikeID returns the number that records that a word of a request resembles the term with this id.
// Applied twice it returns the id. A word of the request teaches more about a term than one that
// resembles it.
func LikeID(id uint32) uint32 { return id ^ 0x9e3779b1 }

// Recorded appends up to most ids of terms of the last request that campaigns contain, in ascending
// order. It prefers the request's own terms of the most weight. The rest, as [LikeID], are terms
// that its other words resemble, the most similar first, as they count in the match. Terms that
// only campaigns without a vote contain come after all others. Neither the text nor the order of
// the words is recorded, and no term of a special category.
func (r *Reader) Recorded(table *Table, dst []uint32, most int) []uint32 {
	from := len(dst)
	dst = r.record(table, dst, from+most, 0, table.voted)
	dst = r.record(table, dst, from+most, table.voted, uint32(table.Len()))
	slices.Sort(dst[from:])
	return dst
}

// record appends terms with ids from first to before end, until dst has most.
func (r *Reader) record(table *Table, dst []uint32, most int, first, end uint32) []uint32 {
	if first == end {
		return dst
	}
	r.named = r.named[:0]
	for _, id := range r.vector.Own {
		if id >= first && id < end {
			r.named = append(r.named, id)
		}
	}
	own, room := len(r.named), most-len(dst)
	if own > room {
		slices.SortFunc(r.named, func(a, b uint32) int {
			if by := cmp.Compare(table.weights[b], table.weights[a]); by != 0 { // without a look at the texts
				return by
			}
			return cmp.Compare(table.Term(a), table.Term(b))
		})
	}
	if own < room {
		r.alike(table, room, first, end)
	}
	for i, id := range r.named {
		if len(dst) == most {
			break
		}
		if !table.special.has(id) {
			number := table.numbers[id]
			if i >= own {
				number = LikeID(number)
			}
			dst = append(dst, number)
		}
	}
	return dst
}

// alike adds to the named terms those that words of the request resemble. If the total exceeds most,
// the most similar come first; otherwise the order does not matter.
func (r *Reader) alike(table *Table, most int, first, end uint32) {
	r.looks = r.looks[:0]
	var maybe [4]uint64 // has a bit of each named term, so that few others need a comparison
	for _, id := range r.named {
		maybe[id/64%4] |= 1 << (id % 64)
	}
	for i := range r.vector.Weights {
		w := &r.vector.Weights[i]
		if w.ID < first || w.ID >= end || maybe[w.ID/64%4]>>(w.ID%64)&1 != 0 && slices.Contains(r.named, w.ID) {
			continue
		}
		r.looks = append(r.looks, *w)
	}
	if len(r.named)+len(r.looks) > most {
		slices.SortFunc(r.looks, func(a, b Weight) int {
			if by := cmp.Compare(b.By, a.By); by != 0 { // without a look at the texts
				return by
			}
			return cmp.Compare(table.Term(a.ID), table.Term(b.ID))
		})
	}
	for i := range r.looks {
		r.named = append(r.named, r.looks[i].ID)
	}
}
