// Package settle turns the events topic into money. It is the only writer of charges and Credits.
//
// Contract: every record of the topic gets exactly one final outcome, in one store transaction that
// also moves the partition's offset, or, for an event that overtook its own impression or click, in
// a later one ([ledger.Batch.Screen]). The offset in the store is the only truth; the broker's offset is a
// hint. So a crash at any point repeats nothing: before the commit the records are read again from
// the stored offset, after it they are behind the offset. The same offset fences two settlers that
// both consider themselves the owner of a partition ([ledger.ErrFenced]).
//
// An undecodable record becomes a dead letter and never stops its partition. While the store is
// unreachable the same batch is retried for as long as it takes: nothing is skipped.
//
// # Not obvious
//
// The commit of the broker's offset is not awaited: it is a hint, and its failure is reported with
// the next one.
package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"adnet/internal/ledger"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// sweepEvery is the time between two looks for early events while the log is silent.
const sweepEvery = 10 * time.Second

// Settler applies the events topic to the ledger. Run may be called once.
type Settler struct {
	cfg     Config
	records Records
	store   Store
	log     *slog.Logger
	often   *obs.LimitedLogger // for failures that repeat
	metrics *metrics
	now     func() time.Time

	decoder decoder
	sweep   time.Duration // without records, until early events whose time is over are judged

	next    map[stream.Partition]int64 // next offset of each partition, as last applied here
	failing atomic.Pointer[error]      // error of the last try; nil after a success
}

// New checks the settings. It opens nothing. Errors: a setting out of range or a missing
// dependency.
func New(cfg Config, deps Deps) (*Settler, error) {
	if cfg.MaxBatch < 1 || cfg.MintCap < 0 || cfg.ConversionCap < 0 || cfg.NetworkClicks < 0 || cfg.TxTimeout <= 0 || cfg.RetryMax <= 0 {
		return nil, errors.New("settle: batch size and time limits must be positive, the caps not negative")
	}
	if deps.Records == nil || deps.Store == nil || deps.Keys == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("settle: records, store, token keys, log and metrics are required")
	}
	return &Settler{
		cfg: cfg, records: deps.Records, store: deps.Store, log: deps.Log, often: obs.Limited(deps.Log, time.Second),
		metrics: newMetrics(deps.Metrics), now: schedule.Clock(deps.Now), next: make(map[stream.Partition]int64),
		decoder: decoder{keys: deps.Keys, unsigned: cfg.Unsigned}, sweep: sweepEvery,
	}, nil
}

// Ready returns nil while settlement works, and otherwise the current failure. Before the first
// batch it returns nil, as no failure is known.
func (s *Settler) Ready() error {
	if err := s.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Run settles until ctx ends, and only then returns nil. A transaction in progress is finished,
// bounded by TxTimeout and by the flush context of the component's stage. A batch that only waits
// for its next try is abandoned, and the next owner reads it again.
func (s *Settler) Run(ctx context.Context) error {
	work := lifecycle.FlushContext(ctx)
	for ctx.Err() == nil {
		poll, cancel := context.WithTimeout(ctx, s.sweep)
		records, err := s.records.Poll(poll, s.cfg.MaxBatch)
		silent := poll.Err() != nil
		cancel()
		switch {
		case err == nil:
			s.settle(ctx, work, records)
		case ctx.Err() != nil:
		case silent:
			_, _ = s.applyUntilDone(ctx, work, nil)
		default:
			s.trouble(ctx, fmt.Errorf("poll: %w", err))
			_ = schedule.Pause(ctx, time.Second)
		}
	}
	return nil
}

// settle handles one poll completely: it is applied, or handed back to be read again.
func (s *Settler) settle(ctx, work context.Context, records []event.Record) {
	for rest := len(records) > 0; rest; {
		var err error
		rest, err = s.applyUntilDone(ctx, work, records)
		switch {
		case err == nil:
		case errors.Is(err, ledger.ErrFenced):
			// Nothing of the batch was written. Either another settler owns a partition now, or our
			// own commit went through although its reply was lost. The stored offset decides both.
			s.metrics.fenced.Inc()
			s.log.Info(
				"partition is applied by another consumer, or was applied already: reading again from the stored offset",
			)
			s.reset(ctx, work)
			return
		default: // stopping: the batch stays in the log
			return
		}
	}
	// Durable before this line: the ledger. A crash here leaves the broker's offset behind the
	// store's; the store's is used, so nothing is applied again.
	if err := s.records.Done(work); err != nil && ctx.Err() == nil {
		s.metrics.hintFailures.Inc()
		s.often.Warn(ctx, "commit of the broker's offset failed; it is a hint only", "error", err)
	}
}

// applyUntilDone applies a batch, retrying while the store is unreachable. It returns ErrFenced, or
// the error of ctx when the process stops between two tries.
func (s *Settler) applyUntilDone(ctx, work context.Context, records []event.Record) (rest bool, err error) {
	return backoff.Retry(ctx, func() (bool, error) {
		try, cancel := context.WithTimeout(work, s.cfg.TxTimeout)
		defer cancel()
		rest, err := s.apply(try, records)
		switch {
		case errors.Is(err, ledger.ErrFenced):
			return false, backoff.Permanent(err)
		case err != nil:
			s.metrics.retries.Inc()
			s.trouble(ctx, err)
			return false, err
		}
		s.failing.Store(nil)
		return rest, nil
	}, backoff.WithBackOff(s.pauses()), backoff.WithMaxElapsedTime(0))
}

func (s *Settler) pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = min(50*time.Millisecond, s.cfg.RetryMax), s.cfg.RetryMax
	return b
}

