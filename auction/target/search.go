package target

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
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
	group     uint32
	walk      uint8
}

// Search walks the matches of one query at a time, best first: by value, then by match, then by
// [tie]. The zero value is ready; reused, it does not allocate. It belongs to one goroutine, and
// between [Search.Start] and the last [Search.Next] it keeps the index alive.
type Search struct {
	table   ranker.Table
	walks   [2]walk // base and overlay
	heap    []entry
	last    entry        // what [Search.Next] gave out last
	given   bool         // and what follows it is not in the heap yet
	formats uint8        // bit per Format; 0 is any
	silent  bool         // the query has no words
	least   ranker.Match // that reaches the floor
	best    money.Micros // the highest value of a group so far
	seed    [2]uint64    // of the tie
	reader  lexicon.Reader
	words   words.Reader
	buf     []byte
	sums    [blockSize]uint32 // of one block
}

// walk is the part of a search in one segment.
type walk struct {
	seg     *segment
	dead    []uint64
	ids     [dims][]uint32 // the query's terms that the segment knows, ascending
	cursors []cursor
	blocks  []uint32 // further blocks to look at, ascending: of free groups, or of deals
	private bool     // blocks are of deals, and no other counts
	next    uint32   // the lowest block ahead
}

// cursor reads the heads of one term.
type cursor struct {
	begin, end uint32 // heads
	at         uint32
	weight     uint32
	term       string
	tool       bool
}

// tie orders campaigns that are equal: by a hash of the auction and the advertiser, then of the
// auction and the campaign, so that neither age nor a number of copies wins.
type tie struct{ advertiser, campaign uint64 }

// entry is a block that may hold candidates up to a value, a group whose filters are still to be
// looked at, or a candidate.
type entry struct {
	value money.Micros
	match ranker.Match
	at    uint32 // the block, or the group
	walk  uint8
	state state
	// Of a block: the group that came last, if any. Of a candidate: the tier of members of its
	// value, and its slot.
	begin, end, slot uint32
	lastValue        money.Micros
	lastMatch        ranker.Match
	tie              tie
}

type state uint8

const (
	unopened  state = iota // a block that was not looked into
	rest                   // a block whose best groups are in the heap
	unchecked              // a group
	first                  // the first member of its tier
	following
)

// Start begins the search for q, dropping any earlier one.
func (s *Search) Start(x *Index, q *Query) {
	s.heap, s.given, s.best = s.heap[:0], false, 0
	s.table = *x.base.table
	s.formats = 0
	for _, f := range q.Formats {
		s.formats |= 1 << min(f, 7) // an unknown format still restricts
	}
	s.seed = q.seed()
	said := q.terms(&s.words)
	v := s.reader.Request(x.base.words, said)
	s.silent = v.Empty
	s.least = s.reaching(q.floor(v.Empty))
	s.walks[0].seg, s.walks[0].dead = x.base, x.dead
	s.walks[1].seg, s.walks[1].dead = x.overlay, nil
	for i := range s.walks {
		s.open(&s.walks[i], q, v, said)
	}
}

// open resolves the query's values and sets the cursors.
func (s *Search) open(w *walk, q *Query, v *lexicon.Vector, said []words.Term) {
	w.cursors, w.blocks, w.private, w.next = w.cursors[:0], nil, len(q.Deals) > 0, none
	if len(w.seg.campaigns) == 0 {
		return
	}
	w.ids[dimToken] = w.seg.appendSaid(w.ids[dimToken][:0], v, said)
	for d := dimTool; d < dims; d++ {
		w.ids[d] = s.resolve(w.ids[d][:0], w.seg, d, q)
	}
	for i := range v.Weights {
		id := v.Weights[i].ID
		if w.seg.own != nil {
			id = w.seg.term(v.Weights[i].Term)
		}
		if id != none {
			w.add(&w.seg.said, cursor{weight: v.Weights[i].By, term: v.Weights[i].Term}, id)
		}
	}
	for _, tool := range w.ids[dimTool] {
		w.add(&w.seg.tools, cursor{weight: lexicon.Sum(1), tool: true}, tool)
	}
	switch {
	case w.private:
		w.blocks = w.seg.dealBlocks(w.ids[dimDeal])
	case s.unsaid():
		w.blocks = w.seg.free
	}
	w.next = w.lowest()
}

// reaching is the least match that has a relevance.
func (s *Search) reaching(floor ranker.PPM) ranker.Match {
	return ranker.Match(sort.Search(int(ranker.Highest), func(m int) bool { return s.relevance(ranker.Match(m)) >= floor }))
}

// unsaid says whether a campaign can match that shares no word with the query.
func (s *Search) unsaid() bool { return s.least <= s.table.Place(true, true) }

