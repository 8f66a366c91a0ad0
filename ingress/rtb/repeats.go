package rtb

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"

	"github.com/google/uuid"

	"adnet/schemas/event"
)

// repeats holds hashes of the notices that this node recorded, each in the one slot that its hash
// selects: a newer notice may replace an older one. The archive merges what passes: a notice that
// other nodes took, too, or whose slot was replaced.
type repeats struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

func newRepeats() *repeats { return &repeats{seed: maphash.MakeSeed()} }

// first records a notice and reports whether it was new.
func (r *repeats) first(bid uuid.UUID, kind event.Notice_Kind) bool {
	var key [len(bid) + 4]byte
	copy(key[:], bid[:])
	binary.BigEndian.PutUint32(key[len(bid):], uint32(kind))
	sum := maphash.Bytes(r.seed, key[:])
	return r.places[sum%uint64(len(r.places))].Swap(sum) != sum
}
