package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

// fakeLog is Kafka as the spool sees it.
type fakeLog struct {
	mu     sync.Mutex
	answer func(value string) error // nil: acknowledge
	got    []string                 // values acknowledged, in order
	tries  int
}

func (l *fakeLog) Produce(topic string, key, value []byte, done func(error)) {
	l.mu.Lock()
	var err error
	if l.answer != nil {
		err = l.answer(string(value))
	}
	l.tries++
	if err == nil {
		l.got = append(l.got, topic+"/"+string(key)+"/"+string(value))
	}
	l.mu.Unlock()
	done(err)
}

func (l *fakeLog) set(answer func(string) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

func (l *fakeLog) records() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.got...)
}

func (l *fakeLog) tried() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}

var errDown = errors.New("down")

func down(string) error { return errDown }

type fixture struct {
	*Spool
	log  *fakeLog
	stop func()
}

// open makes a spool over dir; run starts it.
func open(t *testing.T, dir string, maxBytes int64) *fixture {
	t.Helper()
	log := &fakeLog{}
	s, err := New(
		Config{Dir: dir, MaxBytes: maxBytes},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Producer: log},
	)
	require.NoError(t, err)
	s.pace = time.Millisecond
	require.NoError(t, s.Open())
	return &fixture{Spool: s, log: log}
}

func (f *fixture) run(t *testing.T) *fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	var once sync.Once
	f.stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}
	t.Cleanup(f.stop)
	return f
}

// append waits for the answer.
func (f *fixture) append(value string) error {
	answer := make(chan error, 1)
	f.Append("t", []byte("k"), []byte(value), func(err error) { answer <- err })
	return <-answer
}

func (f *fixture) drainedSoon(t *testing.T) {
	t.Helper()
	require.Eventually(t, f.Empty, 10*time.Second, time.Millisecond)
}

func segments(t *testing.T, dir, ending string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	require.NoError(t, err)
	return paths
}

func onDisk(t *testing.T, dir string) (values []string) {
	t.Helper()
	for _, path := range segments(t, dir, suffix) {
		records, _, _, err := readSegment(path)
		require.NoError(t, err)
		for _, r := range records {
			values = append(values, string(r.value))
		}
	}
	return values
}

// left fills a folder as a node does whose machine is lost.
func left(t *testing.T, values ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f := open(t, dir, 1<<20)
	f.log.set(down)
	f.run(t)
	for _, v := range values {
		require.NoError(t, f.append(v))
	}
	f.stop()
	return dir
}

func TestSend(t *testing.T) {
	dir := left(t, "a", "b", "c")
	refusals := 1
	f := open(t, dir, 0)
	f.log.set(func(value string) error { // a full buffer, for a moment
		if value == "b" && refusals > 0 {
			refusals--
			return errDown
		}
		return nil
	})
	sent, err := f.Send(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, sent)
	require.ElementsMatch(t, []string{"t/k/a", "t/k/b", "t/k/c"}, f.log.records())
	require.Empty(t, onDisk(t, dir))
	sent, err = open(t, dir, 0).Send(t.Context())
	require.NoError(t, err)
	require.Zero(t, sent)
}

// What Kafka does not have stays in the folder, which is free for another try.
func TestSendKeepsWhatIsRefused(t *testing.T) {
	dir := left(t, "a", "b")
	f := open(t, dir, 0)
	f.log.set(down)
	sent, err := f.Send(t.Context())
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)
	require.ErrorContains(t, err, "2 events are left in "+dir)
	require.Zero(t, sent)
	require.Equal(t, []string{"a", "b"}, onDisk(t, dir))
	sent, err = open(t, dir, 0).Send(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, sent)
}

func TestAnAnsweredAppendIsOnDisk(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	f.log.set(down)
	f.run(t)
	for _, v := range []string{"a", "b", ""} {
		require.NoError(t, f.append(v))
		require.Contains(t, onDisk(t, dir), v)
	}
	require.False(t, f.Empty())
}

// Waiting records are counted in events, including those of an earlier process, until the log has
// them.
func TestWaitingIsCountedInEvents(t *testing.T) {
	dir := t.TempDir()
	waiting := func(f *fixture) int64 {
		bytes, events := f.Waiting()
		require.Equal(t, events > 0, bytes > 0)
		return events
	}
	f := open(t, dir, 1<<20)
	f.log.set(down)
	f.run(t)
	for n := range 3 {
		require.EqualValues(t, n, waiting(f))
		require.NoError(t, f.append("a"))
	}
	f.stop()
	next := open(t, dir, 1<<20)
	require.EqualValues(t, 3, waiting(next))
	next.run(t)
	next.drainedSoon(t)
	require.Zero(t, waiting(next))
}

