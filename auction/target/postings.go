package target

import "slices"

// postings are the groups of one term.
type postings struct {
	any    []uint32 // ascending groups that run in every host app
	hosted bool     // there are more that run in one
}

// listKey names a posting list: the groups that target one token or one tool, or neither (dim is
// dims and term 0), and run in one host app.
type listKey uint64

func keyOf(dim int, term, host uint32) listKey {
	return listKey(dim)<<60 | listKey(term)<<30&(1<<60-1) | listKey(host)&(1<<30-1)
}

// fillLists enters every group into its posting lists. A search reads the lists of the query's own
// terms and host, so what it meets there rarely fails a filter, and a bound never promises a tool
// or host that the request cannot have. Of tokens and tools the rarer ones are chosen.
func (s *segment) fillLists() {
	used := s.uses()
	s.hosted = map[listKey][]uint32{}
	for _, d := range []int{dimToken, dimTool, dimDeal} {
		s.lists[d] = make([]postings, len(s.vocab[d]))
	}
	s.lists[dims] = make([]postings, 1)
	anyHost, anyTerm := []uint32{none}, []uint32{0}
	for i := range s.groups {
		g := &s.groups[i]
		dim, terms := s.rarer(g, used)
		if len(terms) == 0 {
			dim, terms = dims, anyTerm
		}
		hosts := g.terms(s, dimHost)
		if len(hosts) == 0 || len(hosts)*len(terms) > maxLists {
			hosts = anyHost
		}
		for _, deal := range g.terms(s, dimDeal) {
			s.enter(uint32(i), dimDeal, deal, none)
		}
		for _, term := range terms {
			for _, host := range hosts {
				s.enter(uint32(i), dim, term, host)
			}
		}
	}
	for key, list := range s.hosted {
		s.hosted[key] = slices.Clip(list)
	}
	for _, terms := range s.lists {
		for i := range terms {
			terms[i].any = slices.Clip(terms[i].any)
		}
	}
}

// uses counts the groups of each token and each tool.
func (s *segment) uses() (used [dims][]int) {
	for _, d := range []int{dimToken, dimTool} {
		used[d] = make([]int, len(s.vocab[d]))
		for i := range s.groups {
			for _, term := range s.groups[i].terms(s, d) {
				used[d][term]++
			}
		}
	}
	return used
}

// enter puts a group into a list, those of a list in ascending order.
func (s *segment) enter(group uint32, dim int, term, host uint32) {
	of := &s.lists[dim][term]
	if host == none {
		of.any = append(of.any, group)
		return
	}
	of.hosted = true
	key := keyOf(dim, term, host)
	s.hosted[key] = append(s.hosted[key], group)
}

// list is the posting list of a term in one host app, or in all (host none).
func (s *segment) list(dim int, term, host uint32) []uint32 {
	of := &s.lists[dim][term]
	switch {
	case host == none:
		return of.any
	case of.hosted:
		return s.hosted[keyOf(dim, term, host)]
	}
	return nil
}

// maxLists keeps campaigns with very long lists from filling the memory with the product of two of
// them.
const maxLists = 256

// rarer is the dimension, tokens or tools, whose terms of g occur in fewer groups.
func (s *segment) rarer(g *group, used [dims][]int) (dim int, terms []uint32) {
	sum := func(d int) (n int) {
		for _, term := range g.terms(s, d) {
			n += used[d][term]
		}
		return n
	}
	tokens, tools := g.terms(s, dimToken), g.terms(s, dimTool)
	if len(tokens) == 0 || len(tools) > 0 && sum(dimTool) < sum(dimToken) {
		return dimTool, tools
	}
	return dimToken, tokens
}
