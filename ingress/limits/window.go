package limits

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// buckets is how many parts a window is counted in. One more than that is always looked at, so that
// the parts cover the window whatever moment it is: never more than the limit passes in any stretch
// of that length, and a request may count up to a 60th of the window too long.
const buckets = 60

// ring has a place for each bucket that may count; a power of two.
const ring = 64

// key is whom a count is for. Its first byte is the class, the rest is cut from a hash or an id:
// addresses leave the process only in that form.
type key [16]byte

// bucket is a point in time: the time since 1970 in units of a 60th of the class's window.
type bucket int64

// meter counts one key. own and others are absolute numbers per bucket: what this node let through,
// and what all other nodes say that they did.
type meter struct {
	newest      bucket // of the ring; older than newest-buckets does not count
	sum         int64  // of everything in the ring
	own, others [ring]int32
	dirty       uint64 // places whose own count the other nodes do not know
	class       *class // of the key
	onTop       int64  // how much of the class's extra is used, in parts of a request: one has buckets of them
}

// forward moves the ring to now and drops counts that are too old.
func (m *meter) forward(now bucket) {
	if now <= m.newest {
		return // a clock that went back counts in the newest bucket
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

// refill gives back, for the bucket that ends, what the window left unused of the limit: the extra
// is whole again after a silent window, and who uses the limit up gets nothing back. So the extra
// comes on top of a minute, and never on top of the sustained rate.
func (m *meter) refill() {
	if unused := m.class.limit - m.sum; m.onTop > 0 && unused > 0 {
		m.onTop = max(0, m.onTop-(m.class.extra*unused+m.class.limit-1)/m.class.limit)
	}
}

// above notes that n more were counted, of which some may be above the limit.
func (m *meter) above(n int32) {
	if m.class.extra > 0 && n > 0 {
		m.onTop += buckets * max(0, min(int64(n), m.sum-m.class.limit))
	}
}

// extraLeft is how many may pass above the limit now.
func (m *meter) extraLeft() int64 { return max(0, m.class.extra-(m.onTop+buckets-1)/buckets) }

// expire takes a bucket out of the sum and frees its place.
func (m *meter) expire(b bucket) {
	at := b & (ring - 1)
	m.sum -= int64(m.own[at]) + int64(m.others[at])
	m.own[at], m.others[at] = 0, 0
	m.dirty &^= 1 << at
}

// counts says whether b is inside the window.
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

// hear adds what other nodes counted more (or less) than they had said.
func (m *meter) hear(b bucket, n int32) {
	if !m.counts(b) {
		return
	}
	at := b & (ring - 1)
	m.others[at] += n
	m.sum += int64(n)
	m.above(n)
}

// until is how long it takes until enough has left the window for one more to pass under limit.
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

// oldest is when the first counted bucket leaves the window; zero when nothing is counted.
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
	extra  int64 // above the limit, for those who did not use the minute before
	window time.Duration
}

func (c *class) bucket(t time.Time) bucket {
	return bucket(t.UnixNano() / int64(c.window/buckets))
}

func (c *class) start(b bucket) time.Time { return time.Unix(0, int64(b)*int64(c.window/buckets)) }

// shards spread the lock; each key belongs to one.
const shards = 16

// maxKeys bounds the memory of a shard; the key that was silent for longest is forgotten first,
// which only forgives it.
const maxKeys = 100_000 / shards

type shard struct {
	mu     sync.Mutex
	meters *simplelru.LRU[key, *meter]
	dirty  map[key]struct{} // meters with something to tell the other nodes
}

func newShard() (*shard, error) {
	meters, err := simplelru.NewLRU[key, *meter](maxKeys, nil)
	return &shard{meters: meters, dirty: make(map[key]struct{})}, err
}

// meter finds or makes the meter of k, moved to now. The shard's lock is held.
func (s *shard) meter(k key, of *class, now bucket) *meter {
	m, ok := s.meters.Get(k)
	if !ok {
		m = &meter{newest: now, class: of}
		s.meters.Add(k, m)
	}
	m.forward(now)
	return m
}
