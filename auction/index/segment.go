package index

import (
	"cmp"
	"encoding/binary"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/money"
)

// segment is an immutable index over one set of campaigns. Campaigns form a group if they have
// equal targeting, text (but for lone words, see lone.go), billing, format, dates and suits, and an
// aim of equal worth, and if all or none are bound. Within a group the relevance is the same for
// every request without a lone word, so the order by bid is the order by value. Groups are numbered
// by descending value of their highest bid at full relevance, then by that bid (values are
// rounded), then by topic. Each block of groups stores the highest value of any, so that a search
// skips blocks that cannot contain the next candidate.
type segment struct {
	table     *ranker.Table
	words     *lexicon.Table
	own       map[string]uint32 // the terms of the campaigns; nil if they are those of words
	campaigns []Campaign        // by ascending id
	groups    []group
	slots     []uint32       // of all groups, each group's by (bid descending, slot ascending)
	bids      []money.Micros // beside slots, as auctions value them: a search reads more bids than campaigns
	terms     []uint32       // of all lists
	lists     []lists        // of the groups, see group.lists; the first are empty
	vocab     [dims]map[string]uint32
	texts     postings // by term of the words
	tools     postings // by tool
	lone      postings // by lone word: indices of slots, not groups; empty if no texts are joined
	joined    postings // by [group.joined]: the shared terms of joined texts, not groups
	blocks    []block
	ahead     []block             // by block: the bounds of it and all later ones
	place     ranker.Match        // the most that a placement adds to any group
	free      []uint32            // the blocks with free groups, ascending
	kinds     []uint32            // a free group for each combination of filters
	dates     []dates             // of each group; nil if no campaign has dates
	bound     bool                // some campaign is bound
	suits     []Suits             // of the groups, see group.suits; the first has no subject and no trade
	deals     map[uint32][]uint32 // by deal: the blocks with its groups, ascending
}

// none is greater than every term, group and block number.
const none = ^uint32(0)

// dates are the dates of all members of a group.
type dates struct{ start, end Second }

// block holds the bounds of a block of groups.
type block struct {
	most  money.Micros // the highest value of any group at full relevance
	plain money.Micros // the highest value of groups without a goal
	bid   money.Micros // the highest bid of groups with a goal
	aim   money.Micros // the highest aim of these
	// cap and click are the highest ceiling and the highest worth of a click of campaigns that pay
	// for clicks below a ceiling.
	cap, click money.Micros
	place      ranker.Match // the most that a placement adds
	// free are the groups that need neither a tool nor a token.
	free bits128
}

// lists are the terms of a targeting by dimension: d has terms [ends[d-1], ends[d]), the first from
// begin.
type lists struct {
	begin uint32
	ends  [dims]uint32
}

// group is small, because a search reads a few of many at random.
type group struct {
	bid     money.Micros // the highest of any member, as auctions value it
	aim     money.Micros // of all members, as auctions value it; 0 without a goal
	begin   uint32       // slots[begin:end]
	end     uint32
	lists   uint32 // index in the segment's lists
	joined  uint32 // the number of its joined texts, if any
	least   uint32 // the least relevance that the owner accepts, ppm
	suits   uint32 // index in the segment's suits
	place   uint16 // the amount that a matching placement adds
	billing ranker.Billing
	format  Format
	bound   bool // of all members
}

func (g *group) terms(s *segment, d int) []uint32 {
	l := &s.lists[g.lists]
	from := l.begin
	if d > 0 {
		from = l.ends[d-1]
	}
	return s.terms[from:l.ends[d]]
}

// match returns the match of the group with a query whose terms and tools add up to sum.
func (g *group) match(sum uint32) ranker.Match {
	return ranker.Match(lexicon.Match(sum)) + ranker.Match(g.place)
}

// appendFilters appends everything that determines whether the group passes a query's filters.
func (g *group) appendFilters(to []byte, s *segment, when dates) []byte {
	viewed := byte(0)
	if g.billing == ranker.VCPM {
		viewed = 1
	}
	to = append(to, byte(g.format), viewed)
	to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(when.start)), uint64(when.end))
	to = binary.AppendUvarint(to, uint64(g.suits))
	for d := range dims {
		list := g.terms(s, d)
		to = binary.AppendUvarint(to, uint64(len(list)))
		for _, term := range list {
			to = binary.AppendUvarint(to, uint64(term))
		}
	}
	return to
}

