package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/campaign/locale"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// Candidate is a campaign that matches a query.
type Candidate struct {
	// Campaign is owned by the index.
	Campaign *Campaign
	// EffectiveCPM in micro-USD is the value.
	EffectiveCPM money.Micros
	// Relevance of the campaign to the query.
	Relevance ranker.PPM
	lone      []loneWord // by which it was found, then those of others
	group     uint32
	walk      uint8
}

// Search walks the matches of one query at a time, best first: by value, then by match, then by
// [tie]. The zero value is ready; reused, it does not allocate. It belongs to one goroutine.
// Between [Search.Start] and the last [Search.Next] it keeps the index alive.
type Search struct {
	table   ranker.Table
	walks   [2]walk // base and overlay
	heap    []entry
	last    entry                    // the last result of [Search.Next]
	pending bool                     // the entries after last are not in the heap yet
	formats uint8                    // bit per Format; 0 is any
	silent  bool                     // the query has no words
	views   bool                     // a view can be reported
	bound   bool                     // bound campaigns take part
	about   subject.Set              // the sensitive subjects of the conversation
	trades  subject.TradeSet         // restricted trades that may run
	models  bool                     // a model reads the ad
	at      Second                   // the time of the auction
	least   ranker.Match             // the least match that reaches the floor
	best    [keptValues]money.Micros // the highest values of groups so far
	seed    [2]uint64                // of the tie
	lone    []loneWord               // by walk and place
	reader  lexicon.Reader
	words   words.Reader
	buf     []byte
	window  *window // during [Search.visit] and [Search.lookInto]
}

// walk is the part of a search in one segment.
type walk struct {
	seg     *segment
	dead    []uint64
	ids     [dims][]uint32 // the query's terms known to the segment, ascending
	cursors []cursor
	terms   []termWeight // the query's terms, ascending; set only if lone words are found
	leading int          // number of leading cursors: a group without them cannot reach the floor
	enough  uint32       // the least sum of these with which a group may reach the floor
	behind  uint64       // the most that the other cursors add
	full    uint64       // the most that all cursors add
	blocks  []uint32     // further blocks to read, ascending: of free groups, or of deals
	private bool         // blocks are of deals, and no others count
	next    uint32       // the lowest block ahead
	most    money.Micros // the highest possible value of a group in the blocks ahead
	matches ranker.Match // the most that a group can match
	stride  uint32       // blocks of the next window
}

// cursor reads the entries of one term.
type cursor struct {
	from       *postings
	begin, end uint32 // entries
	at         uint32
	was        uint32 // at, before the last window
	weight     uint32
	term       uint32
	most       uint64          // the maximum of weight × impact
	word       *lexicon.Weight // nil of a tool
}

// tie orders equal campaigns by a hash of the auction and the family, then of the auction and
// the campaign, so that neither age nor a number of copies wins.
type tie struct{ advertiser, campaign uint64 }

// entry is a block that may contain candidates up to a value, a group whose filters are not checked
// yet, or a candidate.
type entry struct {
	value money.Micros
	match ranker.Match
	at    uint32 // the block, or the group
	walk  uint8
	state state
	// For a block: the range of sums that count, from begin on and, if end is not 0, below end,
	// and the last group returned, if any. For skipped blocks: the same range, and the block after
	// the last. For a candidate: the tier of members of its value, and its slot.
	begin, end, slot uint32
	lastValue        money.Micros
	lastMatch        ranker.Match
	tie              tie
}

type state uint8

const (
	passed    state = iota // blocks whose lesser groups were skipped
	unopened               // a postponed block
	rest                   // a block whose best groups are in the heap
	unchecked              // a group
	first                  // the first member of its tier
	following
	alone // a campaign with lone words of the query, the first of which is begin
)

