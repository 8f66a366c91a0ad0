// Package recent remembers in bounded memory what a node has taken, so that most repeats need no
// lookup in a store.
package recent

import (
	"hash/maphash"
	"sync/atomic"
)

// Set holds hashes, each in the one slot that it selects: a newer entry may replace an older one, so
// a repeat may look new. Its methods may be called from any goroutine.
type Set struct {
	seed  maphash.Seed
	slots [1 << 16]atomic.Uint64
}

// New returns an empty set.
func New() *Set { return &Set{seed: maphash.MakeSeed()} }

// Note remembers a use of an id, and reports whether the set has it already.
func (s *Set) Note(id []byte, use string) (known bool) {
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.Write(id)
	_, _ = h.WriteString(use)
	sum := h.Sum64()
	return s.slots[sum%uint64(len(s.slots))].Swap(sum) == sum
}
