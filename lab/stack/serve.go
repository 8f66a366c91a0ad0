package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	roleIngress   = "ingress"
	roleConsumers = "consumers"
	roleMigrate   = "migrate"
)

// serveOpts holds the addresses of the two roles.
type serveOpts struct {
	HTTPAddr  string `name:"http-addr" env:"ADNET_HTTP_ADDR" default:"127.0.0.1:8080" help:"Public address of ingress."`
	AdminAddr string `name:"admin-addr" env:"ADNET_ADMIN_ADDR" default:"127.0.0.1:8081" help:"Admin address of ingress; consumers gets the next port."`
}

// role is one child of serve.
type role struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // Valid once ended is closed.
}

// serve builds adnet, migrates, and runs ingress and consumers until ctx is cancelled (nil) or one
// of them ends (an error). Both have ended when it returns.
func (s *stack) serve(ctx context.Context, c serveOpts) error {
	if err := s.requireRunning(); err != nil {
		return err
	}
	env, err := s.roleEnv(c)
	if err != nil {
		return err
	}
	if err := s.stopNamed([]string{roleConsumers, roleIngress}); err != nil {
		return err
	}
	if err := s.runStep(ctx, "build", "", "go", "build", "-o", s.binary("adnet"), "adnet"); err != nil {
		return err
	}
	return s.runRoles(ctx, c, env, os.Stdout)
}

// runRoles migrates, then keeps both roles running until ctx is cancelled or one ends.
func (s *stack) runRoles(ctx context.Context, c serveOpts, env map[string][]string, to io.Writer) error {
	out := &lines{to: to}
	migrate, err := s.startRole(roleMigrate, env[roleMigrate], out)
	if err != nil {
		return err
	}
	if err := waitRole(ctx, migrate); err != nil {
		return fmt.Errorf("adnet migrate: %w", err)
	}
	consumers, err := s.startRole(roleConsumers, env[roleConsumers], out)
	if err != nil {
		return err
	}
	ingress, err := s.startRole(roleIngress, env[roleIngress], out)
	if err != nil {
		return errors.Join(err, s.stopRole(consumers))
	}
	go s.announce(ctx, c, ingress)
	select {
	case <-ctx.Done():
	case <-ingress.ended:
		err = fmt.Errorf("ingress ended: %v", ingress.err)
	case <-consumers.ended:
		err = fmt.Errorf("consumers ended: %v", consumers.err)
	}
	// Ingress stops first, so that consumers can still read the records that it flushes.
	return errors.Join(err, s.stopRole(ingress), s.stopRole(consumers))
}

// roleEnv returns the environment of each role: the stack's addresses for all, and secrets only for
// their users.
func (s *stack) roleEnv(c serveOpts) (map[string][]string, error) {
	vars, err := s.variables(everything())
	if err != nil {
		return nil, err
	}
	neighbour, err := nextPort(c.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("admin address %q: %w", c.AdminAddr, err)
	}
	keys, err := s.roleKeys()
	if err != nil {
		return nil, err
	}
	common := os.Environ()
	for _, v := range append(vars, trial()...) {
		common = append(common, v.name+"="+v.value)
	}
	serving := slices.DeleteFunc(
		slices.Clone(common), func(setting string) bool { return strings.HasPrefix(setting, postgresOwner+"=") },
	)
	with := func(more ...string) []string { return append(slices.Clone(serving), more...) }
	ingress := with(
		"ADNET_HTTP_ADDR="+c.HTTPAddr, "ADNET_ADMIN_ADDR="+c.AdminAddr,
		"ADNET_SPOOL_DIR="+filepath.Join(s.cfg.Dir, "spool"),
	)
	consumers := with("ADNET_ADMIN_ADDR=" + neighbour)
	for _, key := range keys {
		ingress = append(ingress, key.name+"="+key.value)
		if key.name == tokenKeys { // only ingress handles logins
			consumers = append(consumers, key.name+"="+key.value)
		}
	}
	return map[string][]string{roleMigrate: common, roleIngress: ingress, roleConsumers: consumers}, nil
}

