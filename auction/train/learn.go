package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/target"
)

// coordinate is a weight of FTRL-proximal with what it needs.
type coordinate struct{ z, n, weight float64 }

// key is a feature beside terms: of a campaign with a place, or of itself.
type key struct {
	campaign target.ID
	of       uint32
	kind     kind
}

type kind uint8

const (
	ofNetwork kind = iota
	ofCampaign
	ofPlace
)

// rateRidge is λ₂ of the rates of the network, of campaigns and of places.
const rateRidge = 20

// Model is what was learnt, before it is put into a table.
type Model struct {
	prior    *prior
	settings Settings
	pairs    pairs
	weights  map[key]*coordinate
	rates    map[target.ID]rate
	// What is not new any more, see [ranker.Learnt].
	explored    map[uint64]bool
	advertisers map[[16]byte]bool
	buf         []feature
	active      []active
	choice      choice
}

type active struct {
	at    *coordinate
	x     float64
	ridge float64
}

// Learn trains on a log, of which [Counted] has been taken: on every impression, how likely it is
// clicked, and on every click, which campaign was chosen.
func Learn(log []Sample, n Network, s Settings) *Model {
	m := &Model{prior: newPrior(n), settings: s.filled(), weights: map[key]*coordinate{}}
	m.pairs = newPairs(m.prior)
	m.explored, m.advertisers = experience(log, n)
	log = sorted(m.prior.known(log))
	weights := Weigh(log)
	m.rates = rates(log, weights, m.prior)
	for range m.settings.Passes {
		for i := range log {
			m.step(&log[i], weights[log[i].Publisher])
		}
	}
	m.chooseAll(log, weights)
	return m
}

// features sets the coordinates of a sample; those that are not there are made if they may be.
func (m *Model) features(s *Sample, learn bool) (odds float64) {
	m.buf = m.prior.read(m.buf[:0], s.Terms)
	m.active = m.active[:0]
	m.add(key{}, learn)
	m.add(key{campaign: s.Campaign, kind: ofCampaign}, learn)
	m.add(key{campaign: s.Campaign, of: s.Place, kind: ofPlace}, learn)
	if number, known := m.prior.numbers[s.Campaign]; known {
		for _, f := range m.buf {
			if p := m.pairs.of(f.id, number, learn); p != nil {
				m.active = append(m.active, active{&p.at, f.share, m.settings.Ridge})
			}
		}
	}
	odds = m.prior.odds(m.prior.match(s.Campaign, m.buf)) + m.rates[s.Campaign].odds()
	for _, a := range m.active {
		odds += float64(a.at.weight * a.x)
	}
	return odds
}

func (m *Model) add(k key, learn bool) {
	c := m.weights[k]
	if c == nil {
		if !learn {
			return
		}
		c = &coordinate{}
		m.weights[k] = c
	}
	m.active = append(m.active, active{c, 1, rateRidge})
}

// step learns from one sample of a weight.
func (m *Model) step(s *Sample, weight float64) {
	p := sigmoid(m.features(s, true))
	miss := p
	if s.Clicked {
		miss--
	}
	for _, a := range m.active {
		m.move(a.at, a.ridge, float64(miss*a.x*weight))
	}
}

// move follows a gradient: FTRL-proximal in closed form.
func (m *Model) move(c *coordinate, ridge, g float64) {
	root := math.Sqrt(c.n + float64(g*g))
	c.z += g - float64((root-math.Sqrt(c.n))/m.settings.Rate*c.weight)
	c.n += float64(g * g)
	c.weight = 0
	if math.Abs(c.z) > m.settings.Lasso {
		c.weight = -(c.z - math.Copysign(m.settings.Lasso, c.z)) / (float64((1+root)/m.settings.Rate) + ridge)
	}
}

// Odds is the log-odds of a click on an impression.
func (m *Model) Odds(s *Sample) float64 { return m.features(s, false) }

// lessons are those of all campaigns, the strongest [MostLessons] of each.
func (m *Model) lessons() map[[16]byte][]ranker.Lesson {
	all := map[[16]byte][]ranker.Lesson{}
	for id, list := range m.pairs.byTerm {
		term := lexicon.TermID(m.prior.words.Term(uint32(id)))
		for _, p := range list {
			by := int32(math.Round(p.at.weight / slope * float64(ranker.Full)))
			if by != 0 {
				campaign := m.prior.campaigns[p.campaign]
				all[campaign] = append(all[campaign], ranker.Lesson{Term: term, By: max(min(by, int32(ranker.Full)), -int32(ranker.Full))})
			}
		}
	}
	for id, list := range all {
		if len(list) > MostLessons {
			slices.SortFunc(list, func(a, b ranker.Lesson) int {
				return cmp.Or(cmp.Compare(size(b.By), size(a.By)), cmp.Compare(a.Term, b.Term))
			})
			list = list[:MostLessons]
		}
		slices.SortFunc(list, func(a, b ranker.Lesson) int { return cmp.Compare(a.Term, b.Term) })
		all[id] = list
	}
	return all
}

func size(x int32) int32 { return max(x, -x) }

// rate is how often an ad is clicked against what its text foretells.
type rate struct{ clicks, foretold float64 }

// known is how many foretold clicks the prior of a new campaign is worth.
const known = 20

// odds is the log of the rate under a Gamma prior around 1: a new campaign has the network's.
func (r rate) odds() float64 { return math.Log((r.clicks + known) / (r.foretold + known)) }

// rates of the campaigns of a log.
func rates(log []Sample, weights map[target.ID]float64, p *prior) map[target.ID]rate {
	var all rate
	of := map[target.ID]rate{}
	var buf []feature
	for i := range log {
		s := &log[i]
		buf = p.read(buf[:0], s.Terms)
		w, r := weights[s.Publisher], of[s.Campaign]
		foretold := sigmoid(p.odds(p.match(s.Campaign, buf)))
		r.foretold += float64(w * foretold)
		all.foretold += float64(w * foretold)
		if s.Clicked {
			r.clicks += w
			all.clicks += w
		}
		of[s.Campaign] = r
	}
	network := (all.clicks + known) / (all.foretold + known)
	for id, r := range of {
		of[id] = rate{r.clicks / network, r.foretold}
	}
	return of
}
