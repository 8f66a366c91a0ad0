package kafka

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"adnet/internal/kafka/kafkatest"
	"adnet/internal/stream"
	"adnet/internal/testenv"
	"adnet/schemas/event"
)

// onEveryBroker runs a case on the in-process broker and on real Kafka.
func onEveryBroker(t *testing.T, run func(t *testing.T, brokers []string)) {
	t.Run("embedded", func(t *testing.T) {
		brokers, _ := kafkatest.New(t)
		run(t, brokers)
	})
	t.Run("kafka", func(t *testing.T) { run(t, testenv.Kafka(t)) })
}

func TestCrashBetweenStoreAndCommitRepeatsNothing(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 2)
		p, _ := startProducer(t, cfg)
		write(t, p, numbered(0, 100)...)

		offsets := newLedger()
		first := joinGroup(t, cfg, offsets)
		applied := read(t, first, 40)
		require.True(t, offsets.apply(applied))
		leave(t, first) // no Done: Kafka knows of no offset

		second := joinGroup(t, cfg, offsets)
		rest := read(t, second, 60)
		require.True(t, offsets.apply(rest), "reading did not go on at the stored offsets")
		require.ElementsMatch(t, numbered(0, 100), append(values(applied), values(rest)...))
		require.NoError(t, second.Done(t.Context()))
	})
}

func TestCrashBeforeStoreRepeats(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 2)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 50)...)
	offsets := newLedger()

	first := joinGroup(t, cfg, offsets)
	read(t, first, 50)
	// The commit is only a hint: records that the ledger does not know are read again although
	// Kafka knows them.
	require.NoError(t, first.Done(t.Context()))
	leave(t, first)

	require.ElementsMatch(t, numbered(0, 50), values(read(t, joinGroup(t, cfg, offsets), 50)))
}

func TestCommitFailureIsReportedAndHarmless(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 10)...)
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)
	kafkatest.RefuseCommits(cluster, cfg.TopicPrefix+"settle", 1)
	require.True(t, offsets.apply(read(t, g, 5)))
	require.NoError(t, g.Done(t.Context())) // a hint is asynchronous
	g.hints.Wait()
	require.True(t, offsets.apply(read(t, g, 5)))
	require.Error(t, g.Done(t.Context()))
	g.hints.Wait()
	require.NoError(t, g.Done(t.Context()))
}

// At a broker that is slow to answer, hints do not pile up: while one is under way the others
// become one.
func TestHintsDoNotPileUp(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 40)...)
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)
	seen, release := kafkatest.HoldCommits(cluster, cfg.TopicPrefix+"settle")
	defer release()
	began := time.Now()
	for range 40 {
		require.True(t, offsets.apply(read(t, g, 1)))
		_ = g.Done(t.Context()) // may report a hint that was not answered in time
	}
	release()
	g.hints.Wait()
	require.LessOrEqual(t, seen(), int64(2+time.Since(began)/commitTimeout))
}

func TestResetReadsFromTheStoredOffset(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 2)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 60)...)
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)

	require.True(t, offsets.apply(read(t, g, 20)))
	dropped := read(t, g, 30)
	require.NoError(t, g.Reset(t.Context()))
	again := read(t, g, 40)
	require.True(t, offsets.apply(again))
	require.Subset(t, values(again), values(dropped))

	// With nothing applied, all records come again, from the start of the log.
	offsets.mu.Lock()
	clear(offsets.next)
	offsets.mu.Unlock()
	require.NoError(t, g.Reset(t.Context()))
	require.ElementsMatch(t, numbered(0, 60), values(read(t, g, 60)))
}

func TestNextPollRetriesFailedReset(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 10)...)
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)
	read(t, g, 10)
	offsets.fail.Store(2)
	require.Error(t, g.Reset(t.Context()))
	require.Equal(t, numbered(0, 10), values(read(t, g, 10)))
}

func TestAssignmentWaitsForTheStore(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, "a")
	offsets := newLedger()
	offsets.fail.Store(2)
	require.Equal(t, []string{"a"}, values(read(t, joinGroup(t, cfg, offsets), 1)))
	require.EqualValues(t, 3, offsets.reads.Load())
}

