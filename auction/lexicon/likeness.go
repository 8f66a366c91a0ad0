package lexicon

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"adnet/auction/words"
)

const (
	// likenessFull is the likeness of identical words.
	likenessFull = 256
	// leastLikeness is the least likeness that counts; mostAlike limits the terms that a word may
	// stand for.
	leastLikeness = 50
	mostAlike     = 8
	// alikeWeight times the likeness is the weight of a term that only looks like a word of the
	// request.
	alikeWeight = 240
	// tooMany is the number of terms above which a shared group of letters is ignored.
	tooMany = 512
)

// looks finds those terms of a table that look like a word. Terms without votes have one of their
// own, so that they displace no others.
type looks struct {
	grams grams
	kin   kin
}

// looksOf lays out the terms with ids from first to before end.
func looksOf(n *names, terms []string, first, end uint32) looks {
	return looks{grams: gramsOf(terms[first:end], first), kin: kinOf(n, first, end)}
}

// may reports whether a word missing in the table may look like one of the terms.
func (x *looks) may(word string) bool {
	return len(x.grams.keys) > 0 && comparable(word) || x.kin.may(word)
}

// grams finds the terms that look like a word, by the groups of three to five letters that they
// share.
type grams struct {
	first   uint32   // the id of the first term
	keys    []uint32 // ascending
	starts  []uint32 // by the first bits of a key: the first index in keys; one more at the end
	shift   uint32   // to the first bits
	begin   []uint32 // the start in ids of the terms of keys[i]
	ids     []uint32
	weights []uint16 // of the group: its rarity
	lengths []uint32 // by term, from the first on: the length of the vector of its groups
	rare    uint16
}

// eachGram yields the hashes of the letter groups of word, word boundaries included.
func eachGram(word string, yield func(hash uint32)) {
	var starts [72]uint8
	var text [72]byte
	if len(word) > 64 {
		word = word[:64]
	}
	text[0] = ' '
	n := 1 + copy(text[1:], word)
	text[n] = ' '
	n++
	runes := 0
	for i := 0; i < n; i++ {
		if utf8.RuneStart(text[i]) {
			starts[runes] = uint8(i)
			runes++
		}
	}
	starts[runes] = uint8(n)
	for size := 3; size <= 5; size++ {
		for i := 0; i+size <= runes; i++ {
			h := uint32(2166136261)
			for _, c := range text[starts[i]:starts[i+size]] {
				h = (h ^ uint32(c)) * 16777619
			}
			yield(h)
		}
	}
}

// comparable reports whether a term takes part in likeness.
func comparable(term string) bool {
	return len(term) >= 3 && term[0] != words.WeakMark[0] && !letterGroup(term)
}

func letterGroup(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return r >= 0x0E00 && (r <= 0x0EFF || r >= 0x1780 && r <= 0x17FF || r >= 0x1100 && r <= 0x11FF || r >= 0x3005)
}

