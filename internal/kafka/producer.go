package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/errs"
	"adnet/schemas/event"
)

// ErrBufferFull reports that the buffer of unsent bytes is full.
var ErrBufferFull error = errs.New(
	errs.Unavailable, "the event log is too slow: its buffer is full (ADNET_KAFKA_MAX_BUFFERED_BYTES)",
)

// ErrStopped reports that the producer or the group is closed.
var ErrStopped error = errs.New(errs.Unavailable, "the event log is closed")

// recordOverhead estimates the client's bytes per record besides key and value.
const recordOverhead = 256

// Producer writes records. Its methods are safe for concurrent use.
//
// Run must be running: it recovers topics that were deleted and recreated, and flushes when it
// ends. Records produced before Run are accepted.
type Producer struct {
	cfg     Config
	deps    Deps
	options [channels][]kgo.Opt

	// mu lets a stop wait until no Produce is between its check of stopped and the client.
	mu      sync.RWMutex
	clients [channels]*kgo.Client // created by the first use
	stopped bool

	buffered atomic.Int64   // bytes passed to the client and not yet reported
	pending  sync.WaitGroup // records passed to the client and not yet reported
	remade   chan string    // topics whose id changed under the client
	ready    chan struct{}

	topics  map[string]*topicMetrics
	other   *topicMetrics
	sending sync.Pool // of *sending
}

type topicMetrics struct {
	name                   string // of the topic, including the prefix
	channel                channel
	acked, failed, refused prometheus.Counter
}

// sending is a record held by the client, with the callback for its report. It is reused after the
// report, as the client allows (benchmark row ad_request_100k).
type sending struct {
	record   kgo.Record
	by       *Producer
	size     int64
	metrics  *topicMetrics
	done     func(error)
	reported func(*kgo.Record, error)
}

// channel selects a separate client: best-effort records must not slow down records with a waiting
// caller.
type channel int

const (
	waited     channel = iota // events and notices: every in-sync replica, as soon as possible
	bestEffort                // outcomes of auctions: one replica, in large batches
	channels
)

// NewProducer validates the settings and registers metrics. It opens nothing.
func NewProducer(cfg Config, deps Deps) (*Producer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Producer{cfg: cfg, deps: deps, remade: make(chan string, 1), ready: make(chan struct{})}
	p.sending.New = func() any {
		s := &sending{by: p}
		s.reported = s.report
		return s
	}
	// Idempotence with acks=all is the client's default and defines "written" for events. Records
	// in flight are deliberately not cancellable: after a cancellation the client could not tell
	// whether the broker has them.
	shared, err := cfg.clientOptions(deps.log())
	if err != nil {
		return nil, err
	}
	p.options[waited] = p.with(shared, cfg.Linger, kgo.RequiredAcks(kgo.AllISRAcks()))
	p.options[bestEffort] = p.with(
		shared, cfg.AuctionLinger, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(),
	)
	for _, options := range p.options {
		if err := kgo.ValidateOpts(options...); err != nil {
			return nil, fmt.Errorf("kafka settings: %w", err)
		}
	}
	return p, p.registerMetrics()
}

func (p *Producer) with(shared []kgo.Opt, linger time.Duration, acks ...kgo.Opt) []kgo.Opt {
	return append(append(slices.Clip(shared),
		kgo.ProducerLinger(linger),
		kgo.RecordDeliveryTimeout(p.cfg.RecordDeliveryTimeout),
		kgo.ProduceRequestTimeout(p.cfg.RecordDeliveryTimeout),
		// The byte limit of this type applies before the client's: a full client would block.
		kgo.MaxBufferedRecords(math.MaxInt32),
	), acks...)
}

func (p *Producer) registerMetrics() error {
	records := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_kafka_produced_total",
		Help: "Records by result: acked, failed, refused (buffer full or closed).",
	}, []string{"topic", "result"})
	bytes := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_kafka_buffered_bytes",
		Help: "Bytes that wait for the broker's acknowledgement.",
	}, func() float64 { return float64(p.buffered.Load()) })
	handles := func(topic string) *topicMetrics {
		kind := waited
		if topic == event.TopicAuctions {
			kind = bestEffort
		}
		return &topicMetrics{
			name:    p.cfg.TopicPrefix + topic,
			channel: kind,
			acked:   records.WithLabelValues(topic, "acked"),
			failed:  records.WithLabelValues(topic, "failed"),
			refused: records.WithLabelValues(topic, "refused"),
		}
	}
	p.topics = make(map[string]*topicMetrics, 3)
	for _, topic := range []string{event.TopicEvents, event.TopicNotices, event.TopicAuctions} {
		p.topics[topic] = handles(topic)
	}
	p.other = handles("other")
	return p.deps.register(records, bytes)
}

