package reserve

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// The journal is a copy of what each node may have out, kept apart from the shared store and
// written beside the hot path. When the store is lost, what nodes that cannot speak any more had
// reserved is held back by it:
//
//   - A node writes a page at least every [PageEvery]. Its entries are ceilings: at least what it has
//     reserved of a campaign's minute. Of what no page says yet it reserves at most [Unkept] prices a lease, and nothing
//     before its first page.
//   - When neither it nor the projectors reach the journal's store, a node may reserve more, so that
//     ads go on: [GapTimes] the largest ceiling that the journal has of the lease. Such a time is a
//     [Gap]; of a node that may have died in one that much is held back, too.
//   - A node that ends in order closes its journal with what it has reserved; then there is no slack.
const (
	// PageEvery is how often a node writes at least, which shows that it lives.
	PageEvery = time.Second
	// Unkept is how many prices of a lease a node may reserve before a page says so.
	Unkept = 4
	// GapTimes is how many times the largest ceiling of a lease, which is about what it sold in its
	// best minute, a node may reserve beyond its pages in a [Gap]. Keys are believed for a minute
	// without their store, so ads do not go on for longer than this lasts.
	GapTimes = 16
	// SilentFor is how long a projector must not have been at work before a node goes on without
	// pages.
	SilentFor = 3500 * time.Millisecond
	// GapAfter is the time between two signs of a projector from which it is a [Gap]; shorter than
	// SilentFor.
	GapAfter = 2500 * time.Millisecond
	// JournalMemory is how long pages matter: the longest reservation, and margins.
	JournalMemory = 65 * time.Minute

	freshFor = 3 * PageEvery   // a node that wrote less long ago lives
	gapSlack = 6 * time.Second // how long before a gap a node that serves in it has written at the latest
	leases   = 2               // of a campaign: ads, and bids
	slackFor = day.Minute(2)   // minutes from a node's last page to those that its last reservations may be of
	entryLen = 16 + 4 + 1 + 8  // see AppendEntries
	bidBit   = 1 << 7          // of the window's byte
)

// Entry is a ceiling of what a node has reserved of a campaign for the auctions of one minute,
// until a later entry says otherwise.
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
	Epoch   int64 // of the store that knows everything the node has reserved
	Acked   int64 // the last call that this store has answered
	Closed  bool  // the last page of a node that ends: it has reserved no more than its entries say
	Entries []Entry
}

// Writer is a node by its journal.
type Writer struct {
	Node   string
	Epoch  int64
	Acked  int64
	Closed bool
	Seen   time.Time // when its last page came
}

// Gap is a time in which no projector showed that it reaches the journal's store.
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

// Tail lists of a node's entries those that it may have added to when it last wrote.
func (w Writer) Tail(entries []Entry) (tail []Entry) {
	for _, e := range entries {
		if e.Minute+1 >= day.MinuteOf(w.Seen) {
			tail = append(tail, e)
		}
	}
	return tail
}

// Awaited says whether a living node has not yet told the store of epoch what it has reserved.
func (j Journal) Awaited(epoch int64) bool {
	for _, w := range j.Writers {
		if !w.Closed && w.Epoch != epoch && j.Now.Sub(w.Seen) < freshFor {
			return true
		}
	}
	return false
}

// Unheard lists the nodes whose reservations may count and which have not told the store of epoch.
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

// inGap says whether the node may have died in a gap, and until when it may have reserved what no
// page says.
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
