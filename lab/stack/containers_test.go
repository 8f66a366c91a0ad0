package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// engines puts programs into an otherwise empty PATH. Each appends its arguments to the returned
// file.
func engines(t *testing.T, scripts map[string]string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	for name, script := range scripts {
		text := "#!/bin/sh\necho \"$0 $*\" >>" + calls + "\n" + script + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	t.Setenv("PATH", dir)
	return calls
}

func TestContainersAreUsedWhereTheyRun(t *testing.T) {
	const runs, stopped, without = "exit 0", `test "$1" = compose`, `test "$1" = info`
	for name, tc := range map[string]struct {
		engines map[string]string
		change  func(*stack)
		want    string
		err     string
	}{
		"docker":             {engines: map[string]string{"docker": runs, "podman": runs}, want: "docker"},
		"no service":         {engines: map[string]string{"docker": stopped}},
		"no compose":         {engines: map[string]string{"docker": without, "podman": runs}, want: "podman"},
		"neither":            {},
		"neither, but asked": {change: func(s *stack) { s.cfg.Servers = serversContainers }, err: "neither docker nor podman"},
		"programs":           {engines: map[string]string{"docker": runs}, change: func(s *stack) { s.cfg.Servers = serversPrograms }},
		"free ports":         {engines: map[string]string{"docker": runs}, change: func(s *stack) { s.cfg.Ports = "free" }},
		"certificates":       {engines: map[string]string{"docker": runs}, change: func(s *stack) { s.cfg.TLS = "certs" }},
		"data of programs": {
			engines: map[string]string{"docker": runs},
			change:  func(s *stack) { s.state.Ports = map[string]int{nameRedis: 1} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			engines(t, tc.engines)
			s := testStack(t)
			s.cfg.Ports, s.cfg.Servers = "fixed", serversAuto
			if tc.change != nil {
				tc.change(s)
			}
			err := s.chooseContainers(t.Context())
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, s.state.Containers)
		})
	}
}

func TestComposeGetsPortsAndPassword(t *testing.T) {
	calls := engines(t, map[string]string{"docker": `echo "$ADNET_STACK_KAFKA_PORT $ADNET_STACK_PASSWORD" >>"$ADNET_TEST_CALLS"`})
	t.Setenv("ADNET_TEST_CALLS", calls)
	s := testStack(t)
	s.state.Containers = "docker"
	s.state.Ports = map[string]int{namePostgres: 1, nameRedis: 2, nameKafka: 29092, nameClickHouse: 4}
	require.NoError(t, s.saveState())
	password, err := s.postgresPassword()
	require.NoError(t, err)
	require.NoError(t, s.down(true))
	text, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Contains(t, string(text), "down --volumes\n29092 "+password+"\n")
	require.NoDirExists(t, s.cfg.Dir)
}

// TestComposeFile checks that the images are the tested ones and that only this machine reaches them.
func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image string   `yaml:"image"`
			Ports []string `yaml:"ports"`
		} `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(composeFile, &file))
	product, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	for _, name := range everything() {
		service := file.Services[name]
		require.Regexp(t, `(?m)^    image: `+regexp.QuoteMeta(service.Image)+`$`, string(product), name)
		require.NotEmpty(t, service.Ports, name)
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), port)
		}
	}
	require.Len(t, file.Services, len(everything()))
}
