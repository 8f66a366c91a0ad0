package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"adnet/internal/ledger"
	"adnet/internal/stream"
)

// earlyState holds the early events. Guarded by core.mu.
type earlyState struct {
	last    int64 // id
	waiting map[int64]ledger.Early
	judged  map[stream.Partition][]ledger.Judged // by offset, until they are archived
}

func newEarlyState() earlyState {
	return earlyState{waiting: make(map[int64]ledger.Early), judged: make(map[stream.Partition][]ledger.Judged)}
}

func (s *earlyState) hold(e ledger.Early) {
	s.last++
	e.ID, e.Value, e.Written = s.last, bytes.Clone(e.Value), asStored(e.Written)
	s.waiting[e.ID] = e
}

func (s *earlyState) judge(id int64, in stream.Range, offset int64) {
	e := s.waiting[id]
	delete(s.waiting, id)
	s.judged[in.Partition] = append(s.judged[in.Partition], ledger.Judged{
		Partition: in.Partition, Offset: offset, Written: e.Written, Value: e.Value,
	})
}

func (s *earlyState) drop(p stream.Partition, archived int64) {
	s.judged[p] = slices.DeleteFunc(s.judged[p], func(j ledger.Judged) bool { return j.Offset < archived })
}

// Early returns the selected early events.
func (b *batchTx) Early(_ context.Context, query func() ledger.EarlyQuery) ([]ledger.Early, error) {
	waiting := b.store.ledger.early.waiting
	if len(waiting) == 0 {
		return nil, nil
	}
	q := query()
	var due []ledger.Early
	found := make(map[int64]ledger.Early)
	for id, e := range waiting {
		if slices.Contains(q.Auctions, e.Auction) {
			found[id] = e
		} else if q.Covers(&e) || e.Held && !b.store.waits(&e) {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b ledger.Early) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range due[:min(len(due), q.Limit)] {
		found[e.ID] = e
	}
	return ledger.SortEarly(found), nil
}

// Judge places early events in [ledger.EarlyStream] when the transaction commits, and claims their
// offsets.
func (b *batchTx) Judge(_ context.Context, number int32, ids []int64) (stream.Range, error) {
	p := stream.Partition{Stream: ledger.EarlyStream, Number: number}
	first := b.store.ledger.offsets[p]
	b.judged, b.judgedAs = ids, stream.Range{Partition: p, First: first, Next: first + int64(len(ids))}
	b.claimed[b.judgedAs] = false
	return b.judgedAs, nil
}

// Judged returns judged early events that are not archived yet, by partition and offset.
func (s *Archive) Judged(_ context.Context, limit int) ([]ledger.Judged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ledger.Judged
	for _, judged := range s.ledger.early.judged {
		list = append(list, judged...)
	}
	slices.SortFunc(list, func(a, b ledger.Judged) int {
		return cmp.Or(a.Compare(b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return list[:min(len(list), limit)], nil
}

// JudgedWithin returns the judged early events of a range that are not archived yet, by offset.
func (s *Archive) JudgedWithin(_ context.Context, r stream.Range) (list []ledger.Judged, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.ledger.early.judged[r.Partition] {
		if j.Offset >= r.First && j.Offset < r.Next {
			list = append(list, j)
		}
	}
	return list, nil
}
