// Package lexicon holds the words of all campaigns: their weights and which of them look alike.
//
// A [Table] is frozen from the active campaigns and has a version. It turns campaigns into vectors
// of impacts and requests into vectors of weights. The sum of weight × impact over their common
// terms is the match of the two: a cosine in fixed point. All numbers are integers, so equal
// campaigns give equal tables and equal scores on every machine.
//
// The weight of a word is counted in votes of families of advertisers: each has at most one vote
// per word, by what it was charged, shared by its campaigns. A thousand copies of a campaign
// therefore devalue a rival's word no more than one does, and campaigns of those who pay nothing
// not at all: their terms are in the table, so that requests find them, but change nothing about
// the match of others.
package lexicon

import "adnet/auction/words"

// Full is the match of a request and a campaign with the same text.
const Full = 1 << 16

// weightBits is the precision of the weights of a request: its vector has the length 1<<weightBits.
const weightBits = 12

// The gain of tokens that an advertiser picked, in units of [words.Unit]. Tokens that only repeat
// the text gain nothing (see [Reader.choice]).
const (
	pickedEcho  = 2 * words.Unit // added to the weight of a word in the text
	pickedFresh = words.Unit     // added to the weight of a word not in the text
	pickedGain  = words.Unit     // added to the match, for both
)

// The length of a request's vector is averaged with that of pivotWords words that no campaign has,
// so that the few words of a long request that a campaign has still count.
const pivotWords = 6

// A campaign's vector has at least the length of leastWords words of its own, so that a campaign of
// common words only matches next to nothing.
const leastWords = 3

// Text is the text of a campaign.
type Text struct {
	Headline, Subtext string
	// Stated are its tokens and keywords.
	Stated [2][]string
}

// Impact is the amount that a term adds to the match of a campaign with a request of that term
// only, in units of 1/[Full].
type Impact struct {
	Term string
	ID   uint32 // [None] for a term missing in the table
	By   uint16
}

// Weight is a term of a request.
type Weight struct {
	Text string // of a term missing in the table; see [Weight.Term]
	ID   uint32 // [None] for such a term
	By   uint32 // in units of 1/4096
}

// Term returns the text of a term in a vector made by table.
func (w *Weight) Term(table *Table) string {
	if w.ID == None {
		return w.Text
	}
	return table.Term(w.ID)
}

// Reader makes vectors. The zero value is ready. One goroutine may use it at a time. Its results
// are valid until its next use.
type Reader struct {
	words   words.Reader
	stated  words.Reader
	found   []campaignTerm
	impacts []Impact
	raw     []rawTerm
	vector  Vector
	named   []uint32 // of [Reader.Recorded]
	looks   []Weight // of Recorded
	ids     []uint32 // of the terms of a request
}

// campaignTerm is a term of a campaign.
type campaignTerm struct {
	words.Term
	picked uint32 // how much its advertiser picked it, in units of words.One
}

// rawTerm is a term of a campaign with its weight before scaling by the campaign's length.
type rawTerm struct {
	id     uint32
	weight uint16 // damped
	picked uint16
	common bool // in this text
}

// terms returns the terms of a campaign: first of its text, then its stated ones.
func (r *Reader) terms(t *Text) []campaignTerm {
	r.words.Reset()
	r.words.ReadText(t.Headline, words.Unit)
	r.words.ReadText(t.Subtext, words.Unit)
	r.stated.Reset()
	for _, list := range t.Stated {
		for _, token := range list {
			r.stated.ReadStated(token, words.Unit)
		}
	}
	r.found = r.found[:0]
	for _, term := range r.words.Terms() {
		r.found = append(r.found, campaignTerm{Term: term})
	}
	if stated := r.stated.Terms(); len(stated) > 0 {
		r.pick(stated)
	}
	return r.found
}

