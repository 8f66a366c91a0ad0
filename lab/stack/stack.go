package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Names of the servers, which are also the keys of their main ports.
const (
	namePostgres   = "postgres"
	nameRedis      = "redis"
	nameKafka      = "kafka"
	nameClickHouse = "clickhouse"

	portKafkaController = "kafka-controller"
	portClickHouseHTTP  = "clickhouse-http"
)

// everything returns the servers in start order. They stop in reverse.
func everything() []string { return []string{namePostgres, nameRedis, nameKafka, nameClickHouse} }

// servers returns everything with all brokers of this stack.
func (s *stack) servers() []string {
	names := everything()
	for id := 2; id <= s.state.Brokers; id++ {
		names = append(names, brokerName(id))
	}
	return names
}

// server is one part of the stack.
type server struct {
	name  string
	waits string // What the server is ready to answer, for progress lines.
	ports []string
	// prepare creates data folders and settings. It runs before every start and must be repeatable.
	prepare func(context.Context) error
	command func() (*exec.Cmd, error)
	// probe returns nil once the server answers and is complete.
	probe func(context.Context) error
	stop  []escalation
	limit time.Duration // From start to first answer; after a crash that includes recovery.
}

// stack is a stack folder with all servers.
type stack struct {
	cfg       settings
	processes processes
	began     time.Time

	mu    sync.Mutex // Guards state and the order of output lines.
	state state
}

// state is stored between calls. It holds no secret.
type state struct {
	Ports map[string]int `json:"ports"`
	// KafkaEngine is the broker whose data this folder holds, "" before the first start.
	KafkaEngine string `json:"kafka_engine"`
	// Brokers is the number of Kafka brokers of this folder, fixed by its first start.
	Brokers int `json:"brokers,omitempty"`
	// Via lists the ports of proxies that the brokers advertise to clients that connect through
	// them.
	Via []int `json:"via,omitempty"`
	// Containers is the engine that runs the servers, "" for processes of this machine.
	Containers string `json:"containers,omitempty"`
}

// openStack reads the state of a stack folder. It creates nothing.
func openStack(cfg settings) (*stack, error) {
	if err := cfg.absolute(); err != nil {
		return nil, err
	}
	s := &stack{cfg: cfg, processes: processes{filepath.Join(cfg.Dir, "run")}, began: time.Now()}
	data, err := os.ReadFile(s.stateFile())
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, &s.state); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w): run down, then remove it", s.stateFile(), err)
		}
	}
	if s.state.Ports == nil {
		s.state.Ports = make(map[string]int)
	}
	return s, nil
}

func (s *stack) stateFile() string          { return filepath.Join(s.cfg.Dir, "stack.json") }
func (s *stack) logFile(name string) string { return filepath.Join(s.cfg.Dir, "logs", name+".log") }
func (s *stack) address(port string) string { return loopback(s.port(port)) }
func (s *stack) binary(name string) string  { return filepath.Join(s.cfg.Dir, "bin", name) }
func loopback(port int) string              { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
func (s *stack) self(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary("stack"), args...)
	cmd.Dir = s.cfg.Dir
	return cmd
}

// server returns one part by name.
func (s *stack) server(name string) server {
	switch name {
	case namePostgres:
		return newPostgres(s)
	case nameRedis:
		return newRedis(s)
	case nameKafka:
		return newKafka(s, 1)
	case brokerName(2):
		return newKafka(s, 2)
	case brokerName(3):
		return newKafka(s, 3)
	default:
		return newClickHouse(s)
	}
}

// say prints one progress line to standard error, because standard output is for results.
func (s *stack) say(name, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(os.Stderr, "%6.1fs  %-10s  %s\n", time.Since(s.began).Seconds(), name, fmt.Sprintf(format, args...))
}

