// Package process starts, watches and ends the programs that a suite of lab runs: adnet's roles,
// and what they are compared with.
//
// A program ends with the suite, however the suite ends: by [Process.Stop], or by the kernel when
// the suite is killed. Ctrl-C reaches the suite alone, which then stops its programs in order.
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

	"adnet/internal/schedule"
)

// Program is what to start.
type Program struct {
	Name  string // in error texts
	Path  string
	Args  []string
	Env   []string // all of its environment; nil is the suite's
	Log   string   // file that its output is appended to
	Files int      // most descriptors that it may have open; 0 leaves the suite's limit
}

// Process is a program that was started.
type Process struct {
	Program
	PID   int
	ended chan struct{}
}

// stopWait is how long a program may take to end when it is asked to.
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
	made := &Process{Program: p, PID: cmd.Process.Pid, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(made.ended)
	}()
	return made, nil
}

// Signal sends a signal to a process that has not ended.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.Ended() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.PID, sig)
}

// Stop ends the process politely, then not. It may be called again.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopWait):
		p.Kill()
	}
}

// Kill is kill -9 of the process and its children, also of a stopped one. It may be called again.
func (p *Process) Kill() {
	if !p.Ended() {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	}
	<-p.ended
}

// Ended says whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Await polls until ready answers nil. It is an error when the process ends before, with the end of
// its log, or when the time is over, with what ready answered last.
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

// Ready asks the admin listener at an address whether its process is ready.
func Ready(admin string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", nil)
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

// RSS is the resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	if err != nil {
		return 0, err
	}
	var all, resident int64
	_, err = fmt.Sscan(string(text), &all, &resident)
	return resident * int64(os.Getpagesize()), err
}

// Turns is how long the process's threads had a processor, and how long they wanted one and had
// none, since each began.
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

// Files is how many descriptors the process has open.
func (p *Process) Files() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID))
	return len(open), err
}
