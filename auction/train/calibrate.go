package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/ranker"
)

// Learnt is the model as auctions use it: lessons, and the probability of a click at each relevance,
// calibrated on a day's log.
func (m *Model) Learnt(version int64, last []Sample) *ranker.Learnt {
	l := &ranker.Learnt{Version: version, Campaigns: m.lessons(), Explored: m.explored, Advertisers: m.advertisers}
	last = m.prior.known(last)
	weights := Weigh(last)
	points := make([]point, 0, len(last))
	for i := range last {
		s := &last[i]
		r := float64(m.prior.relevance(l, s)) / float64(ranker.Certain)
		points = append(points, point{at: r, clicked: s.Clicked, weight: weights[s.Publisher]})
	}
	l.Clicks = isotonic(points, &m.prior.table)
	return l
}

// relevance of an impression by what was learnt, as a node would find it.
func (p *prior) relevance(l *ranker.Learnt, s *Sample) ranker.PPM {
	features := p.read(nil, s.Terms)
	said := p.impacts[s.Campaign]
	lessons := l.Campaigns[s.Campaign]
	var sum float64
	for _, f := range features {
		by := float64(said[f.id])
		if at, ok := slices.BinarySearchFunc(lessons, f.term, func(l ranker.Lesson, term uint32) int { return cmp.Compare(l.Term, term) }); ok {
			by = max(0, min(by+float64(lessons[at].By), float64(ranker.Full-1)))
		}
		sum += float64(f.share * by)
	}
	return p.table.Relevance(ranker.Match(min(sum, float64(ranker.Highest))))
}

// point is an impression at a relevance.
type point struct {
	at      float64
	clicked bool
	weight  float64
}

// pool is neighbouring knots that share one probability.
type pool struct {
	clicks, all float64
	knots       int
}

// priorWeight is how many impressions each knot has seen beforehand, at what the day-one table says.
const priorWeight = 50

// isotonic is the monotone curve of clicks that is nearest to the points.
func isotonic(points []point, dayOne *ranker.Table) (curve [ranker.Knots]ranker.PPM) {
	var seen [ranker.Knots]pool
	var clicks, foretold float64
	for _, p := range points {
		at := min(int(math.Round(p.at*(ranker.Knots-1))), ranker.Knots-1)
		seen[at].all += p.weight
		foretold += float64(p.weight * chance(dayOne, at))
		if p.clicked {
			seen[at].clicks += p.weight
			clicks += p.weight
		}
	}
	scale := (clicks + 1) / (foretold + 1)
	var pools []pool
	for at := range seen {
		p := pool{clicks: seen[at].clicks + float64(priorWeight*min(1, scale*chance(dayOne, at))), all: seen[at].all + priorWeight, knots: 1}
		pools = append(pools, p)
		for n := len(pools); n > 1 && pools[n-2].clicks/pools[n-2].all >= pools[n-1].clicks/pools[n-1].all; n = len(pools) {
			last := pools[n-1]
			pools = pools[:n-1]
			pools[n-2].clicks += last.clicks
			pools[n-2].all += last.all
			pools[n-2].knots += last.knots
		}
	}
	at := 0
	for _, p := range pools {
		for range p.knots {
			curve[at] = max(1, ranker.PPM(math.Round(p.clicks/p.all*float64(ranker.Certain))))
			at++
		}
	}
	return curve
}

// chance is that of a click at a knot by the table of the first day.
func chance(t *ranker.Table, at int) float64 {
	return float64(t.PClick(ranker.PPM(at)*ranker.Certain/(ranker.Knots-1))) / float64(ranker.Certain)
}
