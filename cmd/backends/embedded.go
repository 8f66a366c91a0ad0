package backends

import (
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
}

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
	stores, reports := memory.New(time.Now), analytics.New()
	return &Embedded{Broker: broker, Cache: cache, All: All{
		Stores:    InMemory(stores),
		Rooms:     roomSource{Changes: stores.Campaigns, roomReader: stores.Campaigns.RoomReader(funds.rooms())},
		Analytics: reports, Stats: reports, Past: reports, Rates: reports, ShowRates: reports, Rollup: reports,
		Ranking: stores.Weights,
		Redis:   client, Kafka: kafka.Config{Brokers: []string{broker.Addr()}},
		closers: []func(){func() { Close(deps.Log, "Redis", client.Close) }},
	}}, nil
}
