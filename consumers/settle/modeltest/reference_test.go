package modeltest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
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
	credits   map[uuid.UUID]int64 // spendable, by developer; negative when owed
	pending   map[uuid.UUID]int64 // by developer
	days      map[refDay]*refCredits
	back      map[uuid.UUID]int64 // what providers gave back of an advertiser's payments
	mintCap   int64               // Credits of a developer on a UTC day
	ownCap    map[uuid.UUID]int64 // instead of mintCap
	cases     map[uuid.UUID]*refCase
	minted    map[string]int64 // by developer and UTC date

	waiting []entry // overtook the event that permits them, in the order of the log

	sold          map[string]int64 // charged conversions, by campaign, developer and UTC hour
	conversionCap int64

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

// refDay is a publisher's UTC date.
type refDay struct {
	developer uuid.UUID
	date      string
}

// refCredits is the Credits of a publisher's date and who was charged for it.
type refCredits struct {
	pending, released int64
	paid, unbacked    map[refPayer]int64
}

type refPayer struct {
	advertiser uuid.UUID
	byCredits  bool
}

// refCase is a publisher's quarantine while it is open.
type refCase struct {
	id      uuid.UUID
	held    int64
	minted  map[string]int64               // by UTC date
	charged map[uuid.UUID]map[string]int64 // by campaign and UTC date
}

type refPayment struct {
	payer       uuid.UUID
	paid, done  int64
	total, fell int64            // the latest total of refunds, and the sum by which totals fell
	refunds     map[string]int64 // the largest amount of each
}

// happening is one record of the log as the test made it.
type happening struct {
	broken           bool // bytes of no event, or an offset that the log lost
	kind, proof      string
	at               time.Time
	auction          uuid.UUID
	campaign         uuid.UUID
	developer        uuid.UUID // zero when unknown
	price            int64
	model            string
	sandbox, byOwner bool
	house            bool // the token is of a house ad
	invalid          string
	goal, order      string // type and external id of a conversion
}

type result struct {
	verdict        string
	charge, minted int64
	credit         string // why a Credit was not simply the publisher's
}

// entry is one record of a batch and its place in the log.
type entry struct {
	happening
	part    int
	offset  int64
	written time.Time
	moved   bool
}

// needs is what an event of the auction must come with, "" for nothing.
func (h happening) needs() string {
	switch {
	case h.broken || h.proof != "signed" || h.invalid != "" || h.sandbox:
		return ""
	case h.kind == "click" || h.kind == "viewable" && h.model == "vcpm":
		return "impression"
	case h.kind == "conversion" && h.byOwner:
		return "click"
	}
	return ""
}

// batch is what the events of one batch cost and earn. Those that waited come first; what it
// returns for them is their last result.
func (r *reference) batch(events []entry) (results []result, waited map[entry]result) {
	last := map[int]time.Time{}
	for _, e := range events {
		if e.written.After(last[e.part]) {
			last[e.part] = e.written
		}
	}
	old := len(r.waiting)
	all := append(slices.Clone(r.waiting), events...)
	fate := make([]string, len(all))
	is := func(i int, kind string) bool {
		e := all[i]
		return e.kind == kind && !e.broken && e.invalid == "" && fate[i] == "" &&
			(e.proof == "signed" || kind == "click" && e.proof == "unsigned_billable")
	}
	have := func(upto int, auction uuid.UUID, kind string) bool {
		for i := range upto {
			if all[i].auction == auction && is(i, kind) {
				return true
			}
		}
		return r.seen[auction.String()+" "+kind]
	}
	for i, e := range all {
		if need := e.needs(); need != "" && !have(i, e.auction, need) {
			early := 0
			for j := range i {
				if all[j].auction == e.auction && fate[j] == "early" {
					early++
				}
			}
			fate[i] = "early"
			if i >= old && early >= 4 {
				fate[i] = "refused"
			}
		}
		for range 2 { // a click that was waited for ends the waiting of a conversion
			for j := range i {
				if fate[j] == "early" && have(i+1, all[j].auction, all[j].needs()) {
					fate[j] = ""
				}
			}
		}
	}
	r.waiting, waited = nil, map[entry]result{}
	for i, e := range all {
		if i < old && fate[i] == "early" && !e.written.After(last[e.part].Add(-15*time.Minute)) {
			fate[i] = "refused"
		}
		switch {
		case fate[i] == "early":
			r.waiting = append(r.waiting, e)
			if i >= old {
				results = append(results, result{verdict: "early"})
			}
		case i < old:
			waited[e] = r.event(e.happening, fate[i] == "refused")
		default:
			results = append(results, r.event(e.happening, fate[i] == "refused"))
		}
	}
	return results, waited
}

