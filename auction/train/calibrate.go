package train

import (
	"cmp"
	"math"
	"slices"

	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// teach learns from an entire log and calibrates on its last day.
func teach(t *Task) (*Model, *ranker.Learnt) {
	p := newPrior(t.Network)
	log := p.gather(t.Log, t.Last)
	m := learn(p, log, all, t.Settings)
	m.explored, m.advertisers = experience(slices.Concat(t.Log, t.Last), t.Network)
	learnt := m.table(1)
	learnt.Clicks = isotonic(p.crossed(log, t.Settings), &p.table)
	return m, learnt
}

// crossed returns the points of the last day, each part by a model that was not trained on it.
func (p *prior) crossed(log []request, s Settings) (points []point) {
	for part := range folds {
		m := learn(p, log, part, s)
		points = append(points, p.points(&ranker.Learnt{Campaigns: m.lessons()}, log, part)...)
	}
	return points
}

// Learnt returns the model as used by auctions: lessons, and the probability of a click at each
// relevance, calibrated on impressions outside the training data.
func (m *Model) Learnt(version int64, last []Sample) *ranker.Learnt {
	l := m.table(version)
	l.Clicks = isotonic(m.prior.points(l, m.prior.gather(last, nil), all), &m.prior.table)
	return l
}

// table returns the model before calibration.
func (m *Model) table(version int64) *ranker.Learnt {
	return &ranker.Learnt{Version: version, Campaigns: m.lessons(), Explored: m.explored, Advertisers: m.advertisers}
}

// points returns impressions at the relevances that a node would compute, all or those of a part.
func (p *prior) points(l *ranker.Learnt, log []request, part int) (points []point) {
	for i := range log {
		for at := range log[i].exposures {
			s := &log[i].exposures[at]
			impressions, clicks := s.total.of()
			if part != all {
				impressions, clicks = s.parts[part].of()
			}
			if impressions > 0 {
				r := float64(p.matched(l, p.campaigns[s.campaign], log[i].features)) / float64(ranker.Certain)
				points = append(points, point{at: r, impressions: impressions, clicks: clicks})
			}
		}
	}
	return points
}

// relevance returns the learnt relevance of an impression, as a node would compute it.
func (p *prior) relevance(l *ranker.Learnt, s *Sample) ranker.PPM {
	return p.matched(l, s.Campaign, p.read(nil, s.Terms))
}

// matched returns the relevance of a campaign to a request.
func (p *prior) matched(l *ranker.Learnt, campaign index.ID, features []feature) ranker.PPM {
	own := p.impacts[campaign]
	lessons := l.Campaigns[campaign]
	var sum float64
	for _, f := range features {
		by := own[f.id]
		if at, ok := slices.BinarySearchFunc(
			lessons, f.term, func(l ranker.Lesson, term uint32) int { return cmp.Compare(l.Term, term) },
		); ok {
			by = lexicon.Taught(by, lessons[at].By)
		}
		sum += float64(f.share * float64(by))
	}
	return p.table.Relevance(ranker.Match(min(sum, float64(ranker.Highest))))
}

// point holds impressions and clicks at a relevance.
type point struct{ at, impressions, clicks float64 }

// knot returns the nearest knot of a curve.
func (p *point) knot() int { return min(int(math.Round(p.at*(ranker.Knots-1))), ranker.Knots-1) }

// Pool is a run of neighbouring knots of a curve that share one probability.
type Pool struct {
	Right, All float64 // weights of successes and of all
	Knots      int
}

// Rate returns the share of successes.
func (p Pool) Rate() float64 { return p.Right / p.All }

// Pooled appends a knot to a rising curve. Neighbours whose rates do not rise are merged into one
// pool.
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
	// priorWeight is the number of impressions assumed for each knot beforehand, at the rate of the
	// first-day table.
	priorWeight = 0.05
	// reach is the distance in knots within which a knot with too few impressions uses others.
	reach = 6
	// enoughPredicted is the number of clicks that the impressions of a knot should predict.
	enoughPredicted = 5
)

// isotonic returns the monotone curve of clicks that is nearest to the points.
func isotonic(points []point, dayOne *ranker.Table) (curve [ranker.Knots]ranker.PPM) {
	var at [ranker.Knots]Pool
	var clicks, predicted float64
	for i := range points {
		p := &points[i]
		knot := p.knot()
		predicted += float64(p.impressions * chance(dayOne, knot))
		at[knot].All += p.impressions
		at[knot].Right += p.clicks
		clicks += p.clicks
	}
	scale := (clicks + 1) / (predicted + 1)
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

// felt returns the observations at a knot. If they are too few, the nearest knots contribute to the
// rate, but not to the weight, as their observations count at their own knots.
func felt(at *[ranker.Knots]Pool, knot int, beforehand float64) Pool {
	seen := Pool{Right: at[knot].Right + float64(priorWeight*beforehand), All: at[knot].All + priorWeight}
	weight, enough := seen.All, enoughPredicted/beforehand
	for away := 1; away <= reach && seen.All < enough; away++ {
		var near Pool
		for _, other := range []int{knot - away, knot + away} {
			if other >= 0 && other < ranker.Knots {
				near.Right += at[other].Right
				near.All += at[other].All
			}
		}
		part := min(1, (enough-seen.All)/max(near.All, 1))
		seen.Right += float64(part * near.Right)
		seen.All += float64(part * near.All)
	}
	return Pool{Right: float64(seen.Rate() * weight), All: weight, Knots: 1}
}

// chance returns the probability of a click at a knot by the first-day table.
func chance(t *ranker.Table, at int) float64 {
	return float64(t.PClick(ranker.PPM(at)*ranker.Certain/(ranker.Knots-1))) / float64(ranker.Certain)
}
