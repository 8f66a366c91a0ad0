package backends

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/analytics/stats"
	"adnet/internal/errs"
	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
)

// Open connects to the real servers. PostgreSQL must answer within half a minute: nothing works
// without it. The others may be away: a process that waited for them could be neither replaced nor
// moved during their outage.
func Open(ctx context.Context, cfg Servers, funds Money, deps Deps) (_ *All, err error) {
	b := &All{Kafka: cfg.Kafka}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	pg, err := openPostgres(ctx, deps.Log, cfg.Postgres)
	if err != nil {
		return nil, err
	}
	b.PostgresConns = pg.Pool.Config().MaxConns
	b.closers = append(b.closers, pg.Close)
	ch, err := findClickHouse(ctx, deps.Log, cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() { Close(deps.Log, "ClickHouse", ch.Close) })
	if b.Redis, err = findRedis(ctx, deps.Log, cfg.Redis); err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() { Close(deps.Log, "Redis", b.Redis.Close) })
	if err := checkKafka(ctx, deps.Log, cfg.Kafka); err != nil {
		return nil, err
	}
	reader, err := stats.New(cfg.Stats, stats.Deps{Store: ch})
	if err != nil {
		return nil, err
	}
	if b.Nightly, err = rollup.New(
		cfg.Rollup, rollup.Deps{Store: ch, Log: deps.Log, Metrics: deps.Metrics},
	); err != nil {
		return nil, err
	}
	b.Stores, b.Rooms, b.Analytics = InPostgres(pg), RoomsOf(pg, funds), ch
	b.Ranking, b.Learned = pg.Weights, ch
	b.Terms = reader
	b.Stats, b.Past, b.Counted, b.Rates, b.ShowRates, b.Rollup = reader, reader, reader, reader, reader, b.Nightly
	return b, nil
}

func openPostgres(ctx context.Context, log *slog.Logger, cfg postgres.Config) (store *postgres.Stores, err error) {
	err = await(ctx, log, "PostgreSQL (ADNET_POSTGRES_URL)", func(ctx context.Context) (err error) {
		store, err = postgres.Open(ctx, cfg)
		return err
	})
	return store, err
}

// OpenClickHouse connects to ClickHouse, which must answer within half a minute.
func OpenClickHouse(ctx context.Context, log *slog.Logger, cfg clickhouse.Config) (store *clickhouse.Store, err error) {
	err = await(ctx, log, "ClickHouse (ADNET_CLICKHOUSE_URL)", func(ctx context.Context) (err error) {
		store, err = clickhouse.Open(ctx, cfg)
		return err
	})
	return store, err
}

// OpenRedis connects to Redis, which must answer within half a minute.
func OpenRedis(ctx context.Context, log *slog.Logger, cfg redis.Config) (*redis.Client, error) {
	client, err := redis.Open(cfg, redis.Deps{Log: log})
	if err != nil {
		return nil, err
	}
	return client, await(ctx, log, "Redis (ADNET_REDIS_ADDR)", client.Ping)
}

// findClickHouse is OpenClickHouse that starts without a server that does not answer: only
// statistics need it. A wrong setting, and a database that does not exist, are errors.
func findClickHouse(ctx context.Context, log *slog.Logger, cfg clickhouse.Config) (store *clickhouse.Store, err error) {
	err = look(ctx, log, "ClickHouse (ADNET_CLICKHOUSE_URL)", func(ctx context.Context) (err error) {
		store, err = clickhouse.Open(ctx, cfg)
		return err
	})
	switch {
	case errors.Is(err, errAway):
		return clickhouse.New(cfg)
	case err != nil && !link.Permanent(err) && ctx.Err() == nil: // a migration may be under way
		return OpenClickHouse(ctx, log, cfg)
	}
	return store, err
}

// findRedis is OpenRedis that starts without a server that does not answer: only ads need it.
func findRedis(ctx context.Context, log *slog.Logger, cfg redis.Config) (*redis.Client, error) {
	client, err := redis.Open(cfg, redis.Deps{Log: log})
	if err != nil {
		return nil, err
	}
	if err := look(ctx, log, "Redis (ADNET_REDIS_ADDR)", client.Ping); err != nil && !errors.Is(err, errAway) {
		return client, err
	}
	return client, nil
}

// promptly is the time in which a server that is not essential must answer at the start. Two of them
// leave time to be ready within 5 s.
const promptly = 2 * time.Second

// errAway reports a server that does not answer.
var errAway = errors.New("does not answer")

// look asks a server once. It returns errAway, and logs, if the server does not answer.
func look(ctx context.Context, log *slog.Logger, what string, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	err := ask(limited)
	if err == nil || link.Permanent(err) || ctx.Err() != nil || !errs.Is(err, errs.Unavailable) {
		return err
	}
	log.Warn(what+" does not answer; starting without it", "error", err)
	return errAway
}

// checkKafka fails if the brokers do not match the settings: then no event would ever arrive. An
// unreachable log does not prevent the start: beacons go to the spool, and consumers wait.
func checkKafka(ctx context.Context, log *slog.Logger, cfg kafka.Config) error {
	err := kafka.Check(ctx, cfg, kafka.Deps{Log: log})
	if err == nil || link.Permanent(err) || ctx.Err() != nil {
		return err
	}
	log.Warn("Kafka (ADNET_KAFKA_BROKERS) does not answer; starting without it", "error", err)
	return nil
}

// Close closes a connection and logs a failure.
func Close(log *slog.Logger, what string, closing func() error) {
	if err := closing(); err != nil {
		log.Warn("not closed cleanly", "what", what, "error", err)
	}
}

// await calls ready until it returns nil and logs from time to time which server it waits for. It
// is for servers that start together with adnet.
func await(ctx context.Context, log *slog.Logger, what string, ready func(context.Context) error) error {
	const patience = 30 * time.Second
	deadline := time.Now().Add(patience)
	for logged := false; ; {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil || link.Permanent(err) {
			return errors.Join(ctx.Err(), err)
		}
		if !logged {
			log.Warn("waiting for "+what, "error", err, "for_at_most", patience.String())
			logged = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
