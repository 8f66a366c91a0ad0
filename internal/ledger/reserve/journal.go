package reserve

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// The journal is a copy of each node's possible reservations, kept apart from the shared store and
// written beside the hot path. When the store is lost, the reservations of unreachable nodes are
// held back by it:
//
//   - A node writes a page at least every [PageEvery]. Its entries are ceilings: at least the
//     amount that it has reserved of a campaign's minute. Beyond its pages it reserves at most
//     [Unkept] prices a lease, and nothing before its first page.
//   - When neither the node nor the projectors reach the journal's store, the node may reserve more,
//     so that ads continue: [GapTimes] the largest ceiling that the journal has of the lease. Such a
//     period is a [Gap]. For a node that may have died in one, that much is held back as well.
//   - A node that ends in order closes its journal with its reservations; then there is no slack.
const (
	// PageEvery is the longest time between two pages of a live node.
	PageEvery = time.Second
	// Unkept is the number of prices of a lease that a node may reserve ahead of its pages.
	Unkept = 4
	// GapTimes is the multiple of a lease's largest ceiling, roughly its sales in its best minute,
	// that a node may reserve beyond its pages in a [Gap]. Keys are accepted for a minute without
	// their store, so ads do not go on for longer than this lasts.
	GapTimes = 16
	// SilentFor is the time without a projector after which a node continues without pages.
	SilentFor = 3500 * time.Millisecond
	// GapAfter is the time between two signs of life of a projector from which it is a [Gap];
	// shorter than SilentFor.
	GapAfter = 2500 * time.Millisecond
	// JournalMemory is the time for which pages matter: the longest reservation, and margins.
	JournalMemory = 65 * time.Minute

	freshFor = 3 * PageEvery   // a node with a page newer than this is live
	gapSlack = 6 * time.Second // a node that serves in a gap wrote at most this long before it
	leases   = 2               // of a campaign: ads, and bids
	slackFor = day.Minute(2)   // minutes from a node's last page to those of its last reservations
	entryLen = 16 + 4 + 1 + 8  // see AppendEntries
	bidBit   = 1 << 7          // of the window's byte
)

// Entry is a ceiling of a node's reservations of a campaign for the auctions of one minute, until a
// later entry replaces it.
type Entry struct {
	CampaignID uuid.UUID
	Minute     day.Minute
	Window     int64 // minutes, 1 … [MaxMinutes]
	Bid        bool
	Amount     money.Micros
}

// Page is one write of a node's journal.
type Page struct {
	Node    string
	Number  int64 // grows; entries of a later page replace those of an earlier one
	Epoch   int64 // of the store that knows all reservations of the node
	Acked   int64 // the last call answered by this store
	Closed  bool  // the last page of a node that shuts down: its entries are complete
	Entries []Entry
}

// Writer is the state of a node in its journal.
type Writer struct {
	Node   string
	Epoch  int64
	Acked  int64
	Closed bool
	Seen   time.Time // time of its last page
}

// Gap is a period in which no projector proved that it reaches the journal's store.
type Gap struct{ From, To time.Time }

// Journal holds the known state of the nodes of the last [JournalMemory]; times are those of its
// store.
type Journal struct {
	Now     time.Time
	Writers []Writer
	Gaps    []Gap
}

// AppendEntries encodes entries.
func AppendEntries(to []byte, entries []Entry) []byte {
	for i := range entries {
		e := &entries[i]
		window := byte(e.Window)
		if e.Bid {
			window |= bidBit
		}
		to = append(to, e.CampaignID[:]...)
		to = binary.BigEndian.AppendUint32(to, uint32(e.Minute))
		to = append(to, window)
		to = binary.BigEndian.AppendUint64(to, uint64(e.Amount))
	}
	return to
}

// ReadEntries decodes the output of [AppendEntries].
func ReadEntries(from []byte) ([]Entry, error) {
	if len(from)%entryLen != 0 {
		return nil, errors.New("a page of the reservations' journal is cut")
	}
	entries := make([]Entry, 0, len(from)/entryLen)
	for ; len(from) > 0; from = from[entryLen:] {
		e := Entry{
			CampaignID: uuid.UUID(from[:16]), Minute: day.Minute(binary.BigEndian.Uint32(from[16:])),
			Window: int64(from[20] &^ bidBit), Bid: from[20]&bidBit != 0,
			Amount: money.Micros(binary.BigEndian.Uint64(from[21:])),
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Tail returns the entries to which the node may have added when it last wrote.
func (w Writer) Tail(entries []Entry) (tail []Entry) {
	for _, e := range entries {
		if e.Minute+1 >= day.MinuteOf(w.Seen) {
			tail = append(tail, e)
		}
	}
	return tail
}

// Awaited reports whether a live node has yet to report its reservations to the store of epoch.
func (j Journal) Awaited(epoch int64) bool {
	for _, w := range j.Writers {
		if !w.Closed && w.Epoch != epoch && j.Now.Sub(w.Seen) < freshFor {
			return true
		}
	}
	return false
}

// Unheard lists the nodes whose reservations may count and which have not reported to the store of
// epoch.
func (j Journal) Unheard(epoch int64) (list []Writer) {
	for _, w := range j.Writers {
		if w.Epoch != epoch && j.Now.Sub(w.Seen) < JournalMemory {
			list = append(list, w)
		}
	}
	return list
}

// Dead lists the nodes that ended without closing their journals and whose reservations in epoch
// may count.
func (j Journal) Dead(epoch int64) (list []Writer) {
	for _, w := range j.Writers {
		if age := j.Now.Sub(w.Seen); !w.Closed && w.Epoch == epoch && age >= freshFor && age < JournalMemory {
			list = append(list, w)
		}
	}
	return list
}

// inGap reports whether the node may have died in a gap, and until when it may have reserved beyond
// its pages.
func (j Journal) inGap(w Writer) (until time.Time, in bool) {
	until = w.Seen
	for _, g := range j.Gaps {
		if w.Seen.After(g.From.Add(-gapSlack)) && !w.Seen.After(g.To) {
			in = true
			if g.To.After(until) {
				until = g.To
			}
		}
	}
	return until, in
}
