package cmd

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

const (
	headRoom    = 16 << 20 // bytes of garbage that a node lets come together before it collects
	leastGrowth = 25       // % of the live heap, should that be more
	mostGrowth  = 100      // % as Go has it
)

// fitMemory is for the time after a large load: it gives back what decoding left behind, which is more than what is
// kept, and sets how far the heap may grow between collections. Go's own 100 % would double a catalog of a million
// campaigns, of which the collector has little to look into (benchmark rows memory_100k and memory_1m). Who sets GOGC
// decides instead.
func fitMemory() {
	debug.FreeOSMemory()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(growth(live[0].Value.Uint64()))
}

// growth is the percentage of live bytes that may be added before the next collection.
func growth(live uint64) int {
	return int(min(max(100*headRoom/max(live, 1), leastGrowth), mostGrowth))
}
