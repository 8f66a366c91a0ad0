package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
)

// coordinate is a weight of FTRL-proximal with what it needs.
type coordinate struct{ z, n float64 }

// key is a feature: of a campaign with a term, a place or itself. Terms are hashes.
type key struct {
	campaign uint32
	of       uint32
	kind     kind
}

type kind uint8

const (
	ofNetwork kind = iota
	ofCampaign
	ofPlace
	ofTerm
)

// Model is what was learnt, before it is put into a table.
type Model struct {
	prior     *prior
	settings  Settings
	campaigns map[target.ID]uint32
	weights   map[key]*coordinate
	rates     map[target.ID]rate
	// What is not new any more, see [ranker.Learnt].
	explored    map[uint64]bool
	advertisers map[[16]byte]bool
	buf         []feature
	active      []active
}

type active struct {
	at    *coordinate
	x     float64
	ridge float64
}

// Learn trains on a log, of which [Counted] has been taken.
func Learn(log []Sample, n Network, s Settings) *Model {
	m := &Model{
		prior: newPrior(n), settings: s.filled(), campaigns: map[target.ID]uint32{}, weights: map[key]*coordinate{},
	}
	m.explored, m.advertisers = experience(log, n)
	log = sorted(m.prior.known(log))
	weights := Weigh(log)
	m.rates = rates(log, weights, m.prior)
	for range m.settings.Passes {
		for i := range log {
			m.step(&log[i], weights[log[i].Publisher])
		}
	}
	return m
}

// features sets the coordinates of a sample; those that are not there are made if they may be.
func (m *Model) features(s *Sample, learn bool) (odds float64) {
	m.buf = m.prior.read(m.buf[:0], s.Terms)
	m.active = m.active[:0]
	number, known := m.campaigns[s.Campaign]
	if !known && learn {
		number = uint32(len(m.campaigns) + 1)
		m.campaigns[s.Campaign] = number
	}
	m.add(key{}, 1, 0, learn)
	m.add(key{campaign: number, kind: ofCampaign}, 1, 20, learn)
	m.add(key{campaign: number, of: s.Place, kind: ofPlace}, 1, 20, learn)
	for _, f := range m.buf {
		m.add(key{campaign: number, of: f.term, kind: ofTerm}, f.share, m.settings.Ridge, learn)
	}
	odds = m.prior.odds(m.prior.match(s.Campaign, m.buf)) + m.rates[s.Campaign].odds()
	for _, a := range m.active {
		odds += float64(m.weight(a) * a.x)
	}
	return odds
}

func (m *Model) add(k key, x, ridge float64, learn bool) {
	c := m.weights[k]
	if c == nil {
		if !learn {
			return
		}
		c = &coordinate{}
		m.weights[k] = c
	}
	m.active = append(m.active, active{c, x, ridge})
}

// weight is that of a coordinate: FTRL-proximal in closed form.
func (m *Model) weight(a active) float64 {
	if math.Abs(a.at.z) <= m.settings.Lasso {
		return 0
	}
	sign := 1.0
	if a.at.z < 0 {
		sign = -1
	}
	return -(a.at.z - float64(sign*m.settings.Lasso)) / (float64((1+math.Sqrt(a.at.n))/m.settings.Rate) + a.ridge)
}

// step learns from one sample of a weight.
func (m *Model) step(s *Sample, weight float64) {
	p := sigmoid(m.features(s, true))
	miss := p
	if s.Clicked {
		miss--
	}
	for _, a := range m.active {
		w := m.weight(a)
		g := float64(miss * a.x * weight)
		sigma := (math.Sqrt(a.at.n+float64(g*g)) - math.Sqrt(a.at.n)) / m.settings.Rate
		a.at.z += g - float64(sigma*w)
		a.at.n += float64(g * g)
	}
}

// Odds is the log-odds of a click on an impression.
func (m *Model) Odds(s *Sample) float64 { return m.features(s, false) }

// lessons are those of all campaigns, the strongest [MostLessons] of each.
func (m *Model) lessons() map[[16]byte][]ranker.Lesson {
	ids := make(map[uint32]target.ID, len(m.campaigns))
	for id, number := range m.campaigns {
		ids[number] = id
	}
	all := map[[16]byte][]ranker.Lesson{}
	for k, c := range m.weights {
		if k.kind != ofTerm {
			continue
		}
		by := int32(math.Round(m.weight(active{at: c, ridge: m.settings.Ridge}) / slope * float64(ranker.Full)))
		if by != 0 {
			id := ids[k.campaign]
			all[id] = append(all[id], ranker.Lesson{Term: k.of, By: max(min(by, int32(ranker.Full)), -int32(ranker.Full))})
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
