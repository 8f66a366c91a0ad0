package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// If /proc/stat has never counted stolen time, either none was stolen or the hypervisor does not
// report it. The probe distinguishes the two: a thread spins in short bursts and keeps reading its
// own processor time. The kernel charges a thread only while it runs, so waiting for a processor
// does not show. A jump of that clock between two readings is charged time in which the thread did
// not run.
const (
	burst    = 5 * time.Millisecond   // 2.5 % of a two-core machine
	betweens = 100 * time.Millisecond // from one burst to the next
	jump     = 500 * time.Microsecond // longer than an interrupt, shorter than a hypervisor's time slice
)

// probe spins until end is called.
type probe struct {
	stop chan struct{}
	lost chan float64
}

func startProbe() *probe {
	p := &probe{stop: make(chan struct{}), lost: make(chan float64, 1)}
	go p.run()
	return p
}

// end stops the probe and returns the share of its processor time that it did not get.
func (p *probe) end() float64 {
	close(p.stop)
	return <-p.lost
}

func (p *probe) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	again := time.NewTicker(betweens)
	defer again.Stop()
	var seen jumps
	for {
		seen.resume()
		for from := threadTime(); ; {
			now := threadTime()
			seen.add(now)
			if now == 0 || now-from >= burst {
				break
			}
		}
		select {
		case <-p.stop:
			p.lost <- seen.share()
			return
		case <-again.C:
		}
	}
}

// jumps adds up the jumps of a thread's clock between readings.
type jumps struct {
	last        time.Duration
	begun       bool
	total, lost time.Duration
}

// resume marks the next reading as the first after a pause.
func (j *jumps) resume() { j.begun = false }

func (j *jumps) add(now time.Duration) {
	if j.begun {
		step := now - j.last
		j.total += step
		if step >= jump {
			j.lost += step
		}
	}
	j.last, j.begun = now, true
}

func (j *jumps) share() float64 {
	if j.total == 0 {
		return 0
	}
	return float64(j.lost) / float64(j.total)
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
