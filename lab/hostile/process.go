package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"adnet/internal/schedule"
)

// process is a role of adnet.
type process struct {
	role, http, admin, log string
	cmd                    *exec.Cmd
	ended                  chan struct{}
}

// launch starts a role; files limits its descriptors when it is not 0.
func (w *world) launch(role string, files int) (*process, error) {
	p := &process{role: role, log: filepath.Join(w.dir, role+".log"), ended: make(chan struct{})}
	for _, into := range []*string{&p.http, &p.admin} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		*into = free.Addr().String()
		if err := free.Close(); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(w.binary, role)
	if files != 0 {
		p.cmd = exec.Command("sh", "-c", `ulimit -n "$1" && exec "$2" "$3"`, "sh", strconv.Itoa(files), w.binary, role)
	}
	p.cmd.Env = append(append([]string(nil), w.env...), "ADNET_HTTP_ADDR="+p.http, "ADNET_ADMIN_ADDR="+p.admin)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it through stop
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// command runs a command of adnet to its end.
func (w *world) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Env = w.env
	return cmd.CombinedOutput()
}

// await waits until the process is ready.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if reply, err := http.Get("http://" + p.admin + "/readyz"); err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		if p.died() {
			tail, _ := os.ReadFile(p.log)
			return fmt.Errorf("%s ended: %s", p.role, tail[max(0, len(tail)-2000):])
		}
		_ = schedule.Pause(ctx, 50*time.Millisecond)
	}
	return errors.Join(fmt.Errorf("%s is not ready", p.role), ctx.Err())
}

// died says whether the process has ended.
func (p *process) died() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop ends the process politely, then not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// rss is the resident memory in bytes.
func (p *process) rss() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var all, resident int64
	_, err = fmt.Sscan(string(text), &all, &resident)
	return resident * int64(os.Getpagesize()), err
}

// files is how many descriptors the process has open.
func (p *process) files() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(open), err
}
