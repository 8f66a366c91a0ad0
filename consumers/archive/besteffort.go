package archive

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// patience is the time for which a block of a best-effort stream is retried before it is dropped.
const patience = 30 * time.Second

// CopyDeps holds the dependencies of a [Copier]. All are required.
type CopyDeps[R any] struct {
	Records Records // of the topic, by its committed offsets
	// Insert writes rows to the analytics store. Repeating an insert under the same token changes
	// nothing.
	Insert  func(ctx context.Context, token string, rows []R) error
	Seal    Seal // of the topic's records: of token.Keyring
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// topic describes the source topic of a best-effort copy.
type topic[R any] struct {
	name   string // of the metrics and log lines: auctions, notices
	help   string
	decode func(value []byte) (row R, ok bool)
	// at returns the time of a record whose repetitions would count in sums; nil if one replaces the
	// other.
	at func(row *R) time.Time
}

// Seal opens records that nodes of this installation sealed; see token.Seal.
type Seal interface {
	Open(closed []byte, now time.Time) (record []byte, err error)
}

// Copier archives one topic, best effort. A block that the store rejects for half a minute is
// counted and dropped. A crash between insert and commit may cut the repeated records differently,
// so that some arrive twice. No money depends on them.
type Copier[R any] struct {
	cfg      Config
	deps     CopyDeps[R]
	topic    topic[R]
	repeats  *repeats
	rows     prometheus.Counter
	dropped  prometheus.Counter
	forged   prometheus.Counter
	repeated prometheus.Counter
	often    *obs.LimitedLogger
}

func newCopier[R any](cfg Config, deps CopyDeps[R], s topic[R]) (*Copier[R], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if deps.Records == nil || deps.Insert == nil || deps.Seal == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("archive: records, insert, seal, log and metrics are required")
	}
	return &Copier[R]{
		cfg: cfg, deps: deps, topic: s, repeats: newRepeats(), often: obs.Limited(deps.Log, time.Second),
		rows: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_total", Help: s.help + " archived.",
		})),
		dropped: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_dropped_total",
			Help: s.help + " dropped: not decodable, or refused by the store.",
		})),
		forged: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_forged_total",
			Help: s.help + " dropped: no node of this installation sealed them.",
		})),
		repeated: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_archive_" + s.name + "_repeated_total",
			Help: s.help + " dropped: read before, or minutes older than others of their partition.",
		})),
	}, nil
}

// Run archives until ctx ends, in blocks of what arrived during Linger. It returns nil, and only
// after ctx ended.
func (c *Copier[R]) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		records, err := c.deps.Records.Poll(ctx, c.cfg.ChunkRows)
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
		if err := c.deps.Records.Done(ctx); err != nil && ctx.Err() == nil {
			c.often.Warn(ctx, "commit of "+c.topic.name+" failed", "error", err)
		}
		if len(records) < c.cfg.ChunkRows {
			_ = schedule.Pause(ctx, c.cfg.Linger)
		}
	}
	return nil
}

func (c *Copier[R]) insert(ctx context.Context, token string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, c.cfg.InsertTimeout)
		defer cancel()
		return struct{}{}, c.deps.Insert(try, token, rows)
	}, backoff.WithMaxElapsedTime(patience))
	if err == nil {
		c.rows.Add(float64(len(rows)))
	}
	return err
}

// block decodes the records of one poll. The token names its ranges.
func (c *Copier[R]) block(records []event.Record) (token string, rows []R) {
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
		value, err := c.deps.Seal.Open(r.Value, time.Now())
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
		if c.topic.at != nil && !c.repeats.fresh(p, c.topic.at(&row), r.Value) {
			c.repeated.Inc()
			continue
		}
		rows = append(rows, row)
	}
	return strings.Join(append(ranges, open.String()), ","), rows
}
