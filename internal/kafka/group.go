package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adnet/internal/process/schedule"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// The timing of polls. The broker answers a fetch with the first record, so a silent topic costs a
// fetch every fetchWait and the first record after a silence arrives at once. Small polls are kept
// gatherFor apart: otherwise each produced record would need its own fetch and its own transaction
// (row freshness of the benchmark).
const (
	// fetchWait is the time for which the broker holds a fetch of a silent topic. An abandoned
	// fetch, after a Reset or a move of partitions, still occupies its connection for that long.
	fetchWait  = time.Second
	gatherFor  = 50 * time.Millisecond
	gatherLast = 5 * time.Millisecond // for fetching records that arrived meanwhile
	enough     = 64 << 10             // bytes; after a poll of this size the next one does not wait
)

// commitTimeout bounds the commit of offsets, which is only a hint where positions are stored.
const commitTimeout = 2 * time.Second

// GroupConfig holds the topic that a [Group] reads and the store of its positions.
type GroupConfig struct {
	Group string // the consumer group's name
	Topic string // a topic of schemas/event
	// Stored returns the next offset to apply of each partition. A missing partition starts at the
	// beginning of its log. It is called on every assignment and Reset, and retried until it
	// succeeds. If nil, the offsets committed to Kafka apply.
	Stored func(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)
}

// Group is one member of a consumer group. Poll, Done and Reset must be called from one goroutine.
// Assigned and Close are safe for concurrent use.
//
// From the first Poll that returned records until Done or Reset, no partition is taken from this
// member, unless it takes so long that the broker gives it up. Code that applies records must
// therefore still fence by the stored offset. Several polls may precede one Done.
type Group struct {
	cfg     Config
	group   GroupConfig
	deps    Deps
	topic   string // with the prefix
	options []kgo.Opt

	mu      sync.Mutex
	client  *kgo.Client // created by the first Poll
	closed  bool
	topicID [16]byte
	next    map[int32]int64 // by assigned partition: the offset of the next record that Poll returns
	stale   bool            // a Reset has not yet succeeded: positions are ahead of the applied records
	// by partition that this member reads or lost, also while its position is not known: the offset
	// committed to Kafka
	hintedAt map[int32]int64
	outcast  bool // lost its partitions and got none since

	hinting bool                                 // an asynchronous commit is under way
	hinted  map[string]map[int32]kgo.EpochOffset // offsets of the next commit

	hints      sync.WaitGroup        // asynchronous commits
	hintFailed atomic.Pointer[error] // error of an asynchronous commit, not reported yet

	// Used only by the polling goroutine.
	held   bool      // records were polled since the last Done or Reset
	gather time.Time // until then the next poll waits for records to gather
	late   error     // came together with returned records

	polled, gaps prometheus.Counter
	problems     prometheus.Counter
	lag          *lag
}

// NewGroup validates the settings and registers metrics. It opens nothing: the first Poll joins the
// group.
func NewGroup(cfg Config, group GroupConfig, deps Deps) (*Group, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Group{
		cfg: cfg, group: group, deps: deps, topic: cfg.TopicPrefix + group.Topic, next: make(map[int32]int64),
		hintedAt: make(map[int32]int64), lag: newLag(group.Group),
	}
	labels := prometheus.Labels{"group": group.Group, "topic": group.Topic}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
	}
	g.polled = counter("adnet_kafka_polled_total", "Records passed to the consumer, including repeats.")
	g.gaps = counter(
		"adnet_kafka_gaps_total",
		"Times that offsets were missing where the reading went on: retention overtook the consumer, or the broker "+
			"lost data.",
	)
	g.problems = counter("adnet_kafka_poll_errors_total", "Errors of the broker during polls; each was retried.")
	shared, err := cfg.clientOptions(deps.log())
	if err != nil {
		return nil, err
	}
	g.options = append(shared,
		kgo.ConsumerGroup(cfg.TopicPrefix+group.Group),
		kgo.ConsumeTopics(g.topic),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		// After data loss the default rewinds one minute. Here repeats are harmless and gaps are
		// not.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AdjustFetchOffsetsFn(g.place),
		kgo.OnPartitionsRevoked(g.forget),
		kgo.OnPartitionsLost(g.lose),
		kgo.FetchMaxWait(fetchWait),
		kgo.FetchMaxBytes(16<<20),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.HeartbeatInterval(min(time.Second, cfg.SessionTimeout/3)),
	)
	if err := kgo.ValidateOpts(g.options...); err != nil {
		return nil, fmt.Errorf("kafka settings: %w", err)
	}
	return g, deps.register(g.polled, g.gaps, g.problems, g.lag.records, g.lag.seconds, g.lag.failures)
}

