package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// folds is in how many parts the last day is cut, each of which is asked about by a model that did
// not see it: what was learnt from is foretold too well.
const folds = 3

// attempts are ways to learn, of which the one that foretells best is taken: rare clicks among many
// impressions are noise when they are learnt by heart, and where people click as a rule much is lost
// by caution.
var attempts = []Settings{
	{Choices: 2, Ridge: 0.8, Lasso: 0.05},
	{Choices: 15, Ridge: 0.8, Lasso: 0.05},
	{},
}

// teach learns from all of a log and calibrates on its last day.
func teach(t *Task) (*Model, *ranker.Learnt) {
	best, settings := []point(nil), t.Settings
	for _, attempt := range attempts {
		tried := t.Settings.or(attempt)
		if points := crossed(t, tried); best == nil || lost(points, t) < lost(best, t) {
			best, settings = points, tried
		}
	}
	m := Learn(slices.Concat(t.Log, t.Last), t.Network, settings)
	learnt := m.Learnt(1, nil)
	learnt.Clicks = isotonic(best, &m.prior.table)
	return m, learnt
}

// crossed are the points of the last day, each by a model that did not see it.
func crossed(t *Task, settings Settings) (points []point) {
	for fold := range uint32(folds) {
		seen, held := slices.Clone(t.Log), []Sample(nil)
		for _, s := range t.Last {
			if s.hash()%folds == fold {
				held = append(held, s)
			} else {
				seen = append(seen, s)
			}
		}
		m := Learn(seen, t.Network, settings)
		points = append(points, m.points(&ranker.Learnt{Campaigns: m.lessons()}, held)...)
	}
	return points
}

// lost is the log loss of points by their own curve.
func lost(points []point, t *Task) (sum float64) {
	table := t.Network.Index.Table()
	curve := isotonic(points, &table)
	for _, p := range points {
		knot := int(math.Round(p.at * (ranker.Knots - 1)))
		sum += float64(p.weight * missed(float64(curve[knot])/float64(ranker.Certain), p.clicked))
	}
	return sum
}

// Learnt is the model as auctions use it: lessons, and the probability of a click at each relevance,
// calibrated on impressions that it was not learnt from.
func (m *Model) Learnt(version int64, last []Sample) *ranker.Learnt {
	l := &ranker.Learnt{Version: version, Campaigns: m.lessons(), Explored: m.explored, Advertisers: m.advertisers}
	l.Clicks = isotonic(m.points(l, last), &m.prior.table)
	return l
}

// points are impressions at the relevances that a node would find.
func (m *Model) points(l *ranker.Learnt, log []Sample) []point {
	log = m.prior.known(log)
	weights := Weigh(log)
	points := make([]point, 0, len(log))
	for i := range log {
		s := &log[i]
		r := float64(m.prior.relevance(l, s)) / float64(ranker.Certain)
		points = append(points, point{at: r, clicked: s.Clicked, weight: weights[s.Publisher]})
	}
	return points
}

// relevance of an impression by what was learnt, as a node would find it.
func (p *prior) relevance(l *ranker.Learnt, s *Sample) ranker.PPM {
	features := p.read(nil, s.Terms)
	said := p.impacts[s.Campaign]
	lessons := l.Campaigns[s.Campaign]
	var sum float64
	for _, f := range features {
		by := said[f.id]
		if at, ok := slices.BinarySearchFunc(lessons, f.term, func(l ranker.Lesson, term uint32) int { return cmp.Compare(l.Term, term) }); ok {
			by = lexicon.Taught(by, lessons[at].By)
		}
		sum += float64(f.share * float64(by))
	}
	return p.table.Relevance(ranker.Match(min(sum, float64(ranker.Highest))))
}

// point is an impression at a relevance.
type point struct {
	at      float64
	clicked bool
	weight  float64
}

// Pool is neighbouring knots of a curve that share one probability.
type Pool struct {
	Right, All float64 // weights of what came and of what was seen
	Knots      int
}

// Rate is the share of what was seen that came.
func (p Pool) Rate() float64 { return p.Right / p.All }

// Pooled appends a knot to a curve that rises: neighbours whose rates do not become one pool.
func Pooled(pools []Pool, knot Pool) []Pool {
	pools = append(pools, knot)
	for n := len(pools); n > 1 && pools[n-2].Rate() >= pools[n-1].Rate(); n = len(pools) {
		last := pools[n-1]
		pools = pools[:n-1]
		pools[n-2].Right += last.Right
		pools[n-2].All += last.All
		pools[n-2].Knots += last.Knots
	}
	return pools
}

const (
	// priorWeight is how many impressions each knot has seen beforehand, at what the day-one table
	// says.
	priorWeight = 0.05
	// reach is over how many knots a point is felt, at each an eighth of what it is at the one before:
	// where no request was as relevant, the nearest ones say how likely a click is.
	reach = 6
)

// isotonic is the monotone curve of clicks that is nearest to the points.
func isotonic(points []point, dayOne *ranker.Table) (curve [ranker.Knots]ranker.PPM) {
	var at [ranker.Knots]Pool
	var clicks, foretold float64
	for _, p := range points {
		knot := min(int(math.Round(p.at*(ranker.Knots-1))), ranker.Knots-1)
		foretold += float64(p.weight * chance(dayOne, knot))
		at[knot].All += p.weight
		if p.clicked {
			at[knot].Right += p.weight
			clicks += p.weight
		}
	}
	scale := (clicks + 1) / (foretold + 1)
	var pools []Pool
	for knot := range at {
		pools = Pooled(pools, felt(&at, knot, min(1, scale*chance(dayOne, knot))))
	}
	knot := 0
	for _, p := range pools {
		for range p.Knots {
			curve[knot] = max(1, ranker.PPM(math.Round(p.Rate()*float64(ranker.Certain))))
			knot++
		}
	}
	return curve
}

// felt is what is seen at a knot, with what is felt of its neighbours.
func felt(at *[ranker.Knots]Pool, knot int, beforehand float64) Pool {
	p := Pool{Right: float64(priorWeight * beforehand), All: priorWeight, Knots: 1}
	for other := max(0, knot-reach); other <= min(knot+reach, ranker.Knots-1); other++ {
		part := math.Ldexp(1, -3*max(other-knot, knot-other))
		p.Right += float64(part * at[other].Right)
		p.All += float64(part * at[other].All)
	}
	return p
}

// chance is that of a click at a knot by the table of the first day.
func chance(t *ranker.Table, at int) float64 {
	return float64(t.PClick(ranker.PPM(at)*ranker.Certain/(ranker.Knots-1))) / float64(ranker.Certain)
}
