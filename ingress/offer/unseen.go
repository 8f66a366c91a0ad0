package offer

import (
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// unseen is the gate of ads that are never shown: requests for them can hold only a bounded part of
// a campaign's daily budget; see limits.Limits.Hold. The zero value is for sandbox keys.
type unseen struct {
	seller *Seller
	place  *Place
	at     time.Time
	held   traffic.Unseen
}

// begin prepares the gate for an auction.
func (g *unseen) begin(s *Seller, a *Auction) {
	p := &a.Place
	g.seller, g.place, g.at = s, p, a.Received
	g.held = traffic.Unseen{
		Ad: a.ID, Publisher: traffic.PublisherMark(p.publisher()),
		Surface: traffic.SurfaceOf(p.Surface, p.Method, p.Browser.Asks), Page: p.Browser.Asks, Key: p.Browser.Key,
	}
}

// publisher returns the developer id that stands for the publisher's family.
func (p *Place) publisher() uuid.UUID {
	if p.Family != uuid.Nil {
		return p.Family
	}
	return p.Developer
}

// Check implements [auction.Gate].
func (g *unseen) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	id := uuid.UUID(c.ID)
	room, known := g.seller.deps.Catalog.Room(id)
	switch {
	case !known && g.held.Page:
		return auction.Stale
	case !known: // as for the catalog's gate: its budget is not known yet
		g.held.Amount = 0
		return ""
	}
	g.held.Campaign, g.held.Amount, g.held.New = id, budget.Expected(c, of), false
	if g.held.Page {
		g.held.Network = g.place.Browser.mark(g.seller.deps.Keyring, id, g.at)
	}
	if !g.seller.deps.Limiter.Hold(&g.held, room.Daily, g.at) {
		g.held.Amount = 0
		return auction.Unseen
	}
	return ""
}

// Undo implements [auction.Gate].
func (g *unseen) Undo(*auction.Campaign) { g.release() }

// release removes what the last Check counted.
func (g *unseen) release() {
	if g.held.Amount > 0 {
		g.seller.deps.Limiter.Release(&g.held, g.at)
		g.held.Amount = 0
	}
}

// asker returns who holds the ad of an auction of this price, for the ad's token.
func (g *unseen) asker(billing string, price money.Micros) token.Asker {
	if g.held.Amount == 0 {
		return token.Asker{}
	}
	asker := token.Asker{Held: g.held.Amount}
	if g.held.Page {
		asker.Key, asker.Network = g.held.Key, g.held.Network
	}
	if g.place.Family != uuid.Nil {
		asker.Publisher = g.held.Publisher
	}
	if as := (token.Auction{Price: price, BillingModel: billing}); as.Holds() == asker.Held {
		asker.Held = 0
	}
	return asker
}

// Sold is what an auction counted for its ad, for an ad that is delivered later than the auction.
type Sold struct {
	reservation budget.Reservation
	unseen      unseen
}

// Sold returns what a counted for its ad, and leaves it to the caller.
func (a *Auction) Sold() Sold { return Sold{reservation: a.Reservation, unseen: a.unseen} }

// Cancel returns it if the ad is not delivered.
func (s *Sold) Cancel() {
	s.reservation.Cancel()
	s.unseen.release()
}