func TestDrainsInOrderAndDeletes(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20).run(t)
	var want []string
	for i := range 100 {
		require.NoError(t, f.append(fmt.Sprint(i)))
		want = append(want, fmt.Sprintf("t/k/%d", i))
	}
	f.drainedSoon(t)
	require.Equal(t, want, f.log.records())
	require.Empty(t, segments(t, dir, ""+suffix))
}

func TestDeletesOnlyWhenAllAreAcknowledged(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	refused := func(v string) error {
		if v == "5" {
			return errDown
		}
		return nil
	}
	f.log.set(refused)
	for i := range 10 {
		f.Append("t", []byte("k"), []byte(fmt.Sprint(i)), func(error) {})
	}
	f.run(t)
	require.Eventually(t, func() bool { return f.log.tried() > 15 }, 10*time.Second, time.Millisecond)
	require.Len(t, onDisk(t, dir), 10)
	f.log.set(nil)
	f.drainedSoon(t)
	require.Len(t, f.log.records(), 10, "only the refused record is handed over again")
	require.Empty(t, segments(t, dir, suffix))
}

// A crash between the last acknowledgement and the deletion leaves the file as it was.
func TestACrashBeforeTheDeletionRepeatsTheSegment(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	f.log.set(down)
	f.run(t)
	require.NoError(t, f.append("a"))
	f.stop()
	left := segments(t, dir, suffix)
	require.Len(t, left, 1)
	stored, err := os.ReadFile(left[0])
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, os.WriteFile(left[0], stored, 0o600))
		again := open(t, dir, 1<<20).run(t)
		again.drainedSoon(t)
		require.Equal(t, []string{"t/k/a"}, again.log.records())
		again.stop()
	}
}

func TestRecordsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3 {
		f := open(t, dir, 1<<20)
		f.log.set(down)
		f.run(t)
		require.NoError(t, f.append(fmt.Sprint(i)))
		want = append(want, fmt.Sprintf("t/k/%d", i))
		f.stop()
	}
	f := open(t, dir, 1<<20).run(t)
	f.drainedSoon(t)
	require.Equal(t, want, f.log.records(), "segments of earlier processes come oldest first")
}

func TestDamagedSegmentsYieldIntactRecords(t *testing.T) {
	var good []byte
	for _, v := range []string{"one", "two", "three"} {
		good = appendFrame(good, "t", []byte("k"), []byte(v))
	}
	frame := len(appendFrame(nil, "t", []byte("k"), []byte("one")))
	flipped := func(at int) []byte {
		b := append([]byte(nil), good...)
		b[at] ^= 0x40
		return b
	}
	zeroTail := append(append([]byte(nil), good...), make([]byte, 100)...)
	hugeLength := flipped(0)
	binary.BigEndian.PutUint32(hugeLength, 1<<31)
	wrongKey := append([]byte(nil), good[:headerBytes]...)
	wrongKey = append(wrongKey, 0xff, 0xff, 0, 0)
	for name, c := range map[string]struct {
		data  []byte
		want  []string
		whole bool
	}{
		"whole":           {good, []string{"one", "two", "three"}, true},
		"empty":           {nil, nil, true},
		"torn payload":    {good[:len(good)-1], []string{"one", "two"}, false},
		"torn header":     {append(append([]byte(nil), good...), 0, 0, 0), []string{"one", "two", "three"}, false},
		"zeros after":     {zeroTail, []string{"one", "two", "three"}, false},
		"bad CRC, first":  {flipped(frame - 1), []string{"two", "three"}, false},
		"bad CRC, middle": {flipped(frame + headerBytes), []string{"one", "three"}, false},
		"absurd length":   {hugeLength, nil, false},
		"lengths of lies": {wrongKey, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d%s", 7, suffix)), c.data, 0o600))
			f := open(t, dir, 1<<20).run(t)
			require.NoError(t, f.append("new"))
			f.drainedSoon(t)
			var want []string
			for _, v := range append(c.want, "new") {
				want = append(want, "t/k/"+v)
			}
			require.Equal(t, want, f.log.records())
			require.Empty(t, segments(t, dir, suffix))
			if c.whole {
				require.Empty(t, segments(t, dir, damagedSuffix))
			} else {
				require.Len(t, segments(t, dir, damagedSuffix), 1, "what cannot be read is kept for a person")
			}
		})
	}
}

func TestFull(t *testing.T) {
	f := open(t, t.TempDir(), 100)
	f.log.set(down)
	f.run(t)
	require.NoError(t, f.append(strings.Repeat("x", 100)))
	err := f.append("more")
	require.ErrorIs(t, err, ErrFull)
	require.True(t, errs.Is(err, errs.Unavailable))
	f.log.set(nil)
	f.drainedSoon(t)
	require.NoError(t, f.append("more"), "it takes events again once it is drained")
}

