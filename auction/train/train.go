// Package train learns from clicks which requests an ad answers, in addition to the ad's own text.
//
// It is a pure function from a log of served impressions and the current campaigns to a
// [ranker.Learnt]. The text gives the prior: [Learn] finds by FTRL-proximal how much each term adds
// to it for a campaign, and calibrates the probability of a click. [Judge] compares a candidate
// with the current table before it may decide anything.
//
// A campaign has no click rate of its own, in total or by placement: its clicks are explained by
// its terms alone, as in auctions. Rates that auctions do not use would absorb what terms have to
// learn: with them the right ad was found for 46 instead of 70 % of labelled requests (metatool).
//
// The influence of each party is limited: a publisher weighs at most 5 % of all impressions
// ([Weigh]), a network counts one click per campaign and day, and a log holds only valid, billed
// events.
//
// Samples are sorted before use, and floating point is computed in one goroutine, so that the same
// log gives the same weights on machines of one kind. Auctions use only the resulting integers.
package train

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// Sample is one served impression, valid and accepted for billing.
type Sample struct {
	Campaign   index.ID
	Advertiser index.ID // owns the campaign
	// Publisher owns the placement.
	Publisher index.ID
	// Day is the UTC day, counted from an arbitrary one.
	Day int32
	// Place distinguishes combinations of host app, surface and integration method.
	Place uint32
	// Terms are the ids of terms of the request, ascending.
	Terms []uint32
	// Clicked reports whether a valid click followed. Network identifies the origin of the click:
	// per network, campaign and day one click counts. 0 is unknown.
	Clicked bool
	Network uint32
	// Converted reports whether a valid conversion followed a click, and PerConversion whether its
	// campaign paid for conversions.
	Converted, PerConversion bool
	// PClick is the node's prediction by the deciding table. TrialPClick is its prediction by the
	// weights on trial, of the version Trial. 0 is none.
	PClick, TrialPClick ranker.PPM
}

// Network holds the current campaigns, which give the texts.
type Network struct {
	Index *index.Index
}

// families holds the families of advertisers, by advertiser.
type families map[index.ID]index.ID

// families returns the families of the advertisers whose campaigns run.
func (n Network) families() families {
	f := families{}
	for c := range n.Index.All() {
		f[c.Advertiser] = c.Owner()
	}
	return f
}

// of returns the family of an advertiser, which is the advertiser if none of its campaigns runs.
func (f families) of(advertiser index.ID) index.ID {
	if family, known := f[advertiser]; known {
		return family
	}
	return advertiser
}

// Settings configures learning. The zero value is the default.
type Settings struct {
	// Rate, Ridge and Lasso are α, λ₂ and λ₁ of FTRL-proximal.
	Rate, Ridge, Lasso float64
	// Choices is the maximum number of passes over the requests.
	Choices int
}

func (s Settings) filled() Settings {
	return Settings{
		Rate: cmp.Or(s.Rate, 0.7), Ridge: cmp.Or(s.Ridge, 0.03), Lasso: cmp.Or(s.Lasso, 0.001),
		Choices: cmp.Or(s.Choices, 40),
	}
}

// slope is the log-odds of a click that a full match is worth: it converts learnt log-odds into
// matches.
const slope = 8.0

// MostLessons is the maximum number of terms learnt for one campaign: the strongest.
const MostLessons = 512

// sorted returns a copy of a log in its canonical order.
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
	// Within a day by a hash, which mixes the campaigns.
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

// prior holds the vectors of the campaigns' texts.
type prior struct {
	table     ranker.Table
	words     *lexicon.Table
	impacts   map[index.ID]map[uint32]uint16 // by the id of the term in words
	campaigns []index.ID                     // ascending
	numbers   map[index.ID]uint32            // of campaigns
	audiences audiences
}

func newPrior(n Network) *prior {
	table := n.Index.Table()
	table.Learnt = nil
	p := &prior{
		table: table, words: n.Index.Words(), impacts: map[index.ID]map[uint32]uint16{},
		numbers: map[index.ID]uint32{},
	}
	var r lexicon.Reader
	for c := range n.Index.All() {
		text := c.Text()
		impacts := map[uint32]uint16{}
		for _, impact := range r.Campaign(p.words, &text) {
			if impact.ID != lexicon.None {
				impacts[impact.ID] = impact.By
			}
		}
		p.impacts[c.ID] = impacts
		p.campaigns = append(p.campaigns, c.ID)
	}
	slices.SortFunc(p.campaigns, func(a, b index.ID) int { return bytes.Compare(a[:], b[:]) })
	for number, id := range p.campaigns {
		p.numbers[id] = uint32(number)
		p.audiences.add(n.Index.Get(id))
	}
	return p
}

// known returns the samples whose campaigns still run: the texts of others are unknown.
func (p *prior) known(log []Sample) []Sample {
	var list []Sample
	for i := range log {
		if _, runs := p.impacts[log[i].Campaign]; runs {
			list = append(list, log[i])
		}
	}
	return list
}

// alikePart is the approximate weight of a term that a word only resembles: their likeness is not
// recorded.
const alikePart = 0.4

// feature is a term of a request with its share of the request's vector, which has length 1.
type feature struct {
	term  uint32
	id    uint32 // in words
	share float64
}

// read returns the features of a request. Terms that no campaign contains any more are left out.
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

// match returns the match of a campaign's text with a request.
func (p *prior) match(campaign index.ID, features []feature) (sum float64) {
	impacts := p.impacts[campaign]
	for _, f := range features {
		sum += float64(f.share * float64(impacts[f.id]))
	}
	return sum
}

// odds returns the log-odds of a click predicted by the text alone.
func (p *prior) odds(match float64) float64 {
	m := ranker.Match(max(0, min(match, float64(ranker.Highest))))
	return logit(float64(p.table.PClick(p.table.Relevance(m))) / float64(ranker.Certain))
}

func logit(p float64) float64 {
	p = min(max(p, 1e-6), 1-1e-6)
	return math.Log(p / (1 - p))
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-min(max(z, -30), 30))) }