// builder groups campaigns. Targeting values that several campaigns share by pointer are read once.
type builder struct {
	seg      *segment
	byRef    map[*Targeting]uint32
	byText   map[string]uint32
	placed   []placed
	docs     map[doc]uint32
	texts    []docText
	groups   map[groupKey]uint32
	drafts   []draft
	of       []uint32 // by slot: the group
	lexicon  *lexicon.Builder
	stated   words.Reader
	vectors  [][]lexicon.Posting // of an overlay
	byVector func(doc uint32) []lexicon.Posting
	lessons  [][]ranker.Lesson // by doc.learnt, less 1
	names    []string          // of an overlay, by term
	textOf   []uint32          // by slot; nil where no texts are joined
	suits    map[Suits]uint32
	lone     func(doc uint32, yield func(lexicon.Posting))
}

// placed is a distinct targeting with its terms.
type placed struct {
	shared *Targeting
	lists
	number uint32 // of its lists in the segment
}

// doc identifies campaigns of equal targeting, text, floor and lessons.
type doc struct {
	placed            uint32
	headline, subtext string
	least             ranker.PPM
	learnt            uint32 // the number of a campaign with lessons; 0 for others
}

type docText struct {
	doc       doc
	votes     uint64
	topic     uint32
	campaigns uint32
	as        uint32 // the text that it was joined to, or its own number
	joined    bool   // others were joined to it
}

type groupKey struct {
	doc     uint32
	aim     money.Micros
	billing ranker.Billing
	format  Format
	dates   dates
	suits   uint32
	bound   bool
}

// draft is a group under construction.
type draft struct {
	key   groupKey
	count uint32
	most  money.Micros
	bid   money.Micros // the highest bid, as auctions value it
}

// raise adds a member.
func (m *draft) raise(most, bid money.Micros) { m.most, m.bid = max(m.most, most), max(m.bid, bid) }

// newSegment indexes campaigns, which must have ascending distinct ids. It keeps the slice and
// replaces equal targetings in it by one shared value. Without a frozen table of words it freezes
// one.
func newSegment(table *ranker.Table, frozen *lexicon.Table, campaigns []Campaign) *segment {
	b := builder{
		seg:   &segment{table: table, words: frozen, campaigns: campaigns},
		byRef: map[*Targeting]uint32{}, byText: map[string]uint32{}, docs: map[doc]uint32{},
		groups: map[groupKey]uint32{},
		of:     make([]uint32, len(campaigns)), suits: map[Suits]uint32{},
	}
	b.suit(Suits{})
	for d := range b.seg.vocab {
		b.seg.vocab[d] = map[string]uint32{}
	}
	families := map[ID]int{} // their campaigns
	for slot := range campaigns {
		families[*campaigns[slot].family()]++
	}
	var size lexicon.Size
	for slot := range campaigns {
		of := families[*campaigns[slot].family()]
		share := lexicon.Share(campaigns[slot].Vote, of)
		size.Count(share, of)
		b.take(uint32(slot), share)
	}
	if frozen == nil {
		b.freeze(size)
	} else {
		b.look()
	}
	b.learn()
	b.join()
	b.exactTokens()
	b.fillGroups()
	b.fillPostings()
	return b.seg
}

// take puts a campaign into its group.
func (b *builder) take(slot uint32, votes uint64) {
	c := &b.seg.campaigns[slot]
	at := b.place(c.Targeting)
	c.Targeting = b.placed[at].shared
	d := doc{placed: at, headline: c.Headline, subtext: c.Subtext, least: c.MinRelevance}
	if lessons := b.seg.table.Lessons(c.ID); len(lessons) > 0 {
		b.lessons = append(b.lessons, lessons)
		d.learnt = uint32(len(b.lessons))
	}
	number, known := b.docs[d]
	if !known {
		number = uint32(len(b.texts))
		b.docs[d] = number
		b.texts = append(b.texts, docText{doc: d})
	}
	b.texts[number].votes += votes
	b.texts[number].campaigns++
	bid, aim := c.stake()
	key := groupKey{
		doc: number, aim: aim, billing: c.Billing, format: c.Format, dates: dates{c.Start, c.End},
		suits: b.suit(c.Suits), bound: c.Bound != BoundNone,
	}
	b.seg.bound = b.seg.bound || key.bound
	g := b.group(key)
	b.of[slot] = g
	b.drafts[g].count++
	b.drafts[g].raise(c.Value(b.seg.table, ranker.Certain), bid)
}

// suit returns the number of suits in the segment.
func (b *builder) suit(of Suits) uint32 {
	number, known := b.suits[of]
	if !known {
		number = uint32(len(b.seg.suits))
		b.suits[of] = number
		b.seg.suits = append(b.seg.suits, of)
	}
	return number
}

