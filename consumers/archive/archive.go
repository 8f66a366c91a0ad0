// Package archive copies what happened into the analytics store: every settled event with its verdict
// and charge, the outcomes of auctions, and what exchanges say about bids.
//
// Contract of [Archiver]: each offset of the events topic becomes exactly one row. It reads the topic in a
// group of its own and holds records until settlement has decided them; the plan of a chunk is stored
// before its first insert, so whoever tries it again, after a crash or beside us, builds the same block
// under the same token, and the sink takes it once. Where it goes on is [Plans.Archived], never the
// broker's offset. It never decides about money and never writes to the ledger.
//
// [Auctions] and [Notices] are best effort: a crash may lose or repeat some of them.
package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"adnet/internal/ledger"
	"adnet/internal/lifecycle"
	"adnet/internal/obs"
	"adnet/internal/report"

	"github.com/cenkalti/backoff/v5"
)

// maxPoll bounds the records of one poll.
const maxPoll = 10_000

// sweepEvery is how often held records are compared with what others archived.
const sweepEvery = time.Second

// worthInserting is how many rows of a partition do not wait for Linger: with a backlog the waiting is what the time goes
// to (benchmark row archive), and inserts of this size are few enough at any rate.
const worthInserting = 5_000

// Archiver archives events. Run may be called once.
type Archiver struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	buffer  buffer
	swept   time.Time
	pauses  *backoff.ExponentialBackOff // between failing rounds
	resume  time.Time                   // no round before, after a failure
	failing atomic.Pointer[error]
	often   *obs.LimitedLogger // for failures that repeat
}

