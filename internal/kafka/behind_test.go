package kafka

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/kafka/kafkatest"
	"adnet/internal/stream"
)

// behind are the gauges of a group's lag.
func behind(g *Group) (records int, seconds float64) {
	return int(testutil.ToFloat64(g.lag.records)), testutil.ToFloat64(g.lag.seconds)
}

// A pipeline that stands still shows a growing lag, also while the store of its offsets is away; one
// that goes on shows none.
func TestLagGrowsWhileNothingIsApplied(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 3)
		p, _ := startProducer(t, cfg)
		began := time.Now()
		write(t, p, numbered(0, 40)...)
		offsets := newLedger()
		g := joinGroup(t, cfg, offsets)
		first := read(t, g, 40)
		now := time.Now()
		require.NoError(t, g.measure(deadline(t), now))
		records, seconds := behind(g)
		require.Equal(t, 40, records, "polled records are not applied")
		require.Positive(t, seconds)
		require.LessOrEqual(t, seconds, now.Sub(began).Seconds()+1)

		write(t, p, numbered(40, 70)...)
		offsets.fail.Store(2) // for its two questions
		require.Error(t, g.measure(deadline(t), now.Add(time.Minute)))
		records, later := behind(g)
		require.Equal(t, 70, records, "what nothing can apply is behind")
		require.InDelta(t, seconds+60, later, 0.001)
		require.Error(t, g.measure(deadline(t), now.Add(time.Hour)))
		_, later = behind(g)
		require.InDelta(t, seconds+3600, later, 0.001)

		require.True(t, offsets.apply(first))
		require.True(t, offsets.apply(read(t, g, 30)))
		require.NoError(t, g.measure(deadline(t), now.Add(2*time.Hour)))
		records, seconds = behind(g)
		require.Zero(t, records)
		require.Zero(t, seconds)
		require.NoError(t, g.Done(deadline(t)))
	})
}

// Without stored offsets the committed ones count.
func TestLagOfCommittedOffsets(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 1)
		p, _ := startProducer(t, cfg)
		write(t, p, numbered(0, 20)...)
		g := joinGroup(t, cfg, nil)
		now := time.Now()
		require.NoError(t, g.measure(deadline(t), now), "before the first poll it has no partition")
		require.NoError(t, g.measure(deadline(t), now.Add(time.Minute)))
		records, seconds := behind(g)
		require.Zero(t, records)
		require.InDelta(t, 60, seconds, 0.001, "it is not in its group")
		read(t, g, 5)
		require.NoError(t, g.measure(deadline(t), time.Now()))
		records, _ = behind(g)
		require.Equal(t, 20, records)
		require.NoError(t, g.Done(deadline(t)))
		require.NoError(t, g.measure(deadline(t), time.Now()))
		records, _ = behind(g)
		require.Equal(t, 15, records)
	})
}

// A partition that waits for its stored offsets belongs to this member already, and its lag is that
// of the committed ones.
func TestLagWithoutAStoreFromTheStart(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 20)...)
	offsets := newLedger()
	first := joinGroup(t, cfg, offsets)
	require.True(t, offsets.apply(read(t, first, 15)))
	require.NoError(t, first.Done(deadline(t)))
	leave(t, first)

	offsets.fail.Store(1 << 30)
	second := joinGroup(t, cfg, offsets)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = second.Poll(ctx, 10)
	}()
	require.Eventually(t, func() bool {
		err := second.measure(deadline(t), time.Now())
		records, _ := behind(second)
		return err != nil && records == 5
	}, testTimeout, 20*time.Millisecond)
	cancel()
	<-ended
	offsets.fail.Store(0)
}

// A member that the broker does not know any more may be the only one that could state the lag. One
// whose partitions all went to others has none.
func TestLagWithoutPartitions(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 20)...)
	g := joinGroup(t, cfg, newLedger())
	read(t, g, 20)
	now, all := time.Now(), map[string][]int32{g.topic: {0}}
	g.lose(t.Context(), g.client, all)
	require.Empty(t, g.Assigned())
	require.NoError(t, g.measure(deadline(t), now))
	records, _ := behind(g)
	require.Equal(t, 20, records)

	g.forget(t.Context(), g.client, all)
	require.NoError(t, g.measure(deadline(t), now.Add(time.Minute)))
	records, seconds := behind(g)
	require.Zero(t, records)
	require.Zero(t, seconds)
}

// A log that does not answer is a lag of unknown size.
func TestLagWithoutTheLog(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, stop := startProducer(t, cfg)
	write(t, p, "a")
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)
	require.True(t, offsets.apply(read(t, g, 1)))
	now := time.Now()
	require.NoError(t, g.measure(deadline(t), now))
	_, seconds := behind(g)
	require.Zero(t, seconds)
	stop()
	cluster.Close()
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, g.measure(short, now.Add(time.Minute)))
	_, seconds = behind(g)
	require.InDelta(t, 60, seconds, 0.001)
}

func TestLagOfAPartition(t *testing.T) {
	at := stream.Partition{Stream: "s", Number: 3}
	hints, now := map[int32]int64{3: 0}, time.Unix(1000, 0)
	l := newLag("adnet-settle")
	advance := func(first, next, applied int64) []Span {
		return l.advance([]Span{{at, first, next}}, hints, map[stream.Partition]int64{at: applied})
	}
	require.Equal(t, []Span{{at, 5, 6}}, advance(5, 9, 0), "retention removed the records before")
	require.EqualValues(t, 4, l.partitions[3].behind)
	require.Equal(t, []Span{{at, 5, 6}}, advance(5, 9, 5), "it has no date yet")
	l.partitions[3] = backlog{next: 5, end: 9, oldest: now}
	require.Empty(t, advance(5, 12, 5))
	require.Equal(t, now, l.partitions[3].oldest, "the same record keeps its date")
	require.Equal(t, []Span{{at, 7, 8}}, advance(5, 12, 7), "another record needs its own")
	require.Empty(t, advance(5, 20, 12), "all of the last measurement is applied")
	require.Zero(t, l.partitions[3].oldest)
	require.EqualValues(t, 8, l.partitions[3].behind)
	require.Equal(t, []Span{{at, 12, 13}}, advance(5, 20, 12), "it was there before")
	require.Empty(t, l.advance([]Span{{at, 5, 20}}, nil, map[stream.Partition]int64{}))
	require.Empty(t, l.partitions, "another member has the partition")

	of := stream.Partition{Stream: "recreated", Number: 3}
	require.Empty(t, l.advance([]Span{{of, 0, 0}}, hints, map[stream.Partition]int64{at: 12}))
	require.Equal(t, map[int32]backlog{3: {}}, maps.Clone(l.partitions))
}

func TestWatchEndsWithItsContext(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	g := joinGroup(t, testLog(t, brokers, 1), newLedger())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Watch(ctx)
	}()
	cancel()
	<-ended
}
