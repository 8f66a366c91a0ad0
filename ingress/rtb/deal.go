package rtb

import (
	"slices"
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
	floor   money.Micros // CPM, micro-USD, at least 1
	fixed   bool         // the floor is the price
	domains []string     // allowed advertisers; empty for any
	kinds   [kinds]bool  // allowed kinds of markup
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
			len(d.WSeat) > 0 && !slices.Contains(d.WSeat, s.cfg.Seat) {
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
		found[string(d.ID)] = &terms{
			id: string(d.ID), floor: floor, fixed: fixed, domains: domains(d.WADomain), kinds: allowed(d.MType),
		}
	}
	return found
}

// allowed returns the markup kinds in a list of mtypes; an empty list allows all.
func allowed(types wholes) (list [kinds]bool) {
	for kind, code := range mtypes {
		list[kind] = len(types) == 0 || has(types, int64(code))
	}
	return list
}

// admits reports whether the deal is open to an advertiser's domain.
func (d *terms) admits(domain string) bool {
	return len(d.domains) == 0 || slices.ContainsFunc(d.domains, func(wanted string) bool {
		rest, is := strings.CutSuffix(domain, strings.ToLower(strings.TrimPrefix(wanted, "www.")))
		return is && (rest == "" || strings.HasSuffix(rest, ".")) && wanted != ""
	})
}

// price returns the CPM that a bid for the deal pays, micro-USD.
func (d *terms) price(effectiveCPM money.Micros) money.Micros {
	if d.fixed {
		return d.floor
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
		if effectiveCPM < d.floor {
			below = true
			continue
		}
		if best == nil || d.price(effectiveCPM) > best.price(effectiveCPM) {
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
		floor = min(floor, d.floor)
	}
	return list, floor
}