func TestWithoutStoredTheCommitsCount(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 30)...)

	first := joinGroup(t, cfg, nil)
	require.Equal(t, numbered(0, 10), values(read(t, first, 10)))
	require.NoError(t, first.Done(t.Context()))
	read(t, first, 10)
	require.NoError(t, first.Reset(t.Context()))
	require.Equal(t, numbered(10, 20), values(read(t, first, 10)))
	leave(t, first)

	require.Equal(t, numbered(10, 30), values(read(t, joinGroup(t, cfg, nil), 20)))
}

func TestPollEndsWithItsContextAndWithClose(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	g := joinGroup(t, cfg, newLedger())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := g.Poll(ctx, 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ended := make(chan error, 1)
	go func() { _, err := g.Poll(context.WithoutCancel(ctx), 10); ended <- err }()
	leave(t, g)
	require.ErrorIs(t, <-ended, ErrStopped)
	_, err = g.Poll(t.Context(), 10)
	require.ErrorIs(t, err, ErrStopped)
	require.ErrorIs(t, g.Done(t.Context()), ErrStopped)
}

func TestGroupLeavesNoGoroutine(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, stop := startProducer(t, cfg)
	write(t, p, "a")
	stop()
	before := goleak.IgnoreCurrent()
	g := joinGroup(t, cfg, newLedger())
	read(t, g, 1)
	leave(t, g)
	goleak.VerifyNone(t, before)
}

// The first record after a silence does not wait. Records that arrive while it is applied are
// gathered: one poll, and so one transaction, per record would be hundreds here.
func TestPollGathersSlowRecords(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 2)
		p, _ := startProducer(t, cfg)
		g := joinGroup(t, cfg, newLedger())
		write(t, p, "first")
		read(t, g, 1)
		require.NoError(t, g.Done(deadline(t)))
		const count = 300
		written := make(chan struct{})
		go func() {
			defer close(written)
			for _, value := range numbered(0, count) {
				write(t, p, value)
			}
		}()
		began, polls, seen := time.Now(), 0, 0
		for seen < count {
			records, err := g.Poll(deadline(t), 1000)
			require.NoError(t, err)
			polls, seen = polls+1, seen+len(records)
			require.NoError(t, g.Done(deadline(t)))
		}
		<-written
		require.LessOrEqual(t, polls, int(time.Since(began)/gatherFor)+2)
	})
}

// TestTwoMembersLoseNothing applies records in two members, one of which joins later and leaves
// early, while more are written. The fence refuses a record that is not the next of its partition,
// so at the end every record has been applied exactly once.
func TestTwoMembersLoseNothing(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 6)
		p, _ := startProducer(t, cfg)
		offsets := newLedger()
		var mu sync.Mutex
		seen := make(map[string]int)
		apply := func(ctx context.Context, g *Group) {
			for {
				records, err := g.Poll(ctx, 50)
				if err != nil {
					return
				}
				if !offsets.apply(records) {
					_ = g.Reset(ctx)
					continue
				}
				mu.Lock()
				for _, r := range records {
					seen[string(r.Value)]++
				}
				mu.Unlock()
				_ = g.Done(ctx)
			}
		}
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(seen)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var members sync.WaitGroup
		stays, goes := joinGroup(t, cfg, offsets), joinGroup(t, cfg, offsets)
		members.Go(func() { apply(ctx, stays) })
		write(t, p, numbered(0, 300)...)
		require.Eventually(t, func() bool { return count() == 300 }, testTimeout, 10*time.Millisecond)

		members.Go(func() { apply(ctx, goes) })
		both := func() bool {
			a, b := stays.Assigned(), goes.Assigned()
			return len(a) == 3 && len(b) == 3
		}
		require.Eventually(t, both, testTimeout, 10*time.Millisecond, "the second member got no partitions")
		write(t, p, numbered(300, 600)...)
		require.Eventually(t, func() bool { return count() == 600 }, testTimeout, 10*time.Millisecond)
		write(t, p, numbered(600, 900)...)
		leave(t, goes)
		write(t, p, numbered(900, 1000)...)
		require.Eventually(t, func() bool { return count() == 1000 }, testTimeout, 10*time.Millisecond)
		require.Len(t, stays.Assigned(), 6)
		cancel()
		members.Wait()
		for value, n := range seen {
			require.Equal(t, 1, n, value)
		}
	})
}