// nextPort returns addr with the next higher port.
func nextPort(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", err
	}
	if number == 0 || number == 65535 {
		return "", errors.New("has no next port")
	}
	return net.JoinHostPort(host, strconv.FormatUint(number+1, 10)), nil
}

// tokenKeys names the variable of the keys that sign auction tokens.
const tokenKeys = "ADNET_TOKEN_KEYS"

// roleKeys returns the signing keys of ingress: those of the environment, else those of this stack,
// which are created once and readable only by the owner. New keys would invalidate every token in
// use.
func (s *stack) roleKeys() ([]variable, error) {
	var keys []variable
	for _, name := range []string{tokenKeys, "ADNET_SESSION_KEYS"} {
		if value := os.Getenv(name); value != "" {
			keys = append(keys, variable{name, value})
			continue
		}
		file := filepath.Join(s.cfg.Dir, strings.ToLower(name)+".secret")
		value, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			var key [32]byte
			if _, err := rand.Read(key[:]); err != nil {
				return nil, err
			}
			value = []byte("k1:" + base64.StdEncoding.EncodeToString(key[:]))
			err = writeFile(file, value, 0o600)
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, variable{name, string(value)})
	}
	return keys, nil
}

// startRole starts `adnet NAME` with prefixed output. It gets its own process group, so that Ctrl-C
// reaches it only through serve, in order. It is recorded like a server, so that down finds it
// after serve was killed.
func (s *stack) startRole(name string, env []string, out *lines) (*role, error) {
	cmd := exec.Command(s.binary("adnet"), name)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	writer := out.prefixed(name)
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := s.processes.remember(name, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	r := &role{name: name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		_ = writer.Close()
		close(r.ended)
	}()
	return r, nil
}

// waitRole waits for a role that ends by itself.
func waitRole(ctx context.Context, r *role) error {
	select {
	case <-r.ended:
		return r.err
	case <-ctx.Done():
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		<-r.ended
		return ctx.Err()
	}
}

// stopRole ends a child by SIGTERM, after 15 s by SIGKILL, and waits for it.
func (s *stack) stopRole(r *role) error {
	err := s.processes.stop(r.name, []escalation{{syscall.SIGTERM, 15 * time.Second}})
	<-r.ended
	return err
}

// announce waits until ingress is ready and prints its address.
func (s *stack) announce(ctx context.Context, c serveOpts, ingress *role) {
	base := "http://" + c.HTTPAddr
	began, reported := time.Now(), time.Now()
	for !ready(ctx, base+"/readyz?for=ads") {
		select {
		case <-ctx.Done():
			return
		case <-ingress.ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(reported) > 3*time.Second {
			reported = time.Now()
			s.say("serve", "waiting for %s/readyz (%s)", base, time.Since(began).Round(time.Second))
		}
	}
	s.say("serve", "adnet is ready at %s; Ctrl-C stops it", base)
	s.say(
		"serve", `create an admin:  eval "$(make -s stack-env)"; %s user create --role admin you@example.com`,
		s.binary("adnet"),
	)
}

func ready(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

// lines joins the output of several children line by line.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// prefixed returns a writer that prints whole lines with the name of their source. Close flushes an
// incomplete last line.
func (l *lines) prefixed(name string) io.WriteCloser {
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for in := bufio.NewReader(reader); ; {
			text, err := in.ReadString('\n')
			if text != "" {
				l.mu.Lock()
				fmt.Fprintf(l.to, "%-9s | %s\n", name, strings.TrimSuffix(text, "\n"))
				l.mu.Unlock()
			}
			if err != nil {
				return
			}
		}
	}()
	return &flushed{PipeWriter: writer, done: done}
}

// flushed is a pipe whose Close waits until everything is printed.
type flushed struct {
	*io.PipeWriter
	done chan struct{}
}

func (f *flushed) Close() error {
	err := f.PipeWriter.Close()
	<-f.done
	return err
}
