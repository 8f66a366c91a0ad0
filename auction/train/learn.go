package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// coordinate is a weight of FTRL-proximal with its state.
type coordinate struct{ z, n, weight float64 }

// Model is the result of learning before it is turned into a table.
type Model struct {
	prior    *prior
	settings Settings
	pairs    pairs
	clicks   clicks
	passes   int // over the log
	// The contents and advertisers that are no longer new, see [ranker.Learnt].
	explored    map[uint64]bool
	advertisers map[[16]byte]bool
	choice      choice
}

// Learn trains on a log filtered by [Counted]: on the ads shown for each request, clicked or not.
func Learn(log []Sample, n Network, s Settings) *Model {
	p := newPrior(n)
	m := learn(p, p.gather(log, nil), all, s)
	m.explored, m.advertisers = experience(log, n)
	return m
}

// learn leaves out a part of the last day.
func learn(p *prior, log []request, without int, s Settings) *Model {
	m := &Model{prior: p, settings: s.filled(), pairs: newPairs(p), choice: newChoice(len(p.campaigns))}
	m.chooseAll(log, without)
	return m
}

// move follows a gradient: FTRL-proximal in closed form.
func (m *Model) move(c *coordinate, g float64) {
	root := math.Sqrt(c.n + float64(g*g))
	c.z += g - float64((root-math.Sqrt(c.n))/m.settings.Rate*c.weight)
	c.n += float64(g * g)
	c.weight = 0
	if math.Abs(c.z) > m.settings.Lasso {
		c.weight = -(c.z - math.Copysign(m.settings.Lasso,
			c.z)) / (float64((1+root)/m.settings.Rate) + m.settings.Ridge)
	}
}

// lessons returns the lessons of all campaigns, the strongest [MostLessons] of each. Each is the
// mean worth of a term over all passes, which depends less on the latest requests.
func (m *Model) lessons() map[[16]byte][]ranker.Lesson {
	all := map[[16]byte][]ranker.Lesson{}
	for id, list := range m.pairs.byTerm {
		term := lexicon.TermID(m.prior.words.Term(uint32(id)))
		for _, p := range list {
			by := int32(math.Round((p.sum/float64(max(m.passes, 1)) - p.stated) / slope * float64(ranker.Full)))
			if by != 0 {
				campaign := m.prior.campaigns[p.campaign]
				all[campaign] = append(
					all[campaign], ranker.Lesson{Term: term, By: max(min(by, int32(ranker.Full)), -int32(ranker.Full))},
				)
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