// appendSaid appends the terms that the query itself has, ascending.
func (s *segment) appendSaid(ids []uint32, v *lexicon.Vector, said []words.Term) []uint32 {
	if s.own == nil {
		ids = append(ids, v.Said...)
	} else {
		for i := range said {
			if id := s.term(said[i].Text); id != none {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (w *walk) add(from *postings, c cursor, term uint32) {
	if c.begin, c.end = from.heads(term); c.begin < c.end {
		c.at = c.begin
		w.cursors = append(w.cursors, c)
	}
}

// dealBlocks are the blocks with groups of any of the deals, ascending.
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

func (w *walk) postings(c *cursor) *postings {
	if c.tool {
		return &w.seg.tools
	}
	return &w.seg.said
}

// lowest is the lowest block ahead.
func (w *walk) lowest() uint32 {
	next := none
	if len(w.blocks) > 0 {
		next = w.blocks[0]
	}
	if w.private {
		return next
	}
	for i := range w.cursors {
		if c := &w.cursors[i]; c.at < c.end {
			next = min(next, w.postings(c).block[c.at])
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

// relevance of a match for this query.
func (s *Search) relevance(m ranker.Match) ranker.PPM {
	r := s.table.Relevance(m)
	if s.silent {
		return max(r, s.table.Usual)
	}
	return r
}

// Next returns the best match not yet returned; ok is false after the last.
func (s *Search) Next() (c Candidate, ok bool) {
	if s.given { // only now, as many a search ends with its first candidate
		s.given = false
		s.follow(s.last)
	}
	for {
		if ahead := s.ahead(); ahead >= 0 && (len(s.heap) == 0 || s.heap[0].value <= s.walks[ahead].bound()) {
			s.visit(uint8(ahead))
			continue
		}
		if len(s.heap) == 0 {
			return Candidate{}, false
		}
		e := s.pop()
		switch e.state {
		case unopened, rest:
			s.lookInto(e)
		case unchecked:
			if s.passes(e.walk, e.at) {
				s.openTier(e, s.walks[e.walk].seg.groups[e.at].begin)
			}
		default:
			s.last, s.given = e, true
			w := &s.walks[e.walk]
			return Candidate{
				Campaign: &w.seg.campaigns[e.slot], EffectiveCPM: e.value, Relevance: s.relevance(e.match), group: e.at, walk: e.walk,
			}, true
		}
	}
}

// ahead is the walk whose next block has the higher bound, -1 when both are exhausted.
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

// done says that no block is ahead.
func (w *walk) done() bool { return w.seg == nil || w.next == none }

// bound is the highest value that any group of the walk's next block can have. Blocks are in the
// order of their bounds.
func (w *walk) bound() money.Micros { return w.seg.blocks[w.next].most }

// visit queues the next block of a walk by the most that its groups can be worth to this query.
func (s *Search) visit(which uint8) {
	w := &s.walks[which]
	at := w.next
	k := &w.seg.blocks[at]
	var sum uint64
	for i := range w.cursors {
		c := &w.cursors[i]
		p := w.postings(c)
		if w.private {
			if head, ok := p.head(c.begin, c.end, at); ok {
				sum += uint64(c.weight) * uint64(p.most[head])
			}
			continue
		}
		if c.at < c.end && p.block[c.at] == at {
			sum += uint64(c.weight) * uint64(p.most[c.at])
			c.at++
		}
	}
	if len(w.blocks) > 0 && w.blocks[0] == at {
		w.blocks = w.blocks[1:]
	}
	w.next = w.lowest()
	match := ranker.Match(lexicon.Match(uint32(min(sum, uint64(fullSum))))) + k.place
	if match < s.least {
		return // no group of it reaches the floor
	}
	e := entry{value: min(k.most, s.table.AtMost(k.most, s.relevance(match))), match: match, at: at, walk: which}
	if e.value < s.best {
		s.push(e) // for later, perhaps never
		return
	}
	s.lookInto(e)
}

// fullSum is the sum of weight × impact that counts at most.
var fullSum = lexicon.Sum(lexicon.MostMatch)

// lookInto queues the best group of a block, and again the block for those behind it.
func (s *Search) lookInto(e entry) {
	w := &s.walks[e.walk]
	open := s.add(w, e.at)
	floor := lexicon.Sum(uint32(max(s.least, w.seg.blocks[e.at].place) - w.seg.blocks[e.at].place))
	var best, second entry
	found := 0
	from := e.at << blockBits
	for half, set := range open {
		for ; set != 0; set &= set - 1 {
			place := uint32(half*64 + bits.TrailingZeros64(set))
			if s.sums[place] < floor {
				continue
			}
			next, ok := s.score(w, from+place, s.sums[place])
			if !ok || e.state == rest && !behind(&next, &e) {
				continue
			}
			next.walk = e.walk
			switch {
			case found == 0 || better(&next, &best):
				best, second = next, best
			case found == 1 || better(&next, &second):
				second = next
			}
			found++
		}
	}
	if found > 0 {
		s.best = max(s.best, best.value)
		s.push(best)
	}
	if found > 1 {
		s.push(entry{
			value: second.value, match: second.match, at: e.at, walk: e.walk, state: rest,
			slot: best.at, lastValue: best.value, lastMatch: best.match,
		})
	}
}

// add sums up what the query's terms add to each group of a block, and says which groups may match:
// those that a term adds to, and the free ones.
func (s *Search) add(w *walk, block uint32) (open [blockSize / 64]uint64) {
	clear(s.sums[:])
	for i := range w.cursors {
		c := &w.cursors[i]
		p := w.postings(c)
		head, ok := c.at-1, c.at > c.begin && p.block[c.at-1] == block // most blocks are looked into at once
		if !ok {
			if head, ok = p.head(c.begin, c.end, block); !ok {
				continue
			}
		}
		for j := p.first[head]; j < p.first[head+1]; j++ {
			place := p.at[j]
			s.sums[place] = min(s.sums[place]+c.weight*uint32(p.by[j]), fullSum)
			open[place/64] |= 1 << (place % 64)
		}
	}
	if w.private || s.unsaid() {
		for i, free := range w.seg.blocks[block].free {
			open[i] |= free
		}
	}
	return open
}

// score is a group as an entry, unless its relevance keeps it out.
func (s *Search) score(w *walk, at, sum uint32) (e entry, ok bool) {
	g := &w.seg.groups[at]
	match := ranker.Match(lexicon.Match(sum)) + ranker.Match(g.place)
	if match < s.least {
		return e, false
	}
	relevance := s.relevance(match)
	if !s.silent && relevance < ranker.PPM(g.least) {
		return e, false
	}
	return entry{value: s.table.EffectiveCPM(g.billing, w.seg.bids[g.begin], relevance), match: match, at: at, state: unchecked}, true
}

// better says that the group a comes before b.
func better(a, b *entry) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	if a.match != b.match {
		return a.match > b.match
	}
	return a.at < b.at
}

// behind says that the group a comes after the one that the block e gave last.
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
	for d := range dims {
		list := g.terms(w.seg, d)
		wanted := len(list) > 0
		if d == dimDeal {
			wanted = w.private
		}
		if wanted && overlap(list, w.ids[d]) == 0 {
			return false
		}
	}
	return true
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

// openTier queues the first live member of the group e.at from the place begin on, in the order of
// ties among those of its value: rounding down gives neighbouring bids one value.
func (s *Search) openTier(e entry, begin uint32) {
	seg := s.walks[e.walk].seg
	g := &seg.groups[e.at]
	relevance := s.relevance(e.match)
	for begin < g.end {
		value := s.table.EffectiveCPM(g.billing, seg.bids[begin], relevance)
		end := begin + 1
		for end < g.end && (seg.bids[end] == seg.bids[end-1] || s.table.EffectiveCPM(g.billing, seg.bids[end], relevance) == value) {
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

// member sets the live member of e's tier that comes first, or first after a tie.
func (s *Search) member(e *entry, after tie, follows bool) (found bool) {
	w := &s.walks[e.walk]
	for _, slot := range w.seg.slots[e.begin:e.end] {
		if isDead(w.dead, slot) {
			continue
		}
		t := s.tie(&w.seg.campaigns[slot])
		if follows && t.compare(after) <= 0 || found && t.compare(e.tie) >= 0 {
			continue
		}
		e.slot, e.tie, found = slot, t, true
	}
	return found
}

// follow makes available what comes after e in its group: the next member of its tier, and, when e
// was the first of it, the next tier.
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

func (s *Search) tie(c *Campaign) tie { return tieOf(s.seed, c) }

func tieOf(seed [2]uint64, c *Campaign) tie {
	return tie{advertiser: mixed(seed, &c.Advertiser), campaign: mixed(seed, &c.ID)}
}

// mixed is a hash of an auction and an id.
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
	if a.state < first || b.state < first { // may hold any campaign, so it is looked at first
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

// Found is what the query and a candidate of this search have in common.
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
		p := w.postings(cur)
		head, ok := p.head(cur.begin, cur.end, c.group>>blockBits)
		if !ok {
			continue
		}
		for j := p.first[head]; j < p.first[head+1]; j++ {
			if uint32(p.at[j]) != c.group&(blockSize-1) {
				continue
			}
			by := cur.weight * uint32(p.by[j])
			if cur.tool {
				found.Signals.Tools += ranker.Match(p.by[j])
				continue
			}
			sum += by
			list.add(cur.term, by)
		}
	}
	found.Signals.Words = ranker.Match(lexicon.Match(sum))
	found.Terms = list.earned()
	return found
}

// Excluded says whether campaigns match the query but for their relevance: to be asked when the
// search found none.
func (s *Search) Excluded() bool {
	for i := range s.walks {
		w := &s.walks[i]
		for at := range w.seg.groups {
			if s.passes(uint8(i), uint32(at)) && w.alive(uint32(at)) {
				return true
			}
		}
	}
	return false
}

// alive says whether the group has a member that is not dead.
func (w *walk) alive(at uint32) bool {
	g := &w.seg.groups[at]
	for _, slot := range w.seg.slots[g.begin:g.end] {
		if !isDead(w.dead, slot) {
			return true
		}
	}
	return false
}
