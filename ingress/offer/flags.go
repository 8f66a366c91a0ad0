package offer

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/process/obs"
)

// FlagStore stores the counts of unknown flags; see redis.Flags.
type FlagStore interface {
	// AddFlags adds to the counts of a publisher. Names above [subject.MaxUnknown] are added up in
	// one count.
	AddFlags(ctx context.Context, publisher uuid.UUID, flags []subject.Unknown, now time.Time) error
}

// How unknown flags are counted. A node holds at most flagsMost of them in memory, whatever
// publishers send; further flags are dropped while these wait for the store.
const (
	flagsMost  = 1000
	flagsEvery = 5 * time.Second
	flagsWait  = 5 * time.Second
)

// FlagCounter counts flags that name no subject, and passes the counts to the store that the nodes
// share. It implements [Flags].
type FlagCounter struct {
	log   *obs.LimitedLogger
	store FlagStore

	mu     sync.Mutex
	counts map[uuid.UUID]map[string]int64
	names  int // number of names in counts
	last   time.Time
}

// NewFlagCounter returns a counter. It starts nothing.
func NewFlagCounter(log *obs.LimitedLogger, store FlagStore) *FlagCounter {
	return &FlagCounter{log: log, store: store, counts: map[uuid.UUID]map[string]int64{}}
}

// Unknown implements [Flags].
func (c *FlagCounter) Unknown(publisher uuid.UUID, name string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
	c.add(publisher, name, 1)
}

// add counts a flag. The lock is held.
func (c *FlagCounter) add(publisher uuid.UUID, name string, n int64) {
	of := c.counts[publisher]
	if of[name] == 0 {
		if len(of) >= subject.MaxUnknown {
			name = subject.OtherFlags
		}
		if of[name] == 0 {
			if c.names >= flagsMost {
				return
			}
			c.names++
		}
	}
	if of == nil {
		of = map[string]int64{}
		c.counts[publisher] = of
	}
	of[name] += n
}

// Run passes the counts to the store every few seconds until ctx ends, and once at the end. Counts
// that the store did not accept are sent again with the next. It returns nil.
func (c *FlagCounter) Run(ctx context.Context) error {
	ticker := time.NewTicker(flagsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.Flush(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			c.Flush(ctx)
		}
	}
}

// Flush passes the counts to the store once. [FlagCounter.Run] calls it; tests may call it instead.
func (c *FlagCounter) Flush(ctx context.Context) {
	c.mu.Lock()
	counts, last := c.counts, c.last
	c.counts, c.names = map[uuid.UUID]map[string]int64{}, 0
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flagsWait)
	defer cancel()
	for publisher, of := range counts {
		flags := make([]subject.Unknown, 0, len(of))
		for name, n := range of {
			flags = append(flags, subject.Unknown{Name: name, Count: n})
		}
		if err := c.store.AddFlags(ctx, publisher, flags, last); err != nil {
			c.log.Warn(ctx, "counts of unknown flags wait for Redis", "error", err)
			c.back(publisher, of)
		}
	}
}

// back restores counts that the store did not accept.
func (c *FlagCounter) back(publisher uuid.UUID, of map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range of {
		c.add(publisher, name, n)
	}
}
