// Package cputime measures the processor time of benchmarks. Unlike elapsed time it hardly depends
// on other work on the machine, so the overall benchmark (row by row beside a baseline) falls back
// on it.
//
// Only tests import this package.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Unit names the metric of [Stretch.Report].
const Unit = "cpu-ns/op"

// Used returns the processor time that the process has used so far, including its garbage
// collection.
func Used(b testing.TB) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Stretch is a measured part of a benchmark.
type Stretch struct {
	b    *testing.B
	from time.Duration
}

// Start begins the measurement. It belongs right before the benchmark's loop.
func Start(b *testing.B) Stretch { return Stretch{b: b, from: Used(b)} }

// Report adds the processor time per operation to the benchmark's line. It belongs right after the
// loop.
func (s Stretch) Report() {
	s.b.ReportMetric(float64((Used(s.b)-s.from).Nanoseconds())/float64(max(1, s.b.N)), Unit)
}
