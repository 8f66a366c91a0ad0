package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/process/link"
	"adnet/internal/process/schedule"
	"adnet/schemas/event"
)

// topicSpec is the desired state of a topic.
type topicSpec struct {
	name      string
	retention time.Duration
}

// EnsureTopics creates missing topics of schemas/event, sets retention and min.insync on all of
// them (also on existing ones, so that changed settings take effect), and returns when every
// partition has a leader. It may be called at every start, by several processes at once.
//
// It waits for an unreachable broker until ctx ends and logs every attempt. Errors that waiting
// cannot fix (no permission, fewer brokers than replicas) are returned at once. The partition count
// of an existing topic stays unchanged: raising it would move keys between partitions.
func EnsureTopics(ctx context.Context, cfg Config, deps Deps) error {
	cfg = cfg.withDefaults()
	return ensure(ctx, cfg, deps, []topicSpec{
		{event.TopicEvents, cfg.Retention},
		{event.TopicNotices, cfg.Retention},
		{event.TopicAuctions, cfg.AuctionRetention},
	})
}

func ensure(ctx context.Context, cfg Config, deps Deps, specs []topicSpec) error {
	client, err := cfg.client(deps, kgo.RetryTimeout(3*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	for try := 1; ; try++ {
		err := ensureOnce(ctx, cfg, admin, specs)
		if err = cfg.explain(err); err == nil || permanent(err) {
			return err
		}
		deps.log().Warn("waiting for Kafka (ADNET_KAFKA_BROKERS)", "brokers", cfg.Brokers, "try", try, "error", err)
		if schedule.Pause(ctx, backoff(try)) != nil {
			return cfg.unavailable(err)
		}
	}
}

func ensureOnce(ctx context.Context, cfg Config, admin *kadm.Client, specs []topicSpec) error {
	for _, spec := range specs {
		if err := ensureTopic(ctx, cfg, admin, spec); err != nil {
			return err
		}
	}
	for _, spec := range specs {
		if err := awaitLeaders(ctx, admin, cfg.TopicPrefix+spec.name); err != nil {
			return err
		}
	}
	return nil
}

func ensureTopic(ctx context.Context, cfg Config, admin *kadm.Client, spec topicSpec) error {
	topic := cfg.TopicPrefix + spec.name
	settings := map[string]*string{
		"cleanup.policy":      kadm.StringPtr("delete"),
		"retention.ms":        kadm.StringPtr(strconv.FormatInt(spec.retention.Milliseconds(), 10)),
		"retention.bytes":     kadm.StringPtr(strconv.FormatInt(cfg.RetentionBytes, 10)),
		"min.insync.replicas": kadm.StringPtr(strconv.Itoa(cfg.MinInsync)),
	}
	_, err := admin.CreateTopic(ctx, cfg.Partitions, cfg.ReplicationFactor, settings, topic)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Errorf(
			"topic %s: Kafka has fewer brokers than ADNET_KAFKA_REPLICATION_FACTOR=%d: %w", topic,
			cfg.ReplicationFactor, err,
		)
	case !errors.Is(err, kerr.TopicAlreadyExists):
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	var alter []kadm.AlterConfig
	for name, value := range settings {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: value})
	}
	replies, err := admin.AlterTopicConfigs(ctx, alter, topic)
	if err != nil {
		return fmt.Errorf("configure topic %s: %w", topic, err)
	}
	if _, err := replies.On(topic, nil); err != nil {
		return fmt.Errorf("configure topic %s: %w", topic, err)
	}
	return nil
}

// awaitLeaders returns when every partition of topic is writable.
func awaitLeaders(ctx context.Context, admin *kadm.Client, topic string) error {
	for {
		_, ready, err := describe(ctx, admin, topic)
		if err != nil && !retriable(err) {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
		if ready {
			return nil
		}
		if err := schedule.Pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("topic %s: not every partition has a leader: %w", topic, err)
		}
	}
}

// describe returns a topic's id and whether all of its partitions have leaders.
func describe(ctx context.Context, admin *kadm.Client, topic string) (id kadm.TopicID, ready bool, err error) {
	details, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return id, false, err
	}
	detail, ok := details[topic]
	if !ok {
		return id, false, kerr.UnknownTopicOrPartition
	}
	if detail.Err != nil {
		return id, false, detail.Err
	}
	ready = len(detail.Partitions) > 0
	for _, p := range detail.Partitions {
		ready = ready && p.Err == nil && p.Leader >= 0
	}
	return detail.ID, ready, nil
}

// streamOf returns the name of a topic id in stream.Partition and event.Record.
func streamOf(id [16]byte) string { return hex.EncodeToString(id[:]) }

// retriable reports whether a retry may get a different answer from the broker.
func retriable(err error) bool {
	var broker *kerr.Error
	return errors.As(err, &broker) && broker.Retriable
}

// permanent reports whether err is a broker's rejection that only an operator can resolve.
func permanent(err error) bool {
	return link.Permanent(err) || slices.ContainsFunc([]error{
		kerr.InvalidReplicationFactor, kerr.InvalidPartitions, kerr.InvalidConfig, kerr.PolicyViolation,
		kerr.InvalidTopicException,
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.SaslAuthenticationFailed,
	}, func(target error) bool { return errors.Is(err, target) })
}
