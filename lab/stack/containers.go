package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Values of the setting servers.
const (
	serversAuto       = "auto"
	serversContainers = "containers"
	serversPrograms   = "programs"
)

//go:embed compose.yml
var composeFile []byte

// chooseContainers decides whether the servers of a stack run in containers, and reports what it
// chose. A folder keeps the kind of its first start, because its data belongs to it. Programs serve
// every stack with settings that containers lack: free ports, certificates, several brokers, kfake.
func (s *stack) chooseContainers(ctx context.Context) error {
	switch {
	case s.state.Containers != "":
		s.say("stack", "using containers: %s compose, project %s", s.state.Containers, s.project())
		return nil
	case s.cfg.Servers == serversPrograms, len(s.state.Ports) > 0, s.special():
		if s.cfg.Servers == serversContainers {
			return fmt.Errorf("the stack in %s has programs for servers, or settings that containers lack", s.cfg.Dir)
		}
		s.say("stack", "using programs of this machine")
		return nil
	}
	for _, engine := range []string{"docker", "podman"} {
		if usable(ctx, engine) {
			s.state.Containers = engine
			s.say("stack", "using containers: %s compose, project %s", engine, s.project())
			return nil
		}
	}
	if s.cfg.Servers == serversContainers {
		return errors.New("neither docker nor podman runs here with its compose command")
	}
	s.say("stack", "using programs of this machine: neither docker nor podman runs here with its compose command")
	return nil
}

// special reports whether the settings ask for what only programs offer.
func (s *stack) special() bool {
	return s.cfg.Ports == "free" || s.cfg.TLS != "" || s.cfg.Brokers > 1 || len(s.cfg.KafkaVia) > 0 ||
		s.cfg.RedisClock != 0 || s.cfg.Kafka != "auto"
}

// usable reports whether an engine has the command compose and a service that answers.
func usable(ctx context.Context, engine string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, args := range [][]string{{"compose", "version"}, {"info"}} {
		if exec.CommandContext(ctx, engine, args...).Run() != nil {
			return false
		}
	}
	return true
}

// project returns the name that the containers and volumes of this folder begin with.
func (s *stack) project() string { return "adnet-" + folderKey(s.cfg.Dir) }

// compose runs a command of the engine on the containers of this stack.
func (s *stack) compose(ctx context.Context, args ...string) error {
	password, err := s.postgresPassword()
	if err != nil {
		return err
	}
	file := filepath.Join(s.cfg.Dir, "compose.yml")
	if err := writeFile(file, composeFile, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(
		ctx, s.state.Containers, append([]string{"compose", "-p", s.project(), "-f", file}, args...)...,
	)
	cmd.Env = append(os.Environ(), "ADNET_STACK_PASSWORD="+password, "ADNET_STACK_KAFKA_HEAP="+s.cfg.KafkaHeap)
	for variable, port := range map[string]string{
		"ADNET_STACK_POSTGRES_PORT": namePostgres, "ADNET_STACK_REDIS_PORT": nameRedis,
		"ADNET_STACK_KAFKA_PORT": nameKafka, "ADNET_STACK_CLICKHOUSE_PORT": nameClickHouse,
		"ADNET_STACK_CLICKHOUSE_HTTP_PORT": portClickHouseHTTP,
	} {
		cmd.Env = append(cmd.Env, variable+"="+strconv.Itoa(s.port(port)))
	}
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // standard output is for results
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s compose %s: %w", s.state.Containers, args[0], err)
	}
	return nil
}

// upContainers starts the containers, which compose leaves alone if they run, and waits until all
// servers answer.
func (s *stack) upContainers(ctx context.Context) error {
	for _, name := range everything() {
		if s.port(name) != 0 {
			continue
		}
		if err := s.choosePorts(s.server(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := s.compose(ctx, "up", "-d"); err != nil {
		return err
	}
	for _, name := range everything() {
		if err := s.await(ctx, s.server(name), 3*time.Minute, nil); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.say(name, "answers")
	}
	return nil
}

// runs returns what runs a server of the stack, a container or a process.
func (s *stack) runs(name string) (by string, running bool) {
	if s.state.Containers == "" {
		pid, running := s.processes.running(name)
		return "pid " + strconv.Itoa(pid), running
	}
	conn, err := net.DialTimeout("tcp", s.address(name), time.Second)
	if err != nil {
		return "", false
	}
	return "container", conn.Close() == nil
}
