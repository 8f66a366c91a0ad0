// Package index finds the campaign with the highest effective CPM for a request.
//
// An [Index] is immutable and safe for any number of readers. [Build] makes one from all
// deliverable campaigns. [Index.Apply] derives the next from a list of changes, at a cost that
// depends on the changes since the last full build, not on the number of campaigns: a pause is as
// cheap with a million campaigns as with ten. A [Search] walks the campaigns that match a [Query]
// in exact order: descending effective CPM, then by match, then by a hash. It reads the campaigns
// that share a word with the query, highest bids first, and ends when no remaining bid can be worth
// more than the best match found.
//
// [Match] states the same matching rules for one campaign without any index; tests compare both.
//
// # Not obvious
//
// Campaigns that differ only in words unique to one text form one group: a million campaigns of a
// product feed cost a search as much as its kinds of products. See lone.go.
//
// The terms of a query are summed up for many groups of campaigns at a time ([window]). Most
// campaigns share one word with the query and few reach the floor, so sorting by campaign first
// would cost more than the sums.
//
// Deals are not targeting. The index lists the campaigns of each deal, and only a search for deals
// reads these lists. It compares ignoring case; the bid's gate compares the exact id.
package index

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// Limits of the overlay, see [Index.Overgrown].
const (
	maxOverlay = 4096
	minDead    = 64
	quick      = 10_000 // campaigns that are indexed in a fraction of a second
)

// Index is one immutable state of the deliverable campaigns.
type Index struct {
	base    *segment
	dead    []uint64 // bit per slot of base: removed, or replaced in overlay; nil if none
	removed int      // bits set in dead
	overlay *segment // changes since base was built
	model   string
}

// Changes is a transition from one state of the campaigns to the next.
type Changes struct {
	// Upsert replaces the campaigns with the same ids or adds them; of a repeated id the last
	// counts.
	Upsert []Campaign
	// Remove removes campaigns: paused, rejected, out of budget. Unknown ids are ignored. An id
	// that is also in Upsert is removed.
	Remove []ID
}

// Build indexes all deliverable campaigns; of a repeated id the last counts. The slice is copied.
// The strings and lists are kept and must not change afterwards.
func Build(table ranker.Table, campaigns []Campaign) *Index {
	base := newSegment(&table, nil, sorted(campaigns))
	return &Index{base: base, overlay: newSegment(&table, base.words, nil), model: table.Model(base.words.Version())}
}

// sorted returns a copy ordered by id, with the last of each id. It sorts the indices, which are a
// tenth of the size of the campaigns (benchmark row start).
func sorted(campaigns []Campaign) []Campaign {
	order := make([]uint32, len(campaigns))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(bytes.Compare(campaigns[a].ID[:], campaigns[b].ID[:]), cmp.Compare(a, b))
	})
	last := order[:0]
	for i, at := range order {
		if i+1 == len(order) || campaigns[order[i+1]].ID != campaigns[at].ID {
			last = append(last, at)
		}
	}
	latest := make([]Campaign, len(last))
	for i, at := range last {
		latest[i] = campaigns[at]
	}
	return latest
}

// Apply returns the index after the changes; x itself stays valid. The cost grows with the
// campaigns changed since the last [Build] or [Index.Compacted] (some microseconds each) and one
// bit per campaign.
func (x *Index) Apply(changes Changes) *Index {
	next := &Index{base: x.base, dead: slices.Clone(x.dead), removed: x.removed, model: x.model}
	fresh := make(map[ID]bool, len(changes.Upsert)+len(changes.Remove))
	for i := range changes.Upsert {
		fresh[changes.Upsert[i].ID] = true
		next.kill(changes.Upsert[i].ID)
	}
	for _, id := range changes.Remove {
		fresh[id] = false
		next.kill(id)
	}
	overlay := make([]Campaign, 0, len(x.overlay.campaigns)+len(changes.Upsert))
	touched := 0
	for _, c := range x.overlay.campaigns {
		if _, changed := fresh[c.ID]; changed {
			touched++
			continue
		}
		overlay = append(overlay, c)
	}
	unchanged := len(overlay)
	for _, c := range changes.Upsert {
		if fresh[c.ID] {
			overlay = append(overlay, c)
		}
	}
	if touched == 0 && len(overlay) == unchanged {
		next.overlay = x.overlay // removals of base campaigns only: nothing to index
		return next
	}
	next.overlay = newSegment(x.base.table, x.base.words, sorted(overlay))
	return next
}

