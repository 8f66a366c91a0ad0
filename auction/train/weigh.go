package train

import (
	"maps"
	"slices"

	"adnet/auction/index"
)

// The maximum weight of one publisher.
const (
	mostOf      = 20 // number of publishers from which on the limit is 1/mostOf
	mostShare   = 1.0 / mostOf
	mostOfFewer = 0.25
)

// Counted returns a log with at most one click per network, campaign and day: a further click is
// dropped with its impression.
func Counted(log []Sample) []Sample {
	type click struct {
		campaign index.ID
		day      int32
		network  uint32
	}
	seen := map[click]bool{}
	counted := make([]Sample, 0, len(log))
	for _, s := range sorted(log) {
		if s.Clicked && s.Network != 0 {
			c := click{s.Campaign, s.Day, s.Network}
			if seen[c] {
				continue
			}
			seen[c] = true
		}
		counted = append(counted, s)
	}
	return counted
}

// Weigh returns the weight of an impression of each publisher: no publisher weighs more than 5 % of
// the total, or a quarter if there are fewer than 20.
func Weigh(log []Sample) map[index.ID]float64 {
	counts := map[index.ID]float64{}
	for i := range log {
		counts[log[i].Publisher]++
	}
	return limited(counts)
}

// limited returns the weight of one count of each id, so that none exceeds its share of the total.
func limited(counts map[index.ID]float64) map[index.ID]float64 {
	share := mostShare
	if len(counts) < mostOf {
		share = mostOfFewer
	}
	limit := limitOf(counts, share)
	weights := make(map[index.ID]float64, len(counts))
	for id, n := range counts {
		weights[id] = min(1, limit/n)
	}
	return weights
}

// limitOf returns the maximum count of a publisher so that it stays within its share of the counted
// total. If there are fewer publishers than 1/share the limit cannot hold for all: then all weigh
// the same.
func limitOf(counts map[index.ID]float64, share float64) float64 {
	sizes := slices.Sorted(maps.Values(counts)) // sorted, so that each run adds them up in the same order
	if len(sizes) == 0 {
		return 0
	}
	low, high := 0.0, sizes[len(sizes)-1]
	fits := func(limit float64) bool {
		var sum float64
		for _, n := range sizes {
			sum += min(n, limit)
		}
		return limit <= share*sum
	}
	if fits(high) {
		return high
	}
	for range 60 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return max(low, sizes[0])
}
