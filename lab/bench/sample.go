package main

import (
	"cmp"
	"context"
	"slices"
)

// sampler measures one side once.
type sampler func(ctx context.Context) (float64, error)

// round is one sample of each side, one after the other.
type round struct{ ours, baseline float64 }

func (r round) ratio() float64 { return r.ours / r.baseline }

// alternate measures both sides in turns, A B A B, after one unmeasured round, and answers the round whose ratio is the
// median. So a neighbour's load on the machine meets both sides of the answer alike; the medians of the sides may be of
// different minutes, and their ratio one that no round had.
func (s *session) alternate(ctx context.Context, ours, baseline sampler) (a, b float64, err error) {
	var rounds []round
	for n := range s.cfg.Samples + 1 {
		x, err := ours(ctx)
		if err != nil {
			return 0, 0, err
		}
		y, err := baseline(ctx)
		if err != nil {
			return 0, 0, err
		}
		if n == 0 {
			s.say("warm-up: ours %s, baseline %s", number(x), number(y))
			continue
		}
		r := round{x, y}
		s.say("%d of %d: ours %s, baseline %s, ratio %.3f", n, s.cfg.Samples, number(x), number(y), r.ratio())
		rounds = append(rounds, r)
	}
	middle := medianRound(rounds)
	return middle.ours, middle.baseline, nil
}

func medianRound(rounds []round) round {
	slices.SortFunc(rounds, func(a, b round) int { return cmp.Compare(a.ratio(), b.ratio()) })
	return rounds[len(rounds)/2]
}

// repeat measures ours alone and answers the median.
func (s *session) repeat(ctx context.Context, ours sampler) (float64, error) {
	var all []float64
	for round := range s.cfg.Samples {
		x, err := ours(ctx)
		if err != nil {
			return 0, err
		}
		s.say("%d of %d: %s", round+1, s.cfg.Samples, number(x))
		all = append(all, x)
	}
	return median(all), nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
