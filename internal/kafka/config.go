// Package kafka is adnet's event log: the only package that speaks the Kafka protocol. It provides
// a [Producer] that acknowledges only records stored by the broker, a [Group] that reads from the
// positions stored in the ledger, [EnsureTopics], and [Embedded], an in-process broker for
// in-memory mode.
//
// Guarantees. A record is reported as written only after every in-sync replica has it (acks=all,
// idempotent). A record reported as failed may still have been written: a caller that writes it
// again relies on the deduplication of settlement. A group delivers every record of a partition at
// least once, in the order of offsets, and to one member at a time.
//
// Topics are named by the constants of schemas/event. This package adds and removes a prefix
// ([Config.TopicPrefix]). Streams are named by the broker's topic id in hex, so a topic that was
// deleted and recreated is another stream.
//
// # Not obvious
//
// A consumer's polls that return less than 64 KiB are 50 ms apart. Otherwise every produced record
// would need its own fetch and its own transaction. The broker itself does not wait for more: a
// silent topic costs two fetches a second instead of twenty, and the first record after a silence
// arrives at once.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/errs"
)

// Config holds the address and the settings of the log.
type Config struct {
	Brokers     []string `name:"kafka-brokers" env:"ADNET_KAFKA_BROKERS" sep:"," default:"127.0.0.1:9092" help:"Kafka bootstrap brokers, host:port."`
	TopicPrefix string   `name:"kafka-topic-prefix" env:"ADNET_KAFKA_TOPIC_PREFIX" default:"" help:"Prefix of topic and group names on a Kafka shared with other systems."`

	Partitions        int32         `name:"kafka-partitions" env:"ADNET_KAFKA_PARTITIONS" default:"12" help:"Partitions of a topic when it is created."`
	ReplicationFactor int16         `name:"kafka-replication-factor" env:"ADNET_KAFKA_REPLICATION_FACTOR" default:"1" help:"Replicas of a topic when it is created; 3 in production."`
	MinInsync         int           `name:"kafka-min-insync" env:"ADNET_KAFKA_MIN_INSYNC" default:"1" help:"Replicas that must hold a record before it is acknowledged; 2 in production."`
	Retention         time.Duration `name:"kafka-retention" env:"ADNET_KAFKA_RETENTION" default:"168h" help:"How long events and notices stay in the log; consumers must never be further behind."`
	AuctionRetention  time.Duration `name:"kafka-auction-retention" env:"ADNET_KAFKA_AUCTION_RETENTION" default:"24h" help:"How long auction outcomes stay in the log."`
	RetentionBytes    int64         `name:"kafka-retention-bytes" env:"ADNET_KAFKA_RETENTION_BYTES" default:"-1" help:"Bytes kept per partition, -1 for no bound. A bound drops events that no consumer has read yet."`

	Linger                time.Duration `name:"kafka-linger" env:"ADNET_KAFKA_LINGER" default:"5ms" help:"How long records are collected into a batch before they are sent."`
	AuctionLinger         time.Duration `name:"kafka-auction-linger" env:"ADNET_KAFKA_AUCTION_LINGER" default:"50ms" help:"How long outcomes of auctions are collected into a batch; no request waits for them."`
	RecordDeliveryTimeout time.Duration `name:"kafka-delivery-timeout" env:"ADNET_KAFKA_DELIVERY_TIMEOUT" default:"10s" help:"An unsent or rejected record fails after this time."`
	MaxBufferedBytes      int64         `name:"kafka-max-buffered-bytes" env:"ADNET_KAFKA_MAX_BUFFERED_BYTES" default:"67108864" help:"Bytes that may wait for the broker; further records fail at once."`
	FlushTimeout          time.Duration `name:"kafka-flush-timeout" env:"ADNET_KAFKA_FLUSH_TIMEOUT" default:"2s" help:"How long a stop waits for the broker before the rest fails."`

	Link `embed:""`

	SessionTimeout time.Duration `name:"kafka-session-timeout" env:"ADNET_KAFKA_SESSION_TIMEOUT" default:"10s" help:"A consumer without a heartbeat for this time loses its partitions to others."`
}

// Deps are the dependencies on the process. Both fields may be nil.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

func (d Deps) log() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Log
}

func (d Deps) register(collectors ...prometheus.Collector) error {
	if d.Metrics == nil {
		return nil
	}
	for _, c := range collectors {
		if err := d.Metrics.Register(c); err != nil {
			return fmt.Errorf("kafka metrics: %w", err)
		}
	}
	return nil
}

