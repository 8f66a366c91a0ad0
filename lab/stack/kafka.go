package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	engineApache = "apache"
	engineKfake  = "kfake"

	// kafkaRetention holds for both engines: long enough to replay a week, short enough for a
	// laptop.
	kafkaRetention = 7 * 24 * time.Hour
)

// newKafka returns the broker with this id. Ids start at 1.
func newKafka(s *stack, id int) server {
	name := brokerName(id)
	ports := []string{name, controllerPort(id)}
	if len(s.state.Via) > 0 {
		ports = append(ports, viaPort(id))
	}
	if id == 1 { // the others only replicate
		ports = s.withTLS(ports, s.kafkaTLSPorts()...)
	}
	return server{
		name:    name,
		waits:   "broker metadata",
		ports:   ports,
		prepare: func(ctx context.Context) error { return s.initKafka(ctx, id) },
		command: func() (*exec.Cmd, error) { return s.kafkaCommand(id) },
		probe:   func(ctx context.Context) error { return probeKafka(ctx, s.address(name)) },
		stop:    []escalation{{syscall.SIGTERM, 30 * time.Second}},
		limit:   2 * time.Minute,
	}
}

// brokerName returns the name of a broker. The first is "kafka", as in older stacks with a single
// broker.
func brokerName(id int) string {
	if id == 1 {
		return nameKafka
	}
	return nameKafka + "-" + strconv.Itoa(id)
}

func controllerPort(id int) string {
	if id == 1 {
		return portKafkaController
	}
	return brokerName(id) + "-controller"
}

func viaPort(id int) string { return brokerName(id) + "-via" }

// chooseBrokers fixes the number of brokers of a new stack and replaces Kafka in names by all of
// them.
func (s *stack) chooseBrokers(names []string) ([]string, error) {
	if s.state.Brokers == 0 {
		if s.cfg.Brokers == 0 {
			s.cfg.Brokers = 1
		}
		if s.cfg.Brokers != 1 && s.cfg.Brokers != 3 {
			return nil, fmt.Errorf("%d brokers: it must be 1 or 3", s.cfg.Brokers)
		}
		if n := len(s.cfg.KafkaVia); n != 0 && n != s.cfg.Brokers {
			return nil, fmt.Errorf("%d proxy ports for %d brokers", n, s.cfg.Brokers)
		}
		if s.cfg.Brokers > 1 || len(s.cfg.KafkaVia) > 0 {
			if s.cfg.Kafka == engineKfake || s.state.KafkaEngine == engineKfake {
				return nil, errors.New("kfake is one broker without proxies")
			}
			s.cfg.Kafka = engineApache // auto must not fall back to fewer brokers than requested
		}
		s.state.Brokers, s.state.Via = s.cfg.Brokers, s.cfg.KafkaVia
		if err := s.saveState(); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(names, nameKafka) {
		return names, nil
	}
	for id := 2; id <= s.state.Brokers; id++ {
		if name := brokerName(id); !slices.Contains(names, name) {
			names = append(slices.Clip(names), name)
		}
	}
	return names, nil
}

// brokers returns the addresses of all brokers.
func (s *stack) brokers() string {
	list := []string{s.address(nameKafka)}
	for id := 2; id <= s.state.Brokers; id++ {
		list = append(list, s.address(brokerName(id)))
	}
	return strings.Join(list, ",")
}

// kafkaDir returns the folder of a broker's files. The two engines never share data.
func (s *stack) kafkaDir(id int) string {
	if s.state.KafkaEngine == engineKfake {
		return filepath.Join(s.cfg.Dir, "kfake")
	}
	return filepath.Join(s.cfg.Dir, brokerName(id))
}

// clusterID returns the cluster id shared by all brokers of a stack. The first formatted broker
// creates it.
func (s *stack) clusterID() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := filepath.Join(s.cfg.Dir, "kafka.cluster")
	if id, err := os.ReadFile(name); err == nil {
		return string(id), nil
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	id[0] &= 0x7f // An id that starts with '-' (or '_') would be read as a flag.
	text := base64.RawURLEncoding.EncodeToString(id[:])
	return text, writeFile(name, []byte(text), 0o644)
}

// initKafka writes the broker's settings (ports may have moved) and formats the storage folder
// once.
func (s *stack) initKafka(ctx context.Context, id int) error {
	dir := s.kafkaDir(id)
	if err := os.MkdirAll(dir, 0o755); err != nil || s.state.KafkaEngine == engineKfake {
		return err
	}
	err := errors.Join(
		s.kafkaTLSFiles(),
		writeFile(filepath.Join(dir, "server.properties"), []byte(s.kafkaProperties(id)), 0o644),
		writeFile(filepath.Join(dir, "log4j2.properties"), []byte(kafkaLogging), 0o644),
	)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "meta.properties")); err == nil {
		return nil
	}
	s.say(brokerName(id), "formatting the storage folder %s", filepath.Join(dir, "data"))
	cluster, err := s.clusterID()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "java", "-cp", filepath.Join(s.kafkaJars(), "*"),
		"-Dlog4j2.configurationFile="+filepath.Join(dir, "log4j2.properties"),
		"kafka.tools.StorageTool", "format", "--ignore-formatted", "--cluster-id", cluster,
		"--config", filepath.Join(dir, "server.properties"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's storage: %w\n%s", err, out)
	}
	return nil
}

