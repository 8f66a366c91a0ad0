package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// session is one run of the benchmark: the binary, the servers, and everything that it started.
type session struct {
	cfg    *runCmd
	dir    string // scratch, removed at the end
	binary string
	row    row // that is measured
	begun  time.Time

	postgres, redis, kafka, clickhouse string
	servers                            map[int]string // processes of them, by id

	sites     map[int]*site
	processes []*process
	cleanups  []func() error // databases
}

// newSession builds adnet and finds the servers.
func newSession(cfg *runCmd) (*session, error) {
	s := &session{cfg: cfg, begun: time.Now(), sites: map[int]*site{}, row: row{name: "setup"}}
	for name, into := range map[string]*string{
		"ADNET_TEST_POSTGRES": &s.postgres, "ADNET_TEST_REDIS": &s.redis, "ADNET_TEST_KAFKA": &s.kafka, "ADNET_TEST_CLICKHOUSE": &s.clickhouse,
	} {
		if *into = os.Getenv(name); *into == "" {
			return nil, fmt.Errorf(`%s is not set: run "make bench", which starts the servers, or "make stack" and eval "$(go run ./deploy/local env)"`, name)
		}
	}
	if cfg.Samples < 1 || cfg.Sample <= 0 {
		return nil, errors.New("--samples and --sample must be positive")
	}
	if cfg.Smoke {
		cfg.Samples, cfg.Sample = 1, 500*time.Millisecond
	}
	s.findServers()
	var err error
	if s.dir, err = os.MkdirTemp("", "adnet-bench-"); err != nil {
		return nil, err
	}
	s.binary = filepath.Join(s.dir, "adnet")
	s.say("building adnet ...")
	if out, err := exec.Command("make", "build", "BIN="+s.binary).CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build: %w: %s", err, out), s.close())
	}
	return s, nil
}

// say prints progress.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench %6.1fs  %-17s %s\n", time.Since(s.begun).Seconds(), s.row.name, fmt.Sprintf(format, args...))
}

// close ends every process, drops every database and removes the scratch folder.
func (s *session) close() error {
	var failed error
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].stop()
	}
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		failed = errors.Join(failed, s.cleanups[i]())
	}
	return errors.Join(failed, os.RemoveAll(s.dir))
}

// scratch writes a file that lives as long as the session.
func (s *session) scratch(pattern string, text []byte) (string, error) {
	f, err := os.CreateTemp(s.dir, pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}

// size is n, or a small catalog in a smoke run.
func (s *session) size(n int) int {
	if s.cfg.Smoke {
		return n / 50
	}
	return n
}

// process is something that the session started and will end.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// start runs a program with its output in a file.
func (s *session) start(name string, env []string, program string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", name, len(s.processes))))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, cmd: exec.Command(program, args...), log: log.Name(), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it through stop, in order
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	s.processes = append(s.processes, p)
	return p, nil
}

// stop ends the process politely, then not. It may be called again.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// await polls until ready answers nil.
func (p *process) await(ctx context.Context, ready func() error) error {
	deadline := time.Now().Add(5 * time.Minute)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			tail, _ := os.ReadFile(p.log)
			return fmt.Errorf("%s ended: %s", p.name, strings.TrimSpace(string(tail[max(0, len(tail)-2000):])))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after 5 minutes: %w", p.name, err)
		}
	}
}

// rss is the resident memory of the process in bytes.
func (p *process) rss() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("no VmRSS")
}
