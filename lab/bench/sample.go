package main

import (
	"cmp"
	"context"
	"slices"
)

// sample is one measurement of one side.
type sample struct {
	rate   float64
	cpu    float64 // µs of processor time per unit, of all processes that belong to the side
	stolen float64 // share of the machine's time that the session did not get meanwhile
}

// sampler measures one side once.
type sampler func(ctx context.Context) (sample, error)

// How a noisy machine is dealt with. With a tenth of the time stolen ratios of wall-clock rates
// moved by a fifth, with half of it by a factor of two; ratios of processor time did not.
const (
	quietBelow  = 0.05 // of a sample's time stolen: its rates count
	mostRepeats = 3    // of a sample that was not quiet
)

// quiet says whether wall-clock figures that were taken with this share stolen count.
func quiet(stolen float64) bool { return stolen < quietBelow }

// patience decides which samples of a row are repeated.
type patience struct {
	repeats int  // of the sample at hand
	noisy   bool // one was not quiet after all its repeats: the row is held against processor time
}

// again says whether the sample that was just taken is taken once more.
func (p *patience) again(stolen float64) bool {
	switch {
	case quiet(stolen):
		p.repeats = 0
		return false
	case p.noisy:
		return false
	case p.repeats == mostRepeats:
		p.noisy = true
		return false
	}
	p.repeats++
	return true
}

// round is one sample of each side, one after the other.
type round struct{ ours, baseline sample }

func (r round) ratio() float64    { return r.ours.rate / r.baseline.rate }
func (r round) cpuRatio() float64 { return over(r.ours.cpu, r.baseline.cpu) }
func (r round) stolen() float64   { return max(r.ours.stolen, r.baseline.stolen) }

// over is a/b, or 0 where b is not known.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// alternate measures both sides in turns, A B A B, after one unmeasured round. A round in which
// time was stolen is repeated. When repeating does not help the row is held against processor time,
// and the rounds after it are not repeated any more.
func (s *session) alternate(ctx context.Context, ours, baseline sampler) (result, error) {
	warm, err := both(ctx, ours, baseline)
	if err != nil {
		return result{}, err
	}
	s.say("warm-up: ours %s, baseline %s", number(warm.ours.rate), number(warm.baseline.rate))
	var rounds []round
	patience := patience{noisy: s.cfg.Smoke}
	for len(rounds) < s.cfg.Samples {
		r, err := both(ctx, ours, baseline)
		if err != nil {
			return result{}, err
		}
		s.say("%d of %d: ours %s, baseline %s, ratio %.3f, of processor time %.3f, stolen %.0f %%", len(rounds)+1,
			s.cfg.Samples,
			number(r.ours.rate), number(r.baseline.rate), r.ratio(), r.cpuRatio(), 100*r.stolen())
		if patience.again(r.stolen()) {
			s.say(
				"repeating it (%d of %d): less than %.0f %% of its time may be stolen", patience.repeats, mostRepeats,
				100*quietBelow,
			)
			continue
		}
		rounds = append(rounds, r)
	}
	return judge(rounds), nil
}

func both(ctx context.Context, ours, baseline sampler) (r round, err error) {
	if r.ours, err = ours(ctx); err == nil {
		r.baseline, err = baseline(ctx)
	}
	return r, err
}

// judge answers the round whose ratio is the median, the median of the ratios of processor time,
// and the largest share that was stolen. So a neighbour's load on the machine meets both sides of
// the answer alike; the medians of the sides may be of different minutes, and their ratio one that
// no round had.
func judge(rounds []round) result {
	middle := medianRound(rounds)
	r := result{ours: middle.ours.rate, baseline: middle.baseline.rate}
	var cpu []float64
	for _, round := range rounds {
		cpu = append(cpu, round.cpuRatio())
		r.stolen = max(r.stolen, round.stolen())
	}
	r.cpuRatio = median(cpu)
	return r
}

func medianRound(rounds []round) round {
	slices.SortFunc(rounds, func(a, b round) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return rounds[len(rounds)/2]
}

// repeat measures ours alone and answers the median, and the largest share that was stolen.
func (s *session) repeat(ctx context.Context, ours func(context.Context) (float64, error)) (r result, err error) {
	var all []float64
	for round := range s.cfg.Samples {
		one, err := s.quietly(ctx, func(ctx context.Context) (r result, err error) {
			r.ours, err = ours(ctx)
			return r, err
		})
		if err != nil {
			return r, err
		}
		s.say("%d of %d: %s, stolen %.0f %%", round+1, s.cfg.Samples, number(one.ours), 100*one.stolen)
		all = append(all, one.ours)
		r.stolen = max(r.stolen, one.stolen)
	}
	r.ours = median(all)
	return r, nil
}

// quietly measures something that has no baseline and that stolen time can only make worse: it is
// repeated while it misses its must and time was stolen.
func (s *session) quietly(ctx context.Context, measure func(context.Context) (result, error)) (r result, err error) {
	patience := patience{noisy: s.cfg.Smoke}
	for {
		counted := s.begin()
		r, err = measure(ctx)
		_, r.stolen = counted.end(1)
		r.row = s.row
		if err != nil || r.verdict() != tooNoisy || !patience.again(r.stolen) {
			return r, err
		}
		s.say(
			"%s with %.0f %% of the time stolen; repeating it (%d of %d)", number(r.judged()), 100*r.stolen,
			patience.repeats, mostRepeats,
		)
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
