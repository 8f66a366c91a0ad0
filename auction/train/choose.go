package train

import (
	"math"

	"adnet/auction/ranker"
)

// pair is a term and a campaign: its weight in the campaign's text, in log-odds, and its learnt
// weight.
type pair struct {
	campaign uint32
	stated   float64
	at       coordinate
	sum      float64 // of its worth after each pass
}

// pairs holds the pairs of all terms.
type pairs struct {
	byTerm [][]*pair // by term, in the order of creation
	known  map[uint64]*pair
}

func newPairs(p *prior) pairs {
	x := pairs{byTerm: make([][]*pair, p.words.Len()), known: map[uint64]*pair{}}
	for number, id := range p.campaigns {
		for term, by := range p.impacts[id] {
			x.of(term, uint32(number)).stated = slope * float64(by) / float64(ranker.Full)
		}
	}
	return x
}

// of returns the pair of a term and a campaign, creating it if necessary.
func (x *pairs) of(term, campaign uint32) *pair {
	k := uint64(term)<<32 | uint64(campaign)
	p := x.known[k]
	if p == nil {
		p = &pair{campaign: campaign}
		x.known[k], x.byTerm[term] = p, append(x.byTerm[term], p)
	}
	return p
}

// clicks holds the probabilities of a click on an ad that is right for its request, and on one that
// is not.
type clicks struct{ right, wrong float64 }

const (
	// known is the number of predicted clicks that weigh as much as the observed ones.
	known = 20
	// mostClicked is the maximum probability of a click: nothing is certain.
	mostClicked = 0.98
)

// first returns the initial probabilities of a click before requests are read: the first-day
// table's, times observed ÷ predicted clicks.
func (p *prior) first(log []request, without int) clicks {
	var seen, predicted float64
	for i := range log {
		for at := range log[i].exposures {
			s := &log[i].exposures[at]
			impressions, clicked := s.without(without)
			seen += clicked
			predicted += float64(impressions * sigmoid(p.odds(p.match(p.campaigns[s.campaign], log[i].features))))
		}
	}
	return p.clicksOf((seen + known) / (predicted + known) * float64(p.table.ClickRight) / float64(ranker.Certain))
}

// clicksOf keeps the contrast of the first-day table: click rates differ between networks, but the
// ratio of right to wrong ads hardly does.
func (p *prior) clicksOf(right float64) clicks {
	right = min(right, mostClicked)
	return clicks{right, right * float64(p.table.ClickWrong) / float64(p.table.ClickRight)}
}

const (
	// trust is the factor by which evidence is overweighted compared with independent clicks. More
	// is learnt this way from few clicks, and errors are corrected by the missing clicks of the
	// next day.
	trust = 2
	// mostEvidence is the maximum evidence from one request, in log-odds: readers are not alike.
	mostEvidence = 8
)

// evidence returns the log-odds of an ad being right, from its impressions and clicks.
func (c clicks) evidence(impressions, clicked float64) float64 {
	e := float64(clicked*math.Log(c.right/c.wrong)) + float64((impressions-clicked)*math.Log((1-c.right)/(1-c.wrong)))
	return max(-mostEvidence, min(mostEvidence, trust*e))
}

// choice is the working memory of [Model.choose]. For each campaign that a request touches it holds
// the prior from the words, the evidence, and the posterior.
type choice struct {
	before, evidence, after []float64 // by campaign
	exposed                 []bool    // by campaign
	touched                 []uint32
	right, all              float64 // clicks and impressions of right ads in a pass
}

func newChoice(campaigns int) choice {
	return choice{
		before: make([]float64, campaigns), evidence: make([]float64, campaigns), after: make([]float64, campaigns),
		exposed: make([]bool, campaigns),
	}
}

// mostVisits is the maximum number of requests with clicks read in all passes, and of requests
// without: each visits every campaign with one of its terms.
const mostVisits = 500_000