// apply settles records in one transaction. Without records it judges the early events whose time
// is over.
func (s *Settler) apply(ctx context.Context, records []event.Record) (rest bool, err error) {
	b, rest, err := s.batch(ctx, records)
	switch {
	case err != nil:
		return rest, err
	case len(records) == 0:
		if b.Idle, err = s.idle(ctx); err != nil {
			return false, err
		}
	case len(b.Runs) == 0:
		return rest, nil
	}
	ranges := make([]stream.Range, len(b.Runs))
	for i := range b.Runs {
		ranges[i] = b.Runs[i].Range
	}
	var effects ledger.Effects
	start := time.Now()
	err = s.store.InTx(ctx, func(tx ledger.Tx) error {
		effects, err = ledger.Settle(ctx, tx, &b, s.recalled)
		return err
	})
	s.metrics.tx.Observe(time.Since(start).Seconds())
	if err != nil {
		return false, fmt.Errorf("settle %v: %w", stream.Plan(ranges), err)
	}
	// Durable from here: offsets, dedupe marks, spend, ledger rows, verdicts and dead letters, all
	// or none. A crash before this line repeats the batch from the log, one after it does not.
	for _, r := range ranges {
		s.next[r.Partition] = r.Next
	}
	if len(effects.Applied) > 0 {
		s.metrics.applied(&b, &effects)
		s.refused(ctx, &effects)
	}
	return rest, nil
}

// recalled decodes the record of an early event.
func (s *Settler) recalled(value []byte, written time.Time) ledger.Record {
	return s.decoder.record(&event.Record{Value: value, Time: written})
}

// idle lists the partitions of which this settler applied the last batch. Another one may be behind
// with the others, so their early events are not due by the clock.
func (s *Settler) idle(ctx context.Context) (idle []stream.Partition, err error) {
	partitions := slices.SortedFunc(maps.Keys(s.next), stream.Partition.Compare)
	if len(partitions) == 0 {
		return nil, nil
	}
	offsets, err := s.store.Offsets(ctx, partitions)
	if err != nil {
		return nil, fmt.Errorf("read offsets: %w", err)
	}
	for _, p := range partitions {
		if offsets[p] == s.next[p] {
			idle = append(idle, p)
		}
	}
	return idle, nil
}

// refused reports events that contradict their auction token: an attack, or a key that is missing
// here.
func (s *Settler) refused(ctx context.Context, effects *ledger.Effects) {
	for i := range effects.Dead {
		dead := &effects.Dead[i]
		if slices.Contains(refusals[:], dead.Problem) {
			s.often.Error(ctx, "an event was refused: it is kept as a dead letter and moved no money", "reason",
				dead.Problem,
				"partition", dead.Number, "offset", dead.Offset)
		}
	}
}

// reset goes back to the stored offsets, however long the store is unreachable.
func (s *Settler) reset(ctx, work context.Context) {
	clear(s.next)
	_, _ = backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(work, s.cfg.TxTimeout)
		defer cancel()
		err := s.records.Reset(try)
		if err != nil {
			s.trouble(ctx, fmt.Errorf("reset: %w", err))
		}
		return struct{}{}, err
	}, backoff.WithBackOff(s.pauses()), backoff.WithMaxElapsedTime(0))
}

// trouble makes the settler not ready until its next success.
func (s *Settler) trouble(ctx context.Context, err error) {
	s.failing.Store(&err)
	s.often.Warn(ctx, "settlement fails, retrying", "error", err)
}
