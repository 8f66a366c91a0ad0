package limits

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// buckets is the number of parts in a window. A meter always covers one part more, so that it spans
// the whole window at every moment: no period of that length passes more than the limit, and a
// request may count up to a 60th of the window too long.
const buckets = 60

// ring has a slot for each bucket that may count; a power of two.
const ring = 64

// key identifies the subject of a count. Its first byte is the class, the rest is cut from a hash
// or an id: addresses leave the process only in that form.
type key [16]byte

// bucket is a point in time: the time since 1970 in units of a 60th of the class's window.
type bucket int64

// meter counts one key. own and others are absolute numbers per bucket: the requests that this node
// accepted, and the ones that all other nodes report.
type meter struct {
	newest      bucket // of the ring; older than newest-buckets does not count
	sum         int64  // of everything in the ring
	own, others [ring]int32
	dirty       uint64 // slots with own counts that the other nodes do not have
	class       *class // of the key
	onTop       int64  // used part of the class's extra, in units of 1/buckets of a request
}

// forward moves the ring to now and drops counts that are too old.
func (m *meter) forward(now bucket) {
	if now <= m.newest {
		return // after a clock went back, count in the newest bucket
	}
	if now-m.newest > ring {
		*m = meter{newest: now, class: m.class}
		return
	}
	for m.newest < now {
		m.refill()
		m.newest++
		m.expire(m.newest - buckets - 1)
	}
}

// refill restores, for the bucket that ends, the unused part of the window's limit. The extra is
// complete again after a silent window; a caller that uses the limit up gets nothing back. So the
// extra adds to a single minute, never to the sustained rate.
func (m *meter) refill() {
	if unused := m.class.limit - m.sum; m.onTop > 0 && unused > 0 {
		m.onTop = max(0, m.onTop-(m.class.extra*unused+m.class.limit-1)/m.class.limit)
	}
}

// above records n more counts, some of which may be above the limit.
func (m *meter) above(n int32) {
	if m.class.extra > 0 && n > 0 {
		m.onTop += buckets * max(0, min(int64(n), m.sum-m.class.limit))
	}
}

// extraLeft returns the number of requests that may still pass above the limit.
func (m *meter) extraLeft() int64 { return max(0, m.class.extra-(m.onTop+buckets-1)/buckets) }

// expire subtracts a bucket from the sum and frees its slot.
func (m *meter) expire(b bucket) {
	at := b & (ring - 1)
	m.sum -= int64(m.own[at]) + int64(m.others[at])
	m.own[at], m.others[at] = 0, 0
	m.dirty &^= 1 << at
}

// counts reports whether b is inside the window.
func (m *meter) counts(b bucket) bool { return b <= m.newest && b >= m.newest-buckets }

// add counts n (also −1, to give back) in the bucket.
func (m *meter) add(b bucket, n int32) {
	if !m.counts(b) {
		return
	}
	at := b & (ring - 1)
	m.own[at] += n
	m.sum += int64(n)
	m.above(n)
	m.dirty |= 1 << at
}

// hear adds the change in the counts of other nodes.
func (m *meter) hear(b bucket, n int32) {
	if !m.counts(b) {
		return
	}
	at := b & (ring - 1)
	m.others[at] += n
	m.sum += int64(n)
	m.above(n)
}

// until returns the time until one more request fits under limit.
func (m *meter) until(limit int64, class *class, now time.Time) time.Duration {
	left := m.sum
	for b := m.newest - buckets; b < m.newest; b++ {
		if left < limit {
			break
		}
		at := b & (ring - 1)
		left -= int64(m.own[at]) + int64(m.others[at])
		if left < limit {
			return class.start(b + buckets + 1).Sub(now)
		}
	}
	if left < limit {
		return 0
	}
	return class.start(m.newest + buckets + 1).Sub(now)
}

// oldest returns the time until the first counted bucket leaves the window, or zero if nothing is
// counted.
func (m *meter) oldest(class *class, now time.Time) time.Duration {
	for b := m.newest - buckets; b <= m.newest; b++ {
		if at := b & (ring - 1); m.own[at]+m.others[at] > 0 {
			return class.start(b + buckets + 1).Sub(now)
		}
	}
	return 0
}

// class is a kind of limit.
type class struct {
	id     byte
	name   string
	limit  int64 // in one window; 0 is off
	burst  int64 // in one bucket; 0 means no separate limit
	extra  int64 // above the limit, for callers that did not use the minute before
	window time.Duration
}

func (c *class) bucket(t time.Time) bucket {
	return bucket(t.UnixNano() / int64(c.window/buckets))
}

func (c *class) start(b bucket) time.Time { return time.Unix(0, int64(b)*int64(c.window/buckets)) }

// shards spread lock contention. Each key belongs to one.
const shards = 16

// maxKeys bounds the memory of a shard. The least recently used key is evicted, which only favours
// its caller.
const maxKeys = 100_000 / shards

type shard struct {
	mu     sync.Mutex
	has    atomic.Uint64  // a bit of each class that has had a meter here
	node   *atomic.Uint64 // the same of all shards
	meters *simplelru.LRU[key, *meter]
	dirty  map[key]struct{} // meters with counts for the other nodes
}

func newShard(node *atomic.Uint64) (*shard, error) {
	meters, err := simplelru.NewLRU[key, *meter](maxKeys, nil)
	return &shard{node: node, meters: meters, dirty: make(map[key]struct{})}, err
}

// meter finds or creates the meter of k, moved to now. The shard's lock is held.
func (s *shard) meter(k key, of *class, now bucket) *meter {
	m, ok := s.meters.Get(k)
	if !ok {
		m = &meter{newest: now, class: of}
		s.has.Or(1 << of.id)
		s.node.Or(1 << of.id)
		s.meters.Add(k, m)
	}
	m.forward(now)
	return m
}
