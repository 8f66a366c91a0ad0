package index

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sort"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// A lone word occurs in a single text: a number, a name, a model. Texts that are equal but for
// their lone words are joined, so that a feed of a million products has as many groups as kinds of
// products. A request with a lone word finds the campaigns of its text one by one, before any group
// ([Search.findLone]), and the search skips them as members of their group.

// fewCampaigns is the maximum number of campaigns of a text with lone words: each is checked
// individually when a request contains the word.
const fewCampaigns = 4

// joiner joins the texts of a builder.
type joiner struct {
	b       *builder
	vector  func(doc uint32) []lexicon.Posting
	texts   []uint8 // by term: the number of texts with it; 2 means several
	like    map[likeKey]uint32
	seed    maphash.Seed
	shared  []lexicon.Posting
	scratch []byte
}

// likeKey is the common key of joined texts, except when hashes collide.
type likeKey struct {
	placed uint32
	least  ranker.PPM
	hash   uint64
}

// join joins texts of one targeting that are equal but for lone words. A text with lessons stays
// separate, and so does one of many campaigns.
func (b *builder) join() {
	j := joiner{
		b: b, vector: b.byVector, texts: make([]uint8, b.seg.vocabulary()), like: map[likeKey]uint32{},
		seed: maphash.MakeSeed(),
	}
	for doc := range b.texts {
		b.texts[doc].as = uint32(doc)
		for _, p := range j.vector(uint32(doc)) {
			j.texts[p.ID] = min(j.texts[p.ID]+1, 2)
		}
	}
	joined := false
	for doc := range b.texts {
		if t := &b.texts[doc]; t.doc.learnt == 0 && t.campaigns <= fewCampaigns {
			joined = j.find(uint32(doc)) || joined
		}
	}
	if !joined {
		return
	}
	b.lone = func(doc uint32, yield func(lexicon.Posting)) {
		if !b.texts[b.texts[doc].as].joined {
			return
		}
		for _, p := range j.vector(doc) {
			if j.texts[p.ID] == 1 {
				yield(p)
			}
		}
	}
	b.byVector = func(doc uint32) []lexicon.Posting {
		if !b.texts[doc].joined {
			return j.vector(doc)
		}
		return j.sharedBy(doc)
	}
	b.regroup()
}

// find joins a text to an equal earlier one.
func (j *joiner) find(doc uint32) bool {
	t := &j.b.texts[doc]
	mine := j.sharedBy(doc)
	key := likeKey{placed: t.doc.placed, least: t.doc.least, hash: j.hash(mine)}
	other, known := j.like[key]
	if !known {
		j.like[key] = doc
		return false
	}
	if !slices.Equal(slices.Clone(mine), j.sharedBy(other)) { // a collision
		return false
	}
	t.as, j.b.texts[other].joined = other, true
	return true
}

// sharedBy returns the words of a text that also occur in others. The next call overwrites them.
func (j *joiner) sharedBy(doc uint32) []lexicon.Posting {
	j.shared = j.shared[:0]
	for _, p := range j.vector(doc) {
		if j.texts[p.ID] > 1 {
			j.shared = append(j.shared, p)
		}
	}
	slices.SortFunc(j.shared, func(a, b lexicon.Posting) int { return cmp.Compare(a.ID, b.ID) })
	return j.shared
}

func (j *joiner) hash(vector []lexicon.Posting) uint64 {
	j.scratch = j.scratch[:0]
	for _, p := range vector {
		j.scratch = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(j.scratch, p.ID), p.By)
	}
	return maphash.Bytes(j.seed, j.scratch)
}

// regroup joins the groups of joined texts.
func (b *builder) regroup() {
	b.textOf = make([]uint32, len(b.of))
	old, to := b.drafts, make([]uint32, len(b.drafts))
	for slot, g := range b.of {
		b.textOf[slot] = old[g].key.doc
	}
	b.drafts, b.groups = nil, map[groupKey]uint32{}
	for i := range old {
		m := old[i]
		m.key.doc = b.texts[m.key.doc].as
		g := b.group(m.key)
		to[i] = g
		b.drafts[g].count += m.count
		b.drafts[g].raise(m.most, m.bid)
	}
	for slot, g := range b.of {
		b.of[slot] = to[g]
	}
}

// fillLone enters the campaigns of joined texts into the postings of their lone words, by position
// among the slots. It also keeps the shared words of a joined text, to score a single campaign.
// Both together are no larger than the space saved by joining.
func (b *builder) fillLone() {
	s := b.seg
	if b.lone == nil {
		return
	}
	s.lone = lay(s.vocabulary(), func(add func(posting)) {
		for place, slot := range s.slots {
			b.lone(b.textOf[slot], func(p lexicon.Posting) { add(posting{term: p.ID, group: uint32(place), by: p.By}) })
		}
	})
	joined, number := map[uint32]uint32{}, []uint32{}
	for at, doc := range b.of {
		if !b.texts[doc].joined {
			continue
		}
		if _, known := joined[doc]; !known {
			joined[doc], number = uint32(len(number)), append(number, doc)
		}
		s.groups[at].joined = joined[doc]
	}
	s.joined = lay(len(number), func(add func(posting)) {
		for i, doc := range number {
			for _, p := range b.byVector(doc) {
				add(posting{term: uint32(i), group: p.ID, by: p.By})
			}
		}
	})
}

