package cmd

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/kafka"
	"adnet/internal/kafka/kafkatest"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// stuck is a consumer that takes records and never applies them.
type stuck struct{ log *kafka.Group }

// Run implements lifecycle.Component.
func (s stuck) Run(ctx context.Context) error {
	_, _ = s.log.Poll(ctx, 10)
	<-ctx.Done()
	return nil
}

// TestAStuckConsumerShowsItsLag wants the lag of a consumer that applies nothing.
func TestAStuckConsumerShowsItsLag(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := kafka.Config{Brokers: brokers, Partitions: 1}
	require.NoError(t, kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{}))
	ctx, cancel := context.WithCancel(context.Background())
	producer, err := kafka.NewProducer(cfg, kafka.Deps{})
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	group, err := kafka.NewGroup(cfg, kafka.GroupConfig{
		Group: groupSettle, Topic: event.TopicEvents,
		Stored: func(context.Context, []stream.Partition) (map[stream.Partition]int64, error) { return nil, nil },
	}, kafka.Deps{Metrics: registry})
	require.NoError(t, err)
	ended := make(chan error, 2)
	go func() { ended <- producer.Run(ctx) }()
	go func() { ended <- reading{stuck{group}, group}.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	})
	<-producer.Ready()
	for range 3 {
		producer.Produce(event.TopicEvents, []byte("key"), []byte("value"), func(error) {})
	}
	require.Eventually(t, func() bool {
		return gauge(t, registry, "adnet_log_behind_records", "settle") == 3 &&
			gauge(t, registry, "adnet_log_behind_seconds", "settle") > 0
	}, time.Minute, 50*time.Millisecond)
}

// gauge returns the value of a gauge for a group, or -1.
func gauge(t *testing.T, registry *prometheus.Registry, name, group string) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == name && label.GetName() == "group" && label.GetValue() == group {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}