// Poll returns between 1 and limit records, each partition's in the order of offsets, or waits for
// the first until ctx ends. Failures of the broker are logged, counted and retried. It returns
// ctx's error, [ErrStopped], and rejections that an operator must resolve (permissions).
func (g *Group) Poll(ctx context.Context, limit int) ([]event.Record, error) {
	client, err := g.open()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := g.settleStale(ctx)
		if err == nil {
			var records []event.Record
			if records, err = g.fetched(ctx, client, limit); len(records) > 0 {
				g.held = true
				return records, nil
			}
			if !g.held {
				client.AllowRebalance() // without records it need not wait for a Done
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			try = 0
			continue
		case errors.Is(err, kgo.ErrClientClosed):
			return nil, ErrStopped
		case permanent(err):
			return nil, g.cfg.unavailable(err)
		case errors.Is(err, kerr.UnknownTopicID):
			g.rejoin(client)
		}
		g.problems.Inc()
		g.deps.log().Warn(
			"poll failed, retrying", "topic", g.topic, "group", g.group.Group, "try", try, "error", err,
		)
		if err := schedule.Pause(ctx, backoff(try)); err != nil {
			return nil, err
		}
	}
}

// fetched is one poll. The client fetches ahead: right after a poll it sends the next fetch, which
// returns the next record alone. So after a pause one record is ready, and while it is taken the
// client fetches the records that arrived since. The next poll reports an error that comes together
// with records.
func (g *Group) fetched(ctx context.Context, client *kgo.Client, limit int) (records []event.Record, err error) {
	if err, g.late = g.late, nil; err != nil {
		return nil, err
	}
	if wait := time.Until(g.gather); wait > 0 {
		if err := schedule.Pause(ctx, wait); err != nil {
			return nil, err
		}
	}
	gathered := time.Since(g.gather) < gatherFor
	fetches := client.PollRecords(ctx, limit)
	if records, err = g.take(fetches), firstError(fetches); len(records) == 0 {
		return nil, err
	}
	if g.late = err; gathered {
		records = g.last(ctx, client, records, limit)
	}
	g.gather = time.Time{}
	if len(records) < limit && size(records) < enough {
		g.gather = time.Now().Add(gatherFor)
	}
	return records, nil
}

// last adds the records fetched while records were taken.
func (g *Group) last(ctx context.Context, client *kgo.Client, records []event.Record, limit int) []event.Record {
	ctx, cancel := context.WithTimeout(ctx, gatherLast)
	defer cancel()
	for g.late == nil && len(records) < limit && ctx.Err() == nil {
		fetches := client.PollRecords(ctx, limit-len(records))
		records = append(records, g.take(fetches)...)
		if err := firstError(fetches); ctx.Err() == nil {
			g.late = err
		}
	}
	return records
}

// size returns the number of bytes in records.
func size(records []event.Record) (sum int) {
	for i := range records {
		sum += len(records[i].Key) + len(records[i].Value)
	}
	return sum
}

func (g *Group) open() (*kgo.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrStopped
	}
	if g.client == nil {
		client, err := kgo.NewClient(g.options...)
		if err != nil {
			return nil, g.cfg.unavailable(err)
		}
		g.client = client
	}
	return g.client, nil
}

func (g *Group) settleStale(ctx context.Context) error {
	g.mu.Lock()
	stale := g.stale
	g.mu.Unlock()
	if !stale {
		return nil
	}
	return g.Reset(ctx)
}

// errRemade reports records of a topic other than the one whose positions were read.
var errRemade = fmt.Errorf("topic was deleted and recreated: %w", kerr.UnknownTopicID)

func firstError(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		return e.Err
	}
	return nil
}

// take turns fetches into records and tracks positions. It drops records of a topic id other than
// the one whose positions were read; rejoin will read them again.
func (g *Group) take(fetches kgo.Fetches) []event.Record {
	g.mu.Lock()
	defer g.mu.Unlock()
	records := make([]event.Record, 0, fetches.NumRecords())
	for i := range fetches {
		for j := range fetches[i].Topics {
			topic := &fetches[i].Topics[j]
			if topic.Topic != g.topic {
				continue // the client reports its own errors under an empty name
			}
			if topic.TopicID != ([16]byte{}) && topic.TopicID != g.topicID {
				for p := range topic.Partitions {
					topic.Partitions[p].Records, topic.Partitions[p].Err = nil, errRemade
				}
				continue
			}
			for p := range topic.Partitions {
				records = g.takePartition(records, &topic.Partitions[p])
			}
		}
	}
	g.polled.Add(float64(len(records)))
	return records
}