// loneWord is a lone word of a campaign that occurs in the query.
type loneWord struct {
	walk  uint8
	place uint32 // of the campaign among the slots of its segment
	by    uint32 // weight × impact
	word  *lexicon.Weight
}

// termWeight is a term of the query, as an id of a segment.
type termWeight struct{ id, weight uint32 }

// addLone records the campaigns for which a term of the query is a lone word.
func (s *Search) addLone(which uint8, weight *lexicon.Weight, term uint32) {
	lone := &s.walks[which].seg.lone
	if len(lone.peak) == 0 {
		return
	}
	for at, end := lone.entries(term); at < end; at++ {
		s.lone = append(
			s.lone, loneWord{walk: which, place: lone.group[at], by: weight.By * uint32(lone.by[at]), word: weight},
		)
	}
}

// findLone queues the campaigns whose lone words occur in the query.
func (s *Search) findLone() {
	if len(s.lone) == 0 {
		return
	}
	for i := range s.walks {
		s.walks[i].sortTerms()
	}
	slices.SortFunc(s.lone, loneWord.compare)
	for from, end := 0, 0; from < len(s.lone); from = end {
		sum := uint32(0)
		for end = from; end < len(s.lone) && s.lone[end].compare(s.lone[from]) == 0; end++ {
			sum = min(sum+s.lone[end].by, fullSum)
		}
		s.queueLone(uint32(from), sum)
	}
}

// compare returns 0 for two words of one campaign.
func (l loneWord) compare(other loneWord) int {
	return cmp.Or(cmp.Compare(l.walk, other.walk), cmp.Compare(l.place, other.place))
}

// sortTerms sets the query's terms that occur in groups, from the cursors.
func (w *walk) sortTerms() {
	w.terms = w.terms[:0]
	for i := range w.cursors {
		if c := &w.cursors[i]; c.word != nil {
			w.terms = append(w.terms, termWeight{id: c.term, weight: c.weight})
		}
	}
	slices.SortFunc(w.terms, func(a, b termWeight) int { return cmp.Compare(a.id, b.id) })
}

// queueLone queues the campaign of the lone word first if it is live, relevant and passes the
// filters. The match of its group is added to the sum of its lone words.
func (s *Search) queueLone(first, sum uint32) {
	which, place := s.lone[first].walk, s.lone[first].place
	w := &s.walks[which]
	slot := w.seg.slots[place]
	if isDead(w.dead, slot) {
		return
	}
	at := uint32(sort.Search(len(w.seg.groups), func(i int) bool { return w.seg.groups[i].end > place }))
	g := &w.seg.groups[at]
	e, ok := s.score(w, at, g.match(min(sum+w.shared(at), fullSum)))
	if !ok || !s.passes(which, at) {
		return
	}
	e.value = s.table.Value(g.billing, w.seg.bids[place], g.aim, s.relevance(e.match))
	e.walk, e.slot, e.state, e.begin, e.end = which, slot, alone, first, first
	e.tie = tieOf(s.seed, &w.seg.campaigns[slot])
	s.keep(&e)
	s.push(e)
}

// shared returns the sum of a group for the query: the shared words of its joined texts, and its
// tools.
func (w *walk) shared(at uint32) (sum uint32) {
	vectors := &w.seg.joined
	for i, end := vectors.entries(w.seg.groups[at].joined); i < end; i++ {
		term, ok := slices.BinarySearchFunc(
			w.terms, vectors.group[i], func(s termWeight, id uint32) int { return cmp.Compare(s.id, id) },
		)
		if ok {
			sum = min(sum+w.terms[term].weight*uint32(vectors.by[i]), fullSum)
		}
	}
	for i := range w.cursors {
		c := &w.cursors[i]
		if c.word != nil {
			continue
		}
		if entry, ok := c.from.find(c.begin, c.end, at); ok {
			sum = min(sum+c.weight*uint32(c.from.by[entry]), fullSum)
		}
	}
	return sum
}

// loneFrom returns the lone words of the campaigns of a walk from a position on. These campaigns
// are queued individually, or are irrelevant even with their lone words.
func (s *Search) loneFrom(which uint8, place uint32) []loneWord {
	from := loneWord{walk: which, place: place}
	at, _ := slices.BinarySearchFunc(s.lone, from, loneWord.compare)
	return s.lone[at:]
}

// isLone reports whether the campaign at a position has one of the lone words. It drops earlier
// ones.
func isLone(lone *[]loneWord, which uint8, place uint32) bool {
	for len(*lone) > 0 && (*lone)[0].walk == which && (*lone)[0].place < place {
		*lone = (*lone)[1:]
	}
	return len(*lone) > 0 && (*lone)[0].walk == which && (*lone)[0].place == place
}