// up starts the named servers unless they answer, and returns the names of the servers that it
// started. On an error the servers started so far keep running and are in the returned list.
func (s *stack) up(ctx context.Context, names []string) (started []string, err error) {
	unlock, err := s.claim()
	if err != nil {
		return nil, err
	}
	defer unlock()

	if s.state.Containers != "" {
		return nil, s.upContainers(ctx)
	}
	if names, err = s.chooseBrokers(names); err != nil {
		return nil, err
	}
	missing := names[:0:0]
	for _, name := range names {
		answers, err := s.settle(ctx, s.server(name))
		if err != nil {
			return nil, err
		}
		if !answers {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	if err := s.install(ctx, missing); err != nil {
		return nil, err
	}
	if err := s.copySelf(); err != nil {
		return nil, err
	}
	for _, name := range missing { // before any start, because brokers need each other's ports
		if err := s.choosePorts(s.server(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	group := make(chan error, len(missing))
	for _, name := range missing {
		started = append(started, name)
		go func() { group <- s.bringUp(ctx, s.server(name)) }()
	}
	for range missing {
		err = errors.Join(err, <-group)
	}
	return started, err
}

// claim creates the folder and locks other launchers out of it.
func (s *stack) claim() (unlock func(), err error) {
	for _, dir := range []string{
		s.cfg.Dir, s.processes.dir, filepath.Join(s.cfg.Dir, "logs"), filepath.Join(s.cfg.Dir, "bin"),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	unlock, err = lock(filepath.Join(s.cfg.Dir, "lock"), func() {
		s.say("stack", "waiting for another launcher in %s", s.cfg.Dir)
	})
	if err != nil {
		return nil, err
	}
	// The other launcher may have changed ports.
	fresh, err := openStack(s.cfg)
	if err != nil {
		unlock()
		return nil, err
	}
	if len(fresh.state.Ports) > 0 || s.state.Containers == "" {
		s.state = fresh.state
	}
	return unlock, nil
}

// settle reports whether a server already answers. It stops a running server that does not answer,
// so that it is started again.
func (s *stack) settle(ctx context.Context, srv server) (answers bool, err error) {
	pid, running := s.processes.running(srv.name)
	if !running {
		return false, s.processes.forget(srv.name)
	}
	const patience = 20 * time.Second
	if err = s.await(ctx, srv, patience, nil); err == nil {
		s.say(srv.name, "runs already (pid %d, %s)", pid, s.address(srv.name))
		return true, nil
	}
	if ctx.Err() != nil {
		return false, err
	}
	s.say(srv.name, "pid %d does not answer (%v): stopping it", pid, err)
	return false, s.processes.stop(srv.name, srv.stop)
}

// bringUp starts one server and waits for its answer. A server that dies while starting gets two
// more attempts: its port may have been taken in the meantime, or children of a crashed predecessor
// are still exiting.
func (s *stack) bringUp(ctx context.Context, srv server) error {
	for try := 1; ; try++ {
		err := s.startOnce(ctx, srv)
		if err == nil || ctx.Err() != nil || try == 3 || !errors.Is(err, errDied) {
			return err
		}
		s.say(srv.name, "died while starting, retrying")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

var errDied = errors.New("died while starting")

func (s *stack) startOnce(ctx context.Context, srv server) error {
	if err := s.choosePorts(srv); err != nil {
		return fmt.Errorf("%s: %w", srv.name, err)
	}
	if err := srv.prepare(ctx); err != nil {
		return fmt.Errorf("%s: %w", srv.name, err)
	}
	cmd, err := srv.command()
	if err != nil {
		return fmt.Errorf("%s: %w", srv.name, err)
	}
	log := s.logFile(srv.name)
	ended, err := s.processes.detach(srv.name, cmd, log)
	if err != nil {
		return fmt.Errorf("%s: %w", srv.name, err)
	}
	s.say(srv.name, "started on %s (pid %d), waiting for %s", s.address(srv.name), cmd.Process.Pid, srv.waits)
	if err := s.await(ctx, srv, srv.limit, ended); err != nil {
		return fmt.Errorf("%s: %w; the end of %s:\n%s", srv.name, err, log, tail(log, 15))
	}
	s.say(srv.name, "answers")
	return nil
}

// await probes until the server answers, ended closes, or the limit has passed. It prints a
// progress line every few seconds.
func (s *stack) await(ctx context.Context, srv server, limit time.Duration, ended <-chan struct{}) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	news := time.NewTicker(3 * time.Second)
	defer news.Stop()
	for {
		probe, stop := context.WithTimeout(ctx, 3*time.Second)
		err := srv.probe(probe)
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errDied
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", time.Since(began).Round(time.Second), err)
		case <-tick.C:
		}
		select {
		case <-news.C:
			s.say(srv.name, "still waiting for %s at %s", srv.waits, s.address(srv.name))
		default:
		}
	}
}

// choosePorts selects the ports of a server that is about to start: its earlier ports, else those
// of the settings, or free ports if another process holds these.
func (s *stack) choosePorts(srv server) error {
	wanted := map[string]int{
		namePostgres: s.cfg.PostgresPort, nameRedis: s.cfg.RedisPort, nameKafka: s.cfg.KafkaPort,
		nameClickHouse: s.cfg.ClickHousePort, portClickHouseHTTP: s.cfg.ClickHouseHTTP,
	}
	for _, name := range srv.ports {
		port := wanted[name]
		if port == 0 || s.cfg.Ports == "free" {
			port = s.port(name)
		}
		if port == 0 || !isFree(port) {
			free, err := publicPorts.free()
			for err == nil && s.chosen(free) { // reserved, although no process listens there yet
				free, err = publicPorts.free()
			}
			if err != nil {
				return err
			}
			if port != 0 {
				s.say(srv.name, "port %d is held by another process, using %d", port, free)
			}
			port = free
		}
		if err := s.setPort(name, port); err != nil {
			return err
		}
	}
	return nil
}

// chosen reports whether a port is already assigned to a server of this stack.
func (s *stack) chosen(port int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.state.Ports {
		if p == port {
			return true
		}
	}
	return false
}

func (s *stack) port(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Ports[name]
}

// setPort replaces the map instead of writing into it, because other servers read it concurrently.
func (s *stack) setPort(name string, port int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ports := map[string]int{name: port}
	for other, p := range s.state.Ports {
		if other != name {
			ports[other] = p
		}
	}
	s.state.Ports = ports
	return s.saveState()
}

func (s *stack) saveState() error {
	data, err := json.MarshalIndent(s.state, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(s.stateFile(), append(data, '\n'), 0o644)
}

// down stops everything that was started from this folder, the roles of serve first.
func (s *stack) down(purge bool) error {
	if _, err := os.Stat(s.stateFile()); errors.Is(err, os.ErrNotExist) {
		s.say("stack", "nothing has been started in %s", s.cfg.Dir)
		return nil
	}
	names := append(s.servers(), roleConsumers, roleIngress)
	if err := s.stopNamed(names); err != nil {
		return err
	}
	if s.state.Containers != "" {
		args := []string{"down"}
		if purge {
			args = append(args, "--volumes")
		}
		if err := s.compose(context.Background(), args...); err != nil {
			return err
		}
	}
	if !purge {
		return nil
	}
	data, err := s.postgresData()
	if err != nil {
		return err
	}
	s.say("stack", "deleting %s", s.cfg.Dir)
	return errors.Join(os.RemoveAll(data), os.RemoveAll(s.cfg.Dir))
}

// stopNamed stops servers in reverse order and skips servers that are not running.
func (s *stack) stopNamed(names []string) error {
	unlock, err := s.claim()
	if err != nil {
		return err
	}
	defer unlock()
	var failed error
	for _, name := range slices.Backward(names) {
		steps := []escalation{{syscall.SIGTERM, 15 * time.Second}}
		if slices.Contains(s.servers(), name) {
			steps = s.server(name).stop
		}
		pid, running := s.processes.running(name)
		if running {
			s.say(name, "stopping pid %d", pid)
		}
		if err := s.processes.stop(name, steps); err != nil {
			failed = errors.Join(failed, err)
		} else if running {
			s.say(name, "stopped")
		}
	}
	return failed
}

// status prints one line a server and fails unless all answer.
func (s *stack) status(ctx context.Context, w io.Writer) error {
	healthy := true
	for _, name := range s.servers() {
		by, running := s.runs(name)
		line := "stopped"
		if running {
			probe, cancel := context.WithTimeout(ctx, 3*time.Second)
			err := s.server(name).probe(probe)
			cancel()
			line = fmt.Sprintf("%s at %s answers", by, s.address(name))
			if err != nil {
				line, healthy = fmt.Sprintf("%s at %s does not answer: %v", by, s.address(name), err), false
			}
			if name == nameKafka && s.state.KafkaEngine == engineKfake {
				line += " (kfake, not Apache Kafka)"
			}
		}
		healthy = healthy && running
		fmt.Fprintf(w, "%-10s  %s\n", name, line)
	}
	fmt.Fprintf(w, "%-10s  %s\n", "folder", s.cfg.Dir)
	if !healthy {
		return exitError(1)
	}
	return nil
}

// copySelf copies this program into the stack folder. `go run` deletes its build when it ends, and
// the long-lived hosts restart children from the file.
func (s *stack) copySelf() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(s.binary("stack")); err == nil && bytes.Equal(have, program) {
		return nil
	}
	return writeFile(s.binary("stack"), program, 0o755)
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// portRange is a range to search for free ports. It lies below the systems' range for the local
// ports of outgoing connections, so that a restarting server finds its port free. The two ranges
// here do not overlap, and neither holds a default port.
type portRange struct{ first, last int }

var (
	publicPorts   = portRange{30000, 32700} // Servers with any port.
	upstreamPorts = portRange{10000, 19999} // The ClickHouse child behind its front.
)

// free returns a random port of the range on which no process listens at this moment. The caller
// must be ready to try another.
func (r portRange) free() (int, error) {
	for range 200 {
		if port := r.first + rand.IntN(r.last-r.first+1); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", r.first, r.last)
}

// serverEnv returns this program's environment with messages in English.
func serverEnv() []string { return append(os.Environ(), "LC_ALL=C") }

// folderKey returns a short, stable name for a folder that is safe in a path.
func folderKey(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}
