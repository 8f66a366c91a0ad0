// Package site creates installations of adnet on the servers of a suite: databases, prefixes and
// keys of their own, which leave nothing behind.
package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"adnet/internal/testenv"
	"adnet/internal/token"
	"adnet/lab/product"
)

// Servers are the addresses of the servers: URLs of PostgreSQL and ClickHouse, host:port of the
// others.
type Servers struct{ Postgres, Redis, Kafka, ClickHouse string }

// FromEnv reads the addresses of the servers for tests. The error names the target of make that sets
// them.
func FromEnv(target string) (s Servers, err error) {
	for name, into := range map[string]*string{
		testenv.EnvPostgres: &s.Postgres, testenv.EnvRedis: &s.Redis, testenv.EnvKafka: &s.Kafka,
		testenv.EnvClickHouse: &s.ClickHouse,
	} {
		if *into = os.Getenv(name); *into == "" {
			return s, fmt.Errorf(`%s is not set: run "make %s", which starts the servers`, name, target)
		}
	}
	return s, nil
}

// Site is an installation.
type Site struct {
	Servers
	Prefix    string // of its keys in Redis; with a dot, of its topics
	Name      string // of its databases
	Database  string // URL of the one in PostgreSQL, for its owner
	Analytics string // URL of the one in ClickHouse
	Env       []string
	Ring      *token.Keyring // of ADNET_TOKEN_KEYS
	Events    driver.Conn    // to ClickHouse
	Cache     *redis.Client

	undo []func(context.Context) error
}

// Create creates the databases of a suite. Drop the result even after an error.
func Create(ctx context.Context, servers Servers, suite string) (*Site, error) {
	t := &Site{Servers: servers, Prefix: suite + "-" + strings.ToLower(rand.Text()[:8])}
	t.Name = strings.ReplaceAll(t.Prefix, "-", "_")
	if err := errors.Join(t.postgres(ctx), t.clickhouse(ctx)); err != nil {
		return t, err
	}
	t.Cache = redis.NewClient(&redis.Options{Addr: servers.Redis, ReadTimeout: 30 * time.Second})
	t.undo = append(t.undo, t.forget)
	signing := product.Key()
	t.Env = []string{
		"ADNET_POSTGRES_URL=" + t.Database, "ADNET_POSTGRES_OWNER_URL=" + t.Database,
		"ADNET_CLICKHOUSE_URL=" + t.Analytics, "ADNET_REDIS_ADDR=" + t.Redis, "ADNET_REDIS_PREFIX=" + t.Prefix,
		"ADNET_KAFKA_BROKERS=" + t.Kafka, "ADNET_KAFKA_TOPIC_PREFIX=" + t.Prefix + ".", "ADNET_KAFKA_PARTITIONS=4",
		"ADNET_TOKEN_KEYS=" + signing, "ADNET_SESSION_KEYS=" + product.Key(),
	}
	var err error
	t.Ring, err = Ring(signing)
	return t, err
}

// Ring returns the keys of a value of ADNET_TOKEN_KEYS.
func Ring(signing string) (*token.Keyring, error) {
	keys, err := token.ParseKeys(signing)
	if err != nil {
		return nil, err
	}
	return token.NewKeyring(keys)
}

func (t *Site) postgres(ctx context.Context) (err error) {
	if t.Database, err = At(t.Postgres, t.Name); err != nil {
		return err
	}
	run := func(ctx context.Context, statement string) error {
		admin, err := pgx.Connect(ctx, t.Postgres)
		if err != nil {
			return err
		}
		_, err = admin.Exec(ctx, statement)
		return errors.Join(err, admin.Close(ctx))
	}
	t.undo = append(t.undo, func(ctx context.Context) error {
		return run(ctx, "DROP DATABASE IF EXISTS "+t.Name+" WITH (FORCE)")
	})
	return run(ctx, "CREATE DATABASE "+t.Name)
}

func (t *Site) clickhouse(ctx context.Context) (err error) {
	if t.Analytics, err = At(t.ClickHouse, t.Name); err != nil {
		return err
	}
	options, err := clickhouse.ParseDSN(t.ClickHouse)
	if err != nil {
		return err
	}
	if t.Events, err = clickhouse.Open(options); err != nil {
		return err
	}
	t.undo = append(t.undo, func(ctx context.Context) error {
		return errors.Join(t.Events.Exec(ctx, "DROP DATABASE IF EXISTS "+t.Name+" SYNC"), t.Events.Close())
	})
	return t.Events.Exec(ctx, "CREATE DATABASE "+t.Name+" ENGINE = Atomic")
}

// At returns the URL of a database on a server.
func At(server, database string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}

// Keys visits the installation's keys in Redis and counts them.
func (t *Site) Keys(ctx context.Context, visit func(key string) error) (count int64, err error) {
	all := t.Cache.Scan(ctx, 0, t.Prefix+":*", 1000).Iterator()
	for all.Next(ctx) {
		count++
		if err := visit(all.Val()); err != nil {
			return count, err
		}
	}
	return count, all.Err()
}

// forget removes the keys from Redis by the page, because a full run of the benchmark leaves one for
// each confirmed ad.
func (t *Site) forget(ctx context.Context) error {
	for cursor := uint64(0); ; {
		keys, next, err := t.Cache.Scan(ctx, cursor, t.Prefix+":*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = t.Cache.Unlink(ctx, keys...).Err()
		}
		if err != nil || next == 0 {
			return errors.Join(err, t.Cache.Close())
		}
		cursor = next
	}
}

// Drop removes the databases and keys. It has a time limit of its own, because the context of an
// interrupted suite is cancelled.
func (t *Site) Drop() (failed error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for i := len(t.undo) - 1; i >= 0; i-- {
		failed = errors.Join(failed, t.undo[i](ctx))
	}
	t.undo = nil
	return failed
}
