package main

import (
	"cmp"
	"context"
	"slices"
)

// sample is one measurement of one side.
type sample struct {
	rate   float64
	cpu    float64 // µs of processor time per unit, of all processes of the side
	stolen float64 // share of the machine's time that the session did not get meanwhile
}

// sampler measures one side once.
type sampler func(ctx context.Context) (sample, error)

// Thresholds for a noisy machine. With a tenth of the time stolen, ratios of wall-clock rates moved
// by a fifth, with half of it by a factor of two. Ratios of processor time did not move.
const (
	quietBelow  = 0.05 // of a sample's time stolen: its rates count
	mostRepeats = 3    // of a sample that was not quiet
)

// quiet reports whether wall-clock figures count with this stolen share.
func quiet(stolen float64) bool { return stolen < quietBelow }

// patience decides which samples of a row are repeated.
type patience struct {
	repeats int  // of the current sample
	noisy   bool // a sample was not quiet after all repeats: the row is judged by processor time
}

// again reports whether to repeat the last sample.
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

// over returns a/b, or 0 if b is unknown.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// alternate measures both sides in turns, A B A B, after one unmeasured round. A round with stolen
// time is repeated. If that does not help, the row is judged by processor time, and later rounds
// are not repeated.
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

// judge returns the round with the median ratio, the median of the ratios of processor time, and
// the largest stolen share. Both sides of one round see the same load of neighbours. Separate
// medians of the sides could come from different minutes, with a ratio that no round had.
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

// repeat measures adnet alone and returns the median and the largest stolen share.
func (s *session) repeat(ctx context.Context, ours func(context.Context) (float64, error)) (r result, err error) {
	var all []float64
	for round := range s.cfg.Samples {
		first, err := s.quietly(ctx, func(ctx context.Context) (r result, err error) {
			r.ours, err = ours(ctx)
			return r, err
		})
		if err != nil {
			return r, err
		}
		s.say("%d of %d: %s, stolen %.0f %%", round+1, s.cfg.Samples, number(first.ours), 100*first.stolen)
		all = append(all, first.ours)
		r.stolen = max(r.stolen, first.stolen)
	}
	r.ours = median(all)
	return r, nil
}

// quietly measures a figure without a baseline that stolen time can only make worse. It repeats the
// measurement while the figure misses must and time was stolen.
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
