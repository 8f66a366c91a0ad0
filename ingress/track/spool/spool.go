// Package spool stores log records on local disk while Kafka cannot accept them.
//
// An append is acknowledged after the record is on stable storage (one fsync for all waiting
// appends). Run sends the records to the log when it is available again, and deletes a segment only
// after all its records are acknowledged. A crash may repeat records, but never loses an
// acknowledged one: the consumers' deduplication makes repeats harmless.
//
// A folder belongs to one process at a time (flock).
package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"adnet/internal/errs"
	"adnet/internal/process/obs"
)

// Config holds the settings of the spool.
type Config struct {
	Dir      string `name:"spool-dir" env:"ADNET_SPOOL_DIR" default:".adnet/spool" help:"Folder for events that Kafka cannot accept; one per ingress process."`
	MaxBytes int64  `name:"spool-max-bytes" env:"ADNET_SPOOL_MAX_BYTES" default:"1073741824" help:"Maximum size of the spool; beyond it events are rejected."`
}

// Producer is the log that receives the records. done is called once, with nil after the
// acknowledgement.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Deps holds the dependencies of the spool.
type Deps struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Producer Producer
}

// Limits of a segment and the pace of draining.
const (
	segmentBytes = 8 << 20
	drainEvery   = 500 * time.Millisecond
)

// Spool is the component.
type Spool struct {
	cfg   Config
	deps  Deps
	log   *obs.LimitedLogger
	pace  time.Duration // between two checks for closed segments, and between retries
	sync  syncer
	lock  *os.File
	queue queue

	mu     sync.Mutex // guards active, closed, bytes, events, next
	active *segment   // nil until something is appended
	closed []string   // full or rotated segments, oldest first
	bytes  int64      // of all segments
	events int64      // in them
	next   uint64     // number of the next segment

	size    prometheus.Gauge
	spooled prometheus.Counter
	drained prometheus.Counter
}

// New returns a Spool. It touches no file.
func New(cfg Config, deps Deps) (*Spool, error) {
	if cfg.Dir == "" {
		return nil, errors.New("ADNET_SPOOL_DIR must name a folder")
	}
	s := &Spool{
		cfg: cfg, deps: deps, log: obs.Limited(deps.Log, time.Second), pace: drainEvery, sync: (*os.File).Sync,
		queue: queue{wake: make(chan struct{}, 1)},
		size: obs.Register(
			deps.Metrics,
			prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "adnet_spool_bytes", Help: "Bytes of events waiting on disk.",
			}),
		),
		spooled: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_spool_records_total", Help: "Events written to disk because Kafka did not accept them.",
			}),
		),
		drained: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_spool_drained_total", Help: "Events handed to Kafka from disk.",
			}),
		),
	}
	return s, nil
}

// Open locks the folder and finds the segments of an earlier process. Call it once before Run.
func (s *Spool) Open() error {
	if err := os.MkdirAll(s.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("spool folder (ADNET_SPOOL_DIR): %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.cfg.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return fmt.Errorf("spool folder (ADNET_SPOOL_DIR): %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(
			fmt.Errorf(
				"spool folder %s is in use by another process; give each ingress its own ADNET_SPOOL_DIR", s.cfg.Dir,
			), lock.Close(),
		)
	}
	s.lock = lock
	left, bytes, next, err := findSegments(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("spool folder (ADNET_SPOOL_DIR): %w", err)
	}
	s.closed, s.bytes, s.next = left, bytes, next
	for _, path := range left {
		s.events += countFrames(path)
	}
	s.size.Set(float64(bytes))
	return nil
}

// Append stores a copy of a record. It never blocks: done is called exactly once, with nil if the
// record survives a crash of process and machine. Before Run starts it is not called; after Run
// ends it is called at once. Errors carry errs.Unavailable: [ErrFull], [ErrBusy], [ErrStopped], or
// a write error of the folder.
//
// done runs on the writer's goroutine, or before Append returns, and must not block.
func (s *Spool) Append(topic string, key, value []byte, done func(error)) {
	if err := checkSizes(topic, key, value); err != nil {
		done(err)
		return
	}
	if err := s.queue.put(topic, key, value, done); err != nil {
		done(err)
	}
}

// Empty reports whether no records wait on disk.
func (s *Spool) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes == 0
}

// Waiting returns the bytes of the files on disk, and the number of events in them.
func (s *Spool) Waiting() (bytes, events int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.events
}

// Run writes and drains until ctx ends. Records still on disk then wait for the next start. Every
// accepted append is answered before Run returns. Call it once.
func (s *Spool) Run(ctx context.Context) error {
	var drained sync.WaitGroup
	drained.Go(func() { s.drain(ctx) })
	s.write(ctx)
	drained.Wait()
	return s.close()
}

// write is the only writer: it takes all waiting appends, writes them and syncs once.
func (s *Spool) write(ctx context.Context) {
	var g group
	for ctx.Err() == nil {
		select {
		case <-s.queue.wake:
			g = s.commit(s.queue.take(g))
		case <-ctx.Done():
		}
	}
	// Appends that were queued before the end are still written.
	s.queue.end()
	s.commit(s.queue.take(g))
}

// commit makes a group durable or fails it as a whole, and calls every callback of the group.
func (s *Spool) commit(g group) group {
	if len(g.done) > 0 {
		err := s.store(g)
		for _, done := range g.done {
			done(err)
		}
	}
	return g
}

// store writes a group. It abandons the segment after a failed write or sync: the kernel may have
// dropped its dirty pages, so a later successful sync proves nothing.
func (s *Spool) store(g group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes >= s.cfg.MaxBytes {
		return ErrFull
	}
	if s.active == nil {
		number := s.next
		s.next++ // even after a failure: the name may exist
		active, err := createSegment(s.cfg.Dir, number, s.sync)
		if err != nil {
			return errs.Wrap(err, errs.Unavailable, "the spool cannot be written (ADNET_SPOOL_DIR)")
		}
		s.active = active
	}
	written, err := s.active.write(g.frames)
	s.bytes += written
	s.size.Set(float64(s.bytes))
	if err != nil {
		return errs.Wrap(
			errors.Join(err, s.rotate()), errs.Unavailable, "the spool cannot be written (ADNET_SPOOL_DIR)",
		)
	}
	s.events += int64(len(g.done))
	s.spooled.Add(float64(len(g.done)))
	if s.active.bytes >= segmentBytes {
		if err := s.rotate(); err != nil { // synced already: nothing is lost
			s.deps.Log.Warn("spool segment could not be closed", "error", err)
		}
	}
	return nil
}

// rotate closes the active segment, so that it can be drained. mu is held.
func (s *Spool) rotate() error {
	if s.active == nil {
		return nil
	}
	old := s.active
	s.active = nil
	err := old.file.Close()
	if old.bytes == 0 {
		// A full disk must not fill up with empty files as well.
		return errors.Join(err, os.Remove(old.path))
	}
	s.closed = append(s.closed, old.path)
	return err
}

func (s *Spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.rotate(), s.lock.Close())
}