// chooseAll learns from all requests, in several passes if they are few. If there are too many
// without a click, each pass samples some, which then count for the omitted ones.
func (m *Model) chooseAll(log []request, without int) {
	m.clicks = m.prior.first(log, without)
	clicked := 0
	for i := range log {
		if log[i].clicked(without) {
			clicked++
		}
	}
	m.passes = min(m.settings.Choices, 1+mostVisits/max(clicked, 1))
	every := 1 + (len(log)-clicked)*m.passes/mostVisits
	for pass := range m.passes {
		c := &m.choice
		c.right, c.all = 0, 0
		for i := range log {
			switch {
			case log[i].clicked(without):
				m.choose(&log[i], without, 1)
			case (i+pass)%every == 0:
				m.choose(&log[i], without, float64(every))
			}
		}
		m.clicks = m.prior.clicksOf((c.right + known) / (c.all + known/m.clicks.right))
		for _, p := range m.pairs.known {
			p.sum += p.worth()
		}
	}
}

// silent is the assumed number of competing campaigns without a term of the request: without them a
// click on the only campaign with a word would teach nothing.
const silent = 20

// least is the least change of a campaign's probability that moves its words.
const least = 0.002

// choose learns from the ads shown for a request and their clicks. One of the campaigns with a term
// of the request, stated or learnt, is right, or none is. The words give the prior probability of
// each, and clicks and impressions without a click change it. Words are moved towards the posterior
// within the limits that auctions can count, see [pair.moves]: an ad without clicks loses the words
// it was shown for. An ad that was not shown may lose words to one that is clicked instead, but
// gains none: only ads shown have a known click probability.
func (m *Model) choose(a *request, without int, weight float64) {
	m.score(a, without)
	c := &m.choice
	var highest float64
	for _, campaign := range c.touched {
		highest = max(highest, c.before[campaign])
	}
	before := silent * math.Exp(-highest)
	after := before
	for _, campaign := range c.touched {
		c.before[campaign] = math.Exp(c.before[campaign] - highest)
		c.after[campaign] = c.before[campaign] * math.Exp(c.evidence[campaign])
		before += c.before[campaign]
		after += c.after[campaign]
	}
	for i := range a.exposures {
		s := &a.exposures[i]
		impressions, clicked := s.without(without)
		right := weight * c.after[s.campaign] / after
		c.right += float64(right * clicked)
		c.all += float64(right * impressions)
	}
	for _, f := range a.features {
		for _, p := range m.pairs.byTerm[f.id] {
			miss := c.before[p.campaign]/before - c.after[p.campaign]/after
			if math.Abs(miss) >= least && p.moves(miss) && (miss > 0 || c.exposed[p.campaign]) {
				m.move(&p.at, float64(miss*f.share*weight))
			}
		}
	}
}

// score sums up the worth of every campaign for a request, and the evidence of the ads shown.
func (m *Model) score(a *request, without int) {
	c := &m.choice
	for _, campaign := range c.touched {
		c.before[campaign], c.evidence[campaign], c.exposed[campaign] = 0, 0, false
	}
	c.touched = c.touched[:0]
	for i := range a.exposures {
		s := &a.exposures[i]
		impressions, clicked := s.without(without)
		if impressions == 0 {
			continue
		}
		c.touched = append(c.touched, s.campaign)
		c.exposed[s.campaign], c.evidence[s.campaign] = true, m.clicks.evidence(impressions, clicked)
		if clicked > 0 {
			for _, f := range a.features {
				m.pairs.of(f.id, s.campaign)
			}
		}
	}
	for _, f := range a.features {
		for _, p := range m.pairs.byTerm[f.id] {
			if worth := p.worth(); worth > 0 && m.prior.audiences.meet(a.exposures[0].campaign, p.campaign) {
				if c.before[p.campaign] == 0 && !c.exposed[p.campaign] {
					c.touched = append(c.touched, p.campaign)
				}
				c.before[p.campaign] += float64(f.share * worth)
			}
		}
	}
}

// worth returns the worth of a term for a campaign, in log-odds, limited to what auctions can
// count.
func (p *pair) worth() float64 { return max(0, min(p.stated+p.at.weight, slope)) }

// moves reports whether a gradient changes the worth of a term: not below zero, and not above the
// limit of auctions, where other terms of the request have to learn.
func (p *pair) moves(gradient float64) bool {
	return gradient < 0 && p.worth() < slope || gradient > 0 && p.worth() > 0
}
