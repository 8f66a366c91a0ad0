package spool

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"adnet/internal/errs"
	"adnet/internal/process/schedule"
)

// damagedSuffix marks a segment that was set aside because part of it is unreadable.
const damagedSuffix = ".damaged"

// drain sends closed segments to the log, oldest first, at a steady pace until ctx ends.
func (s *Spool) drain(ctx context.Context) {
	for schedule.Pause(ctx, s.pace) == nil {
		for path := s.oldest(ctx); path != "" && s.drainSegment(ctx, path, s.rest); path = s.oldest(ctx) {
		}
	}
}

// rest waits before refused records are sent again, until ctx ends.
func (s *Spool) rest(ctx context.Context, _ int) bool { return schedule.Pause(ctx, s.pace) == nil }

// Send sends all records to the log, in place of Run, and returns how many records of complete
// segments the log has. It gives up when the log accepts none of those that are left: the folder
// keeps them, and Send may be repeated after [Spool.Open]. Error: errs.Unavailable.
func (s *Spool) Send(ctx context.Context) (sent int64, err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	_, all := s.Waiting()
	accepting := func(ctx context.Context, accepted int) bool { return accepted > 0 && ctx.Err() == nil }
	for path := s.oldest(ctx); path != ""; path = s.oldest(ctx) {
		done := s.drainSegment(ctx, path, accepting)
		_, left := s.Waiting()
		sent = all - left
		if !done {
			return sent, errs.New(
				errs.Unavailable, "%d events are left in %s: Kafka refuses them, or the folder cannot be written; "+
					"repair that and repeat the command", left, s.cfg.Dir,
			)
		}
	}
	return sent, nil
}

// oldest returns the next segment to drain, or "" if there is none. If only the active segment is
// left, oldest rotates it first: a segment must not grow after it was drained.
func (s *Spool) oldest(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.closed) == 0 {
		if err := s.rotate(); err != nil {
			s.log.Warn(ctx, "spool segment could not be closed", "error", err)
		}
	}
	if len(s.closed) == 0 {
		return ""
	}
	return s.closed[0]
}

// drainSegment produces every record of a segment, and refused ones again while again returns true;
// it gets the number of accepted ones. Then it removes the file. The removal is the commit: a crash
// before it repeats the segment at the next start. It returns false if the segment has to wait.
func (s *Spool) drainSegment(
	ctx context.Context, path string, again func(ctx context.Context, accepted int) bool,
) bool {
	records, whole, size, err := readSegment(path)
	if err != nil {
		s.log.Error(ctx, "spool segment cannot be read; it stays and is retried", "segment", path, "error", err)
		return false
	}
	for left := records; len(left) > 0; {
		tried := len(left)
		if left = s.produceAll(ctx, left); len(left) > 0 && !again(ctx, tried-len(left)) {
			return false
		}
	}
	if err := s.remove(ctx, path, whole); err != nil {
		s.log.Error(ctx, "drained spool segment cannot be removed", "segment", path, "error", err)
		return false
	}
	s.mu.Lock()
	s.closed = s.closed[1:]
	s.bytes -= size
	if s.events -= int64(len(records)); s.bytes == 0 || s.events < 0 {
		s.events = 0 // a failed write left frames that were not acknowledged
	}
	s.size.Set(float64(s.bytes))
	s.mu.Unlock()
	s.drained.Add(float64(len(records)))
	s.deps.Log.InfoContext(ctx, "spool segment drained", "segment", path, "records", len(records))
	return true
}

// remove deletes a segment that was read completely and keeps any other for inspection. The
// unreadable part is probably a frame that a crash truncated before it was acknowledged, but it may
// be a disk error.
func (s *Spool) remove(ctx context.Context, path string, whole bool) error {
	if whole {
		return os.Remove(path)
	}
	s.deps.Log.WarnContext(
		ctx, "spool segment has unreadable bytes; the rest is drained and the file stays",
		"segment", path+damagedSuffix,
	)
	return os.Rename(path, path+damagedSuffix)
}

// produceAll produces records and returns the refused ones in order, or all of them if ctx ends
// before the last answer.
func (s *Spool) produceAll(ctx context.Context, records []record) (left []record) {
	refused := make([]bool, len(records))
	answered := make(chan struct{})
	var open atomic.Int64
	open.Store(int64(len(records)))
	for i, r := range records {
		s.deps.Producer.Produce(r.topic, r.key, r.value, func(err error) {
			refused[i] = err != nil
			if open.Add(-1) == 0 {
				close(answered)
			}
		})
	}
	select {
	case <-ctx.Done():
		return records
	case <-answered:
	}
	for i := range records {
		if refused[i] {
			left = append(left, records[i])
		}
	}
	return left
}
