package archive

import (
	"hash/maphash"
	"slices"
	"time"

	"adnet/internal/stream"
)

const (
	// repeatSpan is the length of a span of record times. A record is never later behind others of
	// its partition than a node tries to send it (ADNET_KAFKA_DELIVERY_TIMEOUT, 10 s).
	repeatSpan = time.Minute
	// repeatSpans is the number of spans whose records are remembered: eight bytes a record.
	repeatSpans = 4
)

// repeats detects sealed records that a foreign writer sends again, so that none counts twice in
// the sums of the analytics store. A new process knows the records that it has read itself.
type repeats struct {
	seed   maphash.Seed
	newest map[stream.Partition]int64
	spans  []span // of all partitions, the oldest first by creation
}

// span holds the hashes of the records of a time.
type span struct {
	number int64
	seen   map[uint64]struct{}
}

func newRepeats() *repeats {
	return &repeats{seed: maphash.MakeSeed(), newest: make(map[stream.Partition]int64)}
}

// fresh reports whether a genuine record of a partition was not read before, and remembers it. A
// record whose time is more than a span behind the partition's newest is not fresh.
func (r *repeats) fresh(p stream.Partition, at time.Time, record []byte) bool {
	number := at.UnixMicro() / repeatSpan.Microseconds()
	newest, known := r.newest[p]
	if known && number < newest-1 {
		return false
	}
	r.newest[p] = max(newest, number)
	seen, sum := r.of(number), maphash.Bytes(r.seed, record)
	if _, repeated := seen[sum]; repeated {
		return false
	}
	seen[sum] = struct{}{}
	return true
}

// of returns the records of a span, which begins empty.
func (r *repeats) of(number int64) map[uint64]struct{} {
	for i := range r.spans {
		if r.spans[i].number == number {
			return r.spans[i].seen
		}
	}
	if len(r.spans) == repeatSpans {
		r.spans = slices.Delete(r.spans, 0, 1)
	}
	r.spans = append(r.spans, span{number, make(map[uint64]struct{})})
	return r.spans[len(r.spans)-1].seen
}
