package archive

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/obs"
	"adnet/internal/schedule"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// patience is the time for which a block of a best-effort stream is retried before it is dropped.
const patience = 30 * time.Second

// topic describes the source topic of a best-effort copy.
type topic[R any] struct {
	name    string // of the metrics and log lines: auctions, notices
	help    string
	records Records // by its committed offsets
	log     *slog.Logger
	metrics prometheus.Registerer
	seal    Seal
	decode  func(value []byte) (row R, ok bool)
	insert  func(ctx context.Context, token string, rows []R) error
}

// Seal opens records that nodes of this installation sealed; see token.Seal.
type Seal interface {
	Open(closed []byte, now time.Time) (record []byte, err error)
}

// copier archives one topic, best effort. A block that the store rejects for half a minute is
// counted and dropped. A crash between insert and commit may cut the repeated records differently,
// so that some arrive twice. No money depends on them.
type copier[R any] struct {
	cfg     Config
	topic   topic[R]
	rows    prometheus.Counter
	dropped prometheus.Counter
	forged  prometheus.Counter
	often   *obs.LimitedLogger
}

func newCopier[R any](cfg Config, s topic[R]) (*copier[R], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if s.records == nil || s.insert == nil || s.seal == nil || s.log == nil || s.metrics == nil {
		return nil, errors.New("archive: records, sink, seal, log and metrics are required")
	}
	c := &copier[R]{
		cfg: cfg, topic: s, often: obs.Limited(s.log, time.Second),
		rows: obs.Register(s.metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_total", Help: s.help + " archived.",
		})),
		dropped: obs.Register(s.metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_dropped_total",
			Help: s.help + " dropped: not decodable, or refused by the store.",
		})),
		forged: obs.Register(s.metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_forged_total",
			Help: s.help + " dropped: no node of this installation sealed them.",
		})),
	}
	return c, nil
}

// Run archives until ctx ends, in blocks of what arrived during Linger. It returns nil, and only
// after ctx ended.
func (c *copier[R]) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		records, err := c.topic.records.Poll(ctx, c.cfg.ChunkRows)
		if err != nil {
			if ctx.Err() == nil {
				c.often.Warn(ctx, "poll of "+c.topic.name+" failed", "error", err)
				_ = schedule.Pause(ctx, time.Second)
			}
			continue
		}
		token, rows := c.block(records)
		if err := c.insert(ctx, token, rows); err != nil {
			if ctx.Err() != nil {
				break // not committed: read again later
			}
			c.dropped.Add(float64(len(rows)))
			c.often.Warn(ctx, c.topic.name+" dropped: the analytics store refused them", "error", err)
		}
		if err := c.topic.records.Done(ctx); err != nil && ctx.Err() == nil {
			c.often.Warn(ctx, "commit of "+c.topic.name+" failed", "error", err)
		}
		if len(records) < c.cfg.ChunkRows {
			_ = schedule.Pause(ctx, c.cfg.Linger)
		}
	}
	return nil
}

func (c *copier[R]) insert(ctx context.Context, token string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, c.cfg.InsertTimeout)
		defer cancel()
		return struct{}{}, c.topic.insert(try, token, rows)
	}, backoff.WithMaxElapsedTime(patience))
	if err == nil {
		c.rows.Add(float64(len(rows)))
	}
	return err
}

// block decodes the records of one poll. The token names its ranges.
func (c *copier[R]) block(records []event.Record) (token string, rows []R) {
	rows = make([]R, 0, len(records))
	var ranges []string
	var open stream.Range
	for i := range records {
		r := &records[i]
		p := stream.Partition{Stream: r.TopicID, Number: r.Partition}
		if i == 0 || p != open.Partition || r.Offset != open.Next {
			if i > 0 {
				ranges = append(ranges, open.String())
			}
			open = stream.Range{Partition: p, First: r.Offset, Next: r.Offset}
		}
		open.Next++
		// A foreign writer to Kafka changes nothing that owners read or that auctions learn from.
		value, err := c.topic.seal.Open(r.Value, time.Now())
		if err != nil {
			c.forged.Inc()
			c.often.Warn(context.Background(), c.topic.name+" dropped: no node sealed them", "error", err)
			continue
		}
		row, ok := c.topic.decode(value)
		if !ok {
			c.dropped.Inc()
			continue
		}
		rows = append(rows, row)
	}
	return strings.Join(append(ranges, open.String()), ","), rows
}
