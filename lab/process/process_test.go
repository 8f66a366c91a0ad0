package process

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func start(t *testing.T, files int, script string) *Process {
	t.Helper()
	p, err := Start(Program{
		Name: "it", Path: "sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"), Files: files,
	})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestStopEndsPolitely(t *testing.T) {
	p := start(t, 0, "sleep 60")
	require.False(t, p.Ended())
	rss, err := p.RSS()
	require.NoError(t, err)
	require.Positive(t, rss)
	files, err := p.Files()
	require.NoError(t, err)
	require.Positive(t, files)
	p.Stop()
	p.Stop()
	p.Kill()
	require.True(t, p.Ended())
	require.Error(t, p.Signal(0))
}

func TestSeriesCountsNoComments(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "# HELP a A.\n# TYPE a counter\na{b=\"c\"} 1\na{b=\"d\"} 2\n")
	}))
	defer admin.Close()
	n, err := Series(t.Context(), strings.TrimPrefix(admin.URL, "http://"))
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// A loop uses the processor, and what it waits for one is counted apart; a process that ended has
// no turns.
func TestTurns(t *testing.T) {
	p := start(t, 0, "while :; do :; done")
	require.Eventually(t, func() bool {
		ran, waited, err := p.Turns()
		return err == nil && ran > 50*time.Millisecond && waited >= 0
	}, time.Minute, 10*time.Millisecond)
	p.Kill()
	_, _, err := p.Turns()
	require.Error(t, err)
}

func TestAwaitTellsWhatItSaid(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	err := start(t, 123, "ulimit -n; exit 1").Await(t.Context(), time.Minute, never)
	require.EqualError(t, err, "it ended: 123")
	err = start(t, 0, "sleep 60").Await(t.Context(), 30*time.Millisecond, never)
	require.ErrorContains(t, err, "it is not ready: not yet")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(
		t, start(t, 0, "sleep 60").Await(t.Context(), time.Minute, func(context.Context) error { return nil }),
	)
}

func TestBusyIsAShare(t *testing.T) {
	share, err := Busy(t.Context(), 50*time.Millisecond)
	require.NoError(t, err)
	require.GreaterOrEqual(t, share, 0.0)
	require.LessOrEqual(t, share, 1.0)
}
