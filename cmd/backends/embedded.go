package backends

import (
	"sync/atomic"
	"time"

	"adnet/internal/kafka"
	"adnet/internal/store/memory"
	"adnet/internal/store/memory/analytics"
	"adnet/internal/store/redis"
)

// Embedded holds the backends of in-memory mode with their servers. The servers listen on their own
// loopback ports. They are components of a group and run until it stops.
type Embedded struct {
	All
	Broker *kafka.Embedded
	Cache  *redis.Embedded
	// Clock dates the rows of the stores.
	Clock *Clock
}

// Clock is the system's clock, which [Clock.Set] may move. It is moved only before the roles run: an
// invented past needs rows of its days.
type Clock struct{ at atomic.Pointer[time.Time] }

// Now returns the time.
func (c *Clock) Now() time.Time {
	if at := c.at.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// Set stops the clock at a time.
func (c *Clock) Set(at time.Time) { c.at.Store(&at) }

// Resume returns to the system's time.
func (c *Clock) Resume() { c.at.Store(nil) }

// OpenEmbedded starts the broker and the Redis of in-memory mode and creates the stores.
func OpenEmbedded(cfg kafka.EmbeddedConfig, funds Money, deps Deps) (*Embedded, error) {
	broker, err := kafka.NewEmbedded(cfg, kafka.Deps{Log: deps.Log})
	if err != nil {
		return nil, err
	}
	if err := broker.Start(); err != nil {
		return nil, err
	}
	cache, err := redis.NewEmbedded(redis.EmbeddedConfig{})
	if err != nil {
		return nil, err
	}
	if err := cache.Start(); err != nil {
		return nil, err
	}
	client, err := redis.Open(redis.Config{Addr: cache.Addr()}, redis.Deps{Log: deps.Log})
	if err != nil {
		return nil, err
	}
	clock := new(Clock)
	stores, reports := memory.New(clock.Now), analytics.New()
	return &Embedded{Broker: broker, Cache: cache, Clock: clock, All: All{
		Stores:    InMemory(stores),
		Rooms:     roomSource{Changes: stores.Campaigns, roomReader: stores.Campaigns.RoomReader(funds.rooms())},
		Analytics: reports, Stats: reports, Past: reports, Rates: reports, ShowRates: reports, Rollup: reports,
		Ranking: stores.Weights,
		Redis:   client, Kafka: kafka.Config{Brokers: []string{broker.Addr()}},
		closers: []func(){func() { Close(deps.Log, "Redis", client.Close) }},
	}}, nil
}
