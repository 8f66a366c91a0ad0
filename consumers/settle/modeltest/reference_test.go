package modeltest

import (
	"time"

	"github.com/google/uuid"
)

// reference is adnet's money written down a second time, as naively as possible: one event after
// the other, one integer after the other, nothing shared with internal/ledger but the words.
// Amounts are micro-USD or Credits.
type reference struct {
	prepaid   bool // a cash campaign spends no more than its advertiser paid in
	seen      map[string]bool
	campaigns map[uuid.UUID]*refCampaign
	payments  map[string]*refPayment
	cash      map[uuid.UUID]int64 // by advertiser; negative when owed
	credits   map[uuid.UUID]int64 // by developer
	mintCap   int64               // Credits of a developer on a UTC day
	ownCap    map[uuid.UUID]int64 // instead of mintCap
	cases     map[uuid.UUID]*refCase
	minted    map[string]int64 // by developer and UTC date

	revenue, creditFunding, deposits, mint, creditSpent int64 // the house
}

type refCampaign struct {
	owner, ownDeveloper  uuid.UUID
	model                string
	bid, daily, total    int64
	byCredits            bool
	spent                int64
	spentOn              map[string]int64 // by UTC date
	pausedFrom, pausedTo []time.Time      // pausedTo is one shorter while the campaign is not active
}

// refCase is a publisher's quarantine while it is open.
type refCase struct {
	id      uuid.UUID
	held    int64
	charged map[uuid.UUID]map[string]int64 // by campaign and UTC date
}

type refPayment struct {
	payer                             uuid.UUID
	paid, refundTotal, refunded, done int64
	refunds                           map[string]bool
}

// happening is one record of the log as the test made it.
type happening struct {
	broken           bool // bytes that are no event, or an offset that the log lost
	kind, proof      string
	at               time.Time
	auction          uuid.UUID
	campaign         uuid.UUID
	developer        uuid.UUID // zero when unknown
	price            int64
	model            string
	sandbox, byOwner bool
	invalid          string
}

type result struct {
	verdict        string
	charge, minted int64
	credit         string // why a Credit was not simply the publisher's
}

// event is what one event costs and earns when it comes after all events before it.
func (r *reference) event(h happening) result {
	switch {
	case h.broken:
		return result{verdict: "poison"}
	case h.proof == "bad_signature" || h.proof == "expired" || h.proof == "unsigned":
		return result{verdict: h.proof}
	case h.invalid != "":
		return r.refuse(h, h.invalid)
	}
	if h.kind == "click" && h.proof == "signed" && !h.sandbox && !r.seen[h.auction.String()+" impression"] {
		return r.refuse(h, "click_without_impression")
	}
	clicked := r.seen[h.auction.String()+" click"]
	key := h.auction.String() + " " + h.kind
	if r.seen[key] {
		return result{verdict: "duplicate"}
	}
	r.seen[key] = true
	if h.sandbox {
		return result{verdict: "sandbox"}
	}
	c := r.campaigns[h.campaign]
	if c == nil {
		return result{verdict: "unknown_campaign"}
	}
	if h.developer != uuid.Nil && h.developer == c.ownDeveloper {
		return result{verdict: "self_served"}
	}
	out := result{verdict: "ok"}
	if c.paused(h.at) {
		out.verdict = "paused"
	} else if price := c.price(h, clicked); price > 0 {
		out.verdict, out.charge = r.take(c, h.at.UTC().Format(time.DateOnly), price)
	}
	held := r.cases[h.developer]
	if held != nil {
		if held.charged[h.campaign] == nil {
			held.charged[h.campaign] = map[string]int64{}
		}
		held.charged[h.campaign][h.at.UTC().Format(time.DateOnly)] += out.charge
	}
	if h.kind == "impression" && h.developer != uuid.Nil {
		limit, own := r.ownCap[h.developer]
		if !own {
			limit = r.mintCap
		}
		day := h.developer.String() + h.at.UTC().Format(time.DateOnly)
		if r.minted[day] >= limit {
			out.credit = "capped"
			return out
		}
		out.minted = 1
		r.minted[day]++
		r.mint--
		if held != nil {
			out.credit = "held"
			held.held++
		} else {
			r.credits[h.developer]++
		}
	}
	return out
}

