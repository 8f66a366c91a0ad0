package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/analytics/stats"
	"adnet/consumers/archive"
	"adnet/consumers/forecast"
	"adnet/consumers/project"
	"adnet/consumers/quarantine"
	"adnet/consumers/retain"
	"adnet/consumers/settle"
	"adnet/ingress/billing"
	"adnet/ingress/explain"
	"adnet/ingress/manage"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/once"
	"adnet/internal/payment"
	"adnet/internal/postgres"
	"adnet/internal/redis"
)

// moneyConfig is the settings about funding, which ingress and settlement must agree on.
type moneyConfig struct {
	Prepaid     string `name:"prepaid" env:"ADNET_PREPAID" default:"${prepaid}" enum:"off,required" help:"required: cash campaigns spend deposited balance only. off: they spend up to their budget and the account owes."`
	CreditValue string `name:"credit-value-usd" env:"ADNET_CREDIT_VALUE_USD" default:"1" help:"Total budget in USD that one Credit pays for."`
}

func (c moneyConfig) prepaid() bool { return c.Prepaid == "required" }

func (c moneyConfig) creditValue() (money.Micros, error) {
	value, err := money.Parse(c.CreditValue)
	if err == nil && value <= 0 {
		err = errors.New("must be above 0")
	}
	if err != nil {
		return 0, fmt.Errorf("ADNET_CREDIT_VALUE_USD: %w", err)
	}
	return value, nil
}

// books is what both kinds of storage keep.
type books interface {
	account.UserStore
	account.KeyStore
	campaign.Store
	campaign.Changes
	settle.Store
	archive.Plans
	payment.Store
	billing.Ledger
	billing.Publishers
	quarantine.Store
	manage.AuditLog
	once.Store
	retain.Store
	Audit(ctx context.Context, o ledger.AuditOptions) ([]ledger.Check, error)
	ArchivedTotals(ctx context.Context) (ledger.Totals, error)
}

// Both kinds of storage are products, held to one conformance suite (internal/storetest).
var (
	_ books = (*postgres.Store)(nil)
	_ books = (*memory.Store)(nil)
)

// analytics is the store of decided events.
type analytics interface {
	archive.Sink
	archive.AuctionSink
	archive.NoticeSink
	Totals(ctx context.Context) (ledger.Totals, error)
	Billable(ctx context.Context) (ledger.Billable, error)
}

// backends is everything outside the roles, real or in memory; the roles cannot tell.
type backends struct {
	books     books
	rooms     project.Source
	analytics analytics
	stats     manage.StatsReader
	past      explain.Past
	rollup    manage.Aggregator
	nightly   *rollup.Rollup  // nil in memory, where nothing needs rolling up
	counted   forecast.Source // of opportunities; nil in memory, which does not outlive a day
	redis     *redis.Client
	kafka     kafka.Config
	close     func()
}

// roomSource joins the two halves of what the projection follows.
type roomSource struct {
	campaign.Changes
	roomReader
}

type roomReader interface {
	Rooms(ctx context.Context, cursor int64) (rooms []ledger.Room, next int64, err error)
	project.Epochs
}

// serversConfig is where the real servers are.
type serversConfig struct {
	Postgres   postgres.Config   `embed:""`
	ClickHouse clickhouse.Config `embed:""`
	Redis      redis.Config      `embed:""`
	Kafka      kafka.Config      `embed:""`
	Stats      stats.Config      `embed:""`
	Rollup     rollup.Config     `embed:""`
}

// openServers connects to the real servers; each must answer within half a minute.
func openServers(h *host, cfg serversConfig, funds moneyConfig) (b backends, err error) {
	var closers []func()
	b.close = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	var pg *postgres.Store
	err = await(h.ctx, h.log, "PostgreSQL (ADNET_POSTGRES_URL)", func(ctx context.Context) (err error) {
		pg, err = postgres.Open(ctx, cfg.Postgres)
		return err
	})
	if err != nil {
		return b, err
	}
	closers = append(closers, pg.Close)
	ch, err := openClickHouse(h.process, cfg.ClickHouse)
	if err != nil {
		return b, err
	}
	closers = append(closers, func() { logClose(h.process, "ClickHouse", ch.Close) })
	if b.redis, err = openRedis(h.process, cfg.Redis); err != nil {
		return b, err
	}
	closers = append(closers, func() { logClose(h.process, "Redis", b.redis.Close) })
	reader, err := stats.New(cfg.Stats, stats.Deps{Store: ch})
	if err != nil {
		return b, err
	}
	if b.nightly, err = rollup.New(cfg.Rollup, rollup.Deps{Store: ch, Log: h.log, Registry: h.metrics}); err != nil {
		return b, err
	}
	b.books, b.analytics, b.stats, b.past, b.rollup, b.kafka = pg, ch, reader, reader, b.nightly, cfg.Kafka
	b.counted = reader
	b.rooms = roomSource{Changes: pg, roomReader: pg.RoomReader(ledger.RoomsOptions{Prepaid: funds.prepaid()})}
	return b, nil
}

func openClickHouse(p process, cfg clickhouse.Config) (ch *clickhouse.Store, err error) {
	return ch, await(p.ctx, p.log, "ClickHouse (ADNET_CLICKHOUSE_URL)", func(ctx context.Context) (err error) {
		ch, err = clickhouse.Open(ctx, cfg)
		return err
	})
}

func openRedis(p process, cfg redis.Config) (*redis.Client, error) {
	client, err := redis.Open(cfg, redis.Deps{Log: p.log})
	if err != nil {
		return nil, err
	}
	return client, await(p.ctx, p.log, "Redis (ADNET_REDIS_ADDR)", client.Ping)
}

func logClose(p process, what string, closing func() error) {
	if err := closing(); err != nil {
		p.log.Warn("not closed cleanly", "what", what, "error", err)
	}
}

// embedded starts the broker and the Redis of in-memory mode and makes the stores. The servers listen
// on loopback ports of their own; their components keep them until the group stops.
func embedded(h *host, cfg kafka.EmbeddedConfig, funds moneyConfig) (b backends, broker *kafka.Embedded, cache *redis.Embedded, err error) {
	if broker, err = kafka.NewEmbedded(cfg, kafka.Deps{Log: h.log}); err != nil {
		return b, nil, nil, err
	}
	if err = broker.Start(); err != nil {
		return b, nil, nil, err
	}
	if cache, err = redis.NewEmbedded(redis.EmbeddedConfig{}); err != nil {
		return b, nil, nil, err
	}
	if err = cache.Start(); err != nil {
		return b, nil, nil, err
	}
	if b.redis, err = redis.Open(redis.Config{Addr: cache.Addr()}, redis.Deps{Log: h.log}); err != nil {
		return b, nil, nil, err
	}
	store, reports := memory.New(time.Now), memory.NewReports()
	b.books, b.analytics, b.stats, b.past, b.rollup = store, reports, reports, reports, reports
	b.rooms = roomSource{Changes: store, roomReader: store.RoomReader(ledger.RoomsOptions{Prepaid: funds.prepaid()})}
	b.kafka = kafka.Config{Brokers: []string{broker.Addr()}}
	b.close = func() { logClose(h.process, "Redis", b.redis.Close) }
	return b, broker, cache, nil
}