// Start begins the search for q and drops an earlier one.
func (s *Search) Start(x *Index, q *Query) {
	s.heap, s.lone, s.pending, s.best = s.heap[:0], s.lone[:0], false, [keptValues]money.Micros{}
	s.table = *x.base.table
	s.formats = 0
	for _, f := range q.Formats {
		s.formats |= 1 << min(f, 7) // an unknown format still restricts
	}
	s.seed, s.at, s.views, s.about, s.trades = q.seed(), q.At, q.Views, q.Subjects, q.Trades
	s.bound = q.Bound || q.admits()
	s.models = q.Models
	terms := q.terms(&s.words)
	v := s.reader.Request(x.base.words, terms)
	s.silent = v.Empty
	s.least = s.reaching(q.floor(v.Empty))
	s.walks[0].seg, s.walks[0].dead = x.base, x.dead
	s.walks[1].seg, s.walks[1].dead = x.overlay, nil
	for i := range s.walks {
		s.open(uint8(i), q, v, terms)
	}
	s.findLone()
}

// open resolves the query's values and sets the cursors.
func (s *Search) open(which uint8, q *Query, v *lexicon.Vector, terms []words.Term) {
	w := &s.walks[which]
	w.cursors, w.blocks, w.private, w.next, w.stride = w.cursors[:0], nil, len(q.Deals) > 0, none, narrowest
	if len(w.seg.campaigns) == 0 {
		return
	}
	w.ids[dimToken] = w.seg.appendTerms(w.ids[dimToken][:0], v, terms)
	for d := dimTool; d < dims; d++ {
		w.ids[d] = s.resolve(w.ids[d][:0], w.seg, d, q)
	}
	for i := range v.Weights {
		weight := &v.Weights[i]
		id := weight.ID
		if w.seg.own != nil {
			id = w.seg.term(weight.Term(w.seg.words))
		}
		if id != none {
			w.add(&w.seg.texts, cursor{weight: weight.By, word: weight}, id)
			s.addLone(which, weight, id)
		}
	}
	for _, tool := range w.ids[dimTool] {
		w.add(&w.seg.tools, cursor{weight: lexicon.Sum(1)}, tool)
	}
	switch {
	case w.private:
		w.blocks = w.seg.dealBlocks(w.ids[dimDeal])
	case s.wordless():
		w.blocks = w.seg.free
	}
	w.lead(s.floor(w.seg.place))
	w.matches = ranker.Match(lexicon.Match(uint32(min(w.full, uint64(fullSum))))) + w.seg.place
	s.advance(w)
}

// lead excludes from the walk terms that together add at most half of the floor: a group must then
// contain one of the other terms. Only terms with many groups are excluded, the least valuable for
// their length first, so the commonest words are not read through. Looking up a term in the
// remaining groups costs more than reading a short list.
func (w *walk) lead(floor uint32) {
	w.leading, w.enough, w.behind, w.full = len(w.cursors), floor, 0, 0
	for i := range w.cursors {
		w.full += w.cursors[i].most
	}
	if uint64(floor) > w.full { // nothing in the segment can reach it
		w.leading = 0
	}
	if floor == 0 || w.leading == 0 {
		return
	}
	short := 0
	for i := range w.cursors {
		if c := &w.cursors[i]; c.end-c.begin <= manyEntries*uint32(len(w.seg.blocks)) {
			w.cursors[i], w.cursors[short] = w.cursors[short], w.cursors[i]
			short++
		}
	}
	slices.SortFunc(w.cursors[short:], func(a, b cursor) int {
		return cmp.Compare(b.most*uint64(a.end-a.begin), a.most*uint64(b.end-b.begin))
	})
	left := uint64(floor / 2)
	for w.leading > short && w.cursors[w.leading-1].most <= left {
		w.leading--
		left -= w.cursors[w.leading].most
		w.enough -= uint32(w.cursors[w.leading].most)
		w.behind += w.cursors[w.leading].most
	}
}

// manyEntries is the number of entries per block, on average, above which a term may be excluded
// from a walk.
const manyEntries = 2

// reaching returns the least match that reaches a relevance, with or without words, or more than
// any match if none does.
func (s *Search) reaching(floor ranker.PPM) ranker.Match {
	most := int(ranker.Highest + s.table.Place(true, true))
	return ranker.Match(sort.Search(most+1, func(m int) bool { return s.table.Relevance(ranker.Match(m)) >= floor }))
}