// group finds or creates the group of a key.
func (b *builder) group(key groupKey) uint32 {
	g, known := b.groups[key]
	if !known {
		g = uint32(len(b.drafts))
		b.groups[key] = g
		b.drafts = append(b.drafts, draft{key: key})
	}
	return g
}

func (b *builder) text(number uint32) lexicon.Text {
	d := &b.texts[number].doc
	c := Campaign{Headline: d.headline, Subtext: d.subtext, Targeting: b.placed[d.placed].shared}
	return c.text()
}

// freeze makes the table of words of the campaigns.
func (b *builder) freeze(size lexicon.Size) {
	b.lexicon = lexicon.NewBuilder()
	for i := range b.texts {
		text := b.text(uint32(i))
		b.lexicon.Add(&text, b.texts[i].votes)
	}
	b.seg.words = b.lexicon.Freeze(size)
	b.byVector = func(doc uint32) []lexicon.Posting { return b.lexicon.Vector(int(doc)) }
}

// look reads the campaigns with an existing table.
func (b *builder) look() {
	b.seg.own = map[string]uint32{}
	b.vectors = make([][]lexicon.Posting, len(b.texts))
	var r lexicon.Reader
	for i := range b.texts {
		text := b.text(uint32(i))
		for _, impact := range r.Campaign(b.seg.words, &text) {
			b.vectors[i] = append(b.vectors[i], lexicon.Posting{ID: intern(b.seg.own, impact.Term), By: impact.By})
		}
	}
	b.byVector = func(doc uint32) []lexicon.Posting { return b.vectors[doc] }
}

// learn adds the lessons to the vectors of campaigns.
func (b *builder) learn() {
	if len(b.lessons) == 0 {
		return
	}
	b.names = make([]string, len(b.seg.own))
	for name, id := range b.seg.own {
		b.names[id] = name
	}
	base, learnt := b.byVector, map[uint32][]lexicon.Posting{}
	for i := range b.texts {
		if at := b.texts[i].doc.learnt; at > 0 {
			learnt[uint32(i)] = b.learnt(base(uint32(i)), b.lessons[at-1])
		}
	}
	b.byVector = func(doc uint32) []lexicon.Posting {
		if vector, ok := learnt[doc]; ok {
			return vector
		}
		return base(doc)
	}
}

// learnt returns a vector with its lessons, in the terms of the segment.
func (b *builder) learnt(own []lexicon.Posting, lessons []ranker.Lesson) []lexicon.Posting {
	s := b.seg
	if s.own == nil {
		return s.words.Learnt(nil, own, lessons)
	}
	// Terms that the frozen table lacks have no lessons.
	var known, vector []lexicon.Posting
	for _, p := range own {
		if id := s.words.ID(b.names[p.ID]); id != lexicon.None {
			known = append(known, lexicon.Posting{ID: id, By: p.By})
		} else {
			vector = append(vector, p)
		}
	}
	for _, p := range s.words.Learnt(nil, known, lessons) {
		vector = append(vector, lexicon.Posting{ID: intern(s.own, s.words.Term(p.ID)), By: p.By})
	}
	return vector
}

// term returns the id of a term in the segment, or [none].
func (s *segment) term(text string) uint32 {
	if s.own == nil {
		return s.words.ID(text)
	}
	if id, ok := s.own[text]; ok {
		return id
	}
	return none
}

// vocabulary returns the number of terms.
func (s *segment) vocabulary() int {
	if s.own == nil {
		return s.words.Len()
	}
	return len(s.own)
}

// place finds or creates the distinct targeting equal to t. Tokens are compared as stated.
func (b *builder) place(t *Targeting) uint32 {
	if at, ok := b.byRef[t]; ok {
		return at
	}
	s := b.seg
	begin := len(s.terms)
	p := placed{shared: t, lists: lists{begin: uint32(begin)}}
	var key []byte
	if t != nil && t.Exact {
		key = append(key, 1)
	} else {
		key = append(key, 0)
	}
	for _, list := range t.lists(dimToken) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, token := range list {
			key = append(binary.AppendUvarint(key, uint64(len(token))), token...)
		}
	}
	p.ends[dimToken] = uint32(begin)
	for d := dimTool; d < dims; d++ {
		from := len(s.terms)
		for value := range t.values(d) {
			s.terms = append(s.terms, intern(s.vocab[d], value))
		}
		list := s.terms[from:]
		slices.Sort(list)
		list = slices.Compact(list)
		s.terms = s.terms[:from+len(list)]
		p.ends[d] = uint32(len(s.terms))
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, term := range list {
			key = binary.AppendUvarint(key, uint64(term))
		}
	}
	if known, ok := b.byText[string(key)]; ok {
		s.terms = s.terms[:begin]
		b.byRef[t] = known
		return known
	}
	at := uint32(len(b.placed))
	b.placed = append(b.placed, p)
	b.byText[string(key)], b.byRef[t] = at, at
	return at
}

