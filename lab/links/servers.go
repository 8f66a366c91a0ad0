// Package links runs real servers with encrypted listeners. Its tests check every link of adnet against
// them.
package links

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"adnet/internal/testenv/linktest"
)

// Servers are PostgreSQL, Redis, Kafka and ClickHouse, each with encrypted listeners whose
// certificate is for localhost, in a folder of their own on free ports.
type Servers struct {
	CA       *linktest.Authority
	Other    *linktest.Authority // trusted by no server
	dir      string
	launcher string
	ports    map[string]int
}

// StartServers creates two authorities and their certificates, and starts the servers from the
// binaries that `make stack` installs. Stop them even after an error.
func StartServers() (*Servers, error) {
	dir, err := os.MkdirTemp("", "adnet-links-")
	if err != nil {
		return nil, err
	}
	s := &Servers{dir: dir, launcher: filepath.Join(dir, "launcher")}
	if err := s.certify(); err != nil {
		return s, err
	}
	if out, err := exec.Command("go", "build", "-o", s.launcher, "adnet/lab/stack").CombinedOutput(); err != nil {
		return s, fmt.Errorf("build the launcher: %w\n%s", err, out)
	}
	if err := s.launch("up", "--ports=free", "--kafka-heap=256m", "--tls="+s.CA.Dir); err != nil {
		return s, err
	}
	text, err := os.ReadFile(filepath.Join(s.stack(), "stack.json"))
	if err != nil {
		return s, err
	}
	var state struct {
		Ports map[string]int `json:"ports"`
	}
	err = json.Unmarshal(text, &state)
	s.ports = state.Ports
	return s, err
}

func (s *Servers) stack() string { return filepath.Join(s.dir, "stack") }

func (s *Servers) launch(args ...string) error {
	out, err := exec.Command(s.launcher, append([]string{"--dir=" + s.stack()}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Stop stops the servers and removes everything.
func (s *Servers) Stop() error {
	if s == nil {
		return nil
	}
	var err error
	if _, missing := os.Stat(s.launcher); missing == nil {
		err = s.launch("down", "--purge")
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// certify issues the certificates: the servers' for localhost, an expired one, and clients' of both
// authorities.
func (s *Servers) certify() (err error) {
	certs, other := filepath.Join(s.dir, "certs"), filepath.Join(s.dir, "other")
	if err := errors.Join(os.Chmod(s.dir, 0o755), os.Mkdir(certs, 0o755), os.Mkdir(other, 0o755)); err != nil {
		return err
	}
	if s.CA, err = linktest.NewAuthority(certs, "ca"); err != nil {
		return err
	}
	if s.Other, err = linktest.NewAuthority(other, "ca"); err != nil {
		return err
	}
	local := []string{"localhost"}
	return errors.Join(
		s.CA.Issue(linktest.Wish{File: "server", Name: "localhost", Hosts: local}),
		s.CA.Issue(linktest.Wish{File: "server.kept", Name: "localhost", Hosts: local}),
		s.CA.Issue(linktest.Wish{
			File: "expired", Name: "localhost", Hosts: local, From: -10 * 24 * time.Hour, For: 5 * 24 * time.Hour,
		}),
		s.CA.Issue(linktest.Wish{File: "client", Name: "adnet"}),
		s.Other.Issue(linktest.Wish{File: "client", Name: "adnet"}),
	)
}

// At returns the address of a port of lab/stack/tls.go under the name of the certificate.
func (s *Servers) At(port string) string { return "localhost:" + strconv.Itoa(s.ports[port]) }

// Elsewhere returns the same port under another name of this machine, which the certificate lacks.
func (s *Servers) Elsewhere(port string) string { return "127.0.0.1:" + strconv.Itoa(s.ports[port]) }

// Password returns the password of the superuser of PostgreSQL.
func (s *Servers) Password() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.stack(), "postgres.password"))
	return string(text), err
}
