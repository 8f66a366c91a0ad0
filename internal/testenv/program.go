package testenv

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Build builds adnet and returns the program's path.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "adnet")
	out, err := exec.Command("go", "build", "-o", program, "adnet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// Random returns n random bytes.
func Random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return b
}

// Key returns a random key in the form of adnet's key settings.
func Key(t testing.TB) string {
	t.Helper()
	return "k1:" + base64.StdEncoding.EncodeToString(Random(t, 32))
}

// Free returns [FreeAddr].
func Free(t testing.TB) string {
	t.Helper()
	addr, err := FreeAddr()
	require.NoError(t, err)
	return addr
}

// Output is a writer that tests read while a program writes.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Service is a running role of adnet.
type Service struct {
	*exec.Cmd
	Base, Admin string // URLs of its two listeners
	Log         *Output
}

// Serve starts a role of program with env and waits until it is ready for ads. It ends with the test.
func Serve(t testing.TB, program, role string, env []string) *Service {
	t.Helper()
	httpAddr, adminAddr := Free(t), Free(t)
	s := &Service{
		Cmd: exec.Command(program, role), Base: "http://" + httpAddr, Admin: "http://" + adminAddr, Log: new(Output),
	}
	s.Env = append(env, "ADNET_HTTP_ADDR="+httpAddr, "ADNET_ADMIN_ADDR="+adminAddr, "ADNET_SPOOL_DIR="+t.TempDir())
	s.Stdout, s.Stderr = s.Log, s.Log
	require.NoError(t, s.Start())
	t.Cleanup(func() { // harmless for one that has ended
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	require.Eventually(t, func() bool {
		reply, err := http.Get(s.Admin + "/readyz?for=ads")
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	}, 60*time.Second, 50*time.Millisecond, "%s is not ready: %s", role, s.Log)
	return s
}

// End stops the role as an operator would and requires a clean exit.
func (s *Service) End(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.Wait(), "%s", s.Log)
}
