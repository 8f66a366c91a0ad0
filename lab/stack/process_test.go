package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sleeper starts a foreign process that ends with the test.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestReusedPidIsNeverSignalled(t *testing.T) {
	foreign := sleeper(t)
	p := processes{t.TempDir()}
	require.NoError(t, p.save("postgres", record{Pid: foreign.Process.Pid, Start: "another-boot/1"}))

	_, running := p.running("postgres")
	require.False(t, running)
	require.NoError(t, p.stop("postgres", []escalation{{syscall.SIGTERM, time.Second}}))

	start, err := startTime(foreign.Process.Pid)
	require.NoError(t, err, "the foreign process must have survived")
	require.NotEmpty(t, start)
	require.NoFileExists(t, p.file("postgres"))
}

func TestStopEndsTheRecordedProcess(t *testing.T) {
	for name, script := range map[string]string{
		"polite":   "exec sleep 600",
		"stubborn": "trap '' TERM; while :; do sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := processes{dir}
			ended, err := p.detach("server", exec.Command("sh", "-c", script), filepath.Join(dir, "log"))
			require.NoError(t, err)
			pid, running := p.running("server")
			require.True(t, running)
			require.NoError(t, p.stop("server", []escalation{{syscall.SIGTERM, 300 * time.Millisecond}}))
			<-ended
			_, err = startTime(pid)
			require.Error(t, err)
			require.NoFileExists(t, p.file("server"))
		})
	}
}

func TestDetachedProcessHasASessionOfItsOwnAndALog(t *testing.T) {
	dir := t.TempDir()
	p := processes{dir}
	ended, err := p.detach(
		"server", exec.Command("sh", "-c", "echo out; echo err >&2; ps -o sid= -p $$"), filepath.Join(dir, "log"),
	)
	require.NoError(t, err)
	<-ended
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "out\nerr\n")
	_, running := p.running("server")
	require.False(t, running)
}

func TestDamagedPidFilesNameNobody(t *testing.T) {
	p := processes{t.TempDir()}
	for _, text := range []string{"", "{", `{"pid":1,"start":"x"}`, `{"pid":-1,"start":"x"}`, `{"pid":4242}`, "4242"} {
		require.NoError(t, os.WriteFile(p.file("redis"), []byte(text), 0o644))
		_, ok := p.load("redis")
		require.False(t, ok, text)
		require.NoError(t, p.stop("redis", nil))
	}
}

func TestZombieIsDead(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	require.Eventually(t, func() bool {
		_, err := startTime(cmd.Process.Pid)
		return err != nil
	}, 10*time.Second, 5*time.Millisecond, "an unreaped process that ended counts as dead")
}

func TestStatStart(t *testing.T) {
	fields := "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20"
	for _, name := range []string{"sleep", "a b", "a) S 1 (b", "((", "))"} {
		start, err := statStart(fmt.Sprintf("42 (%s) %s", name, fields))
		require.NoError(t, err)
		require.Equal(t, "987654", start)
	}
	for _, bad := range []string{"", "42 sleep S", "42 (x) S 1", "42 (x) " + strings.Replace(fields, "S", "Z", 1)} {
		_, err := statStart(bad)
		require.Error(t, err, bad)
	}
}

func TestLockExcludes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := tryLock(name)
	require.NoError(t, err)
	_, err = tryLock(name)
	require.Error(t, err)
	unlock()
	again, err := lock(name, func() { t.Error("nobody holds it") })
	require.NoError(t, err)
	again()
}
