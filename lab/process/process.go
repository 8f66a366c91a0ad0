// Package process starts, watches and ends the programs of a lab suite: adnet's roles and their
// baselines.
//
// A program never outlives the suite. [Process.Stop] ends it, or the kernel when the suite is
// killed. Ctrl-C reaches only the suite, which then stops its programs in order.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"adnet/internal/process/schedule"
	"adnet/internal/testenv"
)

// Program describes a program to start.
type Program struct {
	Name  string // in error texts
	Path  string
	Args  []string
	Env   []string // its whole environment; nil means the suite's
	Log   string   // file to which its output is appended
	Files int      // limit of open descriptors; 0 keeps the suite's limit
}

// Process is a started program.
type Process struct {
	Program
	PID   int
	ended chan struct{}
}

// stopWait is the time for a program to end after SIGTERM.
const stopWait = 20 * time.Second

// starter runs functions on one thread that lives as long as the suite: a child dies with the
// thread that started it (Pdeathsig).
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Start runs a program.
func Start(p Program) (*Process, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.Path, p.Args...)
	if p.Files != 0 {
		cmd = exec.Command(
			"sh",
			append(
				[]string{"-c", `ulimit -n "$1" && shift && exec "$@"`, "sh", strconv.Itoa(p.Files), p.Path}, p.Args...,
			)...,
		)
	}
	cmd.Env, cmd.Stdout, cmd.Stderr = p.Env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	child := &Process{Program: p, PID: cmd.Process.Pid, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(child.ended)
	}()
	return child, nil
}

// Listeners returns free loopback addresses for the two listeners of a process of adnet, host:port,
// and the settings that name them.
func Listeners() (public, admin string, env []string, err error) {
	public, err = testenv.FreeAddr()
	if err == nil {
		admin, err = testenv.FreeAddr()
	}
	return public, admin, []string{"ADNET_HTTP_ADDR=" + public, "ADNET_ADMIN_ADDR=" + admin}, err
}

// Signal sends a signal to a process that has not ended.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.Ended() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.PID, sig)
}

// Stop ends the process by SIGTERM, then by SIGKILL. It may be called again.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopWait):
		p.Kill()
	}
}

// Kill sends SIGKILL to the process and its children, even if stopped. It may be called again.
func (p *Process) Kill() {
	if !p.Ended() {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	}
	<-p.ended
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Await polls until ready returns nil. It fails with the end of the log if the process ends first,
// or with the last error of ready if the time is over.
func (p *Process) Await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if p.Ended() {
			tail, _ := os.ReadFile(p.Log)
			return fmt.Errorf("%s ended: %s", p.Name, strings.TrimSpace(string(tail[max(0, len(tail)-2000):])))
		}
		if schedule.Pause(ctx, 5*time.Millisecond) != nil {
			return errors.Join(fmt.Errorf("%s is not ready: %w", p.Name, err), ctx.Err())
		}
	}
}

// Ready returns a function that checks on the admin listener at an address whether the process is
// ready for ads: a suite needs all of it.
func Ready(admin string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz?for=ads", nil)
		if err != nil {
			return err
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = reply.Body.Close() }()
		if reply.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(reply.Body)
			return fmt.Errorf("not ready: %s", text)
		}
		return nil
	}
}

// Metrics returns the metrics of the admin listener at an address, in the text format of Prometheus.
func Metrics(ctx context.Context, admin string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return "", err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	return string(text), err
}

// Metric returns the value of a metric, named with its labels as in the text format of Prometheus,
// from the admin listener at an address.
func Metric(ctx context.Context, admin, name string) (float64, error) {
	text, err := Metrics(ctx, admin)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}

// Series returns the number of series that the admin listener at an address exposes.
func Series(ctx context.Context, admin string) (n int, err error) {
	text, err := Metrics(ctx, admin)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("no metrics at %s", admin)
	}
	return n, nil
}

// RSS returns the resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	if err != nil {
		return 0, err
	}
	var all, resident int64
	_, err = fmt.Sscan(string(text), &all, &resident)
	return resident * int64(os.Getpagesize()), err
}

// Turns returns the time that the process's threads have run, and the time that they have waited
// for a processor, since their start.
func (p *Process) Turns() (ran, waited time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.PID))
	if err != nil || len(threads) == 0 {
		return 0, 0, errors.Join(err, os.ErrProcessDone)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		var on, off time.Duration
		if _, err := fmt.Sscan(string(text), &on, &off); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		ran, waited = ran+on, waited+off
	}
	return ran, waited, nil
}

// Files returns the number of open descriptors of the process.
func (p *Process) Files() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID))
	return len(open), err
}