// New checks the settings. It opens nothing. Errors: a setting out of range, a missing dependency, a
// metric registered twice.
func New(cfg Config, deps Deps) (*Archiver, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if deps.Log == nil || deps.Plans == nil || deps.Sink == nil || deps.Logger == nil || deps.Registerer == nil {
		return nil, errors.New("archive: log, plans, sink, logger and registerer are required")
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = cfg.Tick, max(cfg.Tick, 5*time.Second)
	return &Archiver{
		cfg: cfg, deps: deps, metrics: m, pauses: pauses, often: obs.Limited(deps.Logger, time.Second),
		buffer: buffer{queues: make(map[ledger.Partition]*queue)},
	}, nil
}

func (c Config) validate() error {
	for _, bad := range []bool{
		c.ChunkRows < 1, c.Linger < 0, c.Tick <= 0, c.BufferRecords < 1, c.BufferBytes < 1, c.InsertTimeout <= 0,
	} {
		if bad {
			return errors.New("archive: sizes and times must be positive")
		}
	}
	return nil
}

// Ready is nil while archiving works, and says what fails while it does not.
func (a *Archiver) Ready() error {
	if err := a.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Run archives until ctx ends. An insert that runs then is finished, bounded by InsertTimeout and by the
// flush context of the component's stage. Run returns nil after ctx ended; it has no other end. What is
// held in memory is only a copy of the log.
func (a *Archiver) Run(ctx context.Context) error {
	work := lifecycle.FlushContext(ctx)
	next := time.Now()
	for ctx.Err() == nil {
		a.read(ctx, next)
		if now := time.Now(); !now.Before(next) && !now.Before(a.resume) {
			a.round(ctx, work)
			next = time.Now().Add(a.cfg.Tick) // counted from the end, so that slow rounds leave time to read
		}
	}
	return nil
}

// read polls until something came or the next round is due. With a full buffer it only waits: settlement
// is behind, and the log keeps what is not read.
func (a *Archiver) read(ctx context.Context, until time.Time) {
	until = later(until, a.resume)
	if (a.buffer.records >= a.cfg.BufferRecords || a.buffer.bytes >= a.cfg.BufferBytes) && !a.buffer.starving() {
		a.metrics.full.Inc()
		pause(ctx, time.Until(until))
		return
	}
	poll, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	records, err := a.deps.Log.Poll(poll, maxPoll)
	if err != nil {
		if poll.Err() == nil {
			a.trouble(ctx, fmt.Errorf("poll: %w", err))
			pause(ctx, a.cfg.Tick)
		}
		return
	}
	a.buffer.add(records)
	a.metrics.held.Set(float64(a.buffer.records))
	// The records are copied, not archived: the broker's offset is a hint for lag monitors. A crash here
	// reads them again, because reading starts at Plans.Archived.
	if err := a.deps.Log.Done(ctx); err != nil && ctx.Err() == nil {
		a.often.Warn(ctx, "commit of the broker's offset failed; it is a hint only", "error", err)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// round archives what is settled, of every partition whose turn it is.
func (a *Archiver) round(ctx, work context.Context) {
	err := a.sweep(work)
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = a.pass(work)
	}
	a.metrics.held.Set(float64(a.buffer.records))
	switch {
	case err == nil:
		a.failing.Store(nil)
		a.pauses.Reset()
	case ctx.Err() == nil:
		a.metrics.retries.Inc()
		a.trouble(ctx, err)
		a.resume = time.Now().Add(a.pauses.NextBackOff())
	}
}

// sweep drops what others archived: a partition that went to another process leaves its records here.
func (a *Archiver) sweep(ctx context.Context) error {
	if time.Since(a.swept) < sweepEvery {
		return nil
	}
	partitions := slices.Collect(maps.Keys(a.buffer.queues))
	if len(partitions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.InsertTimeout)
	defer cancel()
	archived, err := a.deps.Plans.Archived(ctx, partitions)
	if err != nil {
		return fmt.Errorf("read archived offsets: %w", err)
	}
	for p, next := range archived {
		q := a.buffer.queues[p]
		a.buffer.drop(q, next)
		if q.wanted <= next {
			q.wanted = 0
		}
	}
	for p, q := range a.buffer.queues {
		if len(q.records) == 0 && q.wanted == 0 && time.Since(q.inserted) > a.cfg.Linger {
			delete(a.buffer.queues, p)
		}
	}
	a.swept = time.Now()
	return nil
}

// insertsAtOnce is how many partitions are inserted at a time. An insert is mostly waiting for the store's disk (row
// freshness of the benchmark).
const insertsAtOnce = 4

// due is a chunk whose rows are ready to be inserted.
type due struct {
	queue   *queue
	chunk   ledger.Chunk
	block   []report.Row
	missing int  // rows of which the log has nothing any more
	full    bool // another full chunk may wait
	err     error
}

// pass inserts the next chunk of up to [insertsAtOnce] partitions at a time, of every partition whose turn it is. A
// partition's chunks go one after the other. more says that another full chunk may wait.
func (a *Archiver) pass(ctx context.Context) (more bool, err error) {
	for some := range slices.Chunk(a.buffer.partitions(), insertsAtOnce) {
		again, err := a.together(ctx, some)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// together inserts the next chunks of some partitions, all at once.
func (a *Archiver) together(ctx context.Context, some []ledger.Partition) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.InsertTimeout)
	defer cancel()
	var ready []*due
	for _, p := range some {
		d, planned := a.next(ctx, p)
		if d != nil {
			ready = append(ready, d)
		}
		if err = planned; err != nil {
			break // what is ready is inserted all the same
		}
	}
	var inserting sync.WaitGroup
	for _, d := range ready {
		inserting.Go(func() { d.err = a.insert(ctx, d.chunk, d.block) })
	}
	inserting.Wait()
	for _, d := range ready {
		if d.err == nil {
			a.archived(d)
			more = more || d.full
		}
		err = errors.Join(err, d.err)
	}
	return more, err
}

// next is the next chunk of a partition, if it is its turn and its records are here; else nil.
func (a *Archiver) next(ctx context.Context, p ledger.Partition) (*due, error) {
	q := a.buffer.queues[p]
	full := len(q.records) >= a.cfg.ChunkRows
	enough := full || len(q.records) >= worthInserting
	if len(q.records) == 0 || !enough && time.Since(q.inserted) < a.cfg.Linger {
		return nil, nil
	}
	// No more than what is held, so that the plan can be carried out at once.
	chunk, ok, err := a.deps.Plans.NextChunk(ctx, p, min(a.cfg.ChunkRows, len(q.records)))
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if !ok {
		return nil, nil // settlement has not been here yet
	}
	a.buffer.drop(q, chunk.First)
	if q.end < chunk.Next || len(q.records) == 0 {
		q.wanted = chunk.Next // a plan from before a restart may need more than was read so far
		return nil, nil
	}
	block, missing := rows(chunk, q)
	if missing > 0 && !q.again {
		return nil, a.readAgain(ctx, q, chunk, missing)
	}
	return &due{queue: q, chunk: chunk, block: block, missing: missing, full: full}, nil
}

// archived lets go of the records of a chunk that is inserted and marked.
func (a *Archiver) archived(d *due) {
	if d.missing > 0 {
		a.metrics.missing.Add(float64(d.missing))
		a.deps.Logger.Error("settled events are not in the log any more; archived with their verdicts alone", "chunk", d.chunk.Token(), "missing", d.missing)
	}
	d.queue.wanted, d.queue.again, d.queue.inserted = 0, false, time.Now()
	a.buffer.drop(d.queue, d.chunk.Next)
}

// insert writes a block and marks its chunk.
func (a *Archiver) insert(ctx context.Context, chunk ledger.Chunk, block []report.Row) error {
	start := time.Now()
	if err := a.deps.Sink.Insert(ctx, chunk.Token(), block); err != nil {
		return fmt.Errorf("insert %s: %w", chunk.Token(), err)
	}
	// Durable here: the rows. A crash before the mark makes someone insert the same block under the same
	// token again, which the sink refuses silently.
	if err := a.deps.Plans.MarkArchived(ctx, chunk); err != nil {
		return fmt.Errorf("mark %s: %w", chunk.Token(), err)
	}
	a.metrics.insert.Observe(time.Since(start).Seconds())
	a.metrics.chunk.Observe(float64(len(block)))
	a.metrics.rows.Add(float64(len(block)))
	a.metrics.age.Set(max(0, time.Since(block[len(block)-1].ReceivedAt).Seconds()))
	return nil
}

// readAgain goes back to the archived offset, once per chunk: records that settlement had must be in the
// log, so it was probably our own reading that skipped them.
func (a *Archiver) readAgain(ctx context.Context, q *queue, chunk ledger.Chunk, missing int) error {
	a.deps.Logger.Warn("settled events were not read; reading again from the archived offset", "chunk", chunk.Token(), "missing", missing)
	for _, other := range a.buffer.queues {
		a.buffer.drop(other, other.end)
	}
	if err := a.deps.Log.Reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	q.again, q.wanted, q.end = true, chunk.Next, 0
	return nil
}

// trouble makes the archiver not ready until its next success.
func (a *Archiver) trouble(ctx context.Context, err error) {
	a.failing.Store(&err)
	a.often.Warn(ctx, "archiving is failing, trying again", "error", err)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
