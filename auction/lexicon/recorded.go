package lexicon

import (
	"cmp"
	"slices"
)

// TermID is the number by which a term is recorded and learnt about. It is the same on every node
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

// Recorded appends the ids of the terms of the last request that campaigns say, at most so many and
// those of the most weight, ascending: not their text, and not their order. None is of a special
// category.
func (r *Reader) Recorded(table *Table, dst []uint32, most int) []uint32 {
	r.named = append(r.named[:0], r.vector.Said...)
	if len(r.named) > most {
		slices.SortFunc(r.named, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(table.weights[b], table.weights[a]), cmp.Compare(table.terms[a], table.terms[b]))
		})
	}
	from := len(dst)
	for _, id := range r.named {
		if len(dst)-from == most {
			break
		}
		if term := table.terms[id]; !Special(term) {
			dst = append(dst, TermID(term))
		}
	}
	slices.Sort(dst[from:])
	return dst
}
