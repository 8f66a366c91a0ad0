package ledger

import (
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/traffic"
)

// screened reports whether an event needs a preceding impression: a click or a paid view. With this
// rule a publisher that earns by views also has impressions, by which its traffic is judged.
// Sandbox events keep their own verdict, and an event without a token belongs to no auction.
func (r *Record) screened() bool {
	e := &r.Event
	judged := e.Type == Click || e.Type == Viewable && e.BillingModel == campaign.VCPM
	return judged && e.Proof == Signed && !e.Sandbox && r.deduped()
}

// precedence is a rule about the order of an auction's events: a judged record counts only after a
// record that permits it.
type precedence struct {
	judged func(*Record) bool
	opens  func(*Record) bool
	refuse func(*Record) // rejects a judged record without a permitting record before it
}

// auctions lists the auctions of the records that the rule judges, sorted and without duplicates.
func (p precedence) auctions(b Batch) []uuid.UUID {
	return sortedIDs(p.closed(b, nil))
}

// closed returns the auctions of judged records that have no permitting record from before the
// batch. The values are false.
func (p precedence) closed(b Batch, recorded map[uuid.UUID]bool) map[uuid.UUID]bool {
	open := make(map[uuid.UUID]bool)
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; p.judged(r) && !recorded[r.Event.AuctionID] {
				open[r.Event.AuctionID] = false
			}
		}
	}
	return open
}

// screen rejects the judged records without a permitting record before them. It goes through every
// run, even one without judged records: after a change of the number of partitions an auction's
// events may be in two.
func (p precedence) screen(b Batch, recorded map[uuid.UUID]bool) {
	open := p.closed(b, recorded)
	if len(open) == 0 {
		return
	}
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			r := &b.Runs[i].Records[j]
			met, found := open[r.Event.AuctionID]
			switch {
			case !found:
			case p.opens(r):
				open[r.Event.AuctionID] = true
			case !met && p.judged(r):
				p.refuse(r)
			}
		}
	}
}

// clicks is the rule that a click or a paid view needs an impression.
var clicks = precedence{
	judged: (*Record).screened,
	opens:  func(r *Record) bool { return r.Event.Type == Impression && r.Event.Proof == Signed && r.deduped() },
	refuse: func(r *Record) { r.Event.InvalidTraffic = traffic.RuleNoImpression },
}

// Clicked lists the auctions of the clicks and paid views that [Screen] checks, sorted and without
// duplicates.
func Clicked(b Batch) []uuid.UUID { return clicks.auctions(b) }

// Screen marks the clicks and paid views of b without a preceding impression of their auction as
// [traffic.RuleNoImpression]. impressions holds the auctions with an impression recorded before the
// batch, as returned by [Tx.Recorded] for [Clicked]. It runs before [Candidates], so that such a
// click uses up no key: the next click of the auction may be the real one.
//
// The order of the log decides. All events of an auction are in one partition, so the order is that
// in which Kafka stored them, and the verdict does not depend on how the log is split into batches.
// A client that waits for the response to its impression before it clicks is never affected while
// Kafka responds in time. An impression that went through a node's spool may arrive after its
// click; then the click is free. An impression that was itself invalid does not count. Screening a
// batch again changes nothing.
func Screen(b Batch, impressions map[uuid.UUID]bool) { clicks.screen(b, impressions) }
