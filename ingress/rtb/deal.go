package rtb

import (
	"strings"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// fixedPrice is the auction type of a deal whose floor is the agreed price.
const fixedPrice = 3

// terms holds the terms of a deal that we may bid for.
type terms struct {
	id      string
	floors  [kinds]money.Micros // CPM, micro-USD, at least 1
	fixed   bool                // the floor is the price
	domains names               // allowed advertisers
	kinds   [kinds]bool         // allowed kinds of markup
}

// deals returns the deals of p that are open to our seat, by id; the first of a repeated id counts.
// A deal without its own floor has the imp's. A deal is left out if its floor is unreadable or
// cannot be converted, or its fixed price is missing.
func (s *bidSession) deals(p *imp, open money.Micros, openReason auction.Reason) map[string]*terms {
	list := p.PMP.v.Deals.list
	if len(list) == 0 {
		return nil
	}
	found := make(map[string]*terms, len(list))
	for i := range list {
		d := &list[i]
		if _, again := found[string(d.ID)]; again || d.ID == "" ||
			!d.WSeat.allows(s.isSeat) || d.AT.state == unreadable {
			continue
		}
		floor, reason := open, openReason
		if d.BidFloor.set {
			floor, reason = s.price(d.BidFloor, d.BidFloorCur)
		}
		fixed := d.AT.is(fixedPrice)
		if reason != "" || fixed && d.BidFloor.micros == 0 {
			continue
		}
		found[string(d.ID)] = s.terms(d, floor, fixed)
	}
	return found
}

// terms returns the terms of a deal with a floor.
func (s *bidSession) terms(d *deal, floor money.Micros, fixed bool) *terms {
	video, reason := s.videoFloor(&d.DurFloors, d.MinCPMPerSec, d.BidFloorCur, floor, "")
	t := &terms{
		id: string(d.ID), floors: [kinds]money.Micros{asNative: floor, asBanner: floor, asVideo: video},
		fixed: fixed, domains: d.WADomain, kinds: allowed(&d.MType),
	}
	domains(&t.domains)
	t.kinds[asVideo] = t.kinds[asVideo] && reason == ""
	return t
}

// isSeat reports whether an entry of a seat list is ours, alone or among others in one text.
func (s *bidSession) isSeat(entry string) bool {
	if entry == s.cfg.Seat {
		return true
	}
	for seat := range strings.SplitSeq(entry, ",") {
		if strings.TrimSpace(seat) == s.cfg.Seat {
			return true
		}
	}
	return false
}

// allowed returns the markup kinds in a list of mtypes.
func allowed(types *numbers) (list [kinds]bool) {
	for kind, code := range mtypes {
		list[kind] = types.allows(int64(code))
	}
	return list
}

// admits reports whether the deal is open to an advertiser's domain.
func (d *terms) admits(domain string) bool {
	return d.domains.allows(func(wanted string) bool { return inDomain(domain, wanted) })
}

// price returns the CPM that a bid for the deal pays, micro-USD.
func (d *terms) price(kind markupKind, effectiveCPM money.Micros) money.Micros {
	if d.fixed {
		return d.floors[kind]
	}
	return effectiveCPM
}

// best returns the deal with the highest price whose terms a campaign meets, and its markup. below
// reports that the campaign missed a deal only by price.
func (g *bidGate) best(c *campaign.Campaign, effectiveCPM money.Micros) (best *terms, kind markupKind, below bool) {
	for _, id := range c.Deals {
		d := g.deals[id]
		if d == nil || !d.admits(advertiserDomain(c.CTAURL)) {
			continue
		}
		fits, ok := g.slot.choose(c, d.kinds)
		if !ok {
			continue
		}
		if effectiveCPM < d.floors[fits] {
			below = true
			continue
		}
		if best == nil || d.price(fits, effectiveCPM) > best.price(kind, effectiveCPM) {
			best, kind = d, fits
		}
	}
	return best, kind, below
}

// ids returns the ids of the deals and their lowest floor.
func ids(deals map[string]*terms) (list []string, floor money.Micros) {
	floor = money.Max
	for id, d := range deals {
		list = append(list, id)
		for kind, allowed := range d.kinds {
			if allowed {
				floor = min(floor, d.floors[kind])
			}
		}
	}
	return list, floor
}
