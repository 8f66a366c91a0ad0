package archive

import (
	"cmp"
	"slices"
	"time"

	"adnet/internal/ledger"
	"adnet/schemas/event"
)

// held is a record that waits for its verdict. Its value lives in memory of our own.
type held struct {
	offset int64
	at     time.Time
	value  []byte
}

// queue is the records of one partition, by offset, perhaps with gaps.
type queue struct {
	records []held
	end     int64 // one past the last offset that was read
	wanted  int64 // the pending chunk needs records below this offset; 0 when none is known

	inserted time.Time // the last insert
	again    bool      // the log was read a second time for records that were missing
}

// buffer is the queues of all partitions, and how full they are.
type buffer struct {
	queues  map[ledger.Partition]*queue
	records int
	bytes   int
}

// add copies what one poll brought. Records that are held already are left out: after a rebalance or a
// reset the log is read again from the archived offset.
func (b *buffer) add(records []event.Record) {
	size := 0
	for i := range records {
		size += len(records[i].Value)
	}
	slab := make([]byte, 0, size)
	for i := range records {
		r := &records[i]
		p := ledger.Partition{Stream: r.TopicID, Number: r.Partition}
		q := b.queues[p]
		if q == nil {
			q = &queue{}
			b.queues[p] = q
		}
		if len(q.records) > 0 && r.Offset < q.end {
			continue
		}
		start := len(slab)
		slab = append(slab, r.Value...)
		q.records = append(q.records, held{offset: r.Offset, at: r.Time.UTC(), value: slab[start:len(slab):len(slab)]})
		q.end = r.Offset + 1
		b.records++
		b.bytes += len(r.Value)
	}
}

// drop forgets the records of a partition below next, and the partition when nothing of it is left to do.
func (b *buffer) drop(q *queue, next int64) {
	n := q.find(next)
	for _, r := range q.records[:n] {
		b.bytes -= len(r.value)
	}
	b.records -= n
	clear(q.records[:n]) // or the slice would keep the values alive
	q.records = q.records[n:]
}

// find is the index of the first record at or above offset.
func (q *queue) find(offset int64) int {
	n, _ := slices.BinarySearchFunc(q.records, offset, func(r held, offset int64) int { return cmp.Compare(r.offset, offset) })
	return n
}

// partitions lists those that have records, in a fixed order.
func (b *buffer) partitions() []ledger.Partition {
	list := make([]ledger.Partition, 0, len(b.queues))
	for p, q := range b.queues {
		if len(q.records) > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b ledger.Partition) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Number, b.Number))
	})
	return list
}

// starving says that some planned chunk waits for records that were not read yet: reading must go on even
// when the buffer is full, or nothing would ever leave it.
func (b *buffer) starving() bool {
	for _, q := range b.queues {
		if q.wanted > q.end {
			return true
		}
	}
	return false
}