func (g *Group) takePartition(records []event.Record, p *kgo.FetchPartition) []event.Record {
	id := streamOf(g.topicID)
	for _, r := range p.Records {
		if next, ok := g.next[r.Partition]; ok && r.Offset != next && (next > 0 || r.Offset < next) {
			g.gaps.Inc()
			g.deps.log().Error("the log does not continue at the expected offset: records were lost or removed "+
				"before they were applied",
				"topic", g.topic, "partition", r.Partition, "expected", next, "found", r.Offset)
		}
		g.next[r.Partition] = r.Offset + 1
		records = append(records, event.Record{
			Topic: g.group.Topic, TopicID: id, Partition: r.Partition, Offset: r.Offset,
			Key: r.Key, Value: r.Value, Time: r.Timestamp.UTC(),
		})
	}
	return records
}

// Done marks everything polled so far as applied: it commits the offsets to Kafka and lets
// partitions move again. If positions are stored, the commit is asynchronous and only a hint for
// lag monitors. Its error, which is harmless, is that of an earlier Done's commit.
func (g *Group) Done(ctx context.Context) error {
	client, err := g.open()
	if err != nil {
		return err
	}
	defer g.release(client)
	if g.group.Stored != nil {
		return g.hint(ctx, client)
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return g.cfg.unavailable(fmt.Errorf("commit offsets of %s: %w", g.group.Group, err))
	}
	return nil
}

// hint commits asynchronously and returns the result of the last finished hint. Only one runs at a
// time, and the next one includes later offsets. The client sends commits sequentially and joins no
// rebalance before the last one ends, so a commit per batch would pile up at a slow broker and keep
// partitions from moving.
func (g *Group) hint(ctx context.Context, client *kgo.Client) error {
	offsets := client.UncommittedOffsets()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrStopped
	}
	if g.hinted = offsets; !g.hinting {
		g.hinting = true
		g.hints.Go(func() { g.sendHints(context.WithoutCancel(ctx), client) })
	}
	g.mu.Unlock()
	if failed := g.hintFailed.Swap(nil); failed != nil {
		return g.cfg.unavailable(fmt.Errorf("commit offsets of %s: %w", g.group.Group, *failed))
	}
	return nil
}

// sendHints commits until there are no new offsets.
func (g *Group) sendHints(ctx context.Context, client *kgo.Client) {
	for {
		g.mu.Lock()
		offsets := g.hinted
		g.hinted, g.hinting = nil, len(offsets) > 0
		g.mu.Unlock()
		if len(offsets) == 0 {
			return
		}
		commitCtx, cancel := context.WithTimeout(ctx, commitTimeout)
		client.CommitOffsetsSync(commitCtx, offsets, func(
			_ *kgo.Client, _ *kmsg.OffsetCommitRequest, reply *kmsg.OffsetCommitResponse, err error,
		) {
			if err == nil {
				err = refusedCommit(reply)
			}
			if err != nil {
				g.hintFailed.Store(&err)
			}
		})
		cancel()
	}
}

func refusedCommit(reply *kmsg.OffsetCommitResponse) error {
	for _, topic := range reply.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Group) release(client *kgo.Client) {
	g.held = false
	client.AllowRebalance()
}