// kill marks the base's version of a campaign as removed.
func (x *Index) kill(id ID) {
	slot, ok := x.base.find(id)
	if !ok || isDead(x.dead, slot) {
		return
	}
	if x.dead == nil {
		x.dead = make([]uint64, (len(x.base.campaigns)+63)/64)
	}
	x.dead[slot/64] |= 1 << (slot % 64)
	x.removed++
}

func isDead(dead []uint64, slot uint32) bool {
	return dead != nil && dead[slot/64]&(1<<(slot%64)) != 0
}

// find returns the slot of a campaign.
func (s *segment) find(id ID) (slot uint32, ok bool) {
	at, ok := slices.BinarySearchFunc(s.campaigns, id, func(c Campaign, id ID) int {
		return bytes.Compare(c.ID[:], id[:])
	})
	return uint32(at), ok
}

// Compacted returns an equal index that is rebuilt, so that earlier changes no longer cost
// anything. It takes about as long as [Build]: call it outside the serving path and apply the
// changes since then again.
func (x *Index) Compacted() *Index {
	all := make([]Campaign, 0, x.Len())
	for c := range x.All() {
		all = append(all, *c)
	}
	return Build(*x.base.table, all)
}

// Overgrown reports whether so much has changed since the last full build that [Index.Compacted]
// pays.
func (x *Index) Overgrown() bool {
	return len(x.overlay.campaigns) > maxOverlay || x.removed > minDead+len(x.base.campaigns)/4
}

// Outdated reports whether the table of words lacks changes and can be frozen again cheaply, or
// lacks many changes.
func (x *Index) Outdated() bool {
	changed := len(x.overlay.campaigns) + x.removed
	return changed > 0 && (len(x.base.campaigns) <= quick || changed > len(x.base.campaigns)/16)
}

// Len returns the number of campaigns.
func (x *Index) Len() int { return len(x.base.campaigns) - x.removed + len(x.overlay.campaigns) }

// Table returns the weight table that the index was built for.
func (x *Index) Table() ranker.Table { return *x.base.table }

// Model returns the version of everything that determines scores: the weight table and the frozen
// table of the campaigns' words.
func (x *Index) Model() string { return x.model }

// Words returns the frozen table of the campaigns' words.
func (x *Index) Words() *lexicon.Table { return x.base.words }

// Bound reports whether the index may hold bound campaigns.
func (x *Index) Bound() bool { return x.base.bound || x.overlay.bound }

// Get finds a campaign by id, or returns nil if it is not deliverable. The caller must not change
// it.
func (x *Index) Get(id ID) *Campaign {
	if slot, ok := x.overlay.find(id); ok {
		return &x.overlay.campaigns[slot]
	}
	if slot, ok := x.base.find(id); ok && !isDead(x.dead, slot) {
		return &x.base.campaigns[slot]
	}
	return nil
}

// All yields every campaign once, in no particular order. The caller must not change them.
func (x *Index) All() iter.Seq[*Campaign] {
	return func(yield func(*Campaign) bool) {
		for slot := range x.base.campaigns {
			if !isDead(x.dead, uint32(slot)) && !yield(&x.base.campaigns[slot]) {
				return
			}
		}
		for slot := range x.overlay.campaigns {
			if !yield(&x.overlay.campaigns[slot]) {
				return
			}
		}
	}
}
