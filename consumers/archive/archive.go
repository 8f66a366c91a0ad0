// Package archive copies the record of the ad network into the analytics store: every settled event
// with its verdict and charge, the outcomes of auctions, and the notices of exchanges about bids.
//
// Contract of [Archiver]: each offset of the events topic becomes exactly one row, that of an early
// event when it is judged ([ledger.EarlyStream], which the store holds). The archiver
// reads the topic in its own consumer group and holds records until settlement has decided them.
// The plan of an insert is stored before its first try, so any process that repeats it, after a
// crash or concurrently, builds the same block under the same token, and the sink stores it once.
// Reading continues at [Plans.Archived], never at the broker's offset. The archiver never decides
// about money and never writes to the ledger.
//
// A block holds the settled records of all partitions here, or of as many partitions as fill it:
// small blocks cost the sink as much as large ones. Its records may therefore belong to partitions
// that have moved to another process. Those records are read from the log directly.
//
// A [Copier] of auctions and notices is best effort: a crash may lose or repeat some of them.
//
// # Not obvious
//
// An insert costs ClickHouse three parts, 39 syncs and 40 ms of a core, for one row as for
// thousands. Partitions therefore share a block, and its plan outlives their owners. A process that
// owns one partition of a pending plan carries out the whole plan and reads missing records from
// the log directly (kafka.Group.Read).
package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"adnet/internal/ledger"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// maxPoll bounds the records of one poll: more than is ever fetched ahead.
const maxPoll = 200_000

// sweepEvery is the interval between comparisons of held records with what others archived.
const sweepEvery = time.Second

// idlePoll is the duration of a poll while nothing waits to be inserted.
const idlePoll = time.Second

// insertsAtOnce is the number of full blocks that are built and inserted concurrently.
const insertsAtOnce = 4

// Archiver archives events. Run may be called once.
type Archiver struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	buffer   buffer
	blocks   sync.Pool // of *[]report.Row: blocks to build in, because a new one is megabytes to clear
	swept    time.Time
	judged   time.Time                   // when judged events were last read
	inserted time.Time                   // when the last inserts began
	pauses   *backoff.ExponentialBackOff // between failing rounds
	resume   time.Time                   // no round before, after a failure
	failing  atomic.Pointer[error]
	often    *obs.LimitedLogger // for failures that repeat
}

