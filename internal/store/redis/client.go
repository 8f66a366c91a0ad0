package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"adnet/internal/errs"
	"adnet/internal/process/link"
)

// Config is the address of Redis with the settings of the link.
type Config struct {
	Addr     string `name:"redis-addr" env:"ADNET_REDIS_ADDR" default:"127.0.0.1:6379" help:"Redis as host:port, or rediss://[user:password@]host:port[/database] for an encrypted link; several hosts separated by commas are the seeds of a cluster, or the sentinels with ADNET_REDIS_MASTER."`
	Master   string `name:"redis-master" env:"ADNET_REDIS_MASTER" default:"" help:"Name of the master that the sentinels watch."`
	DB       int    `name:"redis-db" env:"ADNET_REDIS_DB" default:"0" help:"Redis database number; 0 in a cluster."`
	Username string `name:"redis-username" env:"ADNET_REDIS_USERNAME" default:"" help:"Redis user (ACL)."`
	Password string `name:"redis-password" env:"ADNET_REDIS_PASSWORD" secret:"" default:"" help:"Redis password."`
	CA       string `name:"redis-ca" env:"ADNET_REDIS_CA" type:"path" help:"PEM file of the authorities that sign the certificate of Redis (default: the system's)."`
	Cert     string `name:"redis-cert" env:"ADNET_REDIS_CERT" type:"path" help:"PEM file of this client's certificate, for a Redis that requires one."`
	Key      string `name:"redis-key" env:"ADNET_REDIS_KEY" type:"path" help:"PEM file of the certificate's key."`
	Prefix   string `name:"redis-prefix" env:"ADNET_REDIS_PREFIX" default:"adnet" help:"First part of every key and channel."`

	Insecure link.Insecure `kong:"-"` // plain text off loopback
}

// Deps holds the dependencies on the process. It may be empty.
type Deps struct {
	Log *slog.Logger
}

// Client is a pool of connections. Its methods may be called from any goroutine.
type Client struct {
	cfg Config
	to  target
	log *slog.Logger
	rdb goredis.UniversalClient

	keys  keys
	trust Trust
	epoch *atomic.Int64 // with seals: the latest of the rooms read
}

// Open checks the settings and creates the pool. It connects on first use; see [Client.Ping].
func Open(cfg Config, deps Deps) (*Client, error) { return open(cfg, deps, nil) }

// open is Open with a listener for handshakes.
func open(cfg Config, deps Deps, seen func(tls.ConnectionState)) (*Client, error) {
	to, err := cfg.target()
	if err != nil {
		return nil, err
	}
	to.dialer.Seen = seen
	if cfg.Prefix == "" {
		cfg.Prefix = "adnet"
	}
	if strings.ContainsAny(cfg.Prefix, "{} ") {
		return nil, errors.New("ADNET_REDIS_PREFIX must not contain braces or spaces")
	}
	silence()
	log := deps.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	rdb := goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs: to.addrs, MasterName: cfg.Master, DB: to.db, Dialer: to.dialer.Dial,
		Username: to.username, Password: to.password, ClientName: "adnet",
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		// A request waits for Redis: an unreachable server must be detected soon, and contexts must
		// be honoured.
		DialTimeout: dialTimeout, DialerRetries: 1, MaxRetries: 2, ContextTimeoutEnabled: true,
		ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second,
	})
	return &Client{cfg: cfg, to: to, log: log, rdb: rdb, keys: keysOf(cfg.Prefix)}, nil
}

// silence stops go-redis from printing to standard error, once for the process: its messages are
// also in the errors that it returns.
var silence = sync.OnceFunc(func() { goredis.SetLogger(noLog{}) })

type noLog struct{}

// Printf implements the logger of go-redis.
func (noLog) Printf(context.Context, string, ...any) {}

// Ping returns an error if Redis does not answer.
func (c *Client) Ping(ctx context.Context) error {
	return c.explain(c.rdb.Ping(ctx).Err())
}

// Close closes every connection; a waiting Subscribe ends with an error.
func (c *Client) Close() error { return c.rdb.Close() }

// Seen marks key for life and reports whether this was the first time. It exists only for the
// `deduped: true` of replies. A mark can be lost with Redis, so it must never decide about money,
// which is deduplicated in the ledger's transaction.
func (c *Client) Seen(ctx context.Context, key string, life time.Duration) (first bool, err error) {
	err = c.rdb.SetArgs(ctx, c.keys.seen(key), 1, goredis.SetArgs{Mode: "NX", TTL: life}).Err()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil, c.explain(err)
}

// explain adds a code and the name of the setting to failures of Redis.
func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap(
		fmt.Errorf("redis %s: %w", strings.Join(c.to.addrs, ","), c.to.explain(err)), errs.Unavailable,
		"the catalog does not answer (ADNET_REDIS_ADDR)",
	)
}