// exactTokens adds the tokens of targetings that filter by them, once terms have ids.
func (b *builder) exactTokens() {
	s := b.seg
	for i := range b.placed {
		p := &b.placed[i]
		if p.shared == nil || !p.shared.Exact {
			continue
		}
		// The lists of the other dimensions follow the tokens.
		rest := slices.Clone(s.terms[p.begin:p.ends[dims-1]])
		old := p.begin
		p.begin = uint32(len(s.terms))
		for term := range statedTerms(&b.stated, p.shared.lists(dimToken)) {
			s.terms = append(s.terms, s.term(term))
		}
		list := s.terms[p.begin:]
		slices.Sort(list)
		list = slices.Compact(list)
		s.terms = s.terms[:int(p.begin)+len(list)]
		shift := uint32(len(s.terms)) - old
		s.terms = append(s.terms, rest...)
		for d := range p.ends {
			p.ends[d] += shift
		}
	}
}

func intern(vocab map[string]uint32, value string) uint32 {
	term, ok := vocab[value]
	if !ok {
		term = uint32(len(vocab))
		vocab[value] = term
	}
	return term
}

// fillGroups numbers the groups and lays out their members.
func (b *builder) fillGroups() {
	s := b.seg
	b.topics()
	order := make([]uint32, len(b.drafts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		g, h := &b.drafts[x], &b.drafts[y]
		return cmp.Or(
			cmp.Compare(h.most, g.most), cmp.Compare(h.bid, g.bid),
			cmp.Compare(b.texts[g.key.doc].topic, b.texts[h.key.doc].topic), cmp.Compare(x, y),
		)
	})
	b.numberLists()
	numbers := make([]uint32, len(order))
	s.groups = make([]group, len(order))
	begin := uint32(0)
	for number, at := range order {
		m := &b.drafts[at]
		d := &b.texts[m.key.doc].doc
		p := &b.placed[d.placed]
		g := group{
			bid: m.bid, aim: m.key.aim, begin: begin, end: begin, lists: p.number, bound: m.key.bound,
			least: uint32(d.least), billing: m.key.billing, format: m.key.format, suits: m.key.suits,
		}
		g.place = uint16(s.table.Place(len(g.terms(s, dimHost)) > 0, len(g.terms(s, dimSurface)) > 0))
		begin += m.count
		s.groups[number], numbers[at] = g, uint32(number)
		s.date(uint32(number), m.key.dates)
	}
	s.slots, s.bids = make([]uint32, len(s.campaigns)), make([]money.Micros, len(s.campaigns))
	for slot := range s.campaigns {
		b.of[slot] = numbers[b.of[slot]]
		g := &s.groups[b.of[slot]]
		s.slots[g.end] = uint32(slot)
		g.end++
	}
	for i := range s.groups {
		g := &s.groups[i]
		slices.SortFunc(s.slots[g.begin:g.end], func(x, y uint32) int {
			return cmp.Or(cmp.Compare(s.bid(y), s.bid(x)), cmp.Compare(x, y))
		})
	}
	for i, slot := range s.slots {
		s.bids[i] = s.bid(slot)
	}
	docs := make([]uint32, len(order)) // by number
	for number, at := range order {
		docs[number] = b.drafts[at].key.doc
	}
	b.of = docs
	s.terms = slices.Clip(s.terms)
}

// numberLists numbers the distinct lists of the targetings. Those without any terms are 0.
func (b *builder) numberLists() {
	b.seg.lists = append(b.seg.lists, lists{})
	for i := range b.placed {
		p := &b.placed[i]
		if p.begin == p.ends[dims-1] {
			continue
		}
		p.number = uint32(len(b.seg.lists))
		b.seg.lists = append(b.seg.lists, p.lists)
	}
}

// bid returns the bid of a campaign as auctions value it.
func (s *segment) bid(slot uint32) money.Micros {
	bid, _ := s.campaigns[slot].stake()
	return bid
}

// date stores the dates of a group, if it has any.
func (s *segment) date(group uint32, of dates) {
	if s.dates == nil && of != (dates{}) {
		s.dates = make([]dates, len(s.groups))
	}
	if s.dates != nil {
		s.dates[group] = of
	}
}

// datesOf returns the dates of a group.
func (s *segment) datesOf(group uint32) dates {
	if s.dates == nil {
		return dates{}
	}
	return s.dates[group]
}

