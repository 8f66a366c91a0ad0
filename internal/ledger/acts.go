package ledger

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/traffic"
)

// The bounds of acts that wait for a decision about a case of [traffic.QuarantineActs].
const (
	// ActsFor is the time for which an act waits, by the clock. Then it is rejected. The Credits of
	// its impression live longer.
	ActsFor = PendingLife
	// MaxHeldActs is the number of acts of one campaign at one publisher that wait at the same time.
	// Further ones are rejected.
	MaxHeldActs = 1000

	// decisionSkew is added to a decision's time: clocks of nodes and of the log differ.
	decisionSkew = time.Minute
)

// Acts are the acts of a campaign at a publisher that the campaign pays for.
type Acts struct{ CampaignID, DeveloperID uuid.UUID }

// Compare orders by campaign, then publisher.
func (a Acts) Compare(b Acts) int {
	return cmp.Or(bytes.Compare(a.CampaignID[:], b.CampaignID[:]), bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]))
}

// ActsBook is the state that decides whether acts wait.
type ActsBook struct {
	Open     bool           // a case about them is open
	Campaign bool           // a case about acts of the campaign is open, at this publisher or another
	Decided  []ActsDecision // cases about them that ended, by time
	// Registered is the time of registration of the oldest account of the publisher's family; zero if
	// the publisher is unknown.
	Registered time.Time
	Waiting    int // acts that wait
}

// ActsDecision ended a case about acts.
type ActsDecision struct {
	At       time.Time
	Decision QuarantineDecision
}

// ActsDue returns the time up to which held acts of a batch were written that have waited long
// enough.
func ActsDue(at time.Time) time.Time { return at.Add(-ActsFor) }

// ActsDecided reports whether a decision applies to an act that waited for it.
func ActsDecided(written, decided time.Time) bool { return !written.After(decided.Add(decisionSkew)) }

// verdictOnActs is the result of a check of an act's cases.
type verdictOnActs uint8

const (
	actCounts verdictOnActs = iota
	actWaits
	actRejected
)

// held decides about an act that waited: it is settled by the first decision after it.
func (b *ActsBook) held(written, now time.Time) verdictOnActs {
	for _, d := range b.Decided {
		if !ActsDecided(written, d.At) {
			continue
		}
		if d.Decision == QuarantineClawback {
			return actRejected
		}
		return actCounts
	}
	switch {
	case !written.After(ActsDue(now)):
		return actRejected
	case b.Open || b.Campaign:
		return actWaits
	}
	return actCounts
}

// fresh decides about an act that did not wait before. While one publisher's acts of a campaign are
// in question, those at all other young publishers wait, too, except where a person has released
// them: a ring has a new account for each minute. A rejection also covers what follows from the ads
// before it, so that no repeat of a rejected act is charged.
func (b *ActsBook) fresh(e *Event, now time.Time, waiting int) verdictOnActs {
	auction, dated := day.MinuteOfUUID(e.AuctionID)
	for _, d := range b.Decided {
		if dated && ActsDecided(auction.Time(), d.At) {
			if d.Decision == QuarantineClawback {
				return actRejected
			}
			break
		}
	}
	switch {
	case b.Open:
	case !b.Campaign || !traffic.Young(b.Registered, now):
		return actCounts
	case len(b.Decided) > 0 && b.Decided[len(b.Decided)-1].releases(now):
		return actCounts
	}
	if b.Waiting+waiting >= MaxHeldActs {
		return actRejected
	}
	return actWaits
}

func (d *ActsDecision) releases(now time.Time) bool {
	return d.Decision == QuarantineRelease && day.Of(d.At) > day.Of(now)-traffic.ActDays
}

// act reports whether a campaign pays for the record as an act. Acts without a token have no proven
// publisher.
func (r *Record) act() bool {
	e := &r.Event
	paid := e.Type == Click && e.BillingModel == campaign.CPC || e.Type == Conversion && e.BillingModel == campaign.CPA
	return paid && e.Proof == Signed && !e.Sandbox && !e.House && e.DeveloperID != uuid.Nil && r.deduped()
}

func (r *Record) acts() Acts { return Acts{r.Event.CampaignID, r.Event.DeveloperID} }

// actsOf lists the acts of a batch and the events that waited for a decision, sorted and without
// duplicates.
func (b *Batch) actsOf() []Acts {
	set := make(map[Acts]struct{})
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; r.waited || r.act() {
				set[r.acts()] = struct{}{}
			}
		}
	}
	list := make([]Acts, 0, len(set))
	for acts := range set {
		list = append(list, acts)
	}
	slices.SortFunc(list, Acts.Compare)
	return list
}

// heldActs is the state of acts while the records of a batch pass.
type heldActs struct {
	books   map[Acts]*ActsBook
	waiting map[Acts]int // added by the batch
	at      time.Time
}

// judge decides about an act that nothing else makes wait.
func (h *heldActs) judge(r *Record) verdictOnActs {
	book := h.books[r.acts()]
	switch {
	case book == nil:
		return actCounts
	case r.waited:
		return book.held(r.Written, h.at)
	}
	v := book.fresh(&r.Event, h.at, h.waiting[r.acts()])
	if v == actWaits {
		h.waiting[r.acts()]++
	}
	return v
}

// ActsCaseID returns the id of a case about acts, as [QuarantineID].
func ActsCaseID(acts Acts, date day.Day, before int) uuid.UUID {
	return TransactionID("quarantine_acts", acts.CampaignID.String(), QuarantineID(acts.DeveloperID, date, before))
}
