package ledger

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/traffic"
)

// NetworkDay is the unit of the click rule in settlement: a campaign, a UTC day of receipt and the
// mark of a network on them.
type NetworkDay struct {
	CampaignID uuid.UUID
	Day        day.Day
	Mark       int32 // of the event; 0 for all clicks of an unknown network
}

// NetworkClicks is a number of clicks of a network.
type NetworkClicks struct {
	NetworkDay
	Clicks int64 // > 0
}

// NetworkClicksLife is the number of days for which the counts of networks are stored: a click is
// settled within the retention of the log.
const NetworkClicksLife = 9

// CompareNetworks orders networks as their table does.
func CompareNetworks(a, b NetworkDay) int {
	return cmp.Or(
		cmp.Compare(a.Day, b.Day), bytes.Compare(a.CampaignID[:], b.CampaignID[:]), cmp.Compare(a.Mark, b.Mark),
	)
}

// limited reports whether the click rule of settlement counts the record: a click that costs
// something or permits a conversion, unless a server reported it, which may do so for many people.
func (r *Record) limited() bool {
	e := &r.Event
	return e.Type == Click && (e.BillingModel == campaign.CPC || e.BillingModel == campaign.CPA ||
		e.Proof == UnsignedBillable) && e.Proof != Unverified && !e.Reported && !e.Sandbox && !e.House && r.deduped()
}

func (e *Event) networkDay() NetworkDay {
	return NetworkDay{CampaignID: e.CampaignID, Day: day.Of(e.ReceivedAt), Mark: e.NetworkMark}
}

// limitClicks counts the new clicks of networks and refuses those above [Batch.NetworkClicks], as
// [traffic.RuleClickRate]. Ingress applies the same rule by Redis. Guarantee: whatever is in Redis,
// no more clicks of a network are charged on a campaign and day. The counts are a part of the
// batch's transaction, so a batch that is repeated counts once. recorded has the auctions whose click
// was recorded earlier.
func limitClicks(ctx context.Context, tx Tx, b *Batch, recorded map[uuid.UUID]bool) (refused bool, err error) {
	if b.NetworkClicks <= 0 {
		return false, nil
	}
	auctions := b.newClicks(recorded)
	if len(auctions) == 0 {
		return false, nil
	}
	counts := make([]NetworkClicks, 0, len(auctions))
	for of, ids := range auctions {
		counts = append(counts, NetworkClicks{of, int64(len(ids))})
	}
	slices.SortFunc(counts, func(a, b NetworkClicks) int { return CompareNetworks(a.NetworkDay, b.NetworkDay) })
	totals, err := tx.CountClicks(ctx, counts)
	if err != nil {
		return false, fmt.Errorf("clicks of networks: %w", err)
	}
	over := make(map[uuid.UUID]bool)
	for of, ids := range auctions {
		inside := b.NetworkClicks - (totals[of] - int64(len(ids)))
		for _, id := range ids[min(max(inside, 0), int64(len(ids))):] {
			over[id] = true
		}
	}
	b.refuseClicks(over)
	return len(over) > 0, nil
}

// clicksToRead lists the auctions whose recorded click matters: it permits a conversion, or makes a
// click a repeat, which does not count again.
func (b *Batch) clicksToRead() []uuid.UUID {
	return auctions(*b, func(r *Record) bool { return r.verified() || b.NetworkClicks > 0 && r.limited() })
}

// newClicks lists the auctions of the clicks to count by network, in the order of the batch.
func (b *Batch) newClicks(recorded map[uuid.UUID]bool) map[NetworkDay][]uuid.UUID {
	found, seen := make(map[NetworkDay][]uuid.UUID), make(map[uuid.UUID]bool)
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			r := &b.Runs[i].Records[j]
			if id := r.Event.AuctionID; r.limited() && !recorded[id] && !seen[id] {
				seen[id] = true
				found[r.Event.networkDay()] = append(found[r.Event.networkDay()], id)
			}
		}
	}
	return found
}

// refuseClicks refuses the clicks of auctions. They use up no key: a later click of another network
// may be the real one.
func (b *Batch) refuseClicks(over map[uuid.UUID]bool) {
	for i := range b.Runs {
		for j := range b.Runs[i].Records {
			if r := &b.Runs[i].Records[j]; over[r.Event.AuctionID] && r.limited() {
				r.Event.InvalidTraffic = traffic.RuleClickRate
			}
		}
	}
}
