package train

import (
	"math"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
)

// pair is a term and a campaign: what the campaign says of it, in log-odds, and what was learnt.
type pair struct {
	campaign uint32
	said     float64
	at       coordinate
}

// pairs are those of all terms.
type pairs struct {
	byTerm [][]*pair // by term, in the order in which they came
	known  map[uint64]*pair
}

func newPairs(p *prior) pairs {
	x := pairs{byTerm: make([][]*pair, p.words.Len()), known: map[uint64]*pair{}}
	for number, id := range p.campaigns {
		for term, by := range p.impacts[id] {
			x.of(term, uint32(number), true).said = slope * float64(by) / float64(ranker.Full)
		}
	}
	return x
}

// of is the pair of a term and a campaign, made if it may be.
func (x *pairs) of(term, campaign uint32, learn bool) *pair {
	k := uint64(term)<<32 | uint64(campaign)
	p := x.known[k]
	if p == nil && learn {
		p = &pair{campaign: campaign}
		x.known[k], x.byTerm[term] = p, append(x.byTerm[term], p)
	}
	return p
}

// choice is the memory of [Model.choose].
type choice struct {
	scores  []float64 // by campaign
	touched []uint32
}

// mostChoices is how many clicks are learnt from in all passes: each looks at every campaign that
// says something of its request.
const mostChoices = 500_000

// chooseAll learns from all clicks, several times where they are few.
func (m *Model) chooseAll(log []Sample, weights map[target.ID]float64) {
	log = slices.DeleteFunc(slices.Clone(log), func(s Sample) bool { return !s.Clicked })
	for range min(m.settings.Choices, 1+mostChoices/max(len(log), 1)) {
		for i := range log {
			m.choose(&log[i], weights[log[i].Publisher])
		}
	}
}

// silent is how many campaigns that say nothing of a request are thought to stand beside those that
// do: without them a click on the only campaign that says a word would teach nothing.
const silent = 20

// least is how likely a campaign must be chosen to be moved.
const least = 0.002

// choose learns from a click that its campaign was the right one among all that say or were taught
// something of the request and may have been shown to its reader: the other half of what a click
// tells, which impressions of one ad each do not. Terms are moved as far as auctions can count them,
// see [pair.moves].
func (m *Model) choose(s *Sample, weight float64) {
	m.buf = m.prior.read(m.buf[:0], s.Terms)
	chosen := m.prior.numbers[s.Campaign]
	m.score(chosen)
	c := &m.choice
	var highest, sum float64
	for _, campaign := range c.touched {
		highest = max(highest, c.scores[campaign])
	}
	for _, campaign := range c.touched {
		c.scores[campaign] = math.Exp(c.scores[campaign] - highest)
		sum += c.scores[campaign]
	}
	sum += float64(silent * math.Exp(-highest))
	for _, f := range m.buf {
		for _, p := range m.pairs.byTerm[f.id] {
			miss := c.scores[p.campaign] / sum
			if p.campaign == chosen {
				miss--
			}
			if math.Abs(miss) >= least && p.moves(miss) {
				m.move(&p.at, m.settings.Ridge, float64(miss*f.share*weight))
			}
		}
	}
}

// score adds up what every campaign is worth to the request in m.buf.
func (m *Model) score(chosen uint32) {
	c := &m.choice
	if c.scores == nil {
		c.scores = make([]float64, len(m.prior.campaigns))
	}
	for _, campaign := range c.touched {
		c.scores[campaign] = 0
	}
	c.touched = c.touched[:0]
	for _, f := range m.buf {
		m.pairs.of(f.id, chosen, true)
		for _, p := range m.pairs.byTerm[f.id] {
			if worth := p.worth(); worth > 0 && m.prior.audiences.meet(chosen, p.campaign) {
				if c.scores[p.campaign] == 0 {
					c.touched = append(c.touched, p.campaign)
				}
				c.scores[p.campaign] += float64(f.share * worth)
			}
		}
	}
	if c.scores[chosen] == 0 {
		c.touched = append(c.touched, chosen)
	}
}

// worth is what a term is worth to a campaign, in log-odds: no more than auctions can count.
func (p *pair) worth() float64 { return max(0, min(p.said+p.at.weight, slope)) }

// moves says whether a gradient changes what a term is worth: neither below nothing nor above what
// auctions can count, where other terms of the request have to learn.
func (p *pair) moves(gradient float64) bool {
	return gradient < 0 && p.worth() < slope || gradient > 0 && p.worth() > 0
}