func (s *stack) kafkaProperties(id int) string {
	public, controller := s.address(brokerName(id)), s.address(controllerPort(id))
	listeners := "PLAINTEXT://" + public + ",CONTROLLER://" + controller
	advertised, protocols := "PLAINTEXT://"+public, "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
	if len(s.state.Via) > 0 {
		listeners += ",VIA://" + s.address(viaPort(id))
		advertised += ",VIA://" + loopback(s.state.Via[id-1])
		protocols += ",VIA:PLAINTEXT"
	}
	further := ""
	if id == 1 {
		more, kinds := s.kafkaTLSListeners()
		listeners, advertised, protocols, further = listeners+more, advertised+more, protocols+kinds,
			s.kafkaTLSProperties()
	}
	replicas, insync, voters := max(1, s.state.Brokers), 1, make([]string, max(1, s.state.Brokers))
	if replicas > 1 {
		insync = replicas - 1
	}
	for i := range voters {
		voters[i] = strconv.Itoa(i+1) + "@" + s.address(controllerPort(i+1))
	}
	count := strconv.Itoa
	return strings.Join([]string{
		"process.roles=broker,controller",
		"node.id=" + count(id),
		"listeners=" + listeners,
		"advertised.listeners=" + advertised,
		"listener.security.protocol.map=" + protocols,
		"controller.listener.names=CONTROLLER",
		"controller.quorum.voters=" + strings.Join(voters, ","),
		"log.dirs=" + filepath.Join(s.kafkaDir(id), "data"),
		"auto.create.topics.enable=false",
		"offsets.topic.replication.factor=" + count(replicas),
		"offsets.topic.num.partitions=8",
		"transaction.state.log.replication.factor=" + count(replicas),
		"transaction.state.log.min.isr=" + count(insync),
		"transaction.state.log.num.partitions=8",
		"share.coordinator.state.topic.replication.factor=" + count(replicas),
		"share.coordinator.state.topic.min.isr=" + count(insync),
		"group.initial.rebalance.delay.ms=0",
		"log.retention.ms=" + strconv.FormatInt(kafkaRetention.Milliseconds(), 10),
		further,
	}, "\n")
}

// kafkaLogging sends everything to standard output, which is the server's log file.
const kafkaLogging = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z'}{UTC}] %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
`

func (s *stack) kafkaCommand(id int) (*exec.Cmd, error) {
	dir := s.kafkaDir(id)
	if s.state.KafkaEngine == engineKfake {
		return s.self("kfake-host", "--data="+dir, "--port="+strconv.Itoa(s.port(nameKafka))), nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(java, "-Xms128m", "-Xmx"+s.cfg.KafkaHeap, "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError",
		"-Djava.awt.headless=true",
		"-cp", filepath.Join(s.kafkaJars(), "*"), "-Dlog4j2.configurationFile="+filepath.Join(dir, "log4j2.properties"),
		"kafka.Kafka", filepath.Join(dir, "server.properties"))
	cmd.Dir = dir
	return cmd, nil
}

// probeKafka is satisfied when the broker answers metadata and lists itself at the address clients
// were given.
func probeKafka(ctx context.Context, addr string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	reply, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, b := range reply.Brokers {
		if net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) == addr {
			return nil
		}
	}
	return fmt.Errorf("metadata of %s lists %d brokers, none at that address", addr, len(reply.Brokers))
}

// kfakeHostCmd is the long-lived process that replaces Kafka where Java or Maven is unavailable.
type kfakeHostCmd struct {
	Data string `required:""`
	Port int    `required:""`
}

// run serves until ctx is cancelled. Three guards that kfake lacks with a data folder: a lock (two
// processes would open one folder silently), explicit retention, and retention applied here
// periodically, because kfake's own cleaner does not resume after a restart.
func (c kfakeHostCmd) run(ctx context.Context) error {
	held := errors.New("another process serves this folder")
	unlock, err := tryLock(filepath.Join(c.Data, "owner.lock"))
	if err != nil {
		return errors.Join(held, err)
	}
	defer unlock()
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(c.Port), kfake.DataDir(filepath.Join(c.Data, "data")),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": strconv.FormatInt(
			kafkaRetention.Milliseconds(), 10,
		)}),
	)
	if err != nil {
		return err
	}
	defer cluster.Close()
	for clock := time.NewTicker(time.Minute); ; {
		cluster.ApplyRetention()
		select {
		case <-ctx.Done():
			clock.Stop()
			return nil
		case <-clock.C:
		}
	}
}
