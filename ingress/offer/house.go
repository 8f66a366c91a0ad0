package offer

import (
	"github.com/google/uuid"

	"adnet/auction"
)

// House holds the house ads of a publisher, shown where nothing else was sold. The zero value has
// none.
type House struct {
	Owner     uuid.UUID   // the account of publisher and campaigns
	Campaigns []uuid.UUID // ids; see account.Key
}

// ownAd chooses a house ad after an auction without a winner. It is free: no budget, pacing or
// reservation applies, and its token has the price 0 and is marked as house. Exchanges, tests and
// nodes that may not sell get none. None is shown too early in a conversation, or beside a subject
// that publisher and campaigns do not both allow.
func (a *Auction) ownAd(reason auction.Reason) {
	if len(a.Own.Campaigns) == 0 || a.Bid || a.Sandbox || reason == auction.Stale ||
		reason == auction.SensitiveSubject {
		return
	}
	a.own = a.own[:0]
	for _, id := range a.Own.Campaigns {
		a.own = append(a.own, auction.ID(id))
	}
	a.blocked.refused = 0
	a.House = auction.House(&a.Request, a.snapshot, auction.ID(a.Own.Owner), a.own, ownGate{a})
	if a.House == nil {
		return
	}
	if _, known := a.Creative(a.House); !known { // removed since the snapshot was taken
		a.House = nil
	}
}

// ownGate is the gate of house ads: the publisher's blocks and the campaign's frequency cap.
type ownGate struct{ of *Auction }

// Check implements [auction.Gate].
func (g ownGate) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if g.of.Blocks != nil {
		if reason := g.of.blocked.Check(c, of); reason != "" {
			return reason
		}
	}
	return g.of.limits.Capped(c)
}

// Undo implements [auction.Gate]; Check counts nothing.
func (ownGate) Undo(*auction.Campaign) {}
