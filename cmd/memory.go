package cmd

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"adnet/internal/process/schedule"
)

const (
	headRoom    = 16 << 20 // bytes of garbage that a node allows before it collects
	leastGrowth = 25       // % of the live heap, if that is more
	mostGrowth  = 100      // %, Go's default
)

// fitMemory runs after a large load. It returns the memory left over from decoding, which exceeds
// the catalog itself, to the system and limits the growth of the heap between collections. Go's
// default of 100 % would double a catalog of a million campaigns, which the collector scans quickly
// (benchmark rows memory_100k and memory_1m). A GOGC in the environment takes precedence. The
// memory that is left goes into huge pages.
func fitMemory() {
	debug.FreeOSMemory()
	gatherPages()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(growth(live[0].Value.Uint64()))
}

// gatherEvery is the time between two calls of gatherPages. The catalog is built again after many
// changes, and the garbage between two collections grows with the load.
const gatherEvery = 10 * time.Second

// keepGathered calls gatherPages until ctx ends.
func keepGathered(ctx context.Context) error {
	schedule.Loop(ctx, gatherEvery, func(context.Context) time.Duration {
		gatherPages()
		return gatherEvery
	})
	return nil
}

// growth returns the percentage of live bytes that may be added before the next collection.
func growth(live uint64) int {
	return int(min(max(100*headRoom/max(live, 1), leastGrowth), mostGrowth))
}
