package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
)

// honest is the traffic of honest publishers and their readers: visits at a steady rate, each an ad
// request and the ad's pixel from a distinct address. One in 50 readers clicks.
type honest struct {
	s *suite

	mu      sync.Mutex
	took    []time.Duration
	refused int64
	visits  int64
}

const visitEvery = 50 * time.Millisecond

func newHonest(s *suite) *honest { return &honest{s: s} }

// run makes visits until ctx ends, and waits for running visits.
func (h *honest) run(ctx context.Context) {
	h.mu.Lock()
	h.took = nil
	h.mu.Unlock()
	var under sync.WaitGroup
	for schedule.Pause(ctx, visitEvery) == nil {
		under.Go(func() { h.visit(context.WithoutCancel(ctx)) })
	}
	under.Wait()
}

func (h *honest) visit(ctx context.Context) {
	w := h.s.world
	from := visitor.Address(rand.Uint32())
	p := w.publishers[rand.IntN(len(w.publishers))]
	ad, ok := h.timed(
		ctx,
		request{Method: "POST", Path: "/v1/ad-request", Bearer: p.key, JSON: object{"context": "zqcpmqz"}, From: from},
	)
	if !ok {
		return
	}
	if link := ad.Object("ad").Text("impression_url"); link != "" {
		_ = schedule.Pause(ctx, 200*time.Millisecond)
		_, _ = h.timed(ctx, request{Method: "GET", Path: link, From: from})
		if rand.IntN(50) == 0 {
			_ = schedule.Pause(ctx, 400*time.Millisecond)
			_, _ = h.timed(ctx, request{Method: "GET", Path: ad.Object("ad").Text("click_url"), From: from})
		}
	}
	h.mu.Lock()
	h.visits++
	h.mu.Unlock()
}

// timed makes a request and records its latency. It counts refusals.
func (h *honest) timed(ctx context.Context, r request) (object, bool) {
	began := time.Now()
	r.Client = h.s.world.reader
	status, _, text, err := h.s.world.send(ctx, r)
	took := time.Since(began)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, took)
	if err != nil || status >= http.StatusBadRequest {
		h.refused++
		return nil, false
	}
	var out object
	_ = json.Unmarshal(text, &out) // a pixel is not JSON
	return out, true
}

// p99 returns the 99th percentile of the last run, in ms.
func (h *honest) p99() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p99Of(h.took)
}

// p99Of returns the 99th percentile in ms.
func p99Of(took []time.Duration) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
