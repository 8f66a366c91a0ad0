package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// disk is stable storage: it has the bytes of each file's last sync, and the names of each folder's
// last sync. A power cut loses the rest.
type disk struct {
	mu    sync.Mutex
	bytes map[string]int64 // by path
	names map[string]bool  // paths
	fails error
}

func (d *disk) sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails != nil {
		return d.fails
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		d.bytes[f.Name()] = info.Size()
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(f.Name(), "*"+suffix))
	for _, path := range paths {
		d.names[path] = true
	}
	return err
}

// survives reports whether everything in the spool's folder would survive a power cut now.
func (d *disk) survives(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !d.names[path] || d.bytes[path] < info.Size() {
			return false
		}
	}
	return err == nil && len(paths) > 0
}

// An acknowledged append survives a power cut, not only a crash of the process: file and name are
// synced first.
func TestAnAnsweredAppendSurvivesAPowerCut(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	d := &disk{bytes: map[string]int64{}, names: map[string]bool{}}
	f.Spool.sync = d.sync
	f.log.set(down)
	f.run(t)
	for i := range 20 {
		// Check inside the callback: the next group cannot have synced for this one.
		answer := make(chan bool, 1)
		f.Append("t", []byte("k"), []byte(strconv.Itoa(i)), func(err error) { answer <- err == nil && d.survives(dir) })
		require.True(t, <-answer, i)
	}
	require.Len(t, onDisk(t, dir), 20)
}

// A failed sync returns an error, and the next append starts another segment: the kernel's data for
// the first one cannot be trusted.
func TestAFailedSyncIsAnError(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	d := &disk{bytes: map[string]int64{}, names: map[string]bool{}}
	f.Spool.sync = d.sync
	f.log.set(down)
	f.run(t)
	require.NoError(t, f.append("a"))
	d.mu.Lock()
	d.fails = errors.New("I/O error")
	d.mu.Unlock()
	require.Error(t, f.append("b"))
	d.mu.Lock()
	d.fails = nil
	d.mu.Unlock()
	require.NoError(t, f.append("c"))
	require.GreaterOrEqual(t, len(segments(t, dir, suffix)), 2)
}
