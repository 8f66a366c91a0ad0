package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// record names one process that this program started. Pid alone does not identify a process:
// numbers are reused. Start makes the pair unique on this machine across reboots.
type record struct {
	Pid   int    `json:"pid"`
	Start string `json:"start"`
}

// processes keeps one pid file a server in one folder.
type processes struct{ dir string }

func (p processes) file(name string) string { return filepath.Join(p.dir, name+".pid") }

// load returns the record of name; ok is false if the record is missing or unreadable.
func (p processes) load(name string) (r record, ok bool) {
	data, err := os.ReadFile(p.file(name))
	if err != nil {
		return record{}, false
	}
	if json.Unmarshal(data, &r) != nil || r.Pid <= 1 || r.Start == "" {
		return record{}, false
	}
	return r, true
}

// save writes the record whole or not at all.
func (p processes) save(name string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFile(p.file(name), data, 0o644)
}

func (p processes) forget(name string) error {
	if err := os.Remove(p.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// running reports whether the recorded process of name is alive, and returns its pid.
func (p processes) running(name string) (pid int, ok bool) {
	r, ok := p.load(name)
	return r.Pid, ok && r.alive()
}

// alive reports whether the recorded process itself is running. A zombie counts as dead.
func (r record) alive() bool {
	start, err := startTime(r.Pid)
	return err == nil && start == r.Start
}

// signal sends sig to the recorded process and to no other. The handle is taken before the start
// time is compared; on Linux it is a pidfd, so a pid reused in between is not hit.
func (r record) signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(r.Pid)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if !r.alive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// escalation is a signal and the time to wait for the process to end.
type escalation struct {
	signal syscall.Signal
	grace  time.Duration
}

// stop ends the recorded process of name by its signals, finally by SIGKILL, and removes its pid
// file.
func (p processes) stop(name string, steps []escalation) error {
	r, ok := p.load(name)
	if !ok {
		return p.forget(name)
	}
	for _, step := range append(steps, escalation{syscall.SIGKILL, 10 * time.Second}) {
		err := r.signal(step.signal)
		if errors.Is(err, os.ErrProcessDone) {
			return p.forget(name)
		}
		if err != nil {
			return fmt.Errorf("stop %s (pid %d): %w", name, r.Pid, err)
		}
		for deadline := time.Now().Add(step.grace); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if !r.alive() {
				return p.forget(name)
			}
		}
	}
	return fmt.Errorf("stop %s: pid %d survives SIGKILL", name, r.Pid)
}

// detach starts cmd in a session of its own with output appended to logFile and records it under
// name. The process outlives this program; while both live it is reaped here, so it never lingers
// as a zombie. The returned channel closes when it ends.
func (p processes) detach(name string, cmd *exec.Cmd, logFile string) (<-chan struct{}, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.remember(name, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return ended, nil
}

// remember records a new process that has not been reaped yet.
func (p processes) remember(name string, pid int) error {
	start, err := startTime(pid)
	if err != nil {
		// It has already ended. load refuses an empty record, so no other process can be mistaken
		// for it.
		start = "ended"
	}
	return p.save(name, record{Pid: pid, Start: start})
}

// startTime identifies a living process beyond its pid: boot id and start tick on Linux, the start
// second elsewhere. It fails for processes that do not exist or are zombies.
func startTime(pid int) (string, error) {
	if runtime.GOOS != "linux" {
		out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
		if err != nil {
			return "", err
		}
		state, start, found := strings.Cut(strings.TrimSpace(string(out)), " ")
		if !found || strings.HasPrefix(state, "Z") {
			return "", os.ErrProcessDone
		}
		return strings.TrimSpace(start), nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	ticks, err := statStart(string(stat))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + ticks, nil
}

// statStart reads field 22 (start tick) of /proc/PID/stat. The second field is the program's name
// in brackets and may hold spaces and brackets itself, so counting starts after the last one.
func statStart(stat string) (string, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", errors.New("malformed process status")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", errors.New("malformed process status")
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", os.ErrProcessDone
	}
	return fields[19], nil
}

// writeFile replaces a file atomically, even if this program is killed meanwhile.
func writeFile(name string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// lock takes an exclusive lock that ends with this process. While another process holds it, lock
// waits and calls waiting once.
func lock(name string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		waiting()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
	return func() { _ = f.Close() }, nil
}

// tryLock is lock without waiting.
func tryLock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// tail returns the last lines of a file, for the error message about a server that died.
func tail(name string, lines int) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
