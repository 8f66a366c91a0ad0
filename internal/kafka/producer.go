package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"adnet/internal/errs"
	"adnet/schemas/event"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrBufferFull says that so many bytes wait for the broker that no more are taken.
var ErrBufferFull error = errs.New(errs.Unavailable, "the event log is too slow: its buffer is full (ADNET_KAFKA_MAX_BUFFERED_BYTES)")

// ErrStopped says that the producer or the group has been closed.
var ErrStopped error = errs.New(errs.Unavailable, "the event log is closed")

// recordOverhead is about what the client spends on a record beside key and value, in bytes.
const recordOverhead = 256

// Producer writes records. Its methods may be called from any goroutine.
//
// Run must be running: it heals topics that were made again, and its end flushes. Records that are produced
// before Run are taken all the same.
type Producer struct {
	cfg     Config
	deps    Deps
	options []kgo.Opt

	// mu lets a stop wait until no Produce is between its check of stopped and the client.
	mu      sync.RWMutex
	client  *kgo.Client // made by the first use
	stopped bool

	buffered atomic.Int64   // bytes handed to the client and not yet reported
	pending  sync.WaitGroup // records handed to the client and not yet reported
	remade   chan string    // topics whose id changed under the client
	ready    chan struct{}

	topics map[string]topicMetrics
	other  topicMetrics
}

type topicMetrics struct{ acked, failed, refused prometheus.Counter }

// NewProducer checks the settings and registers metrics. It opens nothing.
func NewProducer(cfg Config, deps Deps) (*Producer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Producer{cfg: cfg, deps: deps, remade: make(chan string, 1), ready: make(chan struct{})}
	// Idempotence with acks=all is the client's default and is what "written" means here. Records in flight
	// are not cancellable on purpose: the client could no longer tell whether the broker has them.
	p.options = append(cfg.clientOptions(deps.log()),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(cfg.Linger),
		kgo.RecordDeliveryTimeout(cfg.RecordDeliveryTimeout),
		kgo.ProduceRequestTimeout(cfg.RecordDeliveryTimeout),
		// The byte cap of this type counts before the client does; a client that is full would block.
		kgo.MaxBufferedRecords(math.MaxInt32),
	)
	if err := kgo.ValidateOpts(p.options...); err != nil {
		return nil, fmt.Errorf("kafka settings: %w", err)
	}
	return p, p.registerMetrics()
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
	handles := func(topic string) topicMetrics {
		return topicMetrics{
			acked:   records.WithLabelValues(topic, "acked"),
			failed:  records.WithLabelValues(topic, "failed"),
			refused: records.WithLabelValues(topic, "refused"),
		}
	}
	p.topics = make(map[string]topicMetrics, 3)
	for _, topic := range []string{event.TopicEvents, event.TopicNotices, event.TopicAuctions} {
		p.topics[topic] = handles(topic)
	}
	p.other = handles("other")
	return p.deps.register(records, bytes)
}

// Produce hands a record to the log and returns at once; it never waits for the broker and knows no
// request context, since a record in flight cannot be taken back. done is called exactly once: with nil
// when every in-sync replica has the record, else with an error that carries errs.Unavailable. A failed
// record may have been written all the same.
//
// done runs on the client's goroutine and must not block; when the buffer is full ([ErrBufferFull]) or the
// producer closed ([ErrStopped]) it runs before Produce returns. key and value belong to the
// producer until done returns.
func (p *Producer) Produce(topic string, key, value []byte, done func(error)) {
	metrics, known := p.topics[topic]
	if !known {
		metrics = p.other
	}
	size := int64(len(key) + len(value) + recordOverhead)
	if p.buffered.Add(size) > p.cfg.MaxBufferedBytes {
		p.buffered.Add(-size)
		metrics.refused.Inc()
		done(ErrBufferFull)
		return
	}
	record := &kgo.Record{Topic: p.cfg.TopicPrefix + topic, Key: key, Value: value}
	err := p.hand(record, func(_ *kgo.Record, err error) {
		defer p.pending.Done()
		p.buffered.Add(-size)
		if err == nil {
			metrics.acked.Inc()
			done(nil)
			return
		}
		metrics.failed.Inc()
		p.noteRemade(record.Topic, err)
		done(p.cfg.unavailable(err))
	})
	if err != nil {
		p.buffered.Add(-size)
		metrics.refused.Inc()
		done(err)
	}
}

func (p *Producer) hand(record *kgo.Record, promise func(*kgo.Record, error)) error {
	for {
		p.mu.RLock()
		if p.stopped {
			p.mu.RUnlock()
			return ErrStopped
		}
		if p.client != nil {
			break
		}
		p.mu.RUnlock()
		if err := p.open(); err != nil {
			return err
		}
	}
	defer p.mu.RUnlock()
	p.pending.Add(1)
	p.client.TryProduce(context.Background(), record, promise)
	return nil
}

func (p *Producer) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil || p.stopped {
		return nil
	}
	client, err := kgo.NewClient(p.options...)
	if err != nil {
		return p.cfg.unavailable(err)
	}
	p.client = client
	return nil
}

// noteRemade asks Run to forget a topic that was deleted and made again: the client would refuse it
// for ever.
func (p *Producer) noteRemade(topic string, err error) {
	if !errors.Is(err, kerr.UnknownTopicID) {
		return
	}
	select {
	case p.remade <- topic:
	default:
	}
}

// Flush waits until every record handed over so far is reported, at most until ctx ends; the error then
// says how many bytes were not.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.RLock()
	client := p.client
	p.mu.RUnlock()
	if client == nil {
		return nil
	}
	if err := client.Flush(ctx); err != nil {
		return p.cfg.unavailable(fmt.Errorf("%d bytes not acknowledged: %w", p.buffered.Load(), err))
	}
	return nil
}

// Ready is closed when Run works; it does not wait for the broker, see [EnsureTopics].
func (p *Producer) Ready() <-chan struct{} { return p.ready }

// Run works until ctx ends, then flushes for at most [Config.FlushTimeout]. What the broker has not
// acknowledged by then fails, each record through its own done, so that callers can spool it. When Run
// returns every done has been called and later records get [ErrStopped]. It is called once.
func (p *Producer) Run(ctx context.Context) error {
	if err := p.open(); err != nil {
		return err
	}
	close(p.ready)
	for {
		select {
		case topic := <-p.remade:
			p.deps.log().Warn("topic was deleted and made again, starting over with the new one", "topic", topic)
			p.client.PurgeTopicsFromProducing(topic)
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
		p.deps.log().Error("records left unacknowledged at the stop, handing them back", "error", err)
	}
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.client.Close()
	p.pending.Wait()
}