func TestTooLargeRecordsAreRefused(t *testing.T) {
	f := open(t, t.TempDir(), 1<<30).run(t)
	require.Error(t, f.append(strings.Repeat("x", maxPayload)))
	require.NoError(t, f.append(strings.Repeat("x", maxPayload-6)))
	f.drainedSoon(t)
}

// A queue that is not written must not fill the memory.
func TestAQueueThatIsNotWrittenFills(t *testing.T) {
	f := open(t, t.TempDir(), 1<<30)
	var err error
	for range 2 * maxQueued >> 20 {
		f.Append("t", nil, make([]byte, 1<<20), func(e error) { err = e })
	}
	require.ErrorIs(t, err, ErrBusy)
	f.run(t)
	f.drainedSoon(t)
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	// The next segment's name already exists.
	require.NoError(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("%020d%s", 0, suffix)), 0o750))
	f.run(t)
	err := f.append("a")
	require.True(t, errs.Is(err, errs.Unavailable))
	require.NoError(t, f.append("b"), "the next append tries a new segment")
}

func TestAFolderBelongsToOneProcess(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, 1<<20).run(t)
	second, err := New(
		Config{Dir: dir, MaxBytes: 1}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	require.ErrorContains(t, second.Open(), "in use by another process; give each ingress its own ADNET_SPOOL_DIR")
	first.stop()
	require.NoError(t, second.Open())
}

func TestNoFolder(t *testing.T) {
	_, err := New(Config{}, Deps{})
	require.ErrorContains(t, err, "ADNET_SPOOL_DIR")
}

// Group commit: appends that wait for the disk are written with one sync, in order.
func TestAppendsThatWaitTogetherAreOneGroup(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<20)
	f.log.set(down)
	var answers sync.WaitGroup
	for i := range 50 {
		answers.Add(1)
		f.Append("t", []byte("k"), []byte(fmt.Sprint(i)), func(err error) {
			if err == nil {
				answers.Done()
			}
		})
	}
	g := f.queue.take(group{})
	require.Len(t, g.done, 50)
	f.commit(g)
	answers.Wait()
	require.Len(t, onDisk(t, dir), 50)
}

// Appends race with the stop: each is answered, and each one answered with nil is on disk or
// acknowledged.
func TestAppendsRaceWithTheStop(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 1<<30)
	f.log.set(down)
	f.run(t)
	var wait sync.WaitGroup
	var mu sync.Mutex
	stored := map[string]bool{}
	started := make(chan struct{}, 100)
	for worker := range 8 {
		wait.Go(func() {
			for i := 0; ; i++ {
				value := fmt.Sprintf("%d-%d", worker, i)
				err := f.append(value)
				if err != nil {
					assert.ErrorIs(t, err, ErrStopped)
					return
				}
				mu.Lock()
				stored[value] = true
				mu.Unlock()
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 50 {
		<-started
	}
	f.stop()
	wait.Wait()
	require.ErrorIs(t, f.append("late"), ErrStopped)
	found := map[string]bool{}
	for _, v := range onDisk(t, dir) {
		found[v] = true
	}
	for v := range stored {
		require.True(t, found[v], v)
	}
}

// Random refusals, restarts and concurrent appends: every acknowledged record reaches the log.
func TestEveryStoredRecordIsProduced(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	var stored, produced sync.Map
	total := 0
	for round := range 6 {
		f := open(t, dir, 1<<30)
		f.log.set(func(v string) error { // runs under the fake's lock
			if random.IntN(3) == 0 {
				return errDown
			}
			produced.Store(v, true)
			return nil
		})
		f.run(t)
		var wait sync.WaitGroup
		for worker := range 4 {
			wait.Go(func() {
				for i := range 100 {
					value := fmt.Sprintf("%d-%d-%d", round, worker, i)
					if f.append(value) == nil {
						stored.Store(value, true)
					}
				}
			})
		}
		wait.Wait()
		total += 400
		if round == 5 {
			f.drainedSoon(t)
		}
		f.stop()
	}
	n := 0
	stored.Range(func(v, _ any) bool {
		_, ok := produced.Load(v)
		require.True(t, ok, v)
		n++
		return true
	})
	require.Equal(t, total, n)
}

func FuzzReadSegment(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, "t", []byte("k"), []byte("v")), "", nil, nil))
	f.Add([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "s")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		records, whole, size, err := readSegment(path)
		require.NoError(t, err)
		require.EqualValues(t, len(data), size)
		var again []byte
		for _, r := range records {
			again = appendFrame(again, r.topic, r.key, r.value)
		}
		if whole {
			require.Equal(t, string(data), string(again), "one text per content")
		}
	})
}
