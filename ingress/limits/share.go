package limits

import (
	"context"
	"encoding/binary"
	"maps"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The intervals of the exchange.
const (
	exchangeEvery = 200 * time.Millisecond
	exchangeWait  = time.Second
	forgetPeer    = 2 * time.Minute // of silence, after which a node is forgotten
	entrySize     = 16 + 8 + 4      // key, bucket, count
	maxEntries    = 20_000          // of a message; the rest goes with the next
)

// peer holds the last count that another node sent for each key. A node counts a key in ascending
// buckets, so the last one is enough to find the increase in an absolute count.
type peer struct {
	counts *simplelru.LRU[key, lastCount]
	at     time.Time
}

type lastCount struct {
	bucket bucket
	count  int32
}

// Run exchanges counts with the other nodes until ctx ends. Without an exchange it only waits. It
// returns nil.
func (l *Limits) Run(ctx context.Context) error {
	if l.deps.Exchange == nil {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(exchangeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := l.Share(ctx); err != nil && ctx.Err() == nil {
			l.failures.Inc()
			l.often.Warn(ctx, "limits use this node's counts alone: counts cannot be exchanged", "error", err)
		}
	}
}

// Share makes one exchange: it sends the new counts of this node and receives those of the others.
// The next call sends what this one could not. Run calls it; tests may call it directly.
func (l *Limits) Share(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeWait)
	defer cancel()
	l.countNetwork(&l.clicks, l.deps.Now())
	l.countNetwork(&l.views, l.deps.Now())
	message := l.collect()
	err := l.deps.Exchange.Exchange(ctx, message, l.hear)
	if err != nil {
		l.again(message)
	}
	for node, p := range maps.All(l.heard) {
		if l.deps.Now().Sub(p.at) > forgetPeer {
			delete(l.heard, node)
		}
	}
	return err
}

// collect returns the counts that the other nodes do not have, oldest bucket of a key first.
func (l *Limits) collect() []byte {
	var b []byte
	for _, s := range l.shards {
		s.mu.Lock()
		for k := range s.dirty {
			if len(b) >= maxEntries*entrySize {
				break
			}
			if m, ok := s.meters.Peek(k); ok {
				b = m.tell(b, k)
			}
			delete(s.dirty, k)
		}
		s.mu.Unlock()
	}
	for _, s := range l.tallied {
		s.mu.Lock()
		for k := range s.dirty {
			if len(b) >= maxEntries*entrySize {
				break
			}
			if t, ok := s.all.Peek(k); ok {
				b = t.tell(b, k)
			}
			delete(s.dirty, k)
		}
		s.mu.Unlock()
	}
	return b
}

// tell appends the dirty counts of m and clears their marks.
func (m *meter) tell(b []byte, k key) []byte {
	for at := m.newest - buckets; at <= m.newest; at++ {
		place := at & (ring - 1)
		if m.dirty&(1<<place) == 0 {
			continue
		}
		b = append(b, k[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(at))
		b = binary.BigEndian.AppendUint32(b, uint32(m.own[place]))
	}
	m.dirty = 0
	return b
}

// entries calls each for the counts of a message, ignoring a truncated entry at its end.
func entries(message []byte, each func(k key, at bucket, count int32)) {
	for ; len(message) >= entrySize; message = message[entrySize:] {
		each(
			key(message[:16]), bucket(binary.BigEndian.Uint64(message[16:])),
			int32(binary.BigEndian.Uint32(message[24:])),
		)
	}
}

// again marks the counts of a lost message dirty.
func (l *Limits) again(message []byte) {
	entries(message, func(k key, at bucket, n int32) {
		if l.spans[k[0]].slots > 0 {
			l.againTally(k, at, n)
			return
		}
		s := l.shards[k[len(k)-1]%shards]
		s.mu.Lock()
		defer s.mu.Unlock()
		if m, ok := s.meters.Peek(k); ok && m.counts(at) {
			m.dirty |= 1 << (at & (ring - 1))
			s.dirty[k] = struct{}{}
		}
	})
}

// hear applies another node's absolute counts.
func (l *Limits) hear(node string, data []byte) {
	p := l.heard[node]
	if p == nil {
		memory, err := simplelru.NewLRU[key, lastCount](maxKeys*shards, nil)
		if err != nil {
			return // cannot happen: the size is a constant above 0
		}
		p = &peer{counts: memory}
		l.heard[node] = p
	}
	p.at = l.deps.Now()
	entries(data, func(k key, at bucket, count int32) {
		if k[0] == 0 || k[0] >= classes {
			return // of a newer version
		}
		if l.spans[k[0]].slots > 0 {
			l.hearTally(k, at, count)
			return
		}
		more := count
		if last, ok := p.counts.Get(k); ok {
			if at < last.bucket {
				return
			}
			if at == last.bucket {
				more = count - last.count
			}
		}
		p.counts.Add(k, lastCount{at, count})
		l.add(k, at, more)
	})
}

// add counts the requests that another node accepted, in the bucket of that node. Its clock may be
// ahead of ours.
func (l *Limits) add(k key, at bucket, n int32) {
	if n == 0 {
		return
	}
	s := l.shards[k[len(k)-1]%shards]
	now := l.classes[k[0]].bucket(l.deps.Now())
	if at < now-buckets {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(k, &l.classes[k[0]], now)
	m.hear(min(at, m.newest), n)
}
