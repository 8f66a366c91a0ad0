package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThreeBrokersKnowEachOther(t *testing.T) {
	s := testStack(t)
	s.cfg.Brokers, s.cfg.KafkaVia, s.cfg.Kafka = 3, []int{7001, 7002, 7003}, "auto"
	names, err := s.chooseBrokers(everything())
	require.NoError(t, err)
	require.Equal(t, append(everything(), "kafka-2", "kafka-3"), names)
	require.Equal(t, names, s.servers())
	require.Equal(t, engineApache, s.cfg.Kafka, "an emulated broker does not replicate")
	for i, name := range []string{
		"kafka", "kafka-controller", "kafka-via", "kafka-2", "kafka-2-controller", "kafka-2-via", "kafka-3",
		"kafka-3-controller", "kafka-3-via",
	} {
		require.NoError(t, s.setPort(name, 6001+i))
	}
	require.Equal(t, "127.0.0.1:6001,127.0.0.1:6004,127.0.0.1:6007", s.brokers())
	text := s.kafkaProperties(2)
	for _, line := range []string{
		"node.id=2", "listeners=PLAINTEXT://127.0.0.1:6004,CONTROLLER://127.0.0.1:6005,VIA://127.0.0.1:6006",
		"advertised.listeners=PLAINTEXT://127.0.0.1:6004,VIA://127.0.0.1:7002",
		"controller.quorum.voters=1@127.0.0.1:6002,2@127.0.0.1:6005,3@127.0.0.1:6008",
		"offsets.topic.replication.factor=3",
		"transaction.state.log.min.isr=2",
	} {
		require.Contains(t, text, line+"\n")
	}
	first, err := s.clusterID()
	require.NoError(t, err)
	again, err := s.clusterID()
	require.NoError(t, err)
	require.Equal(t, first, again, "brokers are formatted as one cluster")

	// The folder remembers it: later calls need not say it again.
	later, err := openStack(settings{Dir: s.cfg.Dir, Cache: s.cfg.Cache, Brokers: 1})
	require.NoError(t, err)
	require.Equal(t, names, later.servers())
}

func TestBrokersThatCannotBe(t *testing.T) {
	for name, cfg := range map[string]settings{
		"two":                {Brokers: 2},
		"proxies of others":  {Brokers: 3, KafkaVia: []int{1}},
		"an emulated broker": {Brokers: 3, Kafka: engineKfake},
	} {
		s := testStack(t)
		s.cfg.Brokers, s.cfg.KafkaVia, s.cfg.Kafka = cfg.Brokers, cfg.KafkaVia, cfg.Kafka
		_, err := s.chooseBrokers(everything())
		require.Error(t, err, name)
	}
}
