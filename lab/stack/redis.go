package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func newRedis(s *stack) server {
	return server{
		name:  nameRedis,
		waits: "PONG",
		ports: s.withTLS([]string{nameRedis}, portRedisTLS),
		prepare: func(ctx context.Context) error {
			return errors.Join(os.MkdirAll(filepath.Join(s.cfg.Dir, "redis"), 0o700), s.buildClock(ctx))
		},
		command: s.redisCommand,
		probe:   func(ctx context.Context) error { return probeRedis(ctx, s.address(nameRedis)) },
		stop:    []escalation{{syscall.SIGTERM, 20 * time.Second}},
		limit:   time.Minute,
	}
}

func (s *stack) redisCommand() (*exec.Cmd, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port(nameRedis)),
		"--dir", filepath.Join(s.cfg.Dir, "redis"), "--appendonly", "yes", "--appendfsync", "everysec", "--daemonize",
		"no")
	cmd.Args = append(cmd.Args, s.redisTLS()...)
	cmd.Dir = s.cfg.Dir
	cmd.Env = serverEnv()
	if s.cfg.RedisClock != 0 {
		cmd.Env = append(
			cmd.Env, "LD_PRELOAD="+s.binary("clock.so"), "ADNET_FAULT_CLOCK="+strconv.FormatInt(s.cfg.RedisClock, 10),
		)
	}
	return cmd, nil
}

//go:embed clock/clock.c
var clockSource []byte

// buildClock compiles the shifted clock of Redis if the settings ask for one.
func (s *stack) buildClock(ctx context.Context) error {
	if s.cfg.RedisClock == 0 {
		return nil
	}
	source, library := s.binary("clock.c"), s.binary("clock.so")
	if have, err := os.ReadFile(source); err == nil && bytes.Equal(have, clockSource) {
		if _, err := os.Stat(library); err == nil {
			return nil
		}
	}
	if err := writeFile(source, clockSource, 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile the clock of Redis: %w\n%s", err, out)
	}
	return nil
}

// probeRedis expects PONG. A server that is still loading its file answers LOADING.
func probeRedis(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(deadline)
	}
	_, writeErr := conn.Write([]byte("PING\r\n"))
	if err := errors.Join(err, writeErr); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if line != "+PONG\r\n" {
		return fmt.Errorf("answered %q instead of PONG", line)
	}
	return nil
}
