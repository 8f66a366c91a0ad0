package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"adnet/internal/process/schedule"
	"adnet/lab/process"
	"adnet/lab/product"
)

// node is one process of adnet. It restarts with the same addresses and, for ingress, the same
// spool.
type node struct {
	role, name  string
	http, admin string // host:port; http is empty for consumers
	bin, log    string
	env         []string

	mu      sync.Mutex
	process *process.Process // nil before its first start
}

// nodes are the four processes under test.
type nodes struct {
	ingress, consumers []*node
}

func (n *nodes) all() []*node { return append(append([]*node(nil), n.ingress...), n.consumers...) }

// kill ends all processes at once.
func (n *nodes) kill() {
	for _, p := range n.all() {
		p.kill()
	}
}

const (
	adminEmail    = "admin@fault.example"
	adminPassword = "fault suite administrator"
)

// startNodes migrates and starts two ingress and two consumers processes.
func (s *suite) startNodes(ctx context.Context) error {
	via := make([]string, brokers)
	for i, port := range s.stack.via {
		via[i] = "127.0.0.1:" + strconv.Itoa(port)
	}
	env := append(os.Environ(),
		// A separate role, because verify also checks that the processes cannot change the ledger.
		"ADNET_POSTGRES_OWNER_URL="+s.stack.url,
		"ADNET_POSTGRES_URL="+strings.Replace(
			strings.Replace(s.stack.url, s.stack.addr("postgres"), s.proxy.postgres.Listen, 1), "//adnet:",
			"//adnet_app:", 1,
		),
		"ADNET_CLICKHOUSE_URL=clickhouse://"+s.proxy.clickhouse.Listen+"/adnet",
		"ADNET_REDIS_ADDR="+s.stack.addr("redis"), "ADNET_KAFKA_BROKERS="+strings.Join(via, ","),
		"ADNET_KAFKA_REPLICATION_FACTOR=3", "ADNET_KAFKA_MIN_INSYNC=2", "ADNET_KAFKA_PARTITIONS=6",
		"ADNET_TOKEN_KEYS="+product.Key(), "ADNET_SESSION_KEYS="+product.Key(),
		"ADNET_ADMIN_EMAIL="+adminEmail, "ADNET_ADMIN_PASSWORD="+adminPassword,
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=required", "ADNET_UNREVIEWED=everywhere", "ADNET_STRIPE_WEBHOOK_SECRET="+s.paySecret,
		"ADNET_LOG_LEVEL=info", "ADNET_TRUSTED_PROXIES=127.0.0.0/8",
		"ADNET_RATE_PER_MINUTE=0", "ADNET_RATE_BROWSER=0", "ADNET_RATE_BROWSER_NETWORK=0", "ADNET_RATE_WRITES=0",
		"ADNET_RATE_STATS=0",
		"ADNET_RATE_READS=0", "ADNET_CAMPAIGNS=0", "ADNET_RATE_REGISTER=100000", "ADNET_RATE_OPEN=1000000",
		"ADNET_FAULT_CLOCK="+strconv.FormatInt(int64(s.clock.Seconds()), 10),
	)
	// A new stack elects leaders, so the first attempt may come too early.
	migrate := func() error { return command(ctx, env, s.stack.bin, "migrate") }
	if err := migrate(); err != nil {
		_ = schedule.Pause(ctx, 2*time.Second)
		if err := migrate(); err != nil {
			return err
		}
	}
	ports, err := freePorts(2*2 + 2 + 5 + brokers) // the proxies already have theirs
	if err != nil {
		return err
	}
	for i := range 2 {
		spool := spoolDir(s.cfg.Dir, i)
		if err := os.MkdirAll(spool, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", spool, "tmpfs", 0, "size=8m"); err != nil {
			s.report.Skipped[spoolFull] = "a small disk cannot be mounted here: " + err.Error()
			s.say("%s is left out: %v (it needs root)", spoolFull, err)
		}
		http, admin := loopback(ports[3*i]), loopback(ports[3*i+1])
		s.nodes.ingress = append(
			s.nodes.ingress,
			s.node("ingress", i, http, admin, append(env, "ADNET_SPOOL_DIR="+spool, "ADNET_HTTP_ADDR="+http)),
		)
		s.nodes.consumers = append(s.nodes.consumers, s.node("consumers", i, "", loopback(ports[3*i+2]), env))
	}
	for _, n := range s.nodes.all() {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range s.nodes.all() {
		if err := n.ready(ctx, time.Minute); err != nil {
			return err
		}
	}
	s.say("two ingress and two consumers processes are ready")
	return nil
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func spoolDir(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("spool-%d", i+1)) }

func (s *suite) node(role string, i int, http, admin string, env []string) *node {
	name := fmt.Sprintf("%s-%d", role, i+1)
	return &node{
		role: role, name: name, http: http, admin: admin, bin: s.stack.bin, log: filepath.Join(s.cfg.Dir, name+".log"),
		env: append(append([]string(nil), env...), "ADNET_ADMIN_ADDR="+admin),
	}
}

// start runs the process and appends its output to the log.
func (n *node) start() error {
	started, err := process.Start(process.Program{
		Name: n.name, Path: n.bin, Args: []string{n.role}, Env: n.env, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = started
	return nil
}

// kill sends SIGKILL, which also ends a stopped process.
func (n *node) kill() {
	if p := n.running(); p != nil {
		p.Kill()
	}
}

func (n *node) signal(sig syscall.Signal) error { return n.running().Signal(sig) }

// ready waits until the process reports readiness.
func (n *node) ready(ctx context.Context, limit time.Duration) error {
	return n.running().Await(ctx, limit, process.Ready(n.admin))
}

// running returns the last started process.
func (n *node) running() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}
