package lexicon

import (
	"fmt"
	"math/bits"
	"sync"

	"adnet/auction/words"
)

// Table is one frozen state of the words of all campaigns. It is immutable.
type Table struct {
	names    names
	voted    uint32   // the terms below are those of campaigns with votes
	numbers  []uint32 // by term: its [TermID]
	special  idSet    // terms of special categories, see [Special]
	everyday idSet    // terms without votes that say little, see [words.Everyday]
	weights  []uint16 // by term: its rarity, in units of 1/256 bit
	unseen   uint16   // the weight of a term that no campaign with a vote has
	faint    uint16   // the weight of a common term that no campaign with a vote has
	looks    looks    // of the terms with votes
	others   looks    // of the terms without
	alikes   *alikes
	version  string
	missed   uint32 // how much words that no campaign with a vote has reduce a match, in units of words.One
	gain     uint32 // factor of a match, in units of 1/256

	gathers  sync.Pool // of *gather
	once     sync.Once // makes byTermID
	byTermID map[uint32]uint32
}

// Len returns the number of terms; their ids are below it.
func (t *Table) Len() int { return t.names.len() }

// Term returns the text of a term.
func (t *Table) Term(id uint32) string { return t.names.of(id) }

// ID returns the id of a term, or [None] if the table lacks it.
func (t *Table) ID(term string) uint32 { return t.names.id(term) }

// Version identifies the table: equal campaigns give equal versions.
func (t *Table) Version() string { return t.version }

// unseenCommon stands for a common word missing in the table when its weight is looked up.
const unseenCommon = None - 1

func (t *Table) weight(id uint32) uint16 {
	switch id {
	case None:
		return t.unseen
	case unseenCommon:
		return t.faint
	}
	return t.weights[id]
}

// weightIn returns the weight of a term in a text. Whether one without votes is common depends on
// this text alone, so that strangers change nothing.
func (t *Table) weightIn(term *rawTerm) uint16 {
	switch {
	case term.id < t.voted || term.id >= unseenCommon:
		return t.weight(term.id)
	case term.common:
		return t.faint
	}
	return t.unseen
}

// vote is a full vote.
const vote = 1 << 32

// fullPPM is a full vote in parts per million.
const fullPPM = 1_000_000

// Share returns the part that each of a family's campaigns has of the family's vote, which is in
// parts per million.
func Share(ppm uint32, campaigns int) uint64 {
	return vote * uint64(min(ppm, fullPPM)) / fullPPM / uint64(campaigns)
}

// Size is the size of a network.
type Size struct {
	votes  uint64
	shares uint64 // the sum over families of one campaign's share
}

// Count adds one of the given number of campaigns of a family, with its [Share].
func (s *Size) Count(share uint64, campaigns int) {
	s.votes += share
	s.shares += share / uint64(campaigns)
}

// network returns the size in campaigns of equal weight: a family with a thousand copies counts as
// one.
func (s Size) network() network {
	hi, lo := bits.Mul64(s.votes, s.votes>>(32-fraction))
	campaigns, _ := bits.Div64(hi, lo, max(s.shares, hi+1))
	return network{votes: max(s.votes, 1), campaigns: campaigns}
}

// Builder makes a table and the vectors of its campaigns.
type Builder struct {
	reader Reader
	table  *Table
	ids    map[string]uint32
	terms  []string
	votes  []uint64
	common []bool
	raw    []rawTerm // of all texts
	ends   []uint32
	vector []Posting
}

// Posting is a term of one campaign.
type Posting struct {
	ID uint32
	By uint16
}

// NewBuilder returns an empty Builder.
func NewBuilder() *Builder { return &Builder{table: &Table{}, ids: map[string]uint32{}} }