// refuse is invalid traffic: once per auction and kind, and not after a valid event.
func (r *reference) refuse(h happening, rule string) result {
	key := h.auction.String() + " " + h.kind
	if r.seen[key] || r.seen[key+" invalid"] {
		return result{verdict: "duplicate"}
	}
	r.seen[key+" invalid"] = true
	return result{verdict: "invalid_traffic:" + rule}
}

func (c *refCampaign) paused(at time.Time) bool {
	for i, from := range c.pausedFrom {
		if !at.Before(from) && (i >= len(c.pausedTo) || at.Before(c.pausedTo[i])) {
			return true
		}
	}
	return false
}

func (c *refCampaign) price(h happening, clicked bool) int64 {
	model, price := h.model, h.price
	if h.proof == "unsigned_billable" {
		model, price = c.model, c.bid
		if model == "cpm" {
			price = c.bid / 1000
		}
	}
	switch model + " " + h.kind {
	case "cpm impression", "cpc click":
		return price
	case "cpa conversion":
		if clicked || h.byOwner {
			return price
		}
	}
	return 0
}

// take charges the price, or the rest of the budget if that is less.
func (r *reference) take(c *refCampaign, date string, price int64) (string, int64) {
	limit := c.daily - c.spentOn[date]
	if rest := c.total - c.spent; rest < limit {
		limit = rest
	}
	if limit <= 0 {
		return "over_budget", 0
	}
	if r.prepaid && !c.byCredits {
		if r.cash[c.owner] <= 0 {
			return "over_balance", 0
		}
		if r.cash[c.owner] < limit {
			limit = r.cash[c.owner]
		}
	}
	if price > limit {
		price = limit
	}
	c.spent += price
	c.spentOn[date] += price
	r.revenue += price
	if c.byCredits {
		r.creditFunding -= price
	} else {
		r.cash[c.owner] -= price
	}
	return "ok", price
}

// endCase gives the held Credits to the publisher, or destroys them and gives the advertisers back
// what they paid, and their campaigns what they spent, as if the traffic had never been.
func (r *reference) endCase(developer uuid.UUID, clawBack bool) {
	held := r.cases[developer]
	delete(r.cases, developer)
	if !clawBack {
		r.credits[developer] += held.held
		return
	}
	r.mint += held.held
	for id, days := range held.charged {
		c := r.campaigns[id]
		for date, amount := range days {
			r.revenue -= amount
			c.spent -= amount
			c.spentOn[date] -= amount
			if c.byCredits {
				r.creditFunding += amount
			} else {
				r.cash[c.owner] += amount
			}
		}
	}
}

// pay, refund and refundTo are a provider's three messages; each may come again, and refunds may
// come first.
func (r *reference) pay(id string, payer uuid.UUID, amount int64) {
	p := r.payment(id)
	if p.paid == 0 {
		p.payer, p.paid = payer, amount
		r.cash[payer] += amount
		r.deposits -= amount
	}
	r.giveBack(p)
}

func (r *reference) refund(id, refund string, amount int64) {
	p := r.payment(id)
	if !p.refunds[refund] {
		p.refunds[refund] = true
		p.refunded += amount
	}
	r.giveBack(p)
}

func (r *reference) refundTo(id string, total int64) {
	p := r.payment(id)
	if total > p.refundTotal {
		p.refundTotal = total
	}
	r.giveBack(p)
}

func (r *reference) giveBack(p *refPayment) {
	for p.done < p.paid && (p.done < p.refunded || p.done < p.refundTotal) { // one micro-USD at a time
		p.done++
		r.cash[p.payer]--
		r.deposits++
	}
}

func (r *reference) payment(id string) *refPayment {
	if r.payments[id] == nil {
		r.payments[id] = &refPayment{refunds: map[string]bool{}}
	}
	return r.payments[id]
}
