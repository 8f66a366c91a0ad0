package spool

import (
	"sync"

	"adnet/internal/errs"
)

// maxQueued is how many bytes of frames wait for the disk at most.
const maxQueued = 32 << 20

var (
	// ErrFull says that the folder holds MaxBytes. It empties itself when Kafka is back.
	ErrFull error = errs.New(errs.Unavailable, "the spool is full (ADNET_SPOOL_MAX_BYTES)")
	// ErrBusy says that the disk cannot follow: too much waits for it.
	ErrBusy error = errs.New(errs.Unavailable, "the spool's disk is too slow (ADNET_SPOOL_DIR)")
	// ErrStopped says that the spool has ended.
	ErrStopped error = errs.New(errs.Unavailable, "the spool is closed")
)

// group is what one commit writes: frames, back to back, and who waits for them.
type group struct {
	frames []byte
	done   []func(error)
}

// queue collects the next group while the disk is busy with the last.
type queue struct {
	mu    sync.Mutex // guards next and ended
	next  group
	ended bool
	wake  chan struct{} // holds a token while something waits
}

// put adds a record; done is called by the writer, exactly once, unless put returns an error.
func (q *queue) put(topic string, key, value []byte, done func(error)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return ErrStopped
	case len(q.next.frames) > maxQueued:
		return ErrBusy
	}
	q.next.frames = appendFrame(q.next.frames, topic, key, value)
	q.next.done = append(q.next.done, done)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// take hands out what waits. written is the group that was taken before: its memory is used again.
func (q *queue) take(written group) group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.next
	clear(written.done)
	q.next = group{frames: written.frames[:0], done: written.done[:0]}
	return g
}

// end refuses every later put.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}
