package offer

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/httpapi"
	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// Browser is a page that requests ads with a browser key; the zero value is a caller with another
// key.
type Browser struct {
	Asks    bool
	Key     uint32 // a short hash of the key
	Network string // the reader's network
}

func browserOf(caller httpapi.Caller) Browser {
	id := caller.KeyID
	return Browser{Asks: true, Key: binary.BigEndian.Uint32(id[len(id)-4:]), Network: caller.Network}
}

// mark returns 32 bits of a hash of the network, a campaign and the UTC day. It tells networks
// apart for a campaign and day, but cannot be compared across campaigns or days.
func (b *Browser) mark(campaign uuid.UUID, at time.Time) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(campaign[:])
	_, _ = io.WriteString(h, day.Of(at).String())
	_, _ = io.WriteString(h, b.Network)
	return h.Sum32()
}

// unseenShare is the divisor of a campaign's daily budget that bounds the unseen ads of one browser
// key, or of one network.
const unseenShare = 100

// unseen is the gate of browser keys: a stranger's requests for ads that are never shown can hold
// at most a hundredth of a campaign's daily budget. The zero value is for other keys.
type unseen struct {
	seller *Seller
	page   Browser
	at     time.Time
	sold   time.Time
	held   traffic.Unseen
}

// Check implements [auction.Gate].
func (g *unseen) Check(c *auction.Campaign, of auction.Offer) auction.Reason {
	id := uuid.UUID(c.ID)
	room, known := g.seller.deps.Catalog.Room(id)
	if !known {
		return auction.Stale
	}
	g.held = traffic.Unseen{
		Campaign: id, Key: g.page.Key, Network: g.page.mark(id, g.at), Sold: g.sold, Amount: budget.Expected(c, of),
	}
	if !g.seller.deps.Limiter.Hold(g.held, room.Daily/unseenShare, g.at) {
		g.held = traffic.Unseen{}
		return auction.Paced
	}
	return ""
}

// Undo implements [auction.Gate].
func (g *unseen) Undo(*auction.Campaign) {
	if g.held.Amount > 0 {
		g.seller.deps.Limiter.Seen(g.held, g.at)
		g.held = traffic.Unseen{}
	}
}

// asker returns the page's part of the ad's token.
func (g *unseen) asker() token.Asker {
	return token.Asker{Key: g.held.Key, Network: g.held.Network, Held: g.held.Amount}
}
