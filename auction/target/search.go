package target

import (
	"bytes"
	"slices"

	"adnet/auction/ranker"
	"adnet/internal/money"
)

// Candidate is a campaign that matches a query.
type Candidate struct {
	// Campaign is owned by the index.
	Campaign *Campaign
	// EffectiveCPM in micro-USD is the score.
	EffectiveCPM money.Micros
	// Signals are what the query and the campaign have in common.
	Signals ranker.Signals
}

// Search walks the matches of one query at a time, best first. The zero value is ready; reused, it
// does not allocate. It belongs to one goroutine, and between [Search.Start] and the last
// [Search.Next] it keeps the index alive.
type Search struct {
	walks   [2]walk // base and overlay
	heap    []entry
	opened  []opened
	last    entry // what [Search.Next] gave out last
	given   bool  // and what follows it in its group is not in the heap yet
	formats uint8 // bit per Format; 0 is any
	buf     []byte
}

// walk is the part of a search in one segment: a merge of the posting lists that the query touches.
type walk struct {
	seg   *segment
	dead  []uint64
	ids   [dims][]uint32 // the query's terms that the segment knows, ascending
	lists []cursor
	next  uint32 // the lowest head
}

// cursor is a posting list that is being read.
type cursor struct {
	head   uint32 // the next group
	tokens uint32 // 1 for the list of a token, else 0
	rest   []uint32
}

// entry is a group that was met but not looked at, with a limit as its score; or a member of one
// that was opened. The heap holds, for each opened group, every member that could come next in it.
// Most entries are groups that nothing comes of, so an entry is small (benchmark row auction).
type entry struct {
	score money.Micros
	at    uint32 // of an unopened group its number, else into Search.opened
	walk  uint8
	state state
}

// opened is the rest of an entry of an opened group.
type opened struct {
	group   uint32
	at      uint32 // into members
	slot    uint32
	signals ranker.Signals
}

type state uint8

const (
	unopened state = iota
	tierHead       // the first member of its tier
	tierRest
)

// Start begins the search for q, dropping any earlier one.
func (s *Search) Start(x *Index, q *Query) {
	s.heap, s.opened, s.given = s.heap[:0], s.opened[:0], false
	s.formats = 0
	for _, f := range q.Formats {
		s.formats |= 1 << min(f, 7) // an unknown format still restricts
	}
	s.walks[0].seg, s.walks[0].dead = x.base, x.dead
	s.walks[1].seg, s.walks[1].dead = x.overlay, nil
	for i := range s.walks {
		s.open(&s.walks[i], q)
	}
}

// open resolves the query's values and collects the lists to merge.
func (s *Search) open(w *walk, q *Query) {
	w.lists, w.next = w.lists[:0], none
	if len(w.seg.campaigns) == 0 {
		return
	}
	for d := range w.ids {
		w.ids[d] = s.resolve(w.ids[d][:0], w.seg, d, q)
	}
	if len(q.Deals) > 0 {
		w.addDeals()
		return
	}
	w.addLists(none)
	for _, host := range w.ids[dimHost] {
		w.addLists(host)
	}
}

// addLists adds the lists of all the query's terms for one host, or for campaigns of every host.
func (w *walk) addLists(host uint32) {
	for _, term := range w.ids[dimToken] {
		w.add(w.seg.list(dimToken, term, host), 1)
	}
	for _, term := range w.ids[dimTool] {
		w.add(w.seg.list(dimTool, term, host), 0)
	}
	w.add(w.seg.list(dims, 0, host), 0)
}

// addDeals adds the lists of the query's deals, which hold every group that may answer one.
func (w *walk) addDeals() {
	for _, deal := range w.ids[dimDeal] {
		w.add(w.seg.list(dimDeal, deal, none), 0)
	}
}

func (w *walk) add(list []uint32, tokens uint32) {
	if len(list) > 0 {
		w.lists = append(w.lists, cursor{head: list[0], tokens: tokens, rest: list[1:]})
		w.next = min(w.next, list[0])
	}
}

