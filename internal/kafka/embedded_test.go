package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/schemas/event"
)

// runEmbedded runs a broker until stop.
func runEmbedded(t *testing.T, cfg EmbeddedConfig) (addr string, stop func()) {
	t.Helper()
	e, err := NewEmbedded(cfg, Deps{})
	require.NoError(t, err)
	require.Empty(t, e.Addr())
	require.NoError(t, e.Start())
	<-e.Ready()
	addr = e.Addr()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return addr, func() { cancel(); require.NoError(t, <-ended) }
}

func TestEmbeddedKeepsRecordsAndTopicIDs(t *testing.T) {
	dir := t.TempDir()
	addr, stop := runEmbedded(t, EmbeddedConfig{DataDir: dir, SyncWrites: true})
	cfg := Config{Brokers: []string{addr}, Partitions: 2}
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
	p, stopProducer := startProducer(t, cfg)
	write(t, p, numbered(0, 20)...)
	offsets := newLedger()
	g := joinGroup(t, cfg, offsets)
	require.True(t, offsets.apply(read(t, g, 8)))
	stopProducer()
	leave(t, g)
	stop()

	addr, stop = runEmbedded(t, EmbeddedConfig{DataDir: dir})
	defer stop()
	cfg.Brokers = []string{addr}
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
	g = joinGroup(t, cfg, offsets)
	require.True(t, offsets.apply(read(t, g, 12)), "the stream's name or its offsets changed in the restart")
	leave(t, g)
}

func TestEmbeddedRemovesOldRecordsAfterARestart(t *testing.T) {
	dir := t.TempDir()
	addr, stop := runEmbedded(t, EmbeddedConfig{DataDir: dir})
	cfg := Config{Brokers: []string{addr}, Partitions: 1, Retention: time.Millisecond}
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
	p, stopProducer := startProducer(t, cfg)
	for _, v := range numbered(0, 5) {
		write(t, p, v)
	}
	stopProducer()
	stop()

	e, err := NewEmbedded(EmbeddedConfig{DataDir: dir}, Deps{})
	require.NoError(t, err)
	require.NoError(t, e.Start())
	require.Zero(t, e.cluster.PartitionInfo(event.TopicEvents, 0).LogStartOffset, "nothing removed these before")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cluster := e.cluster
	go func() { ended <- e.Run(ctx) }()
	require.Eventually(
		t, func() bool { return cluster.PartitionInfo(event.TopicEvents, 0).LogStartOffset > 0 }, testTimeout,
		10*time.Millisecond,
	)
	cancel()
	require.NoError(t, <-ended)
}

func TestEmbeddedDataDirBelongsToOneBroker(t *testing.T) {
	dir := t.TempDir()
	_, stop := runEmbedded(t, EmbeddedConfig{DataDir: dir})
	second, err := NewEmbedded(EmbeddedConfig{DataDir: dir}, Deps{})
	require.NoError(t, err)
	require.ErrorContains(t, second.Start(), "used by another process")
	stop()
	_, stop = runEmbedded(t, EmbeddedConfig{DataDir: dir})
	stop()
}

func TestEmbeddedPortTakenIsNamed(t *testing.T) {
	addr, stop := runEmbedded(t, EmbeddedConfig{})
	defer stop()
	var port int
	for _, c := range addr[len("127.0.0.1:"):] {
		port = port*10 + int(c-'0')
	}
	second, err := NewEmbedded(EmbeddedConfig{Port: port}, Deps{})
	require.NoError(t, err)
	require.ErrorContains(t, second.Start(), "ADNET_EMBEDDED_KAFKA_PORT")
}

func TestEmbeddedLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	addr, stop := runEmbedded(t, EmbeddedConfig{})
	cfg := Config{Brokers: []string{addr}, Partitions: 1}
	require.NoError(t, EnsureTopics(deadline(t), cfg, Deps{}))
	p, stopProducer := startProducer(t, cfg)
	reply := make(chan error, 1)
	p.Produce(event.TopicNotices, nil, []byte("v"), func(err error) { reply <- err })
	require.NoError(t, <-reply)
	stopProducer()
	stop()
	goleak.VerifyNone(t, before)
}