// Produce passes a record to the log and returns at once. It never waits for the broker and ignores
// request contexts, since a record in flight cannot be taken back. done is called exactly once:
// with nil when every in-sync replica has the record, else with an error that carries
// errs.Unavailable. A failed record may still have been written.
//
// done runs on the client's goroutine and must not block. If the buffer is full ([ErrBufferFull])
// or the producer closed ([ErrStopped]), it runs before Produce returns. key and value belong to
// the producer until done returns.
//
// Outcomes of auctions are best effort: nil means that one replica has the record. They wait for
// [Config.AuctionLinger] to be batched, because the broker's load grows with requests, not records.
func (p *Producer) Produce(topic string, key, value []byte, done func(error)) {
	metrics, known := p.topics[topic]
	if !known {
		metrics = p.other
	}
	size := int64(len(key) + len(value) + recordOverhead)
	// Best-effort records leave half of the buffer to the others.
	limit := p.cfg.MaxBufferedBytes >> metrics.channel
	if p.buffered.Add(size) > limit {
		p.buffered.Add(-size)
		metrics.refused.Inc()
		done(ErrBufferFull)
		return
	}
	s := p.sending.Get().(*sending)
	s.size, s.metrics, s.done = size, metrics, done
	s.record = kgo.Record{Topic: metrics.name, Key: key, Value: value}
	if !known { // such topics share their metrics
		s.record.Topic = p.cfg.TopicPrefix + topic
	}
	if err := p.hand(metrics.channel, &s.record, s.reported); err != nil {
		s.end()
		metrics.refused.Inc()
		done(err)
	}
}

// report implements the client's promise.
func (s *sending) report(_ *kgo.Record, err error) {
	p, metrics, done, topic := s.by, s.metrics, s.done, s.record.Topic
	defer p.pending.Done()
	s.end()
	if err == nil {
		metrics.acked.Inc()
		done(nil)
		return
	}
	metrics.failed.Inc()
	p.noteRemade(topic, err)
	done(p.cfg.unavailable(err))
}

// end returns s to the pool after the last use of its record.
func (s *sending) end() {
	s.by.buffered.Add(-s.size)
	s.record, s.metrics, s.done = kgo.Record{}, nil, nil
	s.by.sending.Put(s)
}

func (p *Producer) hand(to channel, record *kgo.Record, promise func(*kgo.Record, error)) error {
	for {
		p.mu.RLock()
		if p.stopped {
			p.mu.RUnlock()
			return ErrStopped
		}
		if p.clients[to] != nil {
			break
		}
		p.mu.RUnlock()
		if err := p.open(); err != nil {
			return err
		}
	}
	defer p.mu.RUnlock()
	p.pending.Add(1)
	p.clients[to].TryProduce(context.Background(), record, promise)
	return nil
}

func (p *Producer) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients[0] != nil || p.stopped {
		return nil
	}
	var clients [channels]*kgo.Client
	for kind, options := range p.options {
		client, err := kgo.NewClient(options...)
		if err != nil {
			return p.cfg.unavailable(err)
		}
		clients[kind] = client
	}
	p.clients = clients
	return nil
}

// noteRemade makes Run forget a topic that was deleted and recreated: otherwise the client would
// reject it forever.
func (p *Producer) noteRemade(topic string, err error) {
	if !errors.Is(err, kerr.UnknownTopicID) {
		return
	}
	select {
	case p.remade <- topic:
	default:
	}
}

// Flush waits until every record passed so far is reported, at most until ctx ends. The error then
// contains the number of unacknowledged bytes.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.RLock()
	clients := p.clients
	p.mu.RUnlock()
	for _, client := range clients {
		if client == nil {
			continue
		}
		if err := client.Flush(ctx); err != nil {
			return p.cfg.unavailable(fmt.Errorf("%d bytes not acknowledged: %w", p.buffered.Load(), err))
		}
	}
	return nil
}

// Ready returns a channel that is closed once Run is running. It does not wait for the broker, see
// [EnsureTopics].
func (p *Producer) Ready() <-chan struct{} { return p.ready }

// Run works until ctx ends, then flushes for at most [Config.FlushTimeout]. Records that the broker
// has not acknowledged by then fail, each through its own done, so that callers can spool them.
// When Run returns, every done has been called and later records get [ErrStopped]. It is called
// once.
func (p *Producer) Run(ctx context.Context) error {
	if err := p.open(); err != nil {
		return err
	}
	close(p.ready)
	for {
		select {
		case topic := <-p.remade:
			p.deps.log().Warn("topic was deleted and recreated; starting with the new one", "topic", topic)
			for _, client := range p.clients {
				client.PurgeTopicsFromProducing(topic)
			}
		case <-ctx.Done():
			p.stop(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (p *Producer) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.FlushTimeout)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		p.deps.log().Error("records left unacknowledged at the stop, returning them", "error", err)
	}
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	for _, client := range p.clients {
		client.Close()
	}
	p.pending.Wait()
}
