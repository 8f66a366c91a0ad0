package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/internal/errs"
	"adnet/internal/kafka/kafkatest"
	"adnet/schemas/event"
)

func TestAcknowledgedMeansReadable(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 4)
	p, _ := startProducer(t, cfg)
	want := numbered(0, 500)
	write(t, p, want...)

	records := read(t, joinGroup(t, cfg, newLedger()), len(want))
	require.ElementsMatch(t, want, values(records))
	for _, r := range records {
		require.Equal(t, event.TopicEvents, r.Topic)
		require.Len(t, r.TopicID, 32)
		require.Equal(t, r.Key, r.Value)
		require.WithinDuration(t, time.Now(), r.Time, time.Hour)
	}
}

func TestOneKeyKeepsItsOrder(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 4)
	p, _ := startProducer(t, cfg)
	want := numbered(0, 300)
	replies := make(chan error, len(want))
	for _, v := range want {
		p.Produce(event.TopicEvents, []byte("one auction"), []byte(v), func(err error) { replies <- err })
	}
	for range want {
		require.NoError(t, <-replies)
	}
	require.Equal(t, want, values(read(t, joinGroup(t, cfg, newLedger()), len(want))))
}

func TestRefusedRecordFailsOnce(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, stop := startProducer(t, cfg)
	fault := kafkatest.RefuseProduce(cluster, cfg.TopicPrefix+event.TopicEvents, kafkatest.Always)

	var calls atomic.Int32
	failure := make(chan error, 1)
	p.Produce(event.TopicEvents, []byte("k"), []byte("v"), func(err error) {
		calls.Add(1)
		failure <- err
	})
	require.True(t, errs.Is(<-failure, errs.Unavailable))

	fault.Remove()
	write(t, p, "after")
	stop()
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, []string{"after"}, values(read(t, joinGroup(t, cfg, newLedger()), 1)))
}

func TestRetriedRecordsAreWrittenOnce(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	topic := cfg.TopicPrefix + event.TopicEvents
	kafkatest.StallProduce(cluster, topic, 2)
	write(t, p, "a")
	lost := kafkatest.LoseAcks(cluster, topic, 2)
	write(t, p, "b")
	require.Equal(t, 2, lost.Hits())
	write(t, p, "c")
	require.Equal(t, []string{"a", "b", "c"}, values(read(t, joinGroup(t, cfg, newLedger()), 3)))
}

func TestByteCapRefusesAtOnceAndOpensAgain(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	cfg.MaxBufferedBytes = 3 * (recordOverhead + 2)
	p, _ := startProducer(t, cfg)
	fault := kafkatest.StallProduce(cluster, cfg.TopicPrefix+event.TopicEvents, kafkatest.Always)

	acked := make(chan error, 3)
	for range 3 {
		p.Produce(event.TopicEvents, []byte("k"), []byte("v"), func(err error) { acked <- err })
	}
	var refusal error
	p.Produce(event.TopicEvents, []byte("k"), []byte("v"), func(err error) { refusal = err })
	require.ErrorIs(t, refusal, ErrBufferFull)
	require.ErrorContains(t, refusal, "ADNET_KAFKA_MAX_BUFFERED_BYTES")

	fault.Remove()
	for range 3 {
		require.NoError(t, <-acked)
	}
	write(t, p, "again")
}

func TestStopFailsUnacknowledgedRecords(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	cfg.FlushTimeout = 100 * time.Millisecond
	p, stop := startProducer(t, cfg)
	write(t, p, "first")
	kafkatest.StallProduce(cluster, cfg.TopicPrefix+event.TopicEvents, kafkatest.Always)

	var failed, acked atomic.Int32
	for range 100 {
		p.Produce(event.TopicEvents, []byte("k"), []byte("v"), func(err error) {
			if err == nil {
				acked.Add(1)
				return
			}
			failed.Add(1)
		})
	}
	stop()
	require.EqualValues(t, 100, failed.Load(), "Run returned before every record was handed back")
	require.Zero(t, acked.Load())
	require.Zero(t, p.buffered.Load())

	var late error
	p.Produce(event.TopicEvents, nil, nil, func(err error) { late = err })
	require.ErrorIs(t, late, ErrStopped)
}

