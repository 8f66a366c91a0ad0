package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"adnet/lab/process"
)

// The rows of an idle installation: its cost without requests, and the latency of single requests.

// The times to wait before measuring idle processes, and to measure them.
const (
	calmFor  = 15 * time.Second
	idleFor  = 60 * time.Second
	calmFast = time.Second // in a smoke run
	idleFast = 2 * time.Second
)

// idling starts one process of each role and returns the highest processor time of them, in percent
// of a core.
func idling(ctx context.Context, s *session) (r result, err error) {
	t, ingress, err := s.serving(ctx, 10_000)
	if err != nil {
		return r, err
	}
	defer ingress.Stop()
	if err := t.catchUp(ctx); err != nil { // backlog of earlier rows would not be idling
		return r, err
	}
	alone, err := s.standalone(ctx)
	if err != nil {
		return r, err
	}
	defer alone.Stop()
	calm, window := calmFor, idleFor
	if s.cfg.Smoke {
		calm, window = calmFast, idleFast
	}
	if err := wait(ctx, calm); err != nil {
		return r, err
	}
	processes := map[string]*process.Process{"ingress": ingress.Process, "consumers": t.consumers, "standalone": alone}
	counted := s.begin()
	before := map[string]float64{}
	for name, p := range processes {
		before[name] = used(p)
	}
	if err := wait(ctx, window); err != nil {
		return r, err
	}
	elapsed := time.Since(counted.began).Seconds()
	r.parts = map[string]float64{}
	for name, p := range processes {
		r.parts[name] = rounded(100 * (used(p) - before[name]) / elapsed)
		r.ours = max(r.ours, r.parts[name])
	}
	_, r.stolen = counted.end(1)
	r.note = fmt.Sprintf("percent of a core over %.0f s", elapsed)
	s.say("%% of a core: %s", costs(r.parts))
	return r, nil
}

// standalone starts everything in one process.
func (s *session) standalone(ctx context.Context) (*process.Process, error) {
	_, admin, env, err := process.Listeners()
	if err != nil {
		return nil, err
	}
	p, err := s.start("standalone", append(env, "ADNET_LOG_LEVEL=warn"), s.binary, "standalone")
	if err != nil {
		return nil, err
	}
	return p, p.Await(ctx, startWait, process.Ready(admin))
}

// used returns the processor time of the process so far, in seconds.
func used(p *process.Process) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "stat"))
	if err != nil {
		return 0
	}
	return parseProcess(p.PID, text).used
}

// smallRate is the number of sequential requests a second.
const smallRate = 100

// small sends one request at a time to an otherwise idle installation, and to a bare gin. The
// figures are latencies in ms. ours and the ratio refer to the 99th percentile of an ad request.
func small(ctx context.Context, s *session) (r result, err error) {
	t, n, err := s.serving(ctx, 10_000)
	if err != nil {
		return r, err
	}
	defer n.Stop()
	if err := t.consume(ctx); err != nil {
		return r, err
	}
	ads, err := t.adRequests(n.addr)
	if err != nil {
		return r, err
	}
	ad, adGin, err := s.beside(ctx, ads, http.MethodPost, "/v1/ad-request")
	if err != nil {
		return r, err
	}
	beacon, beaconGin, err := s.beside(ctx, t.beacons(n.addr), http.MethodGet, "/api/track")
	if err != nil {
		return r, err
	}
	r.parts = map[string]float64{}
	for name, item := range map[string]calm{
		"ad_request": ad, "ad_request_gin": adGin, "beacon": beacon, "beacon_gin": beaconGin,
	} {
		r.parts[name+"_p50"], r.parts[name+"_p99"] = milliseconds(item.p50), milliseconds(item.p99)
		r.stolen = max(r.stolen, item.stolen)
	}
	r.ours, r.baseline = r.parts["ad_request_p99"], r.parts["ad_request_gin_p99"]
	r.p50, r.p99 = ad.p50, ad.p99
	r.cpuRatio = over(ad.cpu, adGin.cpu)
	r.note = "parts are in ms"
	s.say("ms: %s", costs(r.parts))
	return r, nil
}

// calm holds the figures of single requests.
type calm struct {
	measured
	cpu, stolen float64
}

// beside sends single requests to adnet, then to a gin with adnet's recorded response. A
// measurement with stolen time is repeated.
func (s *session) beside(ctx context.Context, ours traffic, method, path string) (mine, theirs calm, err error) {
	recorded, err := ours.record(method, path)
	if err != nil {
		return mine, theirs, err
	}
	bare, addr, err := s.bareGin(ctx, recorded)
	if err != nil {
		return mine, theirs, err
	}
	defer bare.Stop()
	ours.conns = 1
	same := ours
	same.addr = addr
	if mine, err = s.single(ctx, ours); err == nil {
		theirs, err = s.single(ctx, same)
	}
	return mine, theirs, err
}

func (s *session) single(ctx context.Context, t traffic) (first calm, err error) {
	if _, err := t.open(ctx, smallRate, s.cfg.Sample/2); err != nil { // connections, caches
		return first, err
	}
	patience := patience{noisy: s.cfg.Smoke}
	for {
		counted := s.begin()
		if first.measured, err = t.open(ctx, smallRate, 3*s.cfg.Sample); err != nil {
			return first, err
		}
		cost, stolen := counted.end(first.count)
		first.cpu, first.stolen = total(cost, generator), stolen
		if !patience.again(stolen) {
			return first, nil
		}
		s.say("%.0f %% of the time was stolen; repeating it (%d of %d)", 100*stolen, patience.repeats, mostRepeats)
	}
}

func milliseconds(d time.Duration) float64 { return rounded(d.Seconds() * 1000) }

// wait sleeps unless ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
