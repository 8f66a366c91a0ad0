package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"adnet/lab/process"
)

// phase holds the counters of ingress at the start of a part of the run. A slow answer has three
// causes that a client cannot distinguish: ingress works long, ingress waits for a processor, or
// the answer is delayed in the client or the network.
type phase struct {
	ran, waited time.Duration
	answered    map[float64]int64 // ad requests by upper bound of their latency, s
}

// begin starts a measurement.
func (s *suite) begin(ctx context.Context) (p phase, err error) {
	if p.answered, err = s.world.answered(ctx); err != nil {
		return p, err
	}
	p.ran, p.waited, err = s.world.ingress.Turns()
	return p, err
}

// end returns the share of its runnable time that ingress waited for a processor, and the 99th
// percentile of its ad requests in ms. The percentile has the resolution of the histogram, whose
// buckets grow by 2.5.
func (s *suite) end(ctx context.Context, p phase) (waited, p99 float64, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	on, off := now.ran-p.ran, now.waited-p.waited
	return float64(off) / float64(max(1, on+off)), 1000 * within(now.answered, p.answered, 0.99), nil
}

// within returns the bucket bound below which a share of the requests after before lies. JSON has
// no infinity, so requests above the last bound are reported one bucket above it.
func within(now, before map[float64]int64, share float64) float64 {
	bounds := make([]float64, 0, len(now))
	for bound := range now {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	all := now[math.Inf(1)] - before[math.Inf(1)]
	for i, bound := range bounds {
		if math.IsInf(bound, 1) && i > 0 {
			bound = bounds[i-1] * 2.5
		}
		if all > 0 && float64(now[bounds[i]]-before[bounds[i]]) >= share*float64(all) {
			return bound
		}
	}
	return 0
}

// answered reads the histogram of ad requests from the admin listener.
func (w *world) answered(ctx context.Context) (map[float64]int64, error) {
	text, err := process.Metrics(ctx, w.ingress.admin)
	if err != nil {
		return nil, err
	}
	counts := make(map[float64]int64)
	for line := range strings.Lines(text) {
		rest, ours := strings.CutPrefix(strings.TrimSpace(line), `adnet_http_request_seconds_bucket{route="/v1/ad-request",le="`)
		if !ours {
			continue
		}
		bound, count, _ := strings.Cut(rest, `"} `)
		most, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q", rest)
		}
		if counts[most], err = strconv.ParseInt(count, 10, 64); err != nil {
			return nil, fmt.Errorf("metrics: %q", rest)
		}
	}
	return counts, nil
}