// New checks the settings. It opens nothing. Errors: a setting out of range or a missing
// dependency.
func New(cfg Config, deps Deps) (*Archiver, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if deps.Records == nil || deps.Plans == nil || deps.Sink == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("archive: records, plans, sink, log and metrics are required")
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = cfg.Tick, max(cfg.Tick, 5*time.Second)
	return &Archiver{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), pauses: pauses,
		often:  obs.Limited(deps.Log, time.Second),
		buffer: buffer{queues: make(map[stream.Partition]*queue)},
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

// Ready returns nil while archiving works, and otherwise the current failure.
func (a *Archiver) Ready() error {
	if err := a.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Run archives until ctx ends and then returns nil. An insert in progress is finished, bounded by
// InsertTimeout and by the flush context of the component's stage. The records in memory are only a
// copy of the log.
func (a *Archiver) Run(ctx context.Context) error {
	work := lifecycle.FlushContext(ctx)
	next := time.Now()
	for ctx.Err() == nil {
		until := next
		if a.buffer.records == 0 {
			until = later(until, time.Now().Add(idlePoll)) // the first record ends it
		}
		a.read(ctx, until)
		if now := time.Now(); now.Before(next) || now.Before(a.resume) {
			continue
		}
		next = a.round(ctx, work)
	}
	return nil
}

// read polls until records arrive or the next round is due, and at least takes what was fetched
// ahead. With a full buffer it only waits: settlement is behind, and the log keeps the unread
// records.
func (a *Archiver) read(ctx context.Context, until time.Time) {
	until = later(later(until, a.resume), time.Now().Add(time.Millisecond))
	if a.full() {
		a.metrics.full.Inc()
		_ = schedule.Pause(ctx, time.Until(until))
		return
	}
	poll, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	records, err := a.deps.Records.Poll(poll, maxPoll)
	if err != nil {
		if poll.Err() == nil {
			a.trouble(ctx, fmt.Errorf("poll: %w", err))
			_ = schedule.Pause(ctx, a.cfg.Tick)
		}
		return
	}
	a.buffer.add(records)
	a.metrics.held.Set(float64(a.buffer.records))
	// The records are copied, not archived: the broker's offset is a hint for lag monitors. A crash
	// here reads them again, because reading starts at Plans.Archived.
	if err := a.deps.Records.Done(ctx); err != nil && ctx.Err() == nil {
		a.often.Warn(ctx, "commit of the broker's offset failed; it is a hint only", "error", err)
	}
}

// full reports whether reading must wait.
func (a *Archiver) full() bool {
	return a.buffer.records >= a.cfg.BufferRecords || a.buffer.bytes >= a.cfg.BufferBytes
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// round inserts the settled records and returns the time of the next round.
func (a *Archiver) round(ctx, work context.Context) (next time.Time) {
	some := false
	err := a.sweep(work)
	if err == nil {
		err = a.readJudged(work)
	}
	if err == nil {
		some, err = a.pass(work)
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
	now := time.Now()
	next = now.Add(a.cfg.Tick) // settlement may have caught up until then
	if due := a.inserted.Add(a.cfg.Linger); (some || due.After(now)) && due.Before(next) {
		next = due // nothing is inserted before
	}
	if some && a.buffer.records >= a.cfg.ChunkRows {
		next = now
	}
	return next
}

// sweep drops records that other processes archived: a partition that moved to another process
// leaves its records here.
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
		a.buffer.drop(p, next)
	}
	a.swept = time.Now()
	return nil
}

// readJudged buffers the early events that settlement has judged, like records of the log.
func (a *Archiver) readJudged(ctx context.Context) error {
	if time.Since(a.judged) < sweepEvery || a.full() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.InsertTimeout)
	defer cancel()
	judged, err := a.deps.Plans.Judged(ctx, a.cfg.ChunkRows)
	if err != nil {
		return fmt.Errorf("read judged events: %w", err)
	}
	a.judged = time.Now()
	records := make([]event.Record, len(judged))
	for i, j := range judged {
		records[i] = event.Record{
			TopicID: j.Stream, Partition: j.Number, Offset: j.Offset, Value: j.Value, Time: j.Written,
		}
	}
	a.buffer.add(records)
	return nil
}

// pass inserts a plan for each due group of partitions, several concurrently, and reports whether
// there was one.
func (a *Archiver) pass(ctx context.Context) (some bool, err error) {
	began := time.Now()
	groups := a.due(began)
	plans := make([]ledger.Planned, len(groups))
	var working errgroup.Group // without a context: one failure does not stop the others
	working.SetLimit(insertsAtOnce)
	for i, group := range groups {
		working.Go(func() (err error) {
			plans[i], err = a.insertPlan(ctx, group)
			return err
		})
	}
	err = working.Wait()
	for _, plan := range plans {
		for _, c := range plan {
			a.buffer.drop(c.Partition, c.Next)
			some, a.inserted = true, began
		}
	}
	return some, err
}

// due groups the partitions that are due. Each group is one insert. Less than a full block waits
// until Linger after the start of the last insert. More than one is divided evenly: a pass takes as
// long as its largest insert.
func (a *Archiver) due(now time.Time) (groups [][]stream.Range) {
	if a.buffer.records < a.cfg.ChunkRows && now.Sub(a.inserted) < a.cfg.Linger {
		return nil
	}
	rows, blocks := 0, max(1, (a.buffer.records+a.cfg.ChunkRows-1)/a.cfg.ChunkRows)
	even := a.buffer.records / blocks
	for _, p := range a.buffer.partitions() {
		q := a.buffer.queues[p]
		// Every process reads the judged events. In a block of their own they do not couple the
		// partitions of two processes.
		early := p.Stream == ledger.EarlyStream
		last := len(groups) - 1
		if last < 0 || rows+len(q.records) > a.cfg.ChunkRows || rows+len(q.records)/2 > even ||
			early != (groups[last][0].Stream == ledger.EarlyStream) {
			groups, rows, last = append(groups, nil), 0, last+1
		}
		// No more than the buffered records, so that the plan can be inserted at once.
		groups[last] = append(groups[last], stream.Range{Partition: p, First: q.records[0].offset, Next: q.end()})
		rows += len(q.records)
	}
	return groups
}

// insertPlan plans, builds, inserts and marks one block. The plan is empty if settlement has not
// reached the records yet. It differs from the buffered ranges if another process began it before.
func (a *Archiver) insertPlan(ctx context.Context, buffered []stream.Range) (ledger.Planned, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.InsertTimeout)
	defer cancel()
	plan, err := a.deps.Plans.NextPlan(ctx, buffered, a.cfg.ChunkRows)
	if err == nil && len(plan) == 0 && a.full() {
		// A range that settlement applied at once may exceed the buffer.
		for i := range buffered {
			buffered[i].Next = math.MaxInt64
		}
		plan, err = a.deps.Plans.NextPlan(ctx, buffered, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if len(plan) == 0 {
		return nil, nil
	}
	room, _ := a.blocks.Get().(*[]report.Row)
	if room == nil {
		room = new([]report.Row)
	}
	defer a.blocks.Put(room)
	block, missing, err := a.block(ctx, plan, (*room)[:0])
	if err != nil {
		return nil, err
	}
	*room = block
	if err := a.insert(ctx, plan, block); err != nil {
		return nil, err
	}
	if missing > 0 {
		a.metrics.missing.Add(float64(missing))
		a.deps.Log.Error(
			"settled events are no longer in the log; archived with their verdicts alone", "plan",
			plan.Plan().Token(), "missing", missing,
		)
	}
	return plan, nil
}

// block builds the rows of a plan in the memory of an empty block. missing counts the rows whose
// records have left the log.
func (a *Archiver) block(
	ctx context.Context, planned ledger.Planned, block []report.Row,
) (_ []report.Row, missing int, err error) {
	if rows := planned.Plan().Rows(); cap(block) < rows {
		block = make([]report.Row, 0, rows)
	}
	for _, c := range planned {
		records, complete := a.buffer.within(c.Range)
		if !complete {
			if records, err = a.readAgain(ctx, c.Range); err != nil {
				return nil, 0, err
			}
		}
		lost := 0
		block, lost = appendRows(block, c, records)
		missing += lost
	}
	return block, missing, nil
}

// readAgain reads a planned range from the log directly: its partition went to another process, or
// our own reading skipped something.
func (a *Archiver) readAgain(ctx context.Context, r stream.Range) ([]bufferedRecord, error) {
	if r.Stream == ledger.EarlyStream {
		judged, err := a.deps.Plans.JudgedWithin(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r, err)
		}
		list := make([]bufferedRecord, len(judged))
		for i, j := range judged {
			list[i] = bufferedRecord{offset: j.Offset, at: j.Written, value: j.Value}
		}
		return list, nil
	}
	a.deps.Log.Info("a planned chunk is not in memory; reading it from the log", "chunk", r)
	r.Next++ // a row without a record takes the time of the next
	records, err := a.deps.Records.Read(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r, err)
	}
	list := make([]bufferedRecord, len(records))
	for i := range records {
		list[i] = bufferedRecord{offset: records[i].Offset, at: records[i].Time.UTC(), value: records[i].Value}
	}
	return list, nil
}

// insert writes a block and marks its plan.
func (a *Archiver) insert(ctx context.Context, planned ledger.Planned, block []report.Row) error {
	start, plan := time.Now(), planned.Plan()
	if len(block) > 0 {
		if err := a.deps.Sink.Insert(ctx, plan.Token(), block); err != nil {
			return fmt.Errorf("insert %s: %w", plan.Token(), err)
		}
	}
	// The rows are durable from here. After a crash before the mark, the same block is inserted
	// again under the same token, and the sink drops it silently.
	if err := a.deps.Plans.MarkArchived(ctx, plan); err != nil {
		return fmt.Errorf("mark %s: %w", plan.Token(), err)
	}
	a.metrics.insert.Observe(time.Since(start).Seconds())
	a.metrics.chunk.Observe(float64(len(block)))
	a.metrics.rows.Add(float64(len(block)))
	return nil
}

// trouble makes the archiver not ready until its next success.
func (a *Archiver) trouble(ctx context.Context, err error) {
	a.failing.Store(&err)
	a.often.Warn(ctx, "archiving fails, retrying", "error", err)
}