// wordless reports whether a campaign can match that shares no word with the query.
func (s *Search) wordless() bool { return s.least <= s.table.Place(true, true) }

// appendTerms appends the terms of the query itself and their kin, ascending.
func (s *segment) appendTerms(ids []uint32, v *lexicon.Vector, terms []words.Term) []uint32 {
	if s.own == nil {
		ids = append(append(ids, v.Own...), v.Kin...)
	} else {
		for i := range terms {
			if id := s.term(terms[i].Text); id != none {
				ids = append(ids, id)
			}
		}
		for _, kin := range v.Kin {
			if id := s.term(s.words.Term(kin)); id != none {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (w *walk) add(from *postings, c cursor, term uint32) {
	if c.begin, c.end = from.entries(term); c.begin < c.end {
		c.from, c.term, c.at, c.most = from, term, c.begin, uint64(c.weight)*uint64(from.peak[term])
		w.cursors = append(w.cursors, c)
	}
}

// dealBlocks returns the blocks with groups of any of the deals, ascending.
func (s *segment) dealBlocks(deals []uint32) []uint32 {
	if len(deals) == 1 {
		return s.deals[deals[0]]
	}
	var all []uint32
	for _, deal := range deals {
		all = append(all, s.deals[deal]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lowest returns the lowest block ahead.
func (w *walk) lowest() uint32 {
	next := none
	if len(w.blocks) > 0 {
		next = w.blocks[0]
	}
	if w.private {
		return next
	}
	for i := range w.cursors[:w.leading] {
		if c := &w.cursors[i]; c.at < c.end {
			next = min(next, c.from.group[c.at]>>blockBits)
		}
	}
	return next
}

// resolve appends the segment's terms for the query's values of one dimension, ascending and
// distinct.
func (s *Search) resolve(ids []uint32, seg *segment, d int, q *Query) []uint32 {
	vocab := seg.vocab[d]
	if len(vocab) == 0 {
		return ids
	}
	switch d {
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

// lookUp appends the term of one value, and of its broader forms for regions and languages.
func (s *Search) lookUp(ids []uint32, vocab map[string]uint32, d int, value string) []uint32 {
	s.buf = appendValue(s.buf[:0], d, value)
	for key := s.buf; len(key) > 0; key = broader(key, d) {
		if id, ok := vocab[string(key)]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// broader returns the next broader form of a region or language: "us" of "us-ca". Other values have
// none.
func broader(value []byte, d int) []byte {
	switch d {
	case dimLanguage:
		return locale.Broader(value)
	case dimRegion:
		return value[:max(bytes.LastIndexByte(value, '-'), 0)]
	}
	return nil
}

// value returns the query's single value of a dimension.
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

// relevance returns the relevance of a match for this query.
func (s *Search) relevance(m ranker.Match) ranker.PPM {
	r := s.table.Relevance(m)
	if s.silent {
		return max(r, s.table.Usual)
	}
	return r
}

// Next returns the best match not yet returned; ok is false after the last.
func (s *Search) Next() (c Candidate, ok bool) {
	if s.pending { // postponed, because many searches end with the first candidate
		s.pending = false
		s.follow(s.last)
	}
	for {
		if ahead := s.ahead(); ahead >= 0 && (len(s.heap) == 0 || s.heap[0].value <= s.walks[ahead].most) {
			s.visit(uint8(ahead))
			continue
		}
		if len(s.heap) == 0 {
			return Candidate{}, false
		}
		e := s.pop()
		switch e.state {
		case passed:
			s.goBack(e)
		case unopened, rest:
			s.lookInto(e)
		case unchecked:
			if s.passes(e.walk, e.at) {
				s.openTier(e, s.walks[e.walk].seg.groups[e.at].begin)
			}
		default:
			s.last, s.pending = e, true
			return s.candidate(&e), true
		}
	}
}

// candidate returns an entry as a [Candidate].
func (s *Search) candidate(e *entry) Candidate {
	c := Candidate{
		Campaign: &s.walks[e.walk].seg.campaigns[e.slot], EffectiveCPM: e.value, Relevance: s.relevance(e.match),
		group: e.at, walk: e.walk,
	}
	if e.state == alone {
		c.lone = s.lone[e.begin:]
	}
	return c
}

// ahead returns the walk whose next block has the higher bound, or -1 if both are exhausted.
func (s *Search) ahead() int {
	base, overlay := &s.walks[0], &s.walks[1]
	switch {
	case base.done() && overlay.done():
		return -1
	case base.done():
		return 1
	case overlay.done():
		return 0
	case overlay.most > base.most:
		return 1
	}
	return 0
}

// done reports whether no block is ahead.
func (w *walk) done() bool { return w.seg == nil || w.next == none }

// advance moves the walk to the lowest block ahead. Blocks are ordered by their highest values at
// full relevance. The query's terms together may bound the values of all blocks ahead lower.
func (s *Search) advance(w *walk) {
	if w.next = w.lowest(); w.next != none {
		w.most = min(w.seg.blocks[w.next].most, w.seg.ahead[w.next].atMost(&s.table, s.relevance(w.matches)))
	}
}

// anyMatch is the bound of the match in a block not yet read. Of equal values the higher match
// comes first, so the block must precede every candidate of its value.
const anyMatch ranker.Match = 1<<32 - 1

// visit reads the next blocks of a walk.
func (s *Search) visit(which uint8) {
	w := &s.walks[which]
	begin := w.next
	if w.private {
		w.blocks = w.blocks[1:]
		s.advance(w)
		s.push(entry{value: w.seg.blocks[begin].most, match: anyMatch, at: begin, walk: which, state: unopened})
		return
	}
	end := min(begin+w.stride, uint32(len(w.seg.blocks)))
	w.stride = min(2*w.stride, widest)
	least := s.passOver(which, begin, end)
	if uint64(least) > w.full {
		w.skip(end)
		s.advance(w)
		return
	}
	s.window = windows.Get().(*window)
	enough := max(w.enough, least-uint32(min(uint64(least), w.behind)))
	for i := range w.cursors[:w.leading] {
		s.window.add(&w.cursors[i], enough, begin, end)
	}
	for ; len(w.blocks) > 0 && w.blocks[0] < end; w.blocks = w.blocks[1:] {
		if least == 0 {
			s.window.free(w.blocks[0]-begin, &w.seg.blocks[w.blocks[0]].free)
		}
	}
	s.advance(w)
	for i := range s.window.open[:end-begin] {
		open, at := &s.window.open[i], begin+uint32(i)
		switch {
		case *open == (bits128{}):
		case open.count() <= several:
			s.queueFew(which, at, uint32(i), least)
		default:
			s.weigh(
				entry{
					value: w.seg.blocks[at].most, match: anyMatch, at: at, walk: which, state: unopened, begin: least,
				}, uint32(i),
			)
		}
	}
	s.window.forget(w.cursors[:w.leading], begin, end)
	s.release()
}

// skip moves the walk past blocks without reading them.
func (w *walk) skip(end uint32) {
	for i := range w.cursors[:w.leading] {
		c := &w.cursors[i]
		c.at = c.from.from(c.at, c.end, end<<blockBits)
	}
	for len(w.blocks) > 0 && w.blocks[0] < end {
		w.blocks = w.blocks[1:]
	}
}

// passOver returns the least sum with which a group of the blocks from begin to end may be worth as
// much as the best so far. It queues the lesser groups, which are searched after the better ones
// have been returned. 0 means any sum: nothing is skipped.
func (s *Search) passOver(which uint8, begin, end uint32) (least uint32) {
	worth := s.best[keptValues-1]
	if worth == 0 {
		return 0
	}
	w := &s.walks[which]
	var all block
	for i := range w.seg.blocks[begin:end] {
		all.join(&w.seg.blocks[begin+uint32(i)])
	}
	atMost := func(m ranker.Match) money.Micros { return all.atMost(&s.table, s.relevance(m)) }
	below, from := all.place, ranker.Highest+all.place // no match up to below is worth as much
	if atMost(below) >= worth {
		return 0
	}
	for step := (from - below) / 2; step > (ranker.Highest >> 6); step /= 2 {
		if atMost(below+step) < worth {
			below += step
		}
	}
	least = lexicon.Sum(uint32(below - all.place + 1))
	s.push(entry{value: atMost(below), match: anyMatch, at: begin, walk: which, state: passed, end: least, slot: end})
	return least
}

// read sums up all terms in the blocks from begin to end, independently of the walk.
func (s *Search) read(w *walk, begin, end uint32) {
	s.window = windows.Get().(*window)
	for _, c := range w.cursors { // copies, so that the walk's position stays
		c.at = c.from.from(c.begin, c.end, begin<<blockBits)
		s.window.add(&c, 0, begin, end)
	}
	if !w.private && !s.wordless() {
		return
	}
	for at := begin; at < end; at++ {
		s.window.free(at-begin, &w.seg.blocks[at].free)
	}
}

// goBack queues the blocks of e whose lesser groups were skipped.
func (s *Search) goBack(e entry) {
	w := &s.walks[e.walk]
	s.read(w, e.at, e.slot)
	for at := e.at; at < e.slot; at++ {
		k, open := &w.seg.blocks[at], &s.window.open[at-e.at]
		if *open == (bits128{}) {
			continue
		}
		sums := (*[blockSize]uint32)(s.window.sums[(at-e.at)*blockSize:])
		if sum, found := most(open, sums, s.floor(k.place), e.end); found {
			match := ranker.Match(lexicon.Match(sum)) + k.place
			s.push(entry{
				value: k.atMost(&s.table, s.relevance(match)), match: match, at: at, walk: e.walk, state: unopened,
				end: e.end,
			})
		}
		*open = bits128{}
	}
	clear(s.window.sums[:(e.slot-e.at)*blockSize])
	s.release()
}

// release returns the window to the pool, all zero.
func (s *Search) release() {
	windows.Put(s.window)
	s.window = nil
}

// weigh evaluates the block e, whose sums are the at-th of the window, if it has few groups or may
// contain the best so far. Otherwise it postpones the block.
func (s *Search) weigh(e entry, at uint32) {
	w := &s.walks[e.walk]
	open, sums := &s.window.open[at], (*[blockSize]uint32)(s.window.sums[at*blockSize:])
	if e.value >= s.best[0] {
		k := &w.seg.blocks[e.at]
		w.complete(e.at, max(e.begin, s.floor(k.place)), open, sums)
		sum, _ := most(open, sums, 0, 0)
		e.match = ranker.Match(lexicon.Match(sum)) + k.place
		e.value = k.atMost(&s.table, s.relevance(e.match))
		if e.value >= s.best[0] {
			s.pick(&e, open, sums)
			return
		}
	}
	s.push(e) // for later, perhaps never
	clear(sums[:])
	*open = bits128{}
}

// queueFew queues the groups of a block that has several at most, the place-th of the window. It
// clears their sums. Those of other groups are the sums of leading terms, which
// [window.forget] clears.
func (s *Search) queueFew(which uint8, block, place, begin uint32) {
	w := &s.walks[which]
	open, sums := &s.window.open[place], (*[blockSize]uint32)(s.window.sums[place*blockSize:])
	least, from := max(begin, s.floor(w.seg.blocks[block].place)), block<<blockBits
	for half, set := range open {
		for ; set != 0; set &= set - 1 {
			at := uint32(half*64 + bits.TrailingZeros64(set))
			sum := w.sum(sums[at], from+at, least)
			if sums[at] = 0; sum < least {
				continue
			}
			if e, ok := s.score(w, from+at, w.seg.groups[from+at].match(sum)); ok {
				e.walk = which
				s.keep(&e)
				s.push(e)
			}
		}
	}
	*open = bits128{}
}

// floor returns the least sum with which a group may reach the floor if its placement adds at most
// place.
func (s *Search) floor(place ranker.Match) uint32 {
	return lexicon.Sum(uint32(max(s.least, place) - place))
}

// lookInto queues the best groups of a postponed block, or the next ones of a block read before,
// and queues the block again for the rest.
func (s *Search) lookInto(e entry) {
	w := &s.walks[e.walk]
	s.read(w, e.at, e.at+1)
	s.pick(&e, &s.window.open[0], (*[blockSize]uint32)(s.window.sums[:]))
	s.release()
}

// several is the number of groups of a block queued at a time; keptValues is the number of values
// kept. A trace reads some candidates behind the winner, and reading the block again costs more.
const (
	several    = 4
	keptValues = 4
)

// pick queues the best of the open groups of the block e, and queues the block again for the rest.
// It clears the sums of the block.
func (s *Search) pick(e *entry, open *bits128, sums *[blockSize]uint32) {
	w := &s.walks[e.walk]
	least, below := max(e.begin, s.floor(w.seg.blocks[e.at].place)), e.end-1 // 0: any is below
	var best [several + 1]entry                                              // in their order
	found := 0
	// By billing model, 1 more than the best match of a group without a goal that is not among the
	// best. A later group with a lower match is not among them either, as its bid is not higher.
	var beaten [ranker.Billings]ranker.Match
	from := e.at << blockBits
	for half, set := range open {
		for ; set != 0; set &= set - 1 {
			place := uint32(half*64 + bits.TrailingZeros64(set))
			if sum := sums[place]; sum < least || sum > below {
				continue
			}
			g := &w.seg.groups[from+place]
			match := g.match(sums[place])
			if g.aim == 0 && match < beaten[g.billing] {
				continue
			}
			next, ok := s.score(w, from+place, match)
			if !ok || e.state == rest && !behind(&next, e) {
				continue
			}
			next.walk = e.walk
			inserted := false
			if found, inserted = insert(&best, found, &next); !inserted && g.aim == 0 {
				beaten[g.billing] = max(beaten[g.billing], match+1)
			}
		}
	}
	clear(sums[:])
	*open = bits128{}
	if found == 0 {
		return
	}
	for i := range min(found, several) {
		s.keep(&best[i])
		s.push(best[i])
	}
	if found > several {
		last, next := &best[several-1], &best[several]
		s.push(entry{
			value: next.value, match: next.match, at: e.at, walk: e.walk, state: rest, begin: e.begin, end: e.end,
			slot: last.at, lastValue: last.value, lastMatch: last.match,
		})
	}
}

// keep adds the value of a group to the best if it passes the filters. Other groups are soon
// dropped, and whatever was skipped because of them would have to be searched again.
func (s *Search) keep(e *entry) {
	if e.value <= s.best[keptValues-1] || !s.passes(e.walk, e.at) {
		return
	}
	at := keptValues - 1
	for ; at > 0 && e.value > s.best[at-1]; at-- {
		s.best[at] = s.best[at-1]
	}
	s.best[at] = e.value
}

// insert inserts a group into the best n if it belongs there, and returns their number.
func insert(best *[several + 1]entry, n int, e *entry) (now int, inserted bool) {
	at := n
	for at > 0 && better(e, &best[at-1]) {
		at--
	}
	if at == len(best) {
		return n, false
	}
	n = min(n+1, len(best))
	copy(best[at+1:n], best[at:])
	best[at] = *e
	return n, true
}

// score returns a group as an entry, unless its relevance is too low or no model may read it: a
// crowd of unreviewed campaigns must not take the places of a block's best groups.
func (s *Search) score(w *walk, at uint32, match ranker.Match) (e entry, ok bool) {
	g := &w.seg.groups[at]
	if match < s.least || g.bound && !s.bound || s.models && w.seg.suits[g.suits].PagesOnly {
		return e, false
	}
	relevance := s.relevance(match)
	if !s.silent && relevance < ranker.PPM(g.least) {
		return e, false
	}
	e = entry{match: match, at: at, state: unchecked}
	if g.aim == 0 {
		e.value = s.table.EffectiveCPM(g.billing, g.bid, relevance) // equals Value, one call less for most
	} else {
		e.value = s.table.Value(g.billing, g.bid, g.aim, relevance)
	}
	return e, true
}

// better reports whether the group a comes before b.
func better(a, b *entry) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	if a.match != b.match {
		return a.match > b.match
	}
	return a.at < b.at
}

// behind reports whether the group a comes after the last one returned from the block e.
func behind(a, e *entry) bool {
	return better(&entry{value: e.lastValue, match: e.lastMatch, at: e.slot}, a)
}

// passes applies the hard filters of a group.
func (s *Search) passes(which uint8, at uint32) bool {
	w := &s.walks[which]
	g := &w.seg.groups[at]
	if s.formats != 0 && s.formats&(1<<g.format) == 0 {
		return false
	}
	if g.billing == ranker.VCPM && !s.views {
		return false
	}
	if suits := &w.seg.suits[g.suits]; !suits.beside(s.about) || !suits.within(s.trades) ||
		s.models && suits.PagesOnly {
		return false
	}
	if when := w.seg.datesOf(at); !s.at.within(when.start, when.end) {
		return false
	}
	if g.lists == 0 { // no list of any dimension
		return !w.private
	}
	for d := range dims {
		list := g.terms(w.seg, d)
		wanted := len(list) > 0
		if d == dimDeal {
			wanted = w.private
		}
		if wanted && !meet(list, w.ids[d]) {
			return false
		}
	}
	return true
}

// meet reports whether two ascending lists have a common value.
func meet(a, b []uint32) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// openTier queues the first live member of the group e.at from begin on, in the order of ties among
// members of equal value: rounding down gives neighbouring bids the same value.
func (s *Search) openTier(e entry, begin uint32) {
	seg := s.walks[e.walk].seg
	g := &seg.groups[e.at]
	relevance := s.relevance(e.match)
	for begin < g.end {
		value := s.table.Value(g.billing, seg.bids[begin], g.aim, relevance)
		end := begin + 1
		for end < g.end &&
			(seg.bids[end] == seg.bids[end-1] || s.table.Value(g.billing, seg.bids[end], g.aim, relevance) == value) {
			end++
		}
		e.value, e.begin, e.end, e.state = value, begin, end, first
		if s.member(&e, tie{}, false) {
			s.push(e)
			return
		}
		begin = end
	}
}

// member sets the first live member of e's tier in the order of ties, or the first after a tie.
func (s *Search) member(e *entry, after tie, follows bool) (found bool) {
	w := &s.walks[e.walk]
	lone := s.loneFrom(e.walk, e.begin)
	for i, slot := range w.seg.slots[e.begin:e.end] {
		if isDead(w.dead, slot) || isLone(&lone, e.walk, e.begin+uint32(i)) {
			continue
		}
		c := &w.seg.campaigns[slot]
		t := tie{advertiser: mixed(s.seed, c.family())}
		if follows && t.advertiser < after.advertiser || found && t.advertiser > e.tie.advertiser {
			continue
		}
		t.campaign = mixed(s.seed, &c.ID)
		if follows && t.compare(after) <= 0 || found && t.compare(e.tie) >= 0 {
			continue
		}
		e.slot, e.tie, found = slot, t, true
	}
	return found
}

// follow queues the successors of e in its group: the next member of its tier and, if e was the
// first of the tier, the next tier.
func (s *Search) follow(e entry) {
	if e.state == first {
		s.openTier(e, e.end)
	}
	e.state = following
	if e.end-e.begin > 1 && s.member(&e, e.tie, true) {
		s.push(e)
	}
}

// CompareTies orders two campaigns of equal value and match in the auction of q.
func CompareTies(q *Query, a, b *Campaign) int {
	return tieOf(q.seed(), a).compare(tieOf(q.seed(), b))
}

func (q *Query) seed() [2]uint64 {
	return [2]uint64{binary.LittleEndian.Uint64(q.Auction[:8]), binary.LittleEndian.Uint64(q.Auction[8:])}
}

func tieOf(seed [2]uint64, c *Campaign) tie {
	return tie{advertiser: mixed(seed, c.family()), campaign: mixed(seed, &c.ID)}
}

// mixed returns a hash of an auction and an id.
func mixed(seed [2]uint64, id *ID) uint64 {
	a, b := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	hi, lo := bits.Mul64(a^seed[0]^0x9e3779b97f4a7c15, b^seed[1]^0xd6e8feb86659fd93)
	hi, lo = bits.Mul64(hi^lo^a, 0xa0761d6478bd642f^b)
	return hi ^ lo
}

func (t tie) compare(u tie) int {
	switch {
	case t.advertiser < u.advertiser:
		return -1
	case t.advertiser > u.advertiser:
		return 1
	case t.campaign < u.campaign:
		return -1
	case t.campaign > u.campaign:
		return 1
	}
	return 0
}

func (s *Search) before(a, b *entry) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	if a.match != b.match {
		return a.match > b.match
	}
	if a.state < first || b.state < first { // may contain any campaign, so it comes first
		return a.state < b.state
	}
	if c := a.tie.compare(b.tie); c != 0 {
		return c < 0
	}
	return bytes.Compare(s.walks[a.walk].seg.campaigns[a.slot].ID[:], s.walks[b.walk].seg.campaigns[b.slot].ID[:]) < 0
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

// Found returns the comparison of the query with a candidate of this search.
func (s *Search) Found(c *Candidate) (found Found) {
	w := &s.walks[c.walk]
	g := &w.seg.groups[c.group]
	found.Relevance = c.Relevance
	found.Signals = ranker.Signals{
		Silent:      s.silent,
		HostMatched: len(g.terms(w.seg, dimHost)) > 0, SurfaceMatched: len(g.terms(w.seg, dimSurface)) > 0,
	}
	var sum uint32
	var list top
	for i := range w.cursors {
		cur := &w.cursors[i]
		at, ok := cur.from.find(cur.begin, cur.end, c.group)
		if !ok {
			continue
		}
		impact := cur.from.by[at]
		if cur.word == nil {
			found.Signals.Tools += ranker.Match(impact)
			continue
		}
		by := cur.weight * uint32(impact)
		sum += by
		list.add(cur.word.Term(w.seg.words), by)
	}
	for i := 0; i < len(c.lone) && c.lone[i].compare(c.lone[0]) == 0; i++ {
		sum += c.lone[i].by
		list.add(c.lone[i].word.Term(w.seg.words), c.lone[i].by)
	}
	found.Signals.Words = ranker.Match(lexicon.Match(sum))
	found.Terms = list.earned()
	return found
}

// Excluded reports whether campaigns match the query but for their relevance. Call it if the search
// found none.
func (s *Search) Excluded() bool {
	return s.excluded(0) || s.excluded(1)
}

// excluded checks one group of each kind, and all groups that need a tool or token of the query.
func (s *Search) excluded(which uint8) bool {
	w := &s.walks[which]
	for _, at := range w.seg.kinds {
		if s.passes(which, at) && (w.alive(at) || s.anyPasses(which)) {
			return true
		}
	}
	for i := range w.cursors {
		c := &w.cursors[i]
		for _, at := range c.from.group[c.begin:c.end] {
			if !w.seg.blocks[at>>blockBits].free.has(at%blockSize) && s.passes(which, at) && w.alive(at) {
				return true
			}
		}
	}
	return false
}

// anyPasses checks every group.
func (s *Search) anyPasses(which uint8) bool {
	w := &s.walks[which]
	for at := range w.seg.groups {
		if s.passes(which, uint32(at)) && w.alive(uint32(at)) {
			return true
		}
	}
	return false
}

// alive reports whether the group has a live member.
func (w *walk) alive(at uint32) bool {
	g := &w.seg.groups[at]
	for _, slot := range w.seg.slots[g.begin:g.end] {
		if !isDead(w.dead, slot) {
			return true
		}
	}
	return false
}
