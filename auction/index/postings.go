package index

import "slices"

// blockSize is the number of groups that share a bound.
const blockBits = 7
const blockSize = 1 << blockBits

// postings holds the groups of each term, with the amount that the term adds to their match.
type postings struct {
	begin []uint32 // by term: the first of its entries; one more at the end
	peak  []uint16 // by term: the most that it adds to any group
	group []uint32 // by entry, ascending for each term
	by    []uint16 // by entry
}

// posting is one entry being added. Postings are added in the order of groups.
type posting struct {
	term  uint32
	group uint32
	by    uint16
}

// lay lays out the postings that each yields. It calls each twice, which must yield the same
// postings in the order of groups.
func lay(terms int, each func(add func(posting))) postings {
	next := make([]uint32, terms+1)
	each(func(p posting) { next[p.term+1]++ })
	for i := range terms {
		next[i+1] += next[i]
	}
	out := postings{
		begin: slices.Clone(next), peak: make([]uint16, terms),
		group: make([]uint32, next[terms]), by: make([]uint16, next[terms]),
	}
	each(func(p posting) {
		out.peak[p.term] = max(out.peak[p.term], p.by)
		at := &next[p.term]
		out.group[*at], out.by[*at] = p.group, p.by
		*at++
	})
	return out
}

// entries returns the range of entries of one term.
func (p *postings) entries(term uint32) (from, to uint32) { return p.begin[term], p.begin[term+1] }

// from returns the first entry in a range whose group is group or a later one.
func (p *postings) from(from, to, group uint32) uint32 {
	i, _ := slices.BinarySearch(p.group[from:to], group)
	return from + uint32(i)
}

// find returns the entry of a group in a range.
func (p *postings) find(from, to, group uint32) (at uint32, ok bool) {
	at = p.from(from, to, group)
	return at, at < to && p.group[at] == group
}
