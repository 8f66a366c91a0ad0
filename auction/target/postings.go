package target

import "slices"

// block is how many groups share a maximum of each term.
const blockBits = 7
const blockSize = 1 << blockBits

// postings are the groups of each term, with what the term adds to their match. A term has a head
// for each block of groups in which it occurs, with the most that it adds there.
type postings struct {
	begin []uint32 // by term, the first of its heads; one more at the end
	block []uint32 // by head
	most  []uint16 // by head
	first []uint32 // by head, the first of its entries; one more at the end
	at    []uint8  // by entry, the group's place in its block
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
	entries := make([]uint32, terms+1)
	heads := make([]uint32, terms+1)
	last := make([]uint32, terms)
	fill(last, none)
	each(func(p posting) {
		entries[p.term+1]++
		if block := p.group >> blockBits; last[p.term] != block {
			last[p.term] = block
			heads[p.term+1]++
		}
	})
	for i := range terms {
		entries[i+1] += entries[i]
		heads[i+1] += heads[i]
	}
	out := postings{
		begin: slices.Clone(heads), block: make([]uint32, heads[terms]), most: make([]uint16, heads[terms]),
		first: make([]uint32, heads[terms]+1), at: make([]uint8, entries[terms]), by: make([]uint16, entries[terms]),
	}
	out.first[heads[terms]] = entries[terms]
	fill(last, none)
	each(func(p posting) {
		head, entry := &heads[p.term], &entries[p.term]
		if block := p.group >> blockBits; last[p.term] != block {
			last[p.term] = block
			out.block[*head], out.first[*head] = block, *entry
			*head++
		}
		out.most[*head-1] = max(out.most[*head-1], p.by)
		out.at[*entry], out.by[*entry] = uint8(p.group&(blockSize-1)), p.by
		*entry++
	})
	return out
}

func fill(list []uint32, with uint32) {
	for i := range list {
		list[i] = with
	}
}

// heads are those of one term.
func (p *postings) heads(term uint32) (from, to uint32) { return p.begin[term], p.begin[term+1] }

// head finds the head of a block among those from and to; ok is false when the term is not in it.
func (p *postings) head(from, to, block uint32) (at uint32, ok bool) {
	i, ok := slices.BinarySearch(p.block[from:to], block)
	return from + uint32(i), ok
}
