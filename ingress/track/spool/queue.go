package spool

import (
	"sync"

	"adnet/internal/errs"
)

// maxQueued is the maximum number of bytes of frames that wait for the disk.
const maxQueued = 32 << 20

var (
	// ErrFull reports that the folder holds MaxBytes. The spool drains when Kafka is back.
	ErrFull error = errs.New(errs.Unavailable, "the spool is full (ADNET_SPOOL_MAX_BYTES)")
	// ErrBusy reports that the disk is too slow: too many bytes wait for it.
	ErrBusy error = errs.New(errs.Unavailable, "the spool's disk is too slow (ADNET_SPOOL_DIR)")
	// ErrStopped reports that the spool has stopped.
	ErrStopped error = errs.New(errs.Unavailable, "the spool is closed")
)

// group is the content of one commit: frames, back to back, and their callbacks.
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

// take returns the waiting group. written is the previous group, whose memory is reused.
func (q *queue) take(written group) group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.next
	clear(written.done)
	q.next = group{frames: written.frames[:0], done: written.done[:0]}
	return g
}

// end rejects every later put.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}