// withDefaults sets zero fields to the defaults of the tags, so that tests and embedding code set
// only the fields that matter to them. It also trims blanks around brokers.
func (c Config) withDefaults() Config {
	brokers := make([]string, 0, len(c.Brokers))
	for _, broker := range c.Brokers {
		if broker = strings.TrimSpace(broker); broker != "" {
			brokers = append(brokers, broker)
		}
	}
	c.Brokers = brokers
	setDefault(&c.Partitions, 12)
	setDefault(&c.ReplicationFactor, 1)
	setDefault(&c.MinInsync, 1)
	setDefault(&c.Retention, 7*24*time.Hour)
	setDefault(&c.AuctionRetention, 24*time.Hour)
	setDefault(&c.RetentionBytes, -1)
	setDefault(&c.Linger, 5*time.Millisecond)
	setDefault(&c.AuctionLinger, 50*time.Millisecond)
	setDefault(&c.RecordDeliveryTimeout, 10*time.Second)
	setDefault(&c.MaxBufferedBytes, 64<<20)
	setDefault(&c.FlushTimeout, 2*time.Second)
	setDefault(&c.SessionTimeout, 10*time.Second)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate reports the first invalid setting, by the name of its variable.
func (c Config) validate() error {
	if len(c.Brokers) == 0 {
		return errors.New("ADNET_KAFKA_BROKERS has no broker")
	}
	for _, check := range []struct {
		bad     bool
		setting string
	}{
		{c.Partitions < 1, "ADNET_KAFKA_PARTITIONS"},
		{c.ReplicationFactor < 1, "ADNET_KAFKA_REPLICATION_FACTOR"},
		{c.MinInsync < 1, "ADNET_KAFKA_MIN_INSYNC"},
		{c.Retention < 0, "ADNET_KAFKA_RETENTION"},
		{c.AuctionRetention < 0, "ADNET_KAFKA_AUCTION_RETENTION"},
		{c.Linger < 0, "ADNET_KAFKA_LINGER"},
		{c.AuctionLinger < 0, "ADNET_KAFKA_AUCTION_LINGER"},
		{c.RecordDeliveryTimeout < time.Second, "ADNET_KAFKA_DELIVERY_TIMEOUT"},
		{c.MaxBufferedBytes < 1, "ADNET_KAFKA_MAX_BUFFERED_BYTES"},
		{c.FlushTimeout < 0, "ADNET_KAFKA_FLUSH_TIMEOUT"},
		{c.SessionTimeout < time.Second, "ADNET_KAFKA_SESSION_TIMEOUT"},
	} {
		if check.bad {
			return fmt.Errorf("%s is too small", check.setting)
		}
	}
	if c.MinInsync > int(c.ReplicationFactor) {
		return errors.New("ADNET_KAFKA_MIN_INSYNC is above ADNET_KAFKA_REPLICATION_FACTOR: nothing could be written")
	}
	return nil
}

// clientOptions returns the options that all clients of the log share. Errors: invalid settings of
// the link.
func (c Config) clientOptions(log *slog.Logger) ([]kgo.Opt, error) {
	secured, err := c.linkOptions(nil)
	if err != nil {
		return nil, err
	}
	return append(secured,
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID("adnet"),
		kgo.WithLogger(clientLog{log}),
		// The defaults (250 ms to 5 s) leave a recovered broker unused for seconds.
		kgo.RetryBackoffFn(backoff),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.MetadataMaxAge(30*time.Second),
	), nil
}

// backoff returns the wait before try n (from 1): 50 ms, doubled up to 1 s.
func backoff(n int) time.Duration {
	return min(50*time.Millisecond<<min(max(n-1, 0), 5), time.Second)
}

// unavailable wraps a failure of the log for callers. It includes the setting but reveals no
// address.
func (c Config) unavailable(cause error) error {
	if cause == nil {
		return nil
	}
	return errs.Wrap(fmt.Errorf("kafka %s: %w", strings.Join(c.Brokers, ","), c.explain(cause)),
		errs.Unavailable, "the event log does not answer (ADNET_KAFKA_BROKERS)")
}

// clientLog forwards the client's log. The client's "info" reports every connection and becomes
// "debug" here.
type clientLog struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (l clientLog) Level() kgo.LogLevel {
	ctx := context.Background()
	switch {
	case l.log.Enabled(ctx, slog.LevelDebug):
		return kgo.LogLevelInfo
	case l.log.Enabled(ctx, slog.LevelWarn):
		return kgo.LogLevelWarn
	case l.log.Enabled(ctx, slog.LevelError):
		return kgo.LogLevelError
	}
	return kgo.LogLevelNone
}

// Log implements kgo.Logger.
func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		to = slog.LevelError
	case kgo.LogLevelWarn:
		to = slog.LevelWarn
	}
	l.log.Log(context.Background(), to, "kafka: "+msg, keyvals...)
}
