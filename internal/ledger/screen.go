package ledger

import (
	"adnet/internal/traffic"

	"github.com/google/uuid"
)

// screened says whether a click must have an impression before it. Sandbox clicks keep their own
// verdict, and an event without a token belongs to no auction.
func (r *Record) screened() bool {
	return r.Event.Type == Click && r.Event.Proof == Signed && !r.Event.Sandbox && r.deduped()
}

// Clicked lists the auctions of the clicks that [Screen] judges, sorted and without repeats.
func Clicked(b Batch) []uuid.UUID {
	auctions := make(map[uuid.UUID]struct{})
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; r.screened() {
				auctions[r.Event.AuctionID] = struct{}{}
			}
		}
	}
	return sortedIDs(auctions)
}

// Screen marks the clicks of b that have no impression of their auction before them as
// [traffic.RuleNoImpression]. impressions says which auctions had one recorded before the batch, as
// [Tx.Impressions] answers for [Clicked]. It comes before [Candidates], so that such a click uses
// up no key: the next click of the auction may be the real one.
//
// The rule is the order of the log. All events of an auction are in one partition, so the order is
// the one in which Kafka took them, and the verdict does not depend on how the log is cut into
// batches. A client that waits for the answer to its impression before it clicks is never affected
// while Kafka answers in time. An impression that went through a node's spool may come later than
// its click; then the click is free. An impression that was itself invalid does not count.
// Screening a batch again changes nothing.
func Screen(b Batch, impressions map[uuid.UUID]bool) {
	open := make(map[uuid.UUID]bool) // auctions that are asked about: whether their impression came in this batch by now
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; r.screened() && !impressions[r.Event.AuctionID] {
				open[r.Event.AuctionID] = false
			}
		}
	}
	if len(open) == 0 {
		return
	}
	// Every run, also one without clicks: after a change of the number of partitions an auction's
	// events may be in two.
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			r := &b.Runs[i].Records[j]
			met, asked := open[r.Event.AuctionID]
			switch {
			case !asked:
			case r.Event.Type == Impression && r.Event.Proof == Signed && r.deduped():
				open[r.Event.AuctionID] = true
			case !met && r.screened():
				r.Event.InvalidTraffic = traffic.RuleNoImpression
			}
		}
	}
}
