package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithin(t *testing.T) {
	inf := math.Inf(1)
	before := map[float64]int64{0.1: 50, 1: 100, inf: 100}
	require.Equal(
		t, 0.1, within(map[float64]int64{0.1: 149, 1: 200, inf: 200}, before, 0.99), "of the later hundred 99",
	)
	require.Equal(t, 1.0, within(map[float64]int64{0.1: 148, 1: 200, inf: 200}, before, 0.99))
	require.Equal(t, 2.5, within(map[float64]int64{0.1: 50, 1: 198, inf: 200}, before, 0.99))
	require.Zero(t, within(before, before, 0.99), "nothing came")
}
