package main

import (
	"context"
	"slices"
)

// sampler measures one side once.
type sampler func(ctx context.Context) (float64, error)

// alternate measures both sides in turns, A B A B, after one unmeasured round, and answers the medians. So
// a neighbour's load on the machine meets both sides alike.
func (s *session) alternate(ctx context.Context, ours, baseline sampler) (a, b float64, err error) {
	var as, bs []float64
	for round := range s.cfg.Samples + 1 {
		x, err := ours(ctx)
		if err != nil {
			return 0, 0, err
		}
		y, err := baseline(ctx)
		if err != nil {
			return 0, 0, err
		}
		if round == 0 {
			s.say("warm-up: ours %s, baseline %s", number(x), number(y))
			continue
		}
		s.say("%d of %d: ours %s, baseline %s, ratio %.3f", round, s.cfg.Samples, number(x), number(y), x/y)
		as, bs = append(as, x), append(bs, y)
	}
	return median(as), median(bs), nil
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
