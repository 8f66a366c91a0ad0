package lexicon

import (
	"fmt"
	"math/bits"
	"sync"

	"adnet/auction/words"
)

// Table is one frozen state of the words of all campaigns. It is immutable.
type Table struct {
	names   names
	special idSet    // terms of special categories, see [Special]
	weights []uint16 // by term: its rarity, in units of 1/256 bit
	unseen  uint16   // the weight of a term that no campaign has
	faint   uint16   // the weight of a common term that no campaign has
	grams   grams
	kin     kin
	alikes  *alikes
	version string
	missed  uint32 // how much words that no campaign has reduce a match, in units of words.One
	gain    uint32 // factor of a match, in units of 1/256

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

// vote is the vote of one advertiser, shared by its campaigns.
const vote = 1 << 32

// Share returns the part of an advertiser's vote that one of its campaigns has.
func Share(campaigns int) uint64 { return vote / uint64(campaigns) }

// Size is the size of a network.
type Size struct {
	advertisers uint64
	shares      uint64 // the sum over advertisers of one campaign's share
}

// Count adds an advertiser with the given number of campaigns.
func (s *Size) Count(campaigns int) {
	s.advertisers++
	s.shares += Share(campaigns)
}

// network returns the size in campaigns of equal weight: an advertiser with a thousand copies
// counts as one.
func (s Size) network() network {
	hi, lo := bits.Mul64(s.advertisers*s.advertisers, vote)
	campaigns, _ := bits.Div64(hi, lo, max(s.shares, hi+1))
	return network{advertisers: max(s.advertisers, 1), campaigns: max(campaigns, 1)}
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
		id, known := b.ids[term.Text]
		if !known {
			id = uint32(len(b.terms))
			text := string([]byte(term.Text)) // a copy, so that the whole text is not kept alive
			b.ids[text] = id
			b.terms, b.votes = append(b.terms, text), append(b.votes, 0)
			b.common = append(b.common, term.Kind == words.Common)
		}
		b.votes[id] += votes
		b.common[id] = b.common[id] && term.Kind == words.Common
		b.raw = append(b.raw, raw(id, term))
	}
	b.ends = append(b.ends, uint32(len(b.raw)))
}

// Freeze finishes the table for a network of that size.
func (b *Builder) Freeze(of Size) *Table {
	t := b.table
	t.names = namesOf(b.terms)
	t.special = specialOf(&t.names)
	t.weights = make([]uint16, len(b.terms))
	size := of.network()
	for id, v := range b.votes {
		t.weights[id] = size.rarity(v)
		if b.common[id] {
			t.weights[id] = size.commonRarity(v)
		}
	}
	single := vote * size.advertisers / size.campaigns
	t.unseen, t.faint = size.rarity(single), size.commonRarity(single)
	t.missed, t.gain = size.missed(), size.gain()
	t.grams, t.alikes, t.kin = gramsOf(b.terms), new(alikes), kinOf(&t.names)
	t.version = fmt.Sprintf("%08x", t.digest(b.terms))
	b.ids, b.terms, b.votes, b.common = nil, nil, nil, nil
	return t
}

// network is the size of a network in campaigns of equal weight.
type network struct{ campaigns, advertisers uint64 }

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
	return uint16(uint64(n.smoothed(votes, furtherCommon)) * n.campaigns / (n.campaigns + further))
}

func (n network) smoothed(votes, share uint64) uint16 {
	having := votes / n.advertisers * n.campaigns >> 12 // in units of 1/2^20 campaigns
	return uint16(log2((n.campaigns+further)<<20) - log2(max(having+further*share<<20/1000, 1)))
}

// missed: with few campaigns, a word that none of them has proves nothing.
func (n network) missed() uint32 {
	if n.campaigns <= small {
		return 0
	}
	return uint32((n.campaigns - small) * words.One / n.campaigns)
}

// In a network of at most small campaigns, one shared content word is enough for an ad. In one of
// grown campaigns or more there are enough words to choose by.
const (
	small     = 10
	grown     = 50
	smallGain = 640
)

func (n network) gain() uint32 {
	if n.campaigns >= grown {
		return 256
	}
	return 256 + uint32((smallGain-256)*(grown-max(n.campaigns, small))/(grown-small))
}

func (t *Table) digest(terms []string) (sum uint32) {
	for id, term := range terms {
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