// pick adds the stated terms to those of the text.
func (r *Reader) pick(stated []words.Term) {
	ofText := len(r.found)
	choice := choice(r.found, stated)
	for _, term := range stated {
		picked := choice
		if !content(term.Kind) {
			picked = 0 // stating a common word adds nothing
		}
		at := indexOf(r.found[:ofText], term.Text)
		if at < 0 {
			term.Weight += term.Weight * picked / words.Unit * pickedFresh / words.Unit
			r.found = append(r.found, campaignTerm{term, picked})
			continue
		}
		found := &r.found[at]
		found.Weight += term.Weight * picked / words.Unit * pickedEcho / words.Unit
		found.Kind = min(found.Kind, term.Kind)
		found.picked = picked
	}
}

// choice returns how far the stated terms are a selection, up to [words.Unit]. If they merely
// repeat the words of the text the result is 0, as nothing shows which of them matter.
func choice(text []campaignTerm, stated []words.Term) uint32 {
	plain, chosen, echoed := 0, 0, 0
	for i := range text {
		if content(text[i].Kind) {
			plain++
		}
	}
	for i := range stated {
		if !content(stated[i].Kind) {
			continue
		}
		chosen++
		if at := indexOf(text, stated[i].Text); at >= 0 && content(text[at].Kind) {
			echoed++
		}
	}
	return uint32(words.Unit - words.Unit*echoed*echoed/max(plain*chosen, 1))
}

// common reports whether a term of a campaign says little about what it is for.
func common(t *words.Term) bool { return t.Kind == words.Common || words.Everyday(t.Text) }

func content(k words.Kind) bool { return k == words.Plain || k == words.Letters }

func indexOf(list []campaignTerm, text string) int {
	for i := range list {
		if list[i].Text == text {
			return i
		}
	}
	return -1
}

// raw returns a term's weight before its rarity counts.
func raw(id uint32, t *campaignTerm) rawTerm {
	w := damp(t.Weight)
	if t.Kind == words.Extra {
		w /= 2
	}
	return rawTerm{id: id, weight: uint16(min(w, 1<<16-1)), picked: uint16(t.picked), common: common(&t.Term)}
}

// Campaign returns the vector of a campaign.
func (r *Reader) Campaign(table *Table, t *Text) []Impact {
	r.impacts, r.raw = r.impacts[:0], r.raw[:0]
	found := r.terms(t)
	for i := range found {
		term := &found[i]
		id := table.ID(term.Text)
		r.impacts = append(r.impacts, Impact{Term: term.Text, ID: id})
		if id == None && common(&term.Term) {
			id = unseenCommon // the campaign is newer than the table; the word has the weight it will have in the next
		}
		r.raw = append(r.raw, raw(id, term))
	}
	table.impacts(r.raw, func(i int, by uint16) { r.impacts[i].By = by })
	return r.impacts
}

// impacts computes the amount that each term of a campaign adds to a match.
func (t *Table) impacts(terms []rawTerm, give func(i int, by uint16)) {
	var sum uint64
	for i := range terms {
		w := uint64(terms[i].weight) * uint64(t.weightIn(&terms[i])) / words.Unit
		sum += w * w
	}
	length := max(root(max(sum, leastWords*uint64(t.unseen)*uint64(t.unseen))), 1)
	for i := range terms {
		w := uint64(terms[i].weight) * uint64(t.weightIn(&terms[i])) / words.Unit
		w += w * uint64(terms[i].picked) / words.Unit * pickedGain / words.Unit
		give(i, uint16(max(min(w*Full/length, Full-1), 1)))
	}
}

// damp returns the weight of a term after damping its total weight: a second occurrence adds less
// than the first.
func damp(weight uint32) uint32 {
	if weight <= words.Unit {
		return weight
	}
	return words.Unit + (log2(uint64(weight))-log2(words.Unit))*177/256
}