// topics assigns each text its most important frequent term, so that groups of equal value are
// stored beside others on the same topic, and few blocks cover any one topic.
func (b *builder) topics() {
	count := map[uint32]uint32{}
	for i := range b.texts {
		if b.texts[i].as != uint32(i) {
			continue
		}
		for _, p := range b.byVector(uint32(i)) {
			count[p.ID]++
		}
	}
	for i := range b.texts {
		if b.texts[i].as != uint32(i) {
			continue
		}
		best := uint32(0)
		for _, p := range b.byVector(uint32(i)) {
			if w := min(count[p.ID], blockSize/2) * uint32(p.By); w > best {
				best, b.texts[i].topic = w, p.ID
			}
		}
	}
}

// fillPostings enters every group into the postings of its terms and tools.
func (b *builder) fillPostings() {
	s := b.seg
	s.texts = lay(s.vocabulary(), func(add func(posting)) {
		for number, doc := range b.of {
			for _, p := range b.byVector(doc) {
				add(posting{term: p.ID, group: uint32(number), by: p.By})
			}
		}
	})
	s.tools = lay(len(s.vocab[dimTool]), func(add func(posting)) {
		for number := range s.groups {
			list := s.groups[number].terms(s, dimTool)
			by := uint16(min(s.table.ToolMatch(len(list)), 1<<16-1))
			for _, tool := range list {
				add(posting{term: tool, group: uint32(number), by: by})
			}
		}
	})
	b.fillLone()
	b.fillBlocks()
}

// add raises the bounds of a block by a group with its highest bid.
func (k *block) add(t *ranker.Table, g *group, bid money.Micros) {
	most := t.Value(g.billing, bid, g.aim, ranker.Certain)
	k.most = max(k.most, most)
	switch {
	case g.aim == 0:
		k.plain = max(k.plain, most)
	case g.billing == ranker.CPC:
		k.cap, k.click = max(k.cap, bid), max(k.click, g.aim)
	default:
		k.bid, k.aim = max(k.bid, bid), max(k.aim, g.aim)
	}
}

// join raises the bounds of a block to those of another.
func (k *block) join(other *block) {
	k.most, k.plain = max(k.most, other.most), max(k.plain, other.plain)
	k.bid, k.aim = max(k.bid, other.bid), max(k.aim, other.aim)
	k.cap, k.click = max(k.cap, other.cap), max(k.click, other.click)
	k.place = max(k.place, other.place)
}

// atMost returns an upper bound of the value of every group at a relevance. A goal is worth less at
// lower relevance, but a bid that caps it need not be shaded.
func (k *block) atMost(t *ranker.Table, r ranker.PPM) money.Micros {
	bound := t.AtMost(k.plain, r)
	if k.aim > 0 {
		bound = max(bound, t.Value(ranker.CPM, k.bid, k.aim, r))
	}
	if k.click > 0 {
		bound = max(bound, t.Value(ranker.CPC, k.cap, k.click, r))
	}
	return min(k.most, bound)
}

// fillBlocks sets the bounds of the blocks, and finds the blocks that many requests need.
func (b *builder) fillBlocks() {
	s := b.seg
	s.blocks = make([]block, (len(s.groups)+blockSize-1)>>blockBits)
	s.deals = map[uint32][]uint32{}
	kinds := map[string]bool{}
	var kind []byte
	for number := range s.groups {
		g := &s.groups[number]
		at := uint32(number) >> blockBits
		k := &s.blocks[at]
		k.add(s.table, g, s.bids[g.begin])
		k.place = max(k.place, ranker.Match(g.place))
		s.place = max(s.place, k.place)
		if len(g.terms(s, dimTool)) == 0 && len(g.terms(s, dimToken)) == 0 {
			k.free.set(uint32(number) % blockSize)
			if kind = g.appendFilters(kind[:0], s, s.datesOf(uint32(number))); !kinds[string(kind)] {
				kinds[string(kind)] = true
				s.kinds = append(s.kinds, uint32(number))
			}
			if n := len(s.free); n == 0 || s.free[n-1] != at {
				s.free = append(s.free, at)
			}
		}
		for _, deal := range g.terms(s, dimDeal) {
			if list := s.deals[deal]; len(list) == 0 || list[len(list)-1] != at {
				s.deals[deal] = append(list, at)
			}
		}
	}
	s.ahead = slices.Clone(s.blocks)
	for at := len(s.ahead) - 2; at >= 0; at-- {
		s.ahead[at].join(&s.ahead[at+1])
	}
}
