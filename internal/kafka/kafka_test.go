package kafka

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/kafka/kafkatest"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// testTimeout only bounds a test that hangs.
const testTimeout = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// testLog is a broker with topics that belong to one test alone.
func testLog(t testing.TB, brokers []string, partitions int32) Config {
	t.Helper()
	cfg := Config{
		Brokers: brokers, Partitions: partitions, SessionTimeout: 6 * time.Second,
		TopicPrefix: "test-" + uuid.NewString() + "-",
	}
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_, _ = admin(t, cfg).DeleteTopics(
			ctx, cfg.TopicPrefix+event.TopicEvents, cfg.TopicPrefix+event.TopicNotices,
			cfg.TopicPrefix+event.TopicAuctions,
		)
	})
	return cfg
}

func admin(t testing.TB, cfg Config) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// deleteTopic removes the events topic and returns when no broker names it any more.
func deleteTopic(t testing.TB, cfg Config) {
	t.Helper()
	topic := cfg.TopicPrefix + event.TopicEvents
	client := admin(t, cfg)
	_, err := client.DeleteTopic(deadline(t), topic)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		topics, err := client.ListTopics(t.Context())
		return err == nil && !topics.Has(topic)
	}, testTimeout, 20*time.Millisecond)
}

// startProducer runs a producer until the returned stop, or the end of the test.
func startProducer(t testing.TB, cfg Config) (p *Producer, stop func()) {
	t.Helper()
	p, err := NewProducer(cfg, Deps{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	<-p.Ready()
	stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-ended) })
	t.Cleanup(stop)
	return p, stop
}

// write produces values and waits until each is acknowledged.
func write(t testing.TB, p *Producer, values ...string) {
	t.Helper()
	replies := make(chan error, len(values))
	for _, v := range values {
		p.Produce(event.TopicEvents, []byte(v), []byte(v), func(err error) { replies <- err })
	}
	for range values {
		select {
		case err := <-replies:
			require.NoError(t, err)
		case <-deadline(t).Done():
			require.Fail(t, "records were not acknowledged")
		}
	}
}

func numbered(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("value-%05d", i))
	}
	return list
}

// ledgerOffsets plays the offset table of the ledger.
type ledgerOffsets struct {
	mu    sync.Mutex
	next  map[stream.Partition]int64
	fail  atomic.Int32 // how many more reads fail
	reads atomic.Int32
}

func newLedger() *ledgerOffsets { return &ledgerOffsets{next: make(map[stream.Partition]int64)} }

func (l *ledgerOffsets) stored(_ context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	l.reads.Add(1)
	if l.fail.Add(-1) >= 0 {
		return nil, fmt.Errorf("the store is away")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[stream.Partition]int64)
	for _, p := range partitions {
		if at, ok := l.next[p]; ok {
			found[p] = at
		}
	}
	return found, nil
}

// apply moves the offsets like the fence of a settle transaction: all of them, or none when a
// record is not the next of its partition.
func (l *ledgerOffsets) apply(records []event.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	moved := make(map[stream.Partition]int64)
	for _, r := range records {
		p := stream.Partition{Stream: r.TopicID, Number: r.Partition}
		at, ok := moved[p]
		if !ok {
			at = l.next[p]
		}
		if at != r.Offset {
			return false
		}
		moved[p] = at + 1
	}
	for p, at := range moved {
		l.next[p] = at
	}
	return true
}

func joinGroup(t testing.TB, cfg Config, offsets *ledgerOffsets) *Group {
	t.Helper()
	group := GroupConfig{Group: "settle", Topic: event.TopicEvents}
	if offsets != nil {
		group.Stored = offsets.stored
	}
	g, err := NewGroup(cfg, group, Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { leave(t, g) })
	return g
}

func leave(t testing.TB, g *Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
	defer cancel()
	g.Close(ctx)
}

// read polls n records without Done.
func read(t testing.TB, g *Group, n int) []event.Record {
	t.Helper()
	ctx := deadline(t)
	var all []event.Record
	for len(all) < n {
		records, err := g.Poll(ctx, n-len(all))
		require.NoError(t, err)
		all = append(all, records...)
	}
	return all
}

func values(records []event.Record) []string {
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = string(r.Value)
	}
	return list
}

func TestEnsureTopicsIsIdempotentAndSetsRetention(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 3)
	cfg.Retention, cfg.RetentionBytes = time.Hour, 1<<20
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))

	info := cluster.TopicInfo(cfg.TopicPrefix + event.TopicEvents)
	require.NotNil(t, info)
	require.Equal(t, "3600000", *info.Configs["retention.ms"])
	require.Equal(t, "1048576", *info.Configs["retention.bytes"])
	require.Equal(t, "86400000", *cluster.TopicInfo(cfg.TopicPrefix + event.TopicAuctions).Configs["retention.ms"])
}

func TestEnsureTopicsNamesTheSettingOfAnAbsentBroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := EnsureTopics(ctx, Config{Brokers: []string{"127.0.0.1:1"}}, Deps{})
	require.ErrorContains(t, err, "ADNET_KAFKA_BROKERS")
}

func TestInvalidSettingIsNamed(t *testing.T) {
	_, err := NewProducer(Config{}, Deps{})
	require.ErrorContains(t, err, "ADNET_KAFKA_BROKERS")
	_, err = NewProducer(Config{Brokers: []string{"x:1"}, MinInsync: 2}, Deps{})
	require.ErrorContains(t, err, "ADNET_KAFKA_MIN_INSYNC")
	_, err = NewGroup(
		Config{Brokers: []string{"x:1"}, SessionTimeout: time.Millisecond}, GroupConfig{Group: "g", Topic: "t"}, Deps{},
	)
	require.ErrorContains(t, err, "ADNET_KAFKA_SESSION_TIMEOUT")
}