// Reset drops the records polled since the last Done and reads every assigned partition again from
// its stored (or committed) offset. If it fails, the next Poll retries before it returns anything.
func (g *Group) Reset(ctx context.Context) error {
	client, err := g.open()
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.stale = true
	g.mu.Unlock()
	// A poll with a finished context returns no records but keeps partitions from moving until
	// AllowRebalance.
	finished, cancel := context.WithCancel(ctx)
	cancel()
	client.PollRecords(finished, 1)
	defer g.release(client)

	positions, err := g.positions(ctx, client)
	if err != nil {
		return g.cfg.unavailable(fmt.Errorf("read stored offsets of %s: %w", g.group.Group, err))
	}
	seek := make(map[int32]kgo.EpochOffset, len(positions))
	for p, at := range positions {
		seek[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
	}
	client.SetOffsets(map[string]map[int32]kgo.EpochOffset{g.topic: seek})
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.Copy(g.next, positions)
	g.stale = false
	return nil
}

// positions returns the next offset to read of each assigned partition.
func (g *Group) positions(ctx context.Context, client *kgo.Client) (map[int32]int64, error) {
	assigned := g.Assigned()
	at := make(map[int32]int64, len(assigned))
	if g.group.Stored == nil {
		committed := client.CommittedOffsets()[g.topic]
		for _, p := range assigned {
			at[p.Number] = max(committed[p.Number].Offset, 0)
		}
		return at, nil
	}
	stored, err := g.group.Stored(ctx, assigned)
	if err != nil {
		return nil, err
	}
	for _, p := range assigned {
		at[p.Number] = stored[p]
	}
	return at, nil
}

// Assigned lists the partitions that this member reads, by number.
func (g *Group) Assigned() []stream.Partition {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := streamOf(g.topicID)
	list := make([]stream.Partition, 0, len(g.next))
	for _, number := range slices.Sorted(maps.Keys(g.next)) {
		list = append(list, stream.Partition{Stream: id, Number: number})
	}
	return list
}

// Close leaves the group, so that others take over at once, and ends a waiting Poll with
// [ErrStopped]. The next owner reads records without a Done again. If ctx ends first, the broker
// notices the departure only after the session timeout.
func (g *Group) Close(ctx context.Context) {
	g.mu.Lock()
	client, closed := g.client, g.closed
	g.closed = true
	g.mu.Unlock()
	if client == nil || closed {
		return
	}
	client.AllowRebalance()
	g.hints.Wait() // at most twice commitTimeout
	if err := client.LeaveGroupContext(ctx); err != nil {
		g.deps.log().Warn("left the consumer group without confirmation", "group", g.group.Group, "error", err)
	}
	client.Close()
}

// place runs when partitions were assigned, before their first fetch, and moves each to its stored
// offset. It retries while the store is unavailable, because nothing may be read without positions.
// ctx ends with the assignment.
func (g *Group) place(
	ctx context.Context, offsets map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	assigned := offsets[g.topic]
	if len(assigned) == 0 {
		return offsets, nil
	}
	g.mu.Lock()
	if g.outcast {
		clear(g.hintedAt)
		g.outcast = false
	}
	for p, committed := range assigned {
		g.hintedAt[p] = max(committed.EpochOffset().Offset, 0)
	}
	g.mu.Unlock()
	for try := 1; ; try++ {
		id, at, err := g.placeOnce(ctx, assigned)
		if err == nil {
			g.adopt(id, assigned, at)
			return offsets, nil
		}
		g.deps.log().Warn(
			"waiting for the stored offsets", "topic", g.topic, "group", g.group.Group, "try", try, "error", err,
		)
		if err := schedule.Pause(ctx, backoff(try)); err != nil {
			return nil, err
		}
	}
}

func (g *Group) placeOnce(
	ctx context.Context, assigned map[int32]kgo.Offset,
) (id [16]byte, at map[int32]int64, err error) {
	client, err := g.open()
	if err != nil {
		return id, nil, err
	}
	topicID, _, err := describe(ctx, kadm.NewClient(client), g.topic)
	if err != nil {
		return id, nil, err
	}
	id = topicID
	at = make(map[int32]int64, len(assigned))
	if g.group.Stored == nil {
		for p, offset := range assigned {
			at[p] = max(offset.EpochOffset().Offset, 0)
		}
		return id, at, nil
	}
	partitions := make([]stream.Partition, 0, len(assigned))
	for _, p := range slices.Sorted(maps.Keys(assigned)) {
		partitions = append(partitions, stream.Partition{Stream: streamOf(id), Number: p})
	}
	stored, err := g.group.Stored(ctx, partitions)
	if err != nil {
		return id, nil, err
	}
	for _, p := range partitions {
		at[p.Number] = stored[p]
	}
	return id, at, nil
}

// adopt sets positions. The start of a log is requested as offset 0, never as "the start": the
// client can be reset only on partitions whose position is a number, and it resumes at the start of
// the log if retention has removed offset 0.
func (g *Group) adopt(id [16]byte, assigned map[int32]kgo.Offset, at map[int32]int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id != g.topicID {
		clear(g.next)
	}
	g.topicID = id
	for p := range assigned {
		assigned[p] = kgo.NewOffset().At(at[p])
		g.next[p] = at[p]
	}
}

// forget runs when partitions were revoked, before another member gets them.
func (g *Group) forget(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hinted = nil // another member reads these partitions now
	for _, p := range gone[g.topic] {
		delete(g.next, p)
		delete(g.hintedAt, p)
	}
}

// lose runs when the broker does not know this member any more, or does not answer. Until the next
// assignment the lag of its partitions is still measured: no other member may have them.
func (g *Group) lose(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
	g.mu.Lock()
	kept := maps.Clone(g.hintedAt)
	g.mu.Unlock()
	g.forget(ctx, client, gone)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hintedAt, g.outcast = kept, true
}

// rejoin makes the client accept a recreated topic. Without it the client rejects the new topic id
// forever.
func (g *Group) rejoin(client *kgo.Client) {
	g.deps.log().Warn("topic was deleted and recreated; starting with the new one", "topic", g.topic)
	g.mu.Lock()
	clear(g.next)
	clear(g.hintedAt)
	g.stale = false
	g.mu.Unlock()
	client.PurgeTopicsFromConsuming(g.topic)
	client.AddConsumeTopics(g.topic)
}
