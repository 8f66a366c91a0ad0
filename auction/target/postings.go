package target

import "slices"

// block is how many groups share a bound.
const blockBits = 7
const blockSize = 1 << blockBits

// postings are the groups of each term, with what the term adds to their match.
type postings struct {
	begin []uint32 // by term, the first of its entries; one more at the end
	peak  []uint16 // by term, the most that it adds anywhere
	group []uint32 // by entry, ascending for each term
	by    []uint16 // by entry
}

// posting is one entry in the making. Postings are added in the order of groups.
type posting struct {
	term  uint32
	group uint32
	by    uint16
}

// lay lays out the postings that each gives, always the same, in the order of groups.
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

// entries are those of one term.
func (p *postings) entries(term uint32) (from, to uint32) { return p.begin[term], p.begin[term+1] }

// from is the first of the entries from and to that is of the group or of one behind it.
func (p *postings) from(from, to, group uint32) uint32 {
	i, _ := slices.BinarySearch(p.group[from:to], group)
	return from + uint32(i)
}

// find is the entry of a group among those from and to.
func (p *postings) find(from, to, group uint32) (at uint32, ok bool) {
	at = p.from(from, to, group)
	return at, at < to && p.group[at] == group
}