// Add adds a text, with the sum of the [Share] of the campaigns that use it.
func (b *Builder) Add(t *Text, votes uint64) {
	found := b.reader.terms(t)
	for i := range found {
		term := &found[i]
		common := common(&term.Term)
		id, known := b.ids[term.Text]
		if !known {
			id = uint32(len(b.terms))
			text := string([]byte(term.Text)) // a copy, so that the whole text is not kept alive
			b.ids[text] = id
			b.terms, b.votes = append(b.terms, text), append(b.votes, 0)
			b.common = append(b.common, common)
		}
		switch {
		case votes > 0 && b.votes[id] == 0:
			b.common[id] = common
		case votes > 0 || b.votes[id] == 0: // others' votes alone decide
			b.common[id] = b.common[id] && common
		}
		b.votes[id] += votes
		b.raw = append(b.raw, raw(id, term))
	}
	b.ends = append(b.ends, uint32(len(b.raw)))
}

// Freeze finishes the table for a network of that size.
func (b *Builder) Freeze(of Size) *Table {
	t := b.table
	t.voted = b.votedFirst()
	t.names = namesOf(b.terms)
	t.numbers = numbersOf(b.terms)
	t.special = specialOf(&t.names)
	t.everyday = everydayOf(b.terms, t.voted)
	t.weights = make([]uint16, len(b.terms))
	size := of.network()
	single := size.single()
	t.unseen, t.faint = size.rarity(single), size.commonRarity(single)
	t.missed, t.gain = size.missed(), size.gain()
	least := b.varied(size).least(t.unseen)
	for id, v := range b.votes {
		switch {
		case uint32(id) < t.voted && b.common[id]:
			t.weights[id] = size.commonRarity(v)
		case uint32(id) < t.voted:
			t.weights[id] = max(size.rarity(v), least)
		case b.common[id]:
			t.weights[id] = t.faint
		default:
			t.weights[id] = t.unseen
		}
	}
	t.alikes = new(alikes)
	t.looks = looksOf(&t.names, b.terms, 0, t.voted)
	t.others = looksOf(&t.names, b.terms, t.voted, uint32(len(b.terms)))
	t.version = fmt.Sprintf("%08x", t.digest(b.terms))
	b.ids, b.terms, b.votes, b.common = nil, nil, nil, nil
	return t
}

// everydayOf returns the everyday terms from the first one without votes on.
func everydayOf(terms []string, voted uint32) idSet {
	set := newIDSet(len(terms))
	for id := voted; int(id) < len(terms); id++ {
		if words.Everyday(terms[id]) {
			set.add(id)
		}
	}
	return set
}

// perKind is the number of campaigns that a network needs for each kind of ad to count in full.
const perKind = 4

// varied returns the size of a network by the kinds of its ads, which may be more than its
// campaigns: in one of a single trade, however many campaigns it has, there are few words to choose
// by. The number of kinds is 1 ÷ the share of the votes that use a word of an ad, on average.
func (b *Builder) varied(size network) network {
	var sum, squares uint64
	for id, v := range b.votes {
		if !b.common[id] {
			p := size.part(v, 1<<fraction)
			sum += p
			squares += p * p
		}
	}
	hi, lo := bits.Mul64(sum, perKind<<(2*fraction))
	size.campaigns, _ = bits.Div64(hi, lo, max(squares, hi+1))
	return size
}

// least returns the least weight of a word that is not common in language at large, from that of a
// word of a single campaign: half of it, and up to three quarters in a network of few kinds of ads.
// A word that all advertisers of a trade use still shows that a request is about what they sell, if
// less than a word that tells one of them from the others.
func (n network) least(unseen uint16) uint16 {
	return unseen/2 + uint16(uint64(unseen/4)*n.lacking()>>fraction)
}

// lacking returns how far a network lacks words to choose by: 1<<fraction for at most small
// campaigns, 0 for grown or more.
func (n network) lacking() uint64 {
	return (grown<<fraction - max(min(n.campaigns, grown<<fraction), small<<fraction)) / (grown - small)
}

