package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A machine whose /proc/stat has never counted stolen time either loses none or is not told. The
// probe tells the two apart: a thread that spins for short bursts and reads its own processor time
// all the while. The kernel charges a thread only while it runs, so waiting for a processor does
// not show; a jump of that clock between two readings is time in which the kernel believed that the
// thread ran, and it did not.
const (
	burst    = 5 * time.Millisecond   // of spinning: 2.5 % of a two-core machine
	betweens = 100 * time.Millisecond // from one burst to the next
	jump     = 500 * time.Microsecond // longer than an interrupt, shorter than a hypervisor's time slice
)

// probe spins until it is ended.
type probe struct {
	stop chan struct{}
	lost chan float64
}

func startProbe() *probe {
	p := &probe{stop: make(chan struct{}), lost: make(chan float64, 1)}
	go p.run()
	return p
}

// end stops the probe and answers the share of its processor time that it did not get.
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

// jumps adds up what a thread's clock says between two of its readings.
type jumps struct {
	last        time.Duration
	begun       bool
	total, lost time.Duration
}

// resume says that the next reading follows a pause.
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

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