// resolve appends the segment's terms for the query's values of one dimension, ascending and
// distinct.
func (s *Search) resolve(ids []uint32, seg *segment, d int, q *Query) []uint32 {
	vocab := seg.vocab[d]
	if len(vocab) == 0 {
		return ids
	}
	switch d {
	case dimToken:
		ids = resolveTokens(ids, seg, q.Tokens)
	case dimTool:
		for _, tool := range q.ActiveTools {
			ids = s.lookUp(ids, vocab, d, tool)
		}
	case dimDeal:
		for _, deal := range q.Deals {
			ids = s.lookUp(ids, vocab, d, deal)
		}
	default:
		ids = s.lookUp(ids, vocab, d, q.value(d))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func resolveTokens(ids []uint32, seg *segment, tokens []string) []uint32 {
	for _, token := range tokens {
		if isTerm(token) {
			ids = seg.appendToken(ids, token)
			continue
		}
		for _, term := range terms(token) {
			ids = seg.appendToken(ids, term)
		}
	}
	return ids
}

// lookUp appends the term of one value; of regions and languages also those of its broader forms.
func (s *Search) lookUp(ids []uint32, vocab map[string]uint32, d int, value string) []uint32 {
	s.buf = appendValue(s.buf[:0], d, value)
	for key := s.buf; len(key) > 0; key = broader(key, d) {
		if id, ok := vocab[string(key)]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// broader cuts the last part off a region or language: "us-ca" gives "us". Others have no broader
// form.
func broader(value []byte, d int) []byte {
	if d != dimRegion && d != dimLanguage {
		return nil
	}
	return value[:max(bytes.LastIndexByte(value, '-'), 0)]
}

// value is the query's single value of a dimension.
func (q *Query) value(d int) string {
	switch d {
	case dimHost:
		return q.HostApp
	case dimSurface:
		return q.Surface
	case dimMethod:
		return q.IntegrationMethod
	case dimRegion:
		return q.Region
	case dimLanguage:
		return q.Language
	}
	return ""
}

// Next returns the best match not yet returned; ok is false after the last.
func (s *Search) Next() (c Candidate, ok bool) {
	if s.given { // only now, as many a search ends with its first candidate
		s.given = false
		s.follow(s.last)
	}
	for {
		ahead := s.ahead()
		if ahead < 0 {
			if len(s.heap) == 0 {
				return Candidate{}, false
			}
		} else if len(s.heap) == 0 || !s.settled(&s.walks[ahead]) {
			s.visit(uint8(ahead))
			continue
		}
		e := s.pop()
		if e.state == unopened {
			s.look(e)
			continue
		}
		w, o := &s.walks[e.walk], &s.opened[e.at]
		if !isDead(w.dead, o.slot) {
			s.last, s.given = e, true
			return Candidate{&w.seg.campaigns[o.slot], e.score, o.signals}, true
		}
		s.follow(e)
	}
}

// ahead is the walk whose next group has the higher bound, -1 when both are exhausted.
func (s *Search) ahead() int {
	base, overlay := &s.walks[0], &s.walks[1]
	switch {
	case base.done() && overlay.done():
		return -1
	case base.done():
		return 1
	case overlay.done():
		return 0
	case overlay.bound() > base.bound():
		return 1
	}
	return 0
}

// done says that the walk has no group left.
func (w *walk) done() bool { return len(w.lists) == 0 }

// bound is the bound of the walk's next group.
func (w *walk) bound() money.Micros { return w.seg.limits[w.next].bound() }

// settled says that no group still ahead can hold a better candidate than the heap's best, given
// that w is the walk with the higher bound.
func (s *Search) settled(w *walk) bool {
	top, bound := &s.heap[0], w.bound()
	if top.score != bound || top.state == unopened {
		return top.score >= bound
	}
	for i := range s.walks {
		w := &s.walks[i]
		if !w.done() && w.bound() == bound && s.lower(uint8(i), w.seg.groups[w.next].first, top.walk, s.opened[top.at].slot) {
			return false
		}
	}
	return true
}

func (w *walk) id(slot uint32) *ID { return &w.seg.campaigns[slot].ID }

// lower says whether the campaign in slot a of walk v has a lower id than that in slot b of walk w.
// Within a segment the slots say so.
func (s *Search) lower(v uint8, a uint32, w uint8, b uint32) bool {
	if v == w {
		return a < b
	}
	return bytes.Compare(s.walks[v].id(a)[:], s.walks[w].id(b)[:]) < 0
}

func (s *Search) before(a, b *entry) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	if a.state == unopened || b.state == unopened { // may hold any id, so it is looked at first
		return b.state != unopened
	}
	return s.lower(a.walk, s.opened[a.at].slot, b.walk, s.opened[b.at].slot)
}

// visit takes the next group of a walk and queues it by the score limit of the tokens it shares.
// Most groups are never examined further.
func (s *Search) visit(which uint8) {
	w := &s.walks[which]
	at := w.next
	tokens := w.advance()
	s.push(entry{score: w.seg.limits[at].with(tokens), at: at, walk: which})
}

// look opens a group when the query passes its filters.
func (s *Search) look(e entry) {
	w := &s.walks[e.walk]
	g := &w.seg.groups[e.at]
	if s.formats != 0 && s.formats&(1<<g.format) == 0 {
		return
	}
	signals, ok := w.signals(g)
	if !ok {
		return
	}
	s.openTiers(e.walk, opened{group: e.at, at: g.begin, signals: signals}, w.seg.table.Relevance(signals))
}

// advance moves every list past the group w.next and counts the token lists that held it. A group
// that is listed by its tokens is in the list of each, so that is the number of tokens it shares.
func (w *walk) advance() (tokens int) {
	at, next := w.next, none
	for i := 0; i < len(w.lists); i++ {
		c := &w.lists[i]
		if c.head == at {
			tokens += int(c.tokens)
			if len(c.rest) == 0 {
				w.drop(i)
				i--
				continue
			}
			c.head, c.rest = c.rest[0], c.rest[1:]
		}
		next = min(next, c.head)
	}
	w.next = next
	return tokens
}

// drop removes an exhausted list.
func (w *walk) drop(i int) {
	last := len(w.lists) - 1
	w.lists[i] = w.lists[last]
	w.lists = w.lists[:last]
}

// signals applies the hard filters of a group.
func (w *walk) signals(g *group) (ranker.Signals, bool) {
	for d := dimHost; d < dimDeal; d++ {
		if list := g.terms(w.seg, d); len(list) > 0 && overlap(list, w.ids[d]) == 0 {
			return ranker.Signals{}, false
		}
	}
	tools := g.terms(w.seg, dimTool)
	sharedTools := overlap(tools, w.ids[dimTool])
	if len(tools) > 0 && sharedTools == 0 {
		return ranker.Signals{}, false
	}
	tokens := g.terms(w.seg, dimToken)
	sharedTokens := overlap(tokens, w.ids[dimToken])
	if len(tokens) > 0 && sharedTokens == 0 {
		return ranker.Signals{}, false
	}
	return ranker.Signals{
		IntentMatched: sharedTokens, IntentTargeted: count(len(tokens)),
		ToolMatched: sharedTools, ToolTargeted: count(len(tools)),
		HostMatched: len(g.terms(w.seg, dimHost)) > 0,
	}, true
}

// overlap counts the common values of two ascending lists.
func overlap(a, b []uint32) (n uint16) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
			n++
		}
	}
	return n
}

