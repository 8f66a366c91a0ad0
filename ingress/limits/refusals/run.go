package refusals

import (
	"context"
	"encoding/binary"
	"time"

	"adnet/internal/token"
)

// Run reads the lists until ctx ends, and then writes the waiting marks once more. It returns nil.
func (m *Memory) Run(ctx context.Context) error {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		if err := m.Share(ctx); err != nil && ctx.Err() == nil {
			m.often.Warn(
				ctx, "refused conversations of other nodes cannot be read: requests with a session get no ad", "error",
				err,
			)
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWait)
			defer cancel()
			_ = m.flush(last) // the rest is lost with this process
			return nil
		case <-ticker.C:
		}
	}
}

// Share writes the waiting marks and reads new ones. Run calls it; tests may call it directly.
func (m *Memory) Share(ctx context.Context) error {
	m.sweep()
	if err := m.flush(ctx); err != nil {
		return err
	}
	return m.readAll(ctx)
}

// flush writes the waiting marks, oldest first.
func (m *Memory) flush(ctx context.Context) error {
	for {
		m.mu.Lock()
		if len(m.waiting) == 0 {
			m.waiting = nil
			m.mu.Unlock()
			return nil
		}
		next := m.waiting[0]
		m.mu.Unlock()
		if err := m.flushOne(ctx, next); err != nil {
			return err
		}
		m.mu.Lock()
		m.waiting = m.waiting[1:]
		m.mu.Unlock()
	}
}

func (m *Memory) flushOne(ctx context.Context, w waiting) error {
	if w.set+int64(Life/time.Second) <= m.deps.Now().Unix() {
		return nil // it has expired
	}
	writing, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	stored, err := m.write(writing, w)
	if err == nil && !stored {
		m.forget(w, 0)
		m.drop(ctx)
	}
	return err
}

// readAll reads the hours that may have new marks, page by page, until there are none. A node that
// starts, or that did not read for hours, reads every hour whose marks may apply.
func (m *Memory) readAll(ctx context.Context) error {
	begun := m.deps.Now()
	this := hourOf(begun)
	first := this - backHours
	if last := m.read.Load(); last > 0 {
		first = max(first, last/int64(time.Hour)-1)
	}
	var hours, from []int64
	for hour := first; hour <= this+1; hour++ { // a node's clock may be ahead
		hours, from = append(hours, hour), append(from, m.offsets[hour])
	}
	for len(hours) > 0 {
		more, err := m.readPage(ctx, hours, from)
		if err != nil {
			m.failures.Inc()
			return err
		}
		hours, from = hours[:0], from[:0]
		for _, hour := range more {
			hours, from = append(hours, hour), append(from, m.offsets[hour])
		}
	}
	for hour := range m.offsets {
		if hour < this-backHours {
			delete(m.offsets, hour)
		}
	}
	m.read.Store(begun.UnixNano())
	return nil
}

// readPage reads a page of each hour, and returns the hours that may have more.
func (m *Memory) readPage(ctx context.Context, hours, from []int64) (more []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	marks, lost, err := m.deps.Store.Since(ctx, hours, from)
	if err != nil {
		return nil, err
	}
	now := m.deps.Now().Unix()
	for i, hour := range hours {
		if lost[i] { // read again from the start; known marks stay
			m.offsets[hour] = 0
			more = append(more, hour)
			continue
		}
		if len(marks[i]) == 0 {
			continue
		}
		for _, text := range marks[i] {
			m.hear(text, now)
		}
		m.offsets[hour] = from[i] + int64(len(marks[i]))
		more = append(more, hour)
	}
	return more, nil
}

// hear applies a mark of a list. It skips values of another size, from other versions.
func (m *Memory) hear(text string, now int64) {
	if len(text) != markSize {
		return
	}
	var mark token.Pseudonym
	copy(mark[:], text)
	set := min(int64(binary.BigEndian.Uint64([]byte(text[len(mark):]))), now)
	if set+int64(Life/time.Second) > now {
		m.learn(mark, set)
	}
}

// sweep removes the expired marks of one shard. The next call sweeps the next shard.
func (m *Memory) sweep() {
	at, now := &m.shards[m.swept], m.deps.Now().Unix()
	m.swept = (m.swept + 1) % shards
	at.mu.Lock()
	defer at.mu.Unlock()
	for mark, until := range at.until {
		if until <= now {
			delete(at.until, mark)
			m.known.Add(-1)
		}
	}
}