func TestStopFailsRecordsWithoutBroker(t *testing.T) {
	p, stop := startProducer(t, Config{Brokers: []string{"127.0.0.1:1"}, FlushTimeout: 50 * time.Millisecond})
	failure := make(chan error, 1)
	p.Produce(event.TopicEvents, nil, []byte("v"), func(err error) { failure <- err })
	stop()
	require.ErrorContains(t, <-failure, "ADNET_KAFKA_BROKERS")
}

func TestFlushReportsUnacknowledgedBytes(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	require.NoError(t, p.Flush(t.Context()))
	fault := kafkatest.StallProduce(cluster, cfg.TopicPrefix+event.TopicEvents, kafkatest.Always)
	acked := make(chan error, 1)
	p.Produce(event.TopicEvents, nil, []byte("v"), func(err error) { acked <- err })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.True(t, errs.Is(p.Flush(ctx), errs.Unavailable))
	fault.Remove()
	require.NoError(t, p.Flush(deadline(t)))
	require.NoError(t, <-acked)
}

func TestProducerFollowsRecreatedTopic(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 1)
		p, _ := startProducer(t, cfg)
		write(t, p, "old")
		deleteTopic(t, cfg)
		require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))

		// A caller that spools failed records and offers them again gets them written.
		ctx := deadline(t)
		for acked := false; !acked; {
			reply := make(chan error, 1)
			p.Produce(event.TopicEvents, nil, []byte("new"), func(err error) { reply <- err })
			acked = <-reply == nil
			require.NoError(t, ctx.Err())
		}
		records := read(t, joinGroup(t, cfg, newLedger()), 1)
		require.Equal(t, []string{"new"}, values(records))
	})
}

func TestProducerMetrics(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	registry := prometheus.NewRegistry()
	p, err := NewProducer(cfg, Deps{Metrics: registry})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	write(t, p, "a", "b")
	kafkatest.RefuseProduce(cluster, cfg.TopicPrefix+event.TopicEvents, 1)
	failure := make(chan error, 1)
	p.Produce(event.TopicEvents, nil, []byte("v"), func(err error) { failure <- err })
	require.Error(t, <-failure)
	cancel()
	require.NoError(t, <-ended)
	require.EqualValues(t, 2, testutil.ToFloat64(p.topics[event.TopicEvents].acked))
	require.EqualValues(t, 1, testutil.ToFloat64(p.topics[event.TopicEvents].failed))
	_, err = NewProducer(cfg, Deps{Metrics: registry})
	require.Error(t, err, "a second producer in one registry would hide the first one's figures")
}

func TestProducerLeavesNoGoroutine(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	before := goleak.IgnoreCurrent()
	p, stop := startProducer(t, cfg)
	write(t, p, "a")
	stop()
	goleak.VerifyNone(t, before)
}

// Outcomes of auctions wait to be batched, events beside them do not, and a flush does not wait for
// the batching.
func TestBestEffortDoesNotDelayWaitedRecords(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	cfg.AuctionLinger = time.Minute
	p, _ := startProducer(t, cfg)
	outcome := make(chan error, 1)
	p.Produce(event.TopicAuctions, []byte("k"), []byte("v"), func(err error) { outcome <- err })
	write(t, p, "event")
	select {
	case err := <-outcome:
		t.Fatalf("the outcome did not wait for company: %v", err)
	default:
	}
	require.NoError(t, p.Flush(t.Context()))
	require.NoError(t, <-outcome)
}

// A flood of outcomes leaves half of the buffer to events.
func TestBestEffortLeavesRoom(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	cfg.AuctionLinger, cfg.MaxBufferedBytes = time.Minute, 4*(recordOverhead+2)
	p, _ := startProducer(t, cfg)
	refused := 0
	for range 10 {
		p.Produce(event.TopicAuctions, []byte("k"), []byte("v"), func(err error) {
			if errors.Is(err, ErrBufferFull) {
				refused++
			}
		})
	}
	require.Equal(t, 8, refused)
	write(t, p, "e")
	require.NoError(t, p.Flush(t.Context()))
}
