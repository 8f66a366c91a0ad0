package train

import (
	"maps"
	"slices"

	"adnet/auction/target"
)

// The most that one publisher weighs among all.
const (
	mostOf      = 20 // publishers from which on it is one part in mostOf
	mostShare   = 1.0 / mostOf
	mostOfFewer = 0.25
)

// Counted is a log of which no network clicks twice on a campaign in a day: a further click is left
// out, with its impression.
func Counted(log []Sample) []Sample {
	type click struct {
		campaign target.ID
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

// Weigh gives what an impression of each publisher weighs, so that none weighs more than 5 % of all
// of them together, and a quarter where there are fewer than 20.
func Weigh(log []Sample) map[target.ID]float64 {
	counts := map[target.ID]float64{}
	for i := range log {
		counts[log[i].Publisher]++
	}
	return limited(counts)
}

// limited gives what one of each weighs, so that none of them weighs more than its share of all.
func limited(counts map[target.ID]float64) map[target.ID]float64 {
	share := mostShare
	if len(counts) < mostOf {
		share = mostOfFewer
	}
	limit := limitOf(counts, share)
	weights := make(map[target.ID]float64, len(counts))
	for id, n := range counts {
		weights[id] = min(1, limit/n)
	}
	return weights
}

// limitOf is the most impressions that count of a publisher, so that it is a share of all that
// count. Fewer publishers than 1/share cannot all keep to it: then all weigh the same.
func limitOf(counts map[target.ID]float64, share float64) float64 {
	sizes := slices.Sorted(maps.Values(counts)) // in order, so that each run adds them up alike
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
