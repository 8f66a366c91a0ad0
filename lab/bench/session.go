package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"adnet/lab/process"
	base "adnet/lab/site"
)

// session is one run of the benchmark: the binary, the servers, and all started processes.
type session struct {
	cfg    *runCmd
	dir    string // scratch, removed at the end
	binary string
	row    row // under measurement
	begun  time.Time

	base.Servers
	servers map[int]string // their processes by id

	node      string // admin address of the last node started
	sites     map[int]*site
	processes []*process.Process
	cleanups  []func() error // databases
}

// newSession builds adnet and reads the addresses of the servers.
func newSession(cfg *runCmd) (*session, error) {
	s := &session{cfg: cfg, begun: time.Now(), sites: map[int]*site{}, row: row{name: "setup"}}
	var err error
	if s.Servers, err = base.FromEnv("bench"); err != nil {
		return nil, err
	}
	if cfg.Samples < 1 || cfg.Sample <= 0 {
		return nil, errors.New("--samples and --sample must be positive")
	}
	if cfg.Smoke {
		cfg.Samples, cfg.Sample = 1, 500*time.Millisecond
	}
	s.findServers()
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
	fmt.Fprintf(
		os.Stderr, "bench %6.1fs  %-17s %s\n", time.Since(s.begun).Seconds(), s.row.name, fmt.Sprintf(format, args...),
	)
}

// close ends every process, drops every database and removes the scratch folder.
func (s *session) close() error {
	var failed error
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].Stop()
	}
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		failed = errors.Join(failed, s.cleanups[i]())
	}
	return errors.Join(failed, os.RemoveAll(s.dir))
}

// scratch writes a file that exists until the end of the session.
func (s *session) scratch(pattern string, text []byte) (string, error) {
	f, err := os.CreateTemp(s.dir, pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}

// size returns n, or the size of a small catalog in a smoke run.
func (s *session) size(n int) int {
	if s.cfg.Smoke {
		return n / 50
	}
	return n
}

// start runs a program with its output in a file; env extends the session's environment.
func (s *session) start(name string, env []string, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(process.Program{
		Name: name, Path: program, Args: args, Env: append(os.Environ(), env...),
		Log: filepath.Join(s.dir, fmt.Sprintf("%s-%d.log", name, len(s.processes))),
	})
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return p, err
}

// startWait limits the time until a process is ready. The largest catalog takes minutes.
const startWait = 5 * time.Minute