// event is what one event costs and earns when it comes after all events before it. refused: it
// lacks the event that permits it.
func (r *reference) event(h happening, refused bool) result {
	switch {
	case h.broken:
		return result{verdict: "poison"}
	case h.proof == "bad_signature" || h.proof == "expired" || h.proof == "unsigned":
		return result{verdict: h.proof}
	case h.invalid != "":
		return r.refuse(h, h.invalid)
	}
	if refused && h.kind != "conversion" {
		return r.refuse(h, "click_without_impression")
	}
	key := h.auction.String() + " " + h.kind
	if h.goal+h.order != "" {
		key += " " + strings.ToLower(strings.TrimSpace(h.goal)) + "/" + h.order
	}
	unverified := h.kind == "conversion" && h.proof == "signed" &&
		(!h.byOwner || refused)
	if unverified {
		key += " unverified"
	}
	if r.seen[key] {
		return result{verdict: "duplicate"}
	}
	r.seen[key] = true
	if h.sandbox {
		return result{verdict: "sandbox"}
	}
	if h.house {
		return result{verdict: "house"}
	}
	if unverified {
		return result{verdict: "unverified"}
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
	} else if price := c.price(h); price > 0 && (h.kind != "conversion" || !r.seen[h.auction.String()+" charged"]) {
		sold := h.campaign.String() + h.developer.String() + h.at.UTC().Format("2006-01-02 15")
		if h.kind == "conversion" && r.sold[sold] >= r.conversionCap {
			out.verdict = "conversion_cap"
		} else {
			out.verdict, out.charge = r.take(c, h.at.UTC().Format(time.DateOnly), price)
			if h.kind == "conversion" && out.charge > 0 {
				r.sold[sold]++
				r.seen[h.auction.String()+" charged"] = true
			}
		}
	}
	held := r.cases[h.developer]
	if held != nil {
		if held.charged[h.campaign] == nil {
			held.charged[h.campaign] = map[string]int64{}
		}
		held.charged[h.campaign][h.at.UTC().Format(time.DateOnly)] += out.charge
	}
	date := h.at.UTC().Format(time.DateOnly)
	if h.developer != uuid.Nil && out.charge > 0 {
		r.on(h.developer, date).paid[refPayer{c.owner, c.byCredits}] += out.charge
	}
	model, earns := h.model, "impression"
	if h.proof == "unsigned_billable" {
		model = c.model
	}
	if model == "vcpm" {
		earns = "viewable"
	}
	if h.kind == earns && (model != "vcpm" || h.proof == "signed") && h.developer != uuid.Nil && out.verdict == "ok" {
		limit, own := r.ownCap[h.developer]
		if !own {
			limit = r.mintCap
		}
		day := h.developer.String() + date
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
			held.minted[date]++
		} else {
			r.pending[h.developer]++
			r.on(h.developer, date).pending++
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

func (c *refCampaign) price(h happening) int64 {
	model, price := h.model, h.price
	if h.proof == "unsigned_billable" {
		model, price = c.model, c.bid
		if model == "cpm" || model == "vcpm" {
			price = c.bid / 1000
		}
	}
	switch model + " " + h.kind {
	case "cpm impression", "cpc click":
		return price
	case "vcpm viewable":
		if h.proof == "signed" {
			return price
		}
	case "cpa conversion":
		if h.proof == "signed" {
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

// on is a publisher's date.
func (r *reference) on(developer uuid.UUID, date string) *refCredits {
	day := refDay{developer, date}
	if r.days[day] == nil {
		r.days[day] = &refCredits{paid: map[refPayer]int64{}, unbacked: map[refPayer]int64{}}
	}
	return r.days[day]
}

// creditValue is what a Credit is worth in the histories, micro-USD.
const creditValue = 700

// release takes back and releases Credits of every date, as far as charges reach that are paid for.
// Debts are what they were before.
func (r *reference) release() {
	dates := slices.SortedFunc(maps.Keys(r.days), func(a, b refDay) int {
		return cmp.Or(cmp.Compare(b.date, a.date), cmp.Compare(a.developer.String(), b.developer.String()))
	})
	owes := map[refPayer]int64{}
	for advertiser, back := range r.back {
		owes[refPayer{advertiser, false}] = max(0, min(back, -r.cash[advertiser]))
	}
	for _, c := range r.campaigns {
		owes[refPayer{c.owner, true}] = max(0, -r.credits[c.ownDeveloper]) * creditValue
	}
	for _, day := range dates { // the newest charges are those that were not paid for
		of := r.days[day]
		for payer, paid := range of.paid {
			of.unbacked[payer] = min(paid, owes[payer])
			owes[payer] -= of.unbacked[payer]
		}
	}
	for day, of := range r.days {
		backed := int64(0)
		for payer, paid := range of.paid {
			backed += paid - of.unbacked[payer]
		}
		for of.released*creditValue > backed { // one Credit at a time
			of.released--
			of.pending++
			r.pending[day.developer]++
			r.credits[day.developer]--
		}
		for r.cases[day.developer] == nil && of.pending > 0 && (of.released+1)*creditValue <= backed {
			of.released++
			of.pending--
			r.pending[day.developer]--
			r.credits[day.developer]++
		}
	}
}

// endCase makes the held Credits pending, or destroys them and gives the advertisers back
// what they paid, and their campaigns what they spent, as if the traffic had never been.
func (r *reference) endCase(developer uuid.UUID, clawBack bool) {
	held := r.cases[developer]
	delete(r.cases, developer)
	if !clawBack {
		r.pending[developer] += held.held
		for date, n := range held.minted {
			r.on(developer, date).pending += n
		}
		return
	}
	r.mint += held.held
	for id, days := range held.charged {
		c := r.campaigns[id]
		for date, amount := range days {
			r.revenue -= amount
			c.spent -= amount
			c.spentOn[date] -= amount
			if amount > 0 {
				r.on(developer, date).paid[refPayer{c.owner, c.byCredits}] -= amount
			}
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
	p.refunds[refund] = max(p.refunds[refund], amount)
	r.giveBack(p)
}

func (r *reference) refundTo(id string, total int64) {
	p := r.payment(id)
	p.fell += max(0, p.total-total) // a refund failed
	p.total = total
	r.giveBack(p)
}

func (r *reference) giveBack(p *refPayment) {
	var refunded int64
	for _, amount := range p.refunds {
		refunded += amount
	}
	more := min(p.paid, max(p.total, refunded-p.fell)) - p.done
	p.done += more
	r.back[p.payer] += more
	r.cash[p.payer] -= more
	r.deposits += more
}

func (r *reference) payment(id string) *refPayment {
	if r.payments[id] == nil {
		r.payments[id] = &refPayment{refunds: map[string]int64{}}
	}
	return r.payments[id]
}
