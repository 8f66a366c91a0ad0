package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	spin := func(b *testing.B) {
		used := Start(b)
		for range b.N {
			for from := Used(b); Used(b)-from < time.Millisecond; {
			}
		}
		used.Report()
	}
	got := testing.Benchmark(spin)
	require.GreaterOrEqual(t, got.Extra[Unit], float64(time.Millisecond))
}
