package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"fortio.org/fortio/periodic"
	fortiolog "fortio.org/log"
	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

// Connections of the load. Servers send their requests over few connections. Beacons come from many
// browsers, and while some wait for Kafka's acknowledgement others must keep the cores busy. With
// 128 connections a quarter of the processor time was idle.
const (
	ofServers  = 128
	ofBrowsers = 512
)

// traffic is a load of requests on one server. next fills the n-th request and may be called
// concurrently.
type traffic struct {
	addr  string // host:port
	conns int    // 0: ofServers
	next  func(n uint64, r *fasthttp.Request)
	check func(r *fasthttp.Response) error // nil: status 200
}

// measured is the result of one run of the load generator.
type measured struct {
	count, perSecond float64
	p50, p99         time.Duration
}

// peak sends as fast as the connections allow.
func (t *traffic) peak(ctx context.Context, d time.Duration) (measured, error) {
	return t.drive(ctx, 0, d)
}

// open sends at a fixed rate, independent of the server. Latencies count from the due time of a
// request, so that a stall of the server shows in every delayed request (coordinated omission).
func (t *traffic) open(ctx context.Context, perSecond float64, d time.Duration) (measured, error) {
	return t.drive(ctx, perSecond, d)
}

func (t *traffic) drive(ctx context.Context, perSecond float64, d time.Duration) (measured, error) {
	fortiolog.SetLogLevelQuiet(fortiolog.Error)
	connections := t.conns
	if connections == 0 {
		connections = ofServers
	}
	client := &fasthttp.HostClient{
		Addr: t.addr, MaxConns: connections, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		NoDefaultUserAgentHeader: true, DisablePathNormalizing: true, DisableHeaderNamesNormalizing: true,
	}
	defer client.CloseIdleConnections()
	var sent atomic.Uint64
	options := periodic.RunnerOptions{
		QPS: perSecond, Duration: d, NumThreads: connections, Out: io.Discard, Uniform: true,
		Stop: periodic.NewAborter(),
	}
	if perSecond == 0 {
		options.QPS = -1 // as fast as possible
	}
	abort := options.Stop
	runner := periodic.NewPeriodicRunner(&options)
	workers := make([]*worker, connections)
	runner.Options().Runners = make([]periodic.Runnable, connections)
	for i := range workers {
		workers[i] = &worker{
			traffic: t, client: client, sent: &sent, interval: pace(perSecond, connections, d),
			latency: hdrhistogram.New(1, 60_000_000, 3),
		}
		runner.Options().Runners[i] = workers[i]
	}
	started := time.Now()
	for i, w := range workers {
		// the generator staggers its connections so
		w.due = started.Add(w.interval / time.Duration(connections) * time.Duration(i))
	}
	stop := context.AfterFunc(ctx, func() { abort.Abort(true) })
	defer stop()
	ran := runner.Run()
	if err := ctx.Err(); err != nil {
		return measured{}, err
	}
	all := hdrhistogram.New(1, 60_000_000, 3)
	var failed error
	for _, w := range workers {
		all.Merge(w.latency)
		failed = errors.Join(failed, w.failed)
	}
	if failed != nil {
		return measured{}, fmt.Errorf("load on %s: %w", t.addr, firstOf(failed))
	}
	return measured{
		count: float64(all.TotalCount()), perSecond: float64(all.TotalCount()) / ran.ActualDuration.Seconds(),
		p50: time.Duration(all.ValueAtQuantile(50)) * time.Microsecond,
		p99: time.Duration(all.ValueAtQuantile(99)) * time.Microsecond,
	}, nil
}

// pace returns the time between two requests of one connection in the generator's schedule, whose
// last request is due at the end of d. It is 0 without a rate.
func pace(perSecond float64, connections int, d time.Duration) time.Duration {
	if perSecond == 0 {
		return 0
	}
	each := float64(max(2, int64(perSecond*d.Seconds())/int64(connections)))
	return time.Duration(each / (each - 1) * float64(connections) / perSecond * float64(time.Second))
}

// firstOf reduces many equal errors to one.
func firstOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return firstOf(joined.Unwrap()[0])
	}
	return err
}

// worker is one connection of the generator.
type worker struct {
	*traffic
	client   *fasthttp.HostClient
	sent     *atomic.Uint64
	interval time.Duration
	due      time.Time
	latency  *hdrhistogram.Histogram // µs
	failed   error
}

// Run implements periodic.Runnable.
func (w *worker) Run(context.Context, periodic.ThreadID) (bool, string) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	w.next(w.sent.Add(1)-1, request)
	from := time.Now()
	if w.interval > 0 { // open loop: late if the previous request was late
		from, w.due = w.due, w.due.Add(w.interval)
	}
	err := w.client.Do(request, response)
	if err == nil && w.check != nil {
		err = w.check(response)
	} else if err == nil && response.StatusCode() != fasthttp.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode(), response.Body())
	}
	if err != nil {
		w.failed = err
		return false, err.Error()
	}
	_ = w.latency.RecordValue(max(1, time.Since(from).Microseconds()))
	return true, ""
}
