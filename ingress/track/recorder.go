package track

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/schemas/event"
)

// Producer hands a record to Kafka and returns at once. done is called exactly once: with nil when
// all in-sync replicas have the record, with an error if the producer gave up. Key and value must
// not change until then.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Spool stores a record durably until Kafka accepts it, and returns at once. done is called exactly
// once, with nil if the record is stored.
type Spool interface {
	Append(topic string, key, value []byte, done func(error))
}

type recorder struct {
	wait     time.Duration
	producer Producer
	spool    Spool
	now      func() time.Time
	log      *obs.LimitedLogger
	lost     prometheus.Counter
	lostAt   atomic.Int64 // UnixNano of the last event that was not recorded
	waiters  sync.Pool    // of *waiter
}

// waiter waits for one answer, at most for a limit. It is reused, since a channel, a timer and a
// function for each beacon are a tenth of its work (benchmark row beacon).
type waiter struct {
	answer chan error
	limit  *time.Timer
	done   func(error) // sends to answer
}

func newWaiter() any {
	w := &waiter{answer: make(chan error, 1), limit: time.NewTimer(time.Hour)}
	w.done = func(err error) { w.answer <- err }
	return w
}

// wait reports whether an answer came within d, and returns its error. If none came, w must not be
// reused, because the answer may still arrive.
func (w *waiter) wait(d time.Duration) (in bool, err error) {
	w.limit.Reset(d)
	defer w.limit.Stop()
	select {
	case err = <-w.answer:
		return true, err
	case <-w.limit.C:
		return false, nil
	}
}

const (
	// sickFor is how long no new ads are served after an unrecorded event: an ad whose events
	// cannot be recorded must not be sold.
	sickFor = 3 * time.Second
	// comeBack is the retry delay for an event that was not recorded, in seconds.
	comeBack = 2
)

func newRecorder(cfg Config, deps Deps) *recorder {
	r := &recorder{
		waiters: sync.Pool{New: newWaiter}, wait: cfg.AckWait, producer: deps.Producer, spool: deps.Spool,
		now: deps.Now, log: obs.Limited(deps.Log, time.Second),
		lost: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_track_unrecorded_total",
			Help: "Events that neither Kafka nor the spool accepted. Beacons among them were answered 503; " +
				"clicks were redirected.",
		})),
	}
	return r
}

// record returns nil if the event is durable: acknowledged by Kafka, or synced to the spool if
// Kafka did not answer in time. An event may end up in both; settlement drops the repeat. record
// does not stop when the request ends: the event happened even if the client is gone.
func (r *recorder) record(e *event.Event) error {
	value, err := proto.Marshal(e)
	if err != nil {
		return err
	}
	w := r.waiters.Get().(*waiter)
	r.producer.Produce(event.TopicEvents, e.AuctionId, value, w.done)
	answered, err := w.wait(r.wait)
	if answered {
		r.waiters.Put(w)
	}
	if answered && err == nil {
		return nil
	}
	spooled := make(chan error, 1)
	r.spool.Append(event.TopicEvents, e.AuctionId, value, func(err error) { spooled <- err })
	if err := <-spooled; err != nil {
		r.unrecorded()
		return errs.Wrap(
			err, errs.Unavailable, "the event cannot be recorded now; send it again",
		).With("retry_after", comeBack)
	}
	return nil
}

// recordLater is for redirects, which reply at once. A record that Kafka refuses goes to the spool.
// When the producer has stopped, the spool has all its records.
func (r *recorder) recordLater(ctx context.Context, e *event.Event) error {
	value, err := proto.Marshal(e)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	r.producer.Produce(event.TopicEvents, e.AuctionId, value, func(err error) {
		if err == nil {
			return
		}
		r.spool.Append(event.TopicEvents, e.AuctionId, value, func(err error) {
			if err != nil {
				r.unrecorded()
				r.log.Error(ctx, "a click could not be recorded", "error", err)
			}
		})
	})
	return nil
}

func (r *recorder) unrecorded() {
	r.lost.Inc()
	r.lostAt.Store(r.now().UnixNano())
}

// canRecord reports whether no event was lost recently.
func (r *recorder) canRecord() bool {
	return r.now().Sub(time.Unix(0, r.lostAt.Load())) > sickFor
}