// votedFirst gives the terms with votes the lowest ids and returns their number.
func (b *Builder) votedFirst() (voted uint32) {
	for _, v := range b.votes {
		if v > 0 {
			voted++
		}
	}
	if int(voted) == len(b.votes) {
		return voted
	}
	moved := make([]uint32, len(b.terms))
	terms, votes, common := make([]string, len(moved)), make([]uint64, len(moved)), make([]bool, len(moved))
	first, rest := uint32(0), voted
	for id, v := range b.votes {
		to := &rest
		if v > 0 {
			to = &first
		}
		moved[id] = *to
		terms[*to], votes[*to], common[*to] = b.terms[id], v, b.common[id]
		*to++
	}
	for i := range b.raw {
		b.raw[i].id = moved[b.raw[i].id]
	}
	b.terms, b.votes, b.common = terms, votes, common
	return voted
}

// fraction is the number of bits of a count of campaigns below 1.
const fraction = 20

// network is the size of a network: all votes, and campaigns of equal weight in units of
// 1/2^fraction.
type network struct{ votes, campaigns uint64 }

// The words of a network are counted as if some further campaigns existed, so that words have some
// weight in a small network. Few of these have any given word, and half of them a given common
// word.
const (
	further       = 10
	furtherRare   = 20  // per mille
	furtherCommon = 500 // per mille
)

// rarity returns the weight of a term with that many votes. Only the share of the votes counts.
func (n network) rarity(votes uint64) uint16 { return n.smoothed(votes, furtherRare) }

// commonRarity returns the weight of a common word: next to nothing until there are enough
// campaigns to show how common it is.
func (n network) commonRarity(votes uint64) uint16 {
	return uint16(uint64(n.smoothed(votes, furtherCommon)) * n.campaigns / (n.campaigns + further<<fraction))
}

// single returns the votes of one of the campaigns of equal weight.
func (n network) single() uint64 {
	single := min(n.campaigns, 1<<fraction)
	if single == 0 {
		return 0
	}
	hi, lo := bits.Mul64(n.votes, single)
	votes, _ := bits.Div64(hi, lo, n.campaigns)
	return votes
}

// part returns the share of all votes as a part of a whole.
func (n network) part(votes, whole uint64) uint64 {
	hi, lo := bits.Mul64(min(votes, n.votes), whole)
	part, _ := bits.Div64(hi, lo, n.votes)
	return part
}

func (n network) smoothed(votes, share uint64) uint16 {
	having := n.part(votes, n.campaigns)
	return uint16(log2(n.campaigns+further<<fraction) - log2(having+further*share<<fraction/1000))
}

// missed: with few campaigns, a word that none of them has proves nothing.
func (n network) missed() uint32 {
	if n.campaigns <= small<<fraction {
		return 0
	}
	return uint32((n.campaigns - small<<fraction) * words.Unit / n.campaigns)
}

// In a network of at most small campaigns, one shared content word is enough for an ad. In one of
// grown campaigns or more there are enough words to choose by.
const (
	small     = 10
	grown     = 50
	smallGain = 640
)

func (n network) gain() uint32 {
	return 256 + uint32((smallGain-256)*n.lacking()>>fraction)
}

func (t *Table) digest(terms []string) (sum uint32) {
	for id, term := range terms[:t.voted] {
		h := uint32(2166136261)
		for i := range len(term) {
			h = (h ^ uint32(term[i])) * 16777619
		}
		h = (h ^ uint32(t.weights[id])) * 0x9e3779b1
		sum += (h ^ h>>15) * 0x85ebca6b
	}
	return sum ^ uint32(t.unseen)<<16 ^ t.gain
}

// Vector returns the vector of the i-th added text, valid until the next call.
func (b *Builder) Vector(i int) []Posting {
	from := uint32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	terms := b.raw[from:b.ends[i]]
	b.vector = b.vector[:0]
	for _, term := range terms {
		b.vector = append(b.vector, Posting{ID: term.id})
	}
	b.table.impacts(terms, func(i int, by uint16) { b.vector[i].By = by })
	return b.vector
}
