package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adnet/internal/process/link"
	"adnet/schemas/event"
)

// clockTopic is the topic through which [Examine] reads the broker's clock: the protocol reveals
// the time only as the timestamp of a record in a topic that stamps records on arrival. It holds an
// hour of records of a few bytes.
const clockTopic = "adnet.doctor"

const aclHelp = "give the user of ADNET_KAFKA_USERNAME its rights: docs/operate/links.md"

// Examine checks the log as adnet uses it: its brokers, their distance and connections, the
// presence of the topics, and the user's permissions to write and read them. It changes nothing
// except for a record in a topic of its own.
func Examine(ctx context.Context, cfg Config, deps Deps) link.Report {
	cfg = cfg.withDefaults()
	report := link.Report{Server: "Kafka", Setting: envBrokers, Address: strings.Join(cfg.Brokers, ",")}
	var watch handshakes
	client, err := cfg.watched(deps, watch.seen)
	if err != nil {
		report.Away(err, "mend the setting")
		return report
	}
	defer client.Close()
	pingCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err = report.Measure(func() (time.Time, error) {
		// A broker answers this only after the login.
		_, err := kmsg.NewPtrMetadataRequest().RequestWith(pingCtx, client)
		return time.Time{}, err
	})
	if err != nil {
		report.Away(cfg.explain(err), "start Kafka, or correct "+envBrokers)
		return report
	}
	local := !slices.ContainsFunc(cfg.Brokers, func(broker string) bool { return !link.Local(broker) })
	report.Encrypted(&watch.Watch, local, "set ADNET_KAFKA_TLS=true")
	e := examination{cfg: cfg, client: client, admin: kadm.NewClient(client), report: &report}
	e.brokers(ctx)
	e.topics(ctx)
	e.clock(ctx)
	return report
}

// handshakes collects the handshakes of several brokers concurrently.
type handshakes struct {
	mu sync.Mutex
	link.Watch
}

func (h *handshakes) seen(state tls.ConnectionState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Watch.Seen(state)
}

// watched returns a client that fails fast and reports its handshakes.
func (c Config) watched(deps Deps, seen func(tls.ConnectionState)) (*kgo.Client, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	secured, err := c.linkOptions(seen)
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(secured, kgo.SeedBrokers(c.Brokers...), kgo.ClientID("adnet"),
		kgo.WithLogger(clientLog{deps.log()}),
		kgo.RetryTimeout(checkTimeout), kgo.RequestRetries(2), kgo.RecordDeliveryTimeout(checkTimeout),
		kgo.RecordRetries(2), kgo.RequiredAcks(kgo.AllISRAcks()))...)
}

type examination struct {
	cfg    Config
	client *kgo.Client
	admin  *kadm.Client
	report *link.Report
}

// brokers requests the version of each broker: a client must reach all of them at the addresses
// that they advertise.
func (e *examination) brokers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	all, err := e.admin.BrokerMetadata(ctx)
	if err != nil {
		e.report.Away(e.cfg.explain(err), aclHelp)
		return
	}
	versions, err := e.admin.ApiVersions(ctx)
	if err != nil {
		e.report.Away(e.cfg.explain(err), aclHelp)
		return
	}
	for _, broker := range all.Brokers {
		version := versions[broker.NodeID]
		if version.Err != nil {
			address := net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
			e.report.Mend(fmt.Sprintf(
				"broker %d is unreachable at %s: %v", broker.NodeID, address, e.cfg.explain(version.Err),
			),
				"correct the broker's advertised.listeners, or the network")
			continue
		}
		e.report.Version = version.VersionGuess()
	}
	if n := len(all.Brokers); n < int(e.cfg.ReplicationFactor) {
		e.report.Mend(
			fmt.Sprintf("%d brokers for ADNET_KAFKA_REPLICATION_FACTOR=%d", n, e.cfg.ReplicationFactor),
			"start more brokers, or lower it",
		)
	}
}

// topics checks each topic of adnet and the user's permissions for it.
func (e *examination) topics(ctx context.Context) {
	ctx, cancel := context.WithTimeout(kadm.WithAuthorizedOps(ctx), checkTimeout)
	defer cancel()
	for _, topic := range []string{event.TopicEvents, event.TopicNotices, event.TopicAuctions} {
		name := e.cfg.TopicPrefix + topic
		found, err := e.admin.Metadata(ctx, name)
		detail := found.Topics[name]
		if err == nil {
			err = detail.Err
		}
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			e.report.Mend("topic "+name+" is missing", "run `adnet migrate`")
			continue
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			e.report.Right("describe "+name, false, aclHelp)
			continue
		case err != nil:
			e.report.Away(e.cfg.explain(err), "repeat the check; if the problem persists, read the broker's log")
			return
		}
		may := detail.AuthorizedOperations
		e.report.Right("produce to "+name, slices.Contains(may, kadm.OpWrite), aclHelp)
		e.report.Right("consume "+name, slices.Contains(may, kadm.OpRead), aclHelp)
		e.partitions(name, detail)
	}
}

// partitions looks for partitions that accept no records, and for topics with a single copy.
func (e *examination) partitions(name string, detail kadm.TopicDetail) {
	copies := 0
	for _, p := range detail.Partitions {
		copies = max(copies, len(p.Replicas))
		if p.Err != nil || p.Leader < 0 {
			e.report.Mend(
				fmt.Sprintf("partition %d of %s has no leader", p.Partition, name), "start the brokers that have it",
			)
		} else if len(p.ISR) < len(p.Replicas) {
			e.report.Advise(
				fmt.Sprintf(
					"partition %d of %s has %d of %d replicas in sync", p.Partition, name, len(p.ISR), len(p.Replicas),
				), "check the brokers",
			)
		}
	}
	if copies == 1 {
		e.report.Advise(
			name+" has one replica: an acknowledged beacon is as safe as one disk",
			"use ADNET_KAFKA_REPLICATION_FACTOR=3 and ADNET_KAFKA_MIN_INSYNC=2 in production",
		)
	}
}

// clock writes a record that the broker stamps, which also verifies that topics can be created and
// records written.
func (e *examination) clock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	name := e.cfg.TopicPrefix + clockTopic
	settings := map[string]*string{
		"message.timestamp.type": kadm.StringPtr("LogAppendTime"), "retention.ms": kadm.StringPtr("3600000"),
	}
	_, err := e.admin.CreateTopic(ctx, 1, 1, settings, name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		e.report.Rights = append(e.report.Rights, link.Right{Name: "create topics", OK: false})
		e.report.Advise(
			"the clock of Kafka is unknown: this user may not create topic "+name,
			"only `adnet migrate` needs that right; for the clock, create the topic with "+
				"message.timestamp.type=LogAppendTime",
		)
		return
	}
	e.report.Right("create topics", true, "")
	record := &kgo.Record{Topic: name, Value: []byte("tick")}
	for range 3 { // the first attempt finds the leader
		before := time.Now()
		if err := e.client.ProduceSync(ctx, record).FirstErr(); err != nil {
			e.report.Away(
				fmt.Errorf("a record cannot be written to %s: %w", name, e.cfg.explain(err)),
				"check the broker's log",
			)
			return
		}
		took := time.Since(before)
		ahead := record.Timestamp.Sub(before.Add(took / 2)).Round(time.Millisecond)
		e.report.ClockAhead = &ahead
		record = &kgo.Record{Topic: name, Value: record.Value}
	}
	e.report.CheckClock()
}
