package limits

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tally sums a key by the time at which the counted ads were sold. Unlike a [meter], any of its
// slots may change at any time, on any node: an ad is sold on one node and shown through another. So
// nodes exchange changes instead of absolute counts.
type tally struct {
	newest bucket
	total  []int32 // by slot, of all nodes
	unsent []int32 // by slot, the part that the other nodes do not have
	dirty  uint64  // slots with a part in unsent; if there are any, the shard has the key among its dirty ones
}

// tallies of a class span window in slots, of which there are a power of two, at most 64. A count
// leaves between window and a slot later.
type tallies struct {
	window time.Duration
	slots  int
}

func (c tallies) bucket(t time.Time) bucket {
	return bucket(t.UnixNano() / (int64(c.window) / int64(c.slots-1)))
}

func newTally(slots int, now bucket) *tally {
	both := make([]int32, 2*slots)
	return &tally{newest: now, total: both[:slots:slots], unsent: both[slots:]}
}

func (t *tally) at(b bucket) int { return int(b) & (len(t.total) - 1) }

// forward moves the slots to now and drops the counts that are too old.
func (t *tally) forward(now bucket) {
	if int(now-t.newest) >= len(t.total) {
		clear(t.total)
		clear(t.unsent)
		t.newest, t.dirty = now, 0
	}
	for t.newest < now { // after a clock went back, count in the newest slot
		t.newest++
		at := t.at(t.newest)
		t.total[at], t.unsent[at] = 0, 0
		t.dirty &^= 1 << at
	}
}

// counts returns the slot of b, which is the newest one for a clock ahead, and reports whether it
// still counts.
func (t *tally) counts(b bucket) (at int, ok bool) {
	b = min(b, t.newest)
	return t.at(b), int(t.newest-b) < len(t.total)
}

// add counts n on this node, in the slot of b.
func (t *tally) add(b bucket, n int32) {
	if at, ok := t.counts(b); ok {
		t.total[at], t.unsent[at] = within32(t.total[at], n), within32(t.unsent[at], n)
		t.dirty |= 1 << at
	}
}

// hear counts n of another node.
func (t *tally) hear(b bucket, n int32) {
	if at, ok := t.counts(b); ok {
		t.total[at] = within32(t.total[at], n)
	}
}

func within32(a, b int32) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, int64(a)+int64(b))))
}

// sum returns the sum of all slots. A slot below zero counts nothing: its ads were sold before this
// node started.
func (t *tally) sum() (sum int64) {
	for _, n := range t.total {
		sum += int64(max(0, n))
	}
	return sum
}

// tell appends the changes that the other nodes do not have, and clears them.
func (t *tally) tell(b []byte, k key) []byte {
	for back := len(t.total) - 1; back >= 0; back-- {
		of := t.newest - bucket(back)
		at := t.at(of)
		if t.dirty&(1<<at) == 0 || t.unsent[at] == 0 {
			continue
		}
		b = append(b, k[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(of))
		b = binary.BigEndian.AppendUint32(b, uint32(t.unsent[at]))
		t.unsent[at] = 0
	}
	t.dirty = 0
	return b
}

// maxTallies bounds the memory of a shard, like [maxKeys].
const maxTallies = 1 << 16 / shards

// tallyShard has the tallies of some keys.
type tallyShard struct {
	mu    sync.Mutex
	all   *simplelru.LRU[key, *tally]
	dirty map[key]struct{} // with changes for the other nodes
}

func newTallyShard() (*tallyShard, error) {
	all, err := simplelru.NewLRU[key, *tally](maxTallies, nil)
	return &tallyShard{all: all, dirty: make(map[key]struct{})}, err
}

// tally finds or creates the tally of k, moved to now. The shard's lock is held.
func (s *tallyShard) tally(k key, of tallies, now time.Time) *tally {
	t, ok := s.all.Get(k)
	if !ok {
		t = newTally(of.slots, of.bucket(now))
		s.all.Add(k, t)
	}
	t.forward(of.bucket(now))
	return t
}

// peek returns the tally of k, moved to now; nil if nothing is counted. The shard's lock is held.
func (s *tallyShard) peek(k key, of tallies, now time.Time) *tally {
	t, ok := s.all.Get(k)
	if !ok {
		return nil
	}
	t.forward(of.bucket(now))
	return t
}

func (l *Limits) tallyShard(k key) *tallyShard { return l.tallied[k[len(k)-1]%shards] }

// tallyAt counts n in the tally of k, at the time of its ad's sale.
func (l *Limits) tallyAt(k key, n int32, sold, now time.Time) {
	of, s := l.spans[k[0]], l.tallyShard(k)
	s.mu.Lock()
	s.add(k, of, n, sold, now)
	s.mu.Unlock()
}

// add counts n in the tally of k. The shard's lock is held.
func (s *tallyShard) add(k key, of tallies, n int32, sold, now time.Time) {
	s.addTo(s.tally(k, of, now), k, of.bucket(sold), n)
}

// addTo counts n in t, the tally of k. The shard's lock is held.
func (s *tallyShard) addTo(t *tally, k key, b bucket, n int32) {
	if t.dirty == 0 { // else k is among the dirty ones already
		s.dirty[k] = struct{}{}
	}
	t.add(b, n)
}

// hearTally counts a change of another node.
func (l *Limits) hearTally(k key, at bucket, n int32) {
	of, s := l.spans[k[0]], l.tallyShard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally(k, of, l.deps.Now()).hear(at, n)
}

// againTally counts a change of a lost message as unsent.
func (l *Limits) againTally(k key, at bucket, n int32) {
	s := l.tallyShard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.all.Peek(k); ok {
		if slot, ok := t.counts(at); ok {
			t.unsent[slot] = within32(t.unsent[slot], n)
			t.dirty |= 1 << slot
			s.dirty[k] = struct{}{}
		}
	}
}
