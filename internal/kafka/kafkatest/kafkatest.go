// Package kafkatest provides tests with a broker that speaks the protocol and fails on demand. Only
// tests import it.
package kafkatest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Always as a count of failures means until the handle is removed.
const Always = -1

// New starts an in-memory broker for the duration of the test. Pass brokers to Config.Brokers.
func New(t testing.TB) (brokers []string, cluster *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatalf("start the test broker: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs(), cluster
}

// RefuseProduce makes the next count produce requests to topic fail permanently: nothing is written
// and the client does not retry.
func RefuseProduce(c *kfake.Cluster, topic string, count int) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: count,
	})
}

// StallProduce makes the next count produce requests to topic fail with a retriable error, as with
// too few replicas in sync.
func StallProduce(c *kfake.Cluster, topic string, count int) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicas, Count: count})
}

// LoseAcks makes the next count produce requests to topic write their records and return a
// retriable error: only idempotence prevents duplicates.
func LoseAcks(c *kfake.Cluster, topic string, count int) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicasAfterAppend, Count: count,
	})
}

// RefuseCommits makes the next count offset commits of group fail.
func RefuseCommits(c *kfake.Cluster, group string, count int) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: group, Err: kerr.GroupAuthorizationFailed, Count: count,
	})
}

// HoldCommits delays the response to every offset commit of group until release is called, and
// counts the commits.
func HoldCommits(c *kfake.Cluster, group string) (seen func() int64, release func()) {
	var count atomic.Int64
	open := make(chan struct{})
	c.ControlKey(int16(kmsg.OffsetCommit), func(request kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if request.(*kmsg.OffsetCommitRequest).Group == group {
			count.Add(1)
			c.SleepControl(func() { <-open })
		}
		return nil, nil, false
	})
	return count.Load, sync.OnceFunc(func() { close(open) })
}