// openTiers makes the tier that begins at o.at available, and with it every following tier of the
// same score: rounding down makes neighbouring bids equal, and then a lower bid with a lower id
// comes first.
func (s *Search) openTiers(which uint8, o opened, relevance ranker.PerMille) {
	seg := s.walks[which].seg
	g := &seg.groups[o.group]
	var of money.Micros
	for first := true; o.at < g.end; o.at = seg.members[o.at].tierEnd {
		score := seg.table.EffectiveCPM(g.billing, seg.members[o.at].bid, relevance)
		if !first && score != of {
			return
		}
		first, of = false, score
		s.pushMember(which, tierHead, score, o)
	}
}

// follow makes available what comes after e in its group: the next member of its tier, and, when e
// was the first of it, the next tier unless openTiers already did.
func (s *Search) follow(e entry) {
	o := s.opened[e.at]
	seg := s.walks[e.walk].seg
	g := &seg.groups[o.group]
	tierEnd := seg.members[o.at].tierEnd
	if e.state == tierHead && tierEnd < g.end {
		relevance := seg.table.Relevance(o.signals)
		if seg.table.EffectiveCPM(g.billing, seg.members[tierEnd].bid, relevance) != e.score {
			next := o
			next.at = tierEnd
			s.openTiers(e.walk, next, relevance)
		}
	}
	if o.at+1 < tierEnd {
		o.at++
		s.pushMember(e.walk, tierRest, e.score, o)
	}
}

// pushMember puts the member at o.at into the heap.
func (s *Search) pushMember(which uint8, st state, score money.Micros, o opened) {
	o.slot = s.walks[which].seg.members[o.at].slot
	s.opened = append(s.opened, o)
	s.push(entry{score: score, at: uint32(len(s.opened) - 1), walk: which, state: st})
}

func (s *Search) push(e entry) {
	s.heap = append(s.heap, e)
	for i := len(s.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.before(&s.heap[i], &s.heap[parent]) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *Search) pop() entry {
	top, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && s.before(&s.heap[child+1], &s.heap[child]) {
			child++
		}
		if !s.before(&s.heap[child], &s.heap[i]) {
			return top
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}
