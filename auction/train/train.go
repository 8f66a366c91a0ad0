// Package train learns from clicks which requests an ad answers, beside what the ad says of itself.
//
// It is a pure function: a [Log] of served impressions and the campaigns of now go in, a
// [ranker.Learnt] comes out. What is known from the text is the prior: [Learn] finds by
// FTRL-proximal what each term adds to it for a campaign, and calibrates the probability of a
// click. [Judge] holds a candidate against the table in force before it may decide anything.
//
// A campaign has no rate of its own beside its terms, nor has it one in each place: what it is
// clicked is what its terms are worth, as in auctions. Rates that auctions do not count would take
// what terms have to learn: with them 46 in place of 70 % of labelled requests found the right ad
// (metatool).
//
// Nobody can teach much alone: a publisher weighs at most 5 % of all impressions ([Weigh]), a
// network counts one click a campaign and day, and only valid, billed events are in a log.
//
// Samples are taken in one order, whatever order they come in, and floating point is used in one
// goroutine, so that the same log gives the same weights on machines of one kind; what auctions are
// decided by are the integers that come out.
package train

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/target"
)

// Sample is one impression that was served, valid and accepted for billing.
type Sample struct {
	Campaign   target.ID
	Advertiser target.ID // owns the campaign
	// Publisher is whose place it was.
	Publisher target.ID
	// Day is the UTC day, counted from any one.
	Day int32
	// Place tells host app, surface and integration method of the impression apart.
	Place uint32
	// Terms are the ids of terms of the request, ascending.
	Terms []uint32
	// Clicked says that a valid click followed, and Network marks who clicked: of one mark,
	// campaign and day one click counts. 0 is unknown.
	Clicked bool
	Network uint32
	// Converted says that a valid conversion followed a click, and PerConversion that its campaign
	// paid for conversions.
	Converted, PerConversion bool
	// PClick and TrialPClick are what the node foretold: by what decided, and by the weights on
	// trial, which have the version Trial. 0 is nothing.
	PClick, TrialPClick ranker.PPM
}

// Network is the campaigns as they are now, by which texts are known.
type Network struct {
	Index *target.Index
}

// Settings of learning. The zero value is the default.
type Settings struct {
	// Rate, Ridge and Lasso are α, λ₂ and λ₁ of FTRL-proximal.
	Rate, Ridge, Lasso float64
	// Choices is how many times requests are looked at, where they are few.
	Choices int
}

func (s Settings) filled() Settings {
	return Settings{
		Rate: cmp.Or(s.Rate, 0.7), Ridge: cmp.Or(s.Ridge, 0.03), Lasso: cmp.Or(s.Lasso, 0.001),
		Choices: cmp.Or(s.Choices, 40),
	}
}

// slope is how many log-odds of a click a full match is worth: it turns what is learnt in log-odds
// into matches.
const slope = 8.0

// MostLessons is how many terms are learnt of one campaign at most: the strongest.
const MostLessons = 512

// sorted is a copy of a log in its one order.
func sorted(log []Sample) []Sample {
	list := slices.Clone(log)
	slices.SortFunc(list, compare)
	return list
}

func compare(a, b Sample) int {
	clicked := func(s *Sample) int {
		if s.Clicked {
			return 1
		}
		return 0
	}
	// Within a day by a hash, so that no campaign comes in one piece.
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.hash(), b.hash()), bytes.Compare(
		a.Campaign[:], b.Campaign[:],
	), bytes.Compare(
		a.Publisher[:], b.Publisher[:],
	),
		slices.Compare(a.Terms, b.Terms), cmp.Compare(a.Place, b.Place), cmp.Compare(clicked(&a), clicked(&b)),
		cmp.Compare(a.Network, b.Network))
}

func (s *Sample) hash() (h uint32) {
	for _, t := range s.Terms {
		h = (h ^ t) * 0x9e3779b1
	}
	return (h ^ uint32(s.Campaign[15])<<8 ^ uint32(s.Publisher[15]) ^ uint32(s.Campaign[0])<<16) * 0x85ebca6b
}

// prior is what the texts of campaigns say about a request.
type prior struct {
	table     ranker.Table
	words     *lexicon.Table
	impacts   map[target.ID]map[uint32]uint16 // by the id of the term in words
	campaigns []target.ID                     // ascending
	numbers   map[target.ID]uint32            // of campaigns
	audiences audiences
}

func newPrior(n Network) *prior {
	table := n.Index.Table()
	table.Learnt = nil
	p := &prior{
		table: table, words: n.Index.Words(), impacts: map[target.ID]map[uint32]uint16{},
		numbers: map[target.ID]uint32{},
	}
	var r lexicon.Reader
	for c := range n.Index.All() {
		text := c.Text()
		said := map[uint32]uint16{}
		for _, impact := range r.Campaign(p.words, &text) {
			if impact.ID != lexicon.None {
				said[impact.ID] = impact.By
			}
		}
		p.impacts[c.ID] = said
		p.campaigns = append(p.campaigns, c.ID)
	}
	slices.SortFunc(p.campaigns, func(a, b target.ID) int { return bytes.Compare(a[:], b[:]) })
	for number, id := range p.campaigns {
		p.numbers[id] = uint32(number)
		p.audiences.add(n.Index.Get(id))
	}
	return p
}

// known is the part of a log whose campaigns still run: of the others it is not known what they
// say.
func (p *prior) known(log []Sample) []Sample {
	var list []Sample
	for i := range log {
		if _, runs := p.impacts[log[i].Campaign]; runs {
			list = append(list, log[i])
		}
	}
	return list
}

// alikePart is how much a term that a word only looks like weighs in a match, about: how like they
// were is not recorded.
const alikePart = 0.4

// feature is a term of a request with its share of what the request says: the squares of all are 1.
type feature struct {
	term  uint32
	id    uint32 // in words
	share float64
}

// read gives the features of a request; terms that no campaign says any more are left out.
func (p *prior) read(dst []feature, terms []uint32) []feature {
	var sum float64
	for _, term := range terms {
		id, part := p.words.ByTermID(term), 1.0
		if id == lexicon.None {
			term, part = lexicon.LikeID(term), alikePart
			id = p.words.ByTermID(term)
		}
		if id == lexicon.None {
			continue
		}
		w := float64(part * float64(p.words.Rarity(id)))
		sum += float64(w * w)
		dst = append(dst, feature{term: term, id: id, share: w})
	}
	length := math.Sqrt(max(sum, 1))
	for i := range dst {
		dst[i].share /= length
	}
	return dst
}

// match is what the text of a campaign has in common with a request.
func (p *prior) match(campaign target.ID, features []feature) (sum float64) {
	said := p.impacts[campaign]
	for _, f := range features {
		sum += float64(f.share * float64(said[f.id]))
	}
	return sum
}

// odds is the log-odds of a click that the text alone foretells.
func (p *prior) odds(match float64) float64 {
	m := ranker.Match(max(0, min(match, float64(ranker.Highest))))
	return logit(float64(p.table.PClick(p.table.Relevance(m))) / float64(ranker.Certain))
}

func logit(p float64) float64 {
	p = min(max(p, 1e-6), 1-1e-6)
	return math.Log(p / (1 - p))
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-min(max(z, -30), 30))) }
