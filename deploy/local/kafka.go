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

	// kafkaRetention holds for both engines: long enough to replay a week, short enough for a laptop.
	kafkaRetention = 7 * 24 * time.Hour
)

func newKafka(s *stack) server {
	return server{
		name:    nameKafka,
		waits:   "broker metadata",
		ports:   []string{nameKafka, portKafkaController},
		prepare: s.initKafka,
		command: s.kafkaCommand,
		probe:   func(ctx context.Context) error { return probeKafka(ctx, s.address(nameKafka)) },
		stop:    []escalation{{syscall.SIGTERM, 30 * time.Second}},
		limit:   2 * time.Minute,
	}
}

// kafkaDir holds the broker's files. The two engines never share data.
func (s *stack) kafkaDir() string {
	if s.state.KafkaEngine == engineKfake {
		return filepath.Join(s.cfg.Dir, "kfake")
	}
	return filepath.Join(s.cfg.Dir, "kafka")
}

// initKafka writes the broker's settings (ports may have moved) and formats the storage folder once.
func (s *stack) initKafka(ctx context.Context) error {
	dir := s.kafkaDir()
	if err := os.MkdirAll(dir, 0o755); err != nil || s.state.KafkaEngine == engineKfake {
		return err
	}
	err := errors.Join(
		writeFile(filepath.Join(dir, "server.properties"), []byte(s.kafkaProperties()), 0o644),
		writeFile(filepath.Join(dir, "log4j2.properties"), []byte(kafkaLogging), 0o644),
	)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "meta.properties")); err == nil {
		return nil
	}
	s.say(nameKafka, "formatting the storage folder %s", filepath.Join(dir, "data"))
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	id[0] &= 0x7f // An id that starts with '-' (or '_') would be read as a flag.
	cmd := exec.CommandContext(ctx, "java", "-cp", filepath.Join(s.kafkaJars(), "*"), "-Dlog4j2.configurationFile="+filepath.Join(dir, "log4j2.properties"),
		"kafka.tools.StorageTool", "format", "--ignore-formatted", "--cluster-id", base64.RawURLEncoding.EncodeToString(id[:]),
		"--config", filepath.Join(dir, "server.properties"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's storage: %w\n%s", err, out)
	}
	return nil
}

func (s *stack) kafkaProperties() string {
	public, controller := s.address(nameKafka), s.address(portKafkaController)
	return strings.Join([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"listeners=PLAINTEXT://" + public + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + public,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names=CONTROLLER",
		"controller.quorum.voters=1@" + controller,
		"log.dirs=" + filepath.Join(s.kafkaDir(), "data"),
		"auto.create.topics.enable=false",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=8",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=8",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		"log.retention.ms=" + strconv.FormatInt(kafkaRetention.Milliseconds(), 10),
		"",
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

func (s *stack) kafkaCommand() (*exec.Cmd, error) {
	dir := s.kafkaDir()
	if s.state.KafkaEngine == engineKfake {
		return s.self("kfake-host", "--data="+dir, "--port="+strconv.Itoa(s.port(nameKafka))), nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(java, "-Xms128m", "-Xmx"+s.cfg.KafkaHeap, "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true",
		"-cp", filepath.Join(s.kafkaJars(), "*"), "-Dlog4j2.configurationFile="+filepath.Join(dir, "log4j2.properties"),
		"kafka.Kafka", filepath.Join(dir, "server.properties"))
	cmd.Dir = dir
	return cmd, nil
}

// probeKafka is satisfied when the broker answers metadata and lists itself at the address clients were given.
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

// kfakeHostCmd is the long-lived process that stands in for Kafka where Java or Maven cannot be had.
type kfakeHostCmd struct {
	Data string `required:""`
	Port int    `required:""`
}

// run serves until ctx is cancelled. Three guards that kfake lacks with a data folder: a lock (two processes
// would open one folder silently), explicit retention, and retention applied here on a clock, because its own
// cleaner does not start again after a restart.
func (c kfakeHostCmd) run(ctx context.Context) error {
	held := errors.New("another process serves this folder")
	unlock, err := tryLock(filepath.Join(c.Data, "owner.lock"))
	if err != nil {
		return errors.Join(held, err)
	}
	defer unlock()
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(c.Port), kfake.DataDir(filepath.Join(c.Data, "data")),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": strconv.FormatInt(kafkaRetention.Milliseconds(), 10)}),
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