// Vector is a request in the terms of a table.
type Vector struct {
	// Weights are its terms and the terms that look like them.
	Weights []Weight
	// Own are the ids of its own terms that are in the table, and Kin those of its words with other
	// marks.
	Own, Kin []uint32
	// Empty reports whether it has no words.
	Empty bool
}

// Request returns the vector of a request.
func (r *Reader) Request(table *Table, terms []words.Term) *Vector {
	g, v := table.gather(), &r.vector
	defer table.gathers.Put(g)
	*v = Vector{Weights: v.Weights[:0], Own: v.Own[:0], Kin: v.Kin[:0], Empty: true}
	r.ids = r.ids[:0]
	for i := range terms { // a loop of its own lets the processor fetch several words at a time
		r.ids = append(r.ids, table.ID(terms[i].Text))
	}
	var missed uint64 // the square of the weights that no campaign has
	for i, id := range r.ids {
		// A term that only campaigns without a vote have counts for all others as one that is
		// missing.
		term, known := &terms[i], id < table.voted
		damped := damp(term.Weight)
		if known || term.Kind == words.Plain || term.Kind == words.Common || term.Kind == words.Letters {
			v.Empty = false
		}
		w := uint64(damped) * uint64(table.unseen) / words.Unit
		switch {
		case known:
			v.Own = append(v.Own, id)
			g.add(id, max(damped*uint32(table.weights[id])/words.Unit, 1)) // a filter by tokens finds it
			if kin := &table.looks.kin; kin.has.has(id) && term.Kind == words.Plain {
				g.addLikes(v, kin.of[id], id, damped/knownKin, table.weights[id])
			}
			continue
		case term.Kind == words.Plain:
			likeness := g.similar(v, term.Text, id, damped)
			left := w * uint64(likenessFull-likeness) / likenessFull
			missed += left * left
		case term.Kind == words.Common:
			w = uint64(damped) * uint64(table.faint) / words.Unit
		case term.Kind == words.Letters:
			missed += w * w / 2 // groups overlap, so each counts half
		}
		if id != None {
			v.Own = append(v.Own, id)
			weight := table.unseen // whatever other campaigns without a vote say of it
			if term.Kind == words.Common || table.everyday.has(id) {
				weight = table.faint
			}
			g.set(id, max(damped*uint32(weight)/words.Unit, 1))
			continue
		}
		v.Weights = append(v.Weights, Weight{Text: term.Text, ID: None, By: uint32(w)})
	}
	g.finish(v, missed)
	return v
}

// finish divides the weights of the vector by its length.
func (g *gather) finish(v *Vector, missed uint64) {
	var sum uint64
	for _, id := range g.touched {
		w := uint64(g.weight[id])
		sum += w * w
	}
	length := root(sum + missed*uint64(g.table.missed)/words.Unit)
	length = max((length+root(pivotWords*uint64(g.table.unseen)*uint64(g.table.unseen)))/2, 1)
	for i := range v.Weights {
		v.Weights[i].By = g.table.scaled(uint64(v.Weights[i].By), length)
	}
	for _, list := range [2][]uint32{g.touched, g.unvoted} {
		for _, id := range list {
			v.Weights = append(v.Weights, Weight{ID: id, By: g.table.scaled(uint64(g.weight[id]), length)})
		}
	}
}

// scaled returns a weight divided by the vector's length, in units of 1/4096. In a small network,
// which has seen few words, one content word is worth more.
func (t *Table) scaled(w, length uint64) uint32 {
	return uint32(max(w<<weightBits*uint64(t.gain)/256/length, 1))
}

// MostMatch is the greatest match. In a small network a match may exceed [Full].
const MostMatch = 4 * Full

// Match returns the match of a sum of weight × impact, in units of 1/[Full].
func Match(sum uint32) uint32 { return min(sum>>weightBits, MostMatch) }

// Sum returns the least sum that yields a match.
func Sum(match uint32) uint32 { return match << weightBits }

// None is the id of a term missing in a table.
const None = ^uint32(0)