func gramsOf(terms []string, first uint32) grams {
	letters := 0
	for _, term := range terms {
		letters += len(term)
	}
	all := make([]uint64, 0, 3*letters) // a hash and an id packed into one number, which sorts faster
	for id, term := range terms {
		if comparable(term) {
			eachGram(term, func(h uint32) { all = append(all, uint64(h)<<32|uint64(id)) })
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	g := grams{first: first, lengths: make([]uint32, len(terms))}
	squares := make([]uint64, len(terms))
	n := uint64(len(terms)) + 50
	for i := 0; i < len(all); {
		end := i
		for end < len(all) && all[end]>>32 == all[i]>>32 {
			end++
		}
		w := log2(n * 2 / uint64(end-i+1))
		g.keys, g.begin, g.weights = append(g.keys, uint32(all[i]>>32)), append(
			g.begin, uint32(len(g.ids)),
		), append(g.weights, uint16(w))
		for _, e := range all[i:end] {
			at := uint32(e)
			g.ids = append(g.ids, first+at)
			squares[at] += uint64(w) * uint64(w)
		}
		i = end
	}
	g.begin = append(g.begin, uint32(len(g.ids)))
	g.point()
	g.rare = uint16(log2(n * 2 / 2))
	for at, s := range squares {
		g.lengths[at] = uint32(root(s))
	}
	return g
}

// point records where the keys with each prefix start. Keys are hashes, so about four share a
// prefix.
func (g *grams) point() {
	count := max(len(g.keys)/4, 1)
	g.shift = uint32(bits.LeadingZeros32(uint32(count)))
	g.starts = make([]uint32, 1<<(32-g.shift)+1)
	at := 0
	for first := range g.starts {
		for at < len(g.keys) && int(g.keys[at]>>g.shift) < first {
			at++
		}
		g.starts[first] = uint32(at)
	}
}

// find returns the index of a key.
func (g *grams) find(key uint32) (at uint32, ok bool) {
	first := key >> g.shift
	for at, end := g.starts[first], g.starts[first+1]; at < end && g.keys[at] <= key; at++ {
		if g.keys[at] == key {
			return at, true
		}
	}
	return 0, false
}

// alike is a cached word with the terms that look like it.
type alike struct {
	word string
	best []like
	used atomic.Bool // since another word last competed for the slot
}

// alikes caches the terms that look like the words of requests, because finding them takes a
// microsecond and most words are common. A word has a few adjacent slots by its hash, so the memory
// is bounded whatever requests contain, and few common words compete for a slot: with two of them
// one word in forty of the demo was compared with the terms every time.
type alikes [1 << 12]alikeSet

// alikeSet holds words of similar hashes within one cache line.
type alikeSet [4]atomic.Pointer[alike]

func (a *alikes) of(word string) *alikeSet { return &a[words.Hash(word)%uint32(len(a))] }

// gather is the working memory for one request's vector. It is as large as the table, so it is held
// only for the microseconds of [Reader.Request]: there are as many as processors, not as requests.
type gather struct {
	table   *Table
	weight  []uint32 // by term
	touched []uint32 // the terms with votes that have a weight
	unvoted []uint32 // the terms without
	shared  []uint32 // by term: the sum over shared groups
	seen    []uint32
	best    []like
}

type like struct {
	id, likeness uint32
	kin          bool // the same word with other marks
}

// gather returns a cleared working memory; put it back into gathers.
func (t *Table) gather() *gather {
	g, _ := t.gathers.Get().(*gather)
	if g == nil {
		g = &gather{table: t, weight: make([]uint32, t.Len()), shared: make([]uint32, t.Len())}
	}
	for _, id := range g.touched {
		g.weight[id] = 0
	}
	for _, id := range g.unvoted {
		g.weight[id] = 0
	}
	g.touched, g.unvoted = g.touched[:0], g.unvoted[:0]
	return g
}

func (g *gather) add(id, w uint32) {
	if w == 0 {
		return
	}
	if g.weight[id] == 0 {
		if id < g.table.voted {
			g.touched = append(g.touched, id)
		} else {
			g.unvoted = append(g.unvoted, id)
		}
	}
	g.weight[id] += w
}

// similar adds the terms that look like a word that no campaign with a vote has: other marks,
// another ending, a compound, a typing error. It returns the likeness of the most similar one with
// votes.
func (g *gather) similar(v *Vector, word string, own, damped uint32) (most uint32) {
	if !g.table.looks.may(word) && !g.table.others.may(word) {
		return 0
	}
	if g.table.voted == 0 && own != None && !g.table.others.kin.has.has(own) {
		return 0 // the table has the word, so of terms without votes only its other spellings count
	}
	return g.addLikes(v, g.remembered(word), own, damped, maxWeight)
}

// set sets the weight of a term without votes to that of the word itself.
func (g *gather) set(id, w uint32) {
	if g.weight[id] == 0 {
		g.add(id, w)
	}
	g.weight[id] = w
}

// addLikes adds the terms for which a word of the request stands. A rare spelling of a word is
// worth no more than its commonest, whose weight is at most ceiling. If terms without votes contain
// the word itself, as own, of these only other spellings count.
func (g *gather) addLikes(v *Vector, list []like, own, damped uint32, ceiling uint16) (most uint32) {
	voted := g.table.voted
	for _, l := range list {
		if l.kin {
			v.Kin = append(v.Kin, l.id)
			if l.id < voted {
				ceiling = min(ceiling, g.table.weights[l.id])
			}
		}
	}
	for _, l := range list {
		if l.id >= voted && !l.kin && own != None {
			continue
		}
		weight := g.table.weights[l.id]
		if l.kin {
			weight = min(weight, ceiling)
		}
		if l.id < voted {
			most = max(most, l.likeness)
		}
		g.add(l.id, damped*uint32(weight)/words.Unit*l.likeness/likenessFull*alikeWeight/words.Unit)
	}
	return min(most, likenessFull)
}

// maxWeight is no ceiling of weights.
const maxWeight = 1<<16 - 1

// remembered returns the result of alike, cached if possible. A new word replaces one that was not
// used since another word last competed for the slot.
func (g *gather) remembered(word string) []like {
	places := g.table.alikes.of(word)
	for i := range places {
		if known := places[i].Load(); known != nil && known.word == word {
			if !known.used.Load() {
				known.used.Store(true)
			}
			return known.best
		}
	}
	for i := range places {
		if known := places[i].Load(); known == nil || !known.used.Swap(false) {
			fresh := &alike{word: strings.Clone(word), best: slices.Clone(g.alike(word))}
			fresh.used.Store(true)
			places[i].Store(fresh)
			return fresh.best
		}
	}
	return g.alike(word)
}

// alike finds the terms that look like a word: those with votes, then those without, the most
// similar first.
func (g *gather) alike(word string) []like {
	g.best = g.appendAlike(g.best[:0], &g.table.looks, word)
	if g.table.others.may(word) {
		g.best = g.appendAlike(g.best, &g.table.others, word)
	}
	return g.best
}

// appendAlike appends the terms of x that look like a word, the most similar first.
func (g *gather) appendAlike(to []like, x *looks, word string) []like {
	from := len(to)
	to = append(to, x.kin.find(&g.table.names, word)...)
	if !comparable(word) {
		return to
	}
	length := g.share(&x.grams, word)
	kin := to[from:]
	for _, id := range g.seen {
		isKin := slices.ContainsFunc(kin, func(l like) bool { return l.id == id })
		own := uint64(x.grams.lengths[id-x.grams.first])
		if l := uint32(uint64(g.shared[id]) * likenessFull / (length*own + 1)); l >= leastLikeness && !isKin {
			to = append(to, like{id: id, likeness: l})
		}
		g.shared[id] = 0
	}
	slices.SortFunc(to[from:], byLikeness)
	return to[:min(len(to), from+mostAlike)]
}

// byLikeness orders the most similar first.
func byLikeness(a, b like) int {
	return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.id, b.id))
}

// share sums up, for each term of x, the groups it shares with word, and returns the length of the
// word's vector.
func (g *gather) share(x *grams, word string) (length uint64) {
	var square uint64
	g.seen = g.seen[:0]
	eachGram(word, func(h uint32) {
		at, ok := x.find(h)
		if !ok {
			square += uint64(x.rare) * uint64(x.rare)
			return
		}
		w := uint32(x.weights[at])
		square += uint64(w) * uint64(w)
		if x.begin[at+1]-x.begin[at] > tooMany {
			return
		}
		for _, id := range x.ids[x.begin[at]:x.begin[at+1]] {
			if g.shared[id] == 0 {
				g.seen = append(g.seen, id)
			}
			g.shared[id] += w * w
		}
	})
	return root(square)
}
