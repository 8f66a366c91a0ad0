package train

import (
	"math"

	"adnet/auction/ranker"
)

// pair is a term and a campaign: what the campaign says of it, in log-odds, and what was learnt.
type pair struct {
	campaign uint32
	said     float64
	at       coordinate
	sum      float64 // of what it was worth after each pass
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
			x.of(term, uint32(number)).said = slope * float64(by) / float64(ranker.Full)
		}
	}
	return x
}

// of is the pair of a term and a campaign.
func (x *pairs) of(term, campaign uint32) *pair {
	k := uint64(term)<<32 | uint64(campaign)
	p := x.known[k]
	if p == nil {
		p = &pair{campaign: campaign}
		x.known[k], x.byTerm[term] = p, append(x.byTerm[term], p)
	}
	return p
}

// clicks are how likely a click is on an ad that is right for its request, and on one that is not.
type clicks struct{ right, wrong float64 }

const (
	// known is how many foretold clicks weigh as much as those that were seen.
	known = 20
	// mostClicked is how likely a click is at most: nothing is certain.
	mostClicked = 0.98
)

// first is what clicks are taken for before requests are looked at: the table's of the first day,
// times what was seen ÷ what it foretells.
func (p *prior) first(log []asked, without int) clicks {
	var seen, foretold float64
	for i := range log {
		for at := range log[i].shown {
			s := &log[i].shown[at]
			impressions, clicked := s.without(without)
			seen += clicked
			foretold += float64(impressions * sigmoid(p.odds(p.match(p.campaigns[s.campaign], log[i].features))))
		}
	}
	return p.clicksOf((seen + known) / (foretold + known) * float64(p.table.ClickRight) / float64(ranker.Certain))
}

// clicksOf keeps the contrast of the table of the first day: how often ads are clicked differs
// between networks, and how much more often right ones are hardly does.
func (p *prior) clicksOf(right float64) clicks {
	right = min(right, mostClicked)
	return clicks{right, right * float64(p.table.ClickWrong) / float64(p.table.ClickRight)}
}

const (
	// trust is how much impressions are taken to say, against what clicks that come independently
	// of each other would. More is learnt so of few clicks, and what was wrong is not clicked the
	// next day.
	trust = 2
	// mostEvidence is how much those of one request say at most, in log-odds: readers are not
	// alike.
	mostEvidence = 8
)

// evidence is what impressions and clicks say of an ad, in log-odds of being right.
func (c clicks) evidence(impressions, clicked float64) float64 {
	e := float64(clicked*math.Log(c.right/c.wrong)) + float64((impressions-clicked)*math.Log((1-c.right)/(1-c.wrong)))
	return max(-mostEvidence, min(mostEvidence, trust*e))
}

// choice is the memory of [Model.choose]: of each campaign that a request touches how likely the
// words find it right, what was seen of it, and how likely it is right after that.
type choice struct {
	before, evidence, after []float64 // by campaign
	shown                   []bool    // by campaign
	touched                 []uint32
	right, all              float64 // clicks and impressions of what is right, of a pass
}

func newChoice(campaigns int) choice {
	return choice{
		before: make([]float64, campaigns), evidence: make([]float64, campaigns), after: make([]float64, campaigns),
		shown: make([]bool, campaigns),
	}
}

// mostVisits is how many requests are looked at in all passes that were clicked after, and how many
// that were not: each looks at every campaign that says something of it.
const mostVisits = 500_000

// chooseAll learns from all requests, several times where they are few. Of too many that nobody
// clicked after, each pass looks at others, which then count for those that it leaves out.
func (m *Model) chooseAll(log []asked, without int) {
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

// silent is how many campaigns that say nothing of a request are thought to stand beside those that
// do: without them a click on the only campaign that says a word would teach nothing.
const silent = 20

// least is by how much the probability of a campaign must change for its words to be moved.
const least = 0.002

// choose learns from what was shown for a request, and what of it was clicked. One of the campaigns
// that say or were taught something of it is right, or none is: the words say how likely each is,
// and clicks and impressions without one make it likelier or less so. Words are moved towards that,
// as far as auctions can count them, see [pair.moves]: an ad that nobody clicks loses those that it
// was shown for. What was not shown may lose, too, to what is clicked in its place, and wins
// nothing before it is: the probability of a click is known of what was shown only.
func (m *Model) choose(a *asked, without int, weight float64) {
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
	for i := range a.shown {
		s := &a.shown[i]
		impressions, clicked := s.without(without)
		right := weight * c.after[s.campaign] / after
		c.right += float64(right * clicked)
		c.all += float64(right * impressions)
	}
	for _, f := range a.features {
		for _, p := range m.pairs.byTerm[f.id] {
			miss := c.before[p.campaign]/before - c.after[p.campaign]/after
			if math.Abs(miss) >= least && p.moves(miss) && (miss > 0 || c.shown[p.campaign]) {
				m.move(&p.at, float64(miss*f.share*weight))
			}
		}
	}
}

// score adds up what every campaign is worth to a request, and what was seen of those that were
// shown.
func (m *Model) score(a *asked, without int) {
	c := &m.choice
	for _, campaign := range c.touched {
		c.before[campaign], c.evidence[campaign], c.shown[campaign] = 0, 0, false
	}
	c.touched = c.touched[:0]
	for i := range a.shown {
		s := &a.shown[i]
		impressions, clicked := s.without(without)
		if impressions == 0 {
			continue
		}
		c.touched = append(c.touched, s.campaign)
		c.shown[s.campaign], c.evidence[s.campaign] = true, m.clicks.evidence(impressions, clicked)
		if clicked > 0 {
			for _, f := range a.features {
				m.pairs.of(f.id, s.campaign)
			}
		}
	}
	for _, f := range a.features {
		for _, p := range m.pairs.byTerm[f.id] {
			if worth := p.worth(); worth > 0 && m.prior.audiences.meet(a.shown[0].campaign, p.campaign) {
				if c.before[p.campaign] == 0 && !c.shown[p.campaign] {
					c.touched = append(c.touched, p.campaign)
				}
				c.before[p.campaign] += float64(f.share * worth)
			}
		}
	}
}

// worth is what a term is worth to a campaign, in log-odds: no more than auctions can count.
func (p *pair) worth() float64 { return max(0, min(p.said+p.at.weight, slope)) }

// moves says whether a gradient changes what a term is worth: neither below nothing nor above what
// auctions can count, where other terms of the request have to learn.
func (p *pair) moves(gradient float64) bool {
	return gradient < 0 && p.worth() < slope || gradient > 0 && p.worth() > 0
}
