package archive

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"adnet/internal/stream"
	"adnet/schemas/event"
)

// bufferedRecord is a record that waits for its verdict. It owns a copy of the value.
type bufferedRecord struct {
	offset int64
	at     time.Time
	value  []byte
}

// queue holds the records of one partition, ordered by offset, perhaps with gaps.
type queue struct{ records []bufferedRecord }

// buffer holds the queues of all partitions and their total size.
type buffer struct {
	queues  map[stream.Partition]*queue // none is empty
	records int
	bytes   int
}

// add copies the records of one poll and skips records that are already buffered: after a rebalance
// or a reset the log is read again from the archived offset.
func (b *buffer) add(records []event.Record) {
	size := 0
	for i := range records {
		size += len(records[i].Value)
	}
	copied := make([]byte, 0, size)
	for i := range records {
		r := &records[i]
		p := stream.Partition{Stream: r.TopicID, Number: r.Partition}
		q := b.queues[p]
		if q == nil {
			q = &queue{}
			b.queues[p] = q
		}
		if r.Offset < q.end() {
			continue
		}
		start := len(copied)
		copied = append(copied, r.Value...)
		q.records = append(
			q.records, bufferedRecord{offset: r.Offset, at: r.Time.UTC(), value: copied[start:len(copied):len(copied)]},
		)
		b.records++
		b.bytes += len(r.Value)
	}
}

// drop removes the records of a partition below next, and the partition once it is empty.
func (b *buffer) drop(p stream.Partition, next int64) {
	q := b.queues[p]
	if q == nil {
		return
	}
	n := q.find(next)
	for _, r := range q.records[:n] {
		b.bytes -= len(r.value)
	}
	b.records -= n
	clear(q.records[:n]) // or the slice would keep the values alive
	if q.records = q.records[n:]; len(q.records) == 0 {
		delete(b.queues, p)
	}
}

// within returns the buffered records of a range and whether the range is complete. Calls of within
// may run concurrently.
func (b *buffer) within(r stream.Range) (records []bufferedRecord, complete bool) {
	q := b.queues[r.Partition]
	if q == nil {
		return nil, false
	}
	records = q.records[q.find(r.First):q.find(r.Next)]
	return records, int64(len(records)) == r.Next-r.First
}

// find returns the index of the first record at or above offset.
func (q *queue) find(offset int64) int {
	n, _ := slices.BinarySearchFunc(
		q.records, offset, func(r bufferedRecord, offset int64) int { return cmp.Compare(r.offset, offset) },
	)
	return n
}

// end returns the offset after the last buffered one.
func (q *queue) end() int64 {
	if len(q.records) == 0 {
		return 0
	}
	return q.records[len(q.records)-1].offset + 1
}

// partitions lists the partitions that have records, in a fixed order.
func (b *buffer) partitions() []stream.Partition {
	return slices.SortedFunc(maps.Keys(b.queues), stream.Partition.Compare)
}
