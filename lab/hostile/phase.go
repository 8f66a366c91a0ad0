package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// phase is what ingress had done when a part of the run began. A slow answer has three causes that
// a client cannot tell apart: ingress works long, ingress has no processor, or the answer waits in
// the client or on the way.
type phase struct {
	ran, waited time.Duration
	answered    map[float64]int64 // ad requests by the longest time that they took, s
}

// begin starts to measure.
func (s *suite) begin(ctx context.Context) (p phase, err error) {
	if p.answered, err = s.world.answered(ctx); err != nil {
		return p, err
	}
	p.ran, p.waited, err = s.world.ingress.Turns()
	return p, err
}

// end says which share of the time that ingress wanted a processor it had none, and within which
// time it answered 99 of 100 ad requests, ms: as long as its histogram's buckets, which grow by
// 2.5.
func (s *suite) end(ctx context.Context, p phase) (waited, p99 float64, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	on, off := now.ran-p.ran, now.waited-p.waited
	return float64(off) / float64(max(1, on+off)), 1000 * within(now.answered, p.answered, 0.99), nil
}

// within is the bound below which a share of the requests is that came after before. JSON has no
// infinity: what is above the last bound is said to be a bucket above it.
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.ingress.admin+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	counts := make(map[float64]int64)
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		rest, ours := strings.CutPrefix(lines.Text(), `adnet_http_request_seconds_bucket{route="/v1/ad-request",le="`)
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
	return counts, lines.Err()
}