func TestRecreatedTopicIsAnotherStream(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 1)
		p, stop := startProducer(t, cfg)
		write(t, p, numbered(0, 5)...)
		offsets := newLedger()
		g := joinGroup(t, cfg, offsets)
		old := read(t, g, 5)
		require.True(t, offsets.apply(old))
		require.NoError(t, g.Done(t.Context()))
		stop()

		deleteTopic(t, cfg)
		require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
		again, _ := startProducer(t, cfg)
		write(t, again, numbered(100, 103)...)

		fresh := read(t, g, 3)
		require.Equal(t, numbered(100, 103), values(fresh))
		require.NotEqual(t, old[0].TopicID, fresh[0].TopicID)
		require.True(t, offsets.apply(fresh), "the new topic has to start at offset 0")
		require.Equal(t, []stream.Partition{{Stream: fresh[0].TopicID, Number: 0}}, g.Assigned())
	})
}

func TestRemovedRecordsAreCountedAsAGap(t *testing.T) {
	brokers, cluster := kafkatest.New(t)
	cfg := testLog(t, brokers, 1)
	p, _ := startProducer(t, cfg)
	write(t, p, numbered(0, 20)...)
	offsets := newLedger()
	first := joinGroup(t, cfg, offsets)
	require.True(t, offsets.apply(read(t, first, 5)))
	leave(t, first)
	require.NoError(t, cluster.DeleteRecords(cfg.TopicPrefix+event.TopicEvents, 0, 10))

	second := joinGroup(t, cfg, offsets)
	records := read(t, second, 10)
	require.EqualValues(t, 10, records[0].Offset)
	require.False(t, offsets.apply(records))
	require.EqualValues(t, 1, testutil.ToFloat64(second.gaps))
	require.Zero(t, testutil.ToFloat64(first.gaps))
}

// Read returns the records of a plan even if another member owns the partition, as far as the log
// still has them.
func TestReadIsOfAnyPartition(t *testing.T) {
	onEveryBroker(t, func(t *testing.T, brokers []string) {
		cfg := testLog(t, brokers, 2)
		p, _ := startProducer(t, cfg)
		write(t, p, numbered(0, 40)...)
		owner := joinGroup(t, cfg, newLedger())
		byPartition := make(map[stream.Partition][]event.Record)
		for _, r := range read(t, owner, 40) {
			at := stream.Partition{Stream: r.TopicID, Number: r.Partition}
			byPartition[at] = append(byPartition[at], r)
		}
		stranger := joinGroup(t, cfg, newLedger()) // it never polls, so it owns nothing
		within := func(at stream.Partition, first, next int64) []string {
			records, err := stranger.Read(deadline(t), stream.Range{Partition: at, First: first, Next: next})
			require.NoError(t, err)
			for i, r := range records {
				require.Equal(t, max(first, records[0].Offset)+int64(i), r.Offset)
				require.Equal(t, at, stream.Partition{Stream: r.TopicID, Number: r.Partition})
			}
			return values(records)
		}
		for at, all := range byPartition {
			n := int64(len(all))
			require.Equal(t, values(all[1:n-1]), within(at, 1, n-1))
			require.Equal(t, values(all[n-1:]), within(at, n-1, n+5), "it does not wait for what is not written")
			require.Empty(t, within(at, n, n+5))
			require.Empty(t, within(stream.Partition{Stream: "another topic", Number: at.Number}, 0, n))
			removeBelow(t, cfg, at.Number, 2)
			require.Equal(t, values(all[2:4]), within(at, 0, 4))
			require.Empty(t, within(at, 0, 2))
		}
	})
}

// removeBelow has the broker forget the records of a partition below an offset, as its retention
// does.
func removeBelow(t *testing.T, cfg Config, partition int32, offset int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.AddOffset(cfg.TopicPrefix+event.TopicEvents, partition, offset, -1)
	done, err := kadm.NewClient(client).DeleteRecords(deadline(t), offsets)
	require.NoError(t, err)
	require.NoError(t, done.Error())
}
