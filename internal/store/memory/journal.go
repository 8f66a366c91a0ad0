package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"adnet/internal/ledger/reserve"
)

// journal holds the reservations of nodes; see [reserve.Journal].
type journal struct {
	writers map[string]reserve.Writer
	pages   map[string][]keptPage
	gaps    []reserve.Gap
	watched time.Time
}

type keptPage struct {
	number  int64
	at      time.Time
	entries []reserve.Entry
}

func (j *journal) prune(now time.Time) {
	long := now.Add(-reserve.JournalMemory)
	maps.DeleteFunc(j.writers, func(_ string, w reserve.Writer) bool { return w.Seen.Before(long) })
	for node, pages := range j.pages {
		j.pages[node] = slices.DeleteFunc(pages, func(p keptPage) bool { return p.at.Before(long) })
		if len(j.pages[node]) == 0 {
			delete(j.pages, node)
		}
	}
	j.gaps = slices.DeleteFunc(j.gaps, func(g reserve.Gap) bool { return g.To.Before(long) })
}

// KeepPage adds a page to a node's journal of reservations.
func (s *Journal) KeepPage(_ context.Context, p reserve.Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, now := &s.journal, s.now()
	if j.writers == nil {
		j.writers, j.pages = make(map[string]reserve.Writer), make(map[string][]keptPage)
	}
	old := j.writers[p.Node]
	w := reserve.Writer{Node: p.Node, Epoch: p.Epoch, Acked: p.Acked, Closed: old.Closed || p.Closed, Seen: now}
	switch {
	case old.Epoch > p.Epoch:
		w.Epoch, w.Acked = old.Epoch, old.Acked
	case old.Epoch == p.Epoch:
		w.Acked = max(old.Acked, p.Acked)
	}
	j.writers[p.Node] = w
	if len(p.Entries) > 0 {
		j.pages[p.Node] = append(j.pages[p.Node], keptPage{p.Number, now, slices.Clone(p.Entries)})
	}
	return nil
}

// Watch records that a projector is at work. silent is how long nodes have not heard from a
// projector while the store of the reservations stayed the same (0 if they have). missed reports a
// period without any projector.
func (r *RoomReader) Watch(_ context.Context, silent time.Duration) (missed bool, err error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	j, now := &r.store.journal, r.store.now()
	from := j.watched
	if by := now.Add(-silent); by.Before(from) {
		from = by
	}
	if missed = silent > 0 || !j.watched.IsZero() && now.Sub(j.watched) > reserve.GapAfter; missed {
		j.gaps = append(j.gaps, reserve.Gap{From: from, To: now})
	}
	j.watched = now
	return missed, nil
}

// Journal returns the nodes' pages of the last [reserve.JournalMemory].
func (r *RoomReader) Journal(context.Context) (reserve.Journal, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	found := reserve.Journal{Now: r.store.now()}
	for _, w := range r.store.journal.writers {
		if found.Now.Sub(w.Seen) < reserve.JournalMemory {
			found.Writers = append(found.Writers, w)
		}
	}
	for _, g := range r.store.journal.gaps {
		if found.Now.Sub(g.To) < reserve.JournalMemory {
			found.Gaps = append(found.Gaps, g)
		}
	}
	return found, nil
}

// Entries returns the entries of a node's pages, oldest first.
func (r *RoomReader) Entries(_ context.Context, node string) (entries []reserve.Entry, err error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	pages := slices.Clone(r.store.journal.pages[node])
	slices.SortFunc(pages, func(a, b keptPage) int { return int(a.number - b.number) })
	for _, p := range pages {
		if r.store.now().Sub(p.at) < reserve.JournalMemory {
			entries = append(entries, p.entries...)
		}
	}
	return entries, nil
}
