package ledger

import (
	"slices"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/traffic"
)

// screened reports whether an event needs an impression: a click or a paid view. With this rule a
// publisher that earns by views also has impressions, by which its traffic is judged. Sandbox
// events keep their own verdict, and an event without a token belongs to no auction.
func (r *Record) screened() bool {
	e := &r.Event
	judged := e.Type == Click || e.Type == Viewable && e.BillingModel == campaign.VCPM
	return judged && e.Proof == Signed && !e.Sandbox && r.deduped()
}

// shows reports whether the record permits clicks and paid views of its auction.
func (r *Record) shows() bool {
	return r.Event.Type == Impression && r.Event.Proof == Signed && r.deduped()
}

// leads reports whether the record permits conversions of its auction.
func (r *Record) leads() bool { return r.Event.Type == Click && r.deduped() }

// refuse rejects a record that counts only after another one, which is missing.
func (r *Record) refuse() {
	if r.Event.Type == Conversion {
		r.Event.Proof = Unverified
	} else {
		r.Event.InvalidTraffic = traffic.RuleNoImpression
	}
}

// Clicked lists the auctions of the clicks and paid views that [Batch.Screen] checks, sorted and
// without duplicates.
func Clicked(b Batch) []uuid.UUID { return auctions(b, (*Record).screened) }

// Converted lists the auctions of the conversions that [Batch.Screen] checks, sorted and without
// duplicates.
func Converted(b Batch) []uuid.UUID { return auctions(b, (*Record).verified) }

func auctions(b Batch, of func(*Record) bool) []uuid.UUID {
	set := make(map[uuid.UUID]struct{})
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; of(r) {
				set[r.Event.AuctionID] = struct{}{}
			}
		}
	}
	return sortedIDs(set)
}

// Screen decides which clicks, paid views and conversions of b count: a click or a paid view needs
// an impression of its auction, a conversion needs a click that counts. impressions and clicks hold
// the auctions with such an event recorded before the batch, as returned by [Tx.Recorded] for
// [Clicked] and [Converted].
//
// Two requests of a reader have no order, so the permitting event may follow within the batch, or
// the event is early and waits for it in the store: at most [MaxEarly] of an auction. Any further
// one, and one that waited for [EarlyFor], is refused: a click as [traffic.RuleNoImpression], a
// conversion as [Unverified]. A refused event uses up no key, as the next one may be the real one.
// Invalid events permit nothing.
//
// All events of an auction are in one partition, so their order is that of the log, and the
// verdicts do not depend on how the log is split into batches.
//
// An act that counts waits likewise while a case about its campaign's acts is open ([ActsBook]), at
// most one for each key, with the conversions of such a click. A rejected one is refused as
// [traffic.RuleManyActs].
//
// It covers every run, as after a
// change of the number of partitions an auction's events may be in two. It runs before
// [Candidates]. Screening a batch again changes nothing.
func (b *Batch) Screen(impressions, clicks map[uuid.UUID]bool) {
	courses := b.courses(impressions, clicks)
	if len(courses) == 0 {
		return
	}
	for i := range b.Runs {
		records := b.Runs[i].Records
		for j := range records {
			if c := courses[records[j].Event.AuctionID]; c != nil {
				c.add(&records[j])
			}
		}
	}
	for _, c := range courses {
		c.end()
	}
}

// courses returns the auctions with an event whose permitting one is not recorded yet.
func (b *Batch) courses(impressions, clicks map[uuid.UUID]bool) map[uuid.UUID]*course {
	open := make(map[uuid.UUID]*course)
	held := &heldActs{books: b.acts, waiting: make(map[Acts]int), at: b.At}
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			r := &b.Runs[i].Records[j]
			r.early, r.held, r.again = false, false, false // of an earlier screening
			id := r.Event.AuctionID
			if r.screened() && !impressions[id] || r.verified() && !clicks[id] || r.act() && b.acts[r.acts()] != nil {
				open[id] = &course{impression: impressions[id], click: clicks[id], held: held}
			}
		}
	}
	return open
}

// course is the state of one auction while its events pass.
type course struct {
	impression, click bool // recorded, or passed
	waiting           []*Record
	held              *heldActs
}

func (c *course) add(r *Record) {
	switch {
	case r.shows():
		c.impression = true
	case !c.permits(r):
		if len(c.waiting) >= MaxEarly && !r.stored {
			r.refuse()
			return
		}
		r.early = true
		c.waiting = append(c.waiting, r)
		return
	case c.holds(r):
		return
	case r.leads():
		c.click = true
	default:
		return
	}
	c.release()
}

// permits reports whether r may count now.
func (c *course) permits(r *Record) bool {
	return (c.impression || !r.screened()) && (c.click || !r.verified())
}

// holds reports whether a permitted record does not count, as a case about acts is open or was
// decided against it.
func (c *course) holds(r *Record) bool {
	if !r.act() {
		return false
	}
	key := r.Event.Key()
	for _, other := range c.waiting {
		if other.held && other.Event.Key() == key {
			r.again = true
			return true
		}
	}
	verdict := c.held.judge(r)
	if verdict == actWaits && !r.stored && len(c.waiting) >= MaxEarly {
		verdict = actRejected
	}
	switch verdict {
	case actWaits:
		r.early, r.held = true, true
		c.waiting = append(c.waiting, r)
	case actRejected:
		r.Event.InvalidTraffic = traffic.RuleManyActs
	}
	return verdict != actCounts
}

// release ends the waiting of the permitted records. A click among them permits conversions.
func (c *course) release() {
	for again := true; again; {
		again = false
		waiting := c.waiting
		c.waiting = nil
		for _, r := range waiting {
			if r.held {
				c.waiting = append(c.waiting, r)
			}
		}
		for _, r := range waiting {
			if r.held {
				continue
			}
			if r.early = false; !c.permits(r) {
				r.early = true
				c.waiting = append(c.waiting, r)
				continue
			}
			if !c.holds(r) && r.leads() && !c.click {
				c.click, again = true, true
			}
		}
	}
}

// end refuses the records whose time is over. Conversions of a held click wait as long as it does.
func (c *course) end() {
	click := slices.ContainsFunc(c.waiting, func(r *Record) bool { return r.held && r.Event.Type == Click })
	for _, r := range c.waiting {
		if click && r.Event.Type == Conversion {
			r.held = true
		}
		if !r.held && (r.due || r.waited) {
			r.early = false
			r.refuse()
		}
	}
}
