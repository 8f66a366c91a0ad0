package ledger

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// CreditNote says where an impression's Credit went.
type CreditNote uint8

// The notes. With [CreditCapped] Outcome.Minted is 0, with [CreditHeld] it is in the account of the
// quarantine case, and not among the publisher's pending Credits.
const (
	CreditPlain  CreditNote = iota // went to the publisher's pending Credits, or there was none to earn
	CreditCapped                   // not minted: the publisher's daily mint cap was reached
	CreditHeld                     // minted and held: the publisher is in quarantine
	creditNotes
)

// String is the note as stores and views name it: "", "capped" or "held".
func (n CreditNote) String() string {
	switch n {
	case CreditCapped:
		return "capped"
	case CreditHeld:
		return "held"
	}
	return ""
}

// Valid says whether n is one of the notes.
func (n CreditNote) Valid() bool { return n < creditNotes }

// HeldCredits is the CREDIT account of a quarantine case: the Credits that its publisher minted
// since the case was opened. They are neither pending nor released; a decision makes them pending,
// or destroys them.
func HeldCredits(quarantine uuid.UUID) Account { return Account("held:" + quarantine.String()) }

// PublisherBook is a publisher as minting sees it.
type PublisherBook struct {
	MintedOn map[day.Day]int64 // Credits minted per UTC day of receipt, held ones included
	HasCap   bool              // the account has a cap of its own
	Cap      money.Credits     // per UTC day, with HasCap; 0 mints nothing
	Case     uuid.UUID         // the open quarantine case; zero without one
	Owner    uuid.UUID         // developer id of a seat's owner; zero for every other publisher
}

// ownerOf is the developer whose account a publisher belongs to: a seat's owner, else itself. What
// an owner's seats show of its campaigns is the owner's own traffic.
func (b *Books) ownerOf(developer uuid.UUID) uuid.UUID {
	if owner := b.Publishers[developer].Owner; owner != uuid.Nil {
		return owner
	}
	return developer
}

// HeldCharge is the amount that a campaign was charged for the traffic of a publisher in
// quarantine.
type HeldCharge struct {
	Case       uuid.UUID
	Charge     uuid.UUID // the transaction that it is a part of
	CampaignID uuid.UUID
	Day        day.Day      // of the budget that it was taken from
	Amount     money.Micros // > 0
}

// PublisherCharge is the amount that one payer was charged for a publisher's traffic of a day.
type PublisherCharge struct {
	DeveloperID  uuid.UUID
	Day          day.Day // UTC day of receipt
	AdvertiserID uuid.UUID
	ByCredits    bool         // paid from the advertiser's Credits
	Amount       money.Micros // > 0
}

// CaseMint is the number of Credits that a publisher minted on a day into its quarantine case.
type CaseMint struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Amount      int64 // > 0
}

// sourceSum is where the charges of one payer are summed.
type sourceSum struct {
	day       day.Day
	payer     uuid.UUID
	byCredits bool
}

// heldSum is where charges of a publisher in quarantine are summed.
type heldSum struct {
	campaign uuid.UUID
	day      day.Day
}

// publisherSums is one publisher's running sums on top of its book.
type publisherSums struct {
	id      uuid.UUID
	book    PublisherBook
	minted  int64
	days    []traffic.PublisherDay
	charges map[heldSum]money.Micros // while in quarantine
	sources map[sourceSum]money.Micros
}

// publisher opens the running sums of a developer; nil for an unknown one.
func (d *decider) publisher(id uuid.UUID) *publisherSums {
	if id == uuid.Nil {
		return nil
	}
	p, ok := d.publishers[id]
	if !ok {
		p = &publisherSums{id: id, book: d.books.Publishers[id]}
		d.publishers[id] = p
	}
	return p
}

func (p *publisherSums) on(date day.Day) *traffic.PublisherDay {
	for i := range p.days {
		if p.days[i].Day == date {
			return &p.days[i]
		}
	}
	p.days = append(p.days, traffic.PublisherDay{DeveloperID: p.id, Day: date})
	return &p.days[len(p.days)-1]
}

// paid counts a charge for the publisher's traffic: it backs Credits of the day.
func (p *publisherSums) paid(e *Event, book *CampaignBook, charge money.Micros) {
	if charge <= 0 {
		return
	}
	if p.sources == nil {
		p.sources = make(map[sourceSum]money.Micros)
	}
	p.sources[sourceSum{day.Of(e.ReceivedAt), book.AdvertiserID, book.CreditFunded}] += charge
}

// earn counts an accepted event and mints for it: one Credit per valid impression (or view, where
// that is paid for), up to the day's cap, pending until charges back it, or into the quarantine's
// account while there is one. What was shown for nothing (paused, over budget, over balance) mints
// nothing.
func (p *publisherSums) earn(e *Event, out *Outcome, m minting) {
	today := p.on(day.Of(e.ReceivedAt))
	if p.book.Case != uuid.Nil && out.Charge > 0 {
		if p.charges == nil {
			p.charges = make(map[heldSum]money.Micros)
		}
		p.charges[heldSum{e.CampaignID, today.Day}] += out.Charge
	}
	switch e.Type {
	case Click:
		today.Clicks++
		today.BrowserClicks += int64(boolInt(e.Browser))
	case Impression:
		today.Impressions++
		today.BrowserImpressions += int64(boolInt(e.Browser))
	}
	if m.by(e) && out.Verdict == OK {
		p.mint(e, out, m.limit)
	}
}

// minting is how an auction earns its Credit.
type minting struct {
	model campaign.BillingModel
	limit money.Credits // of a publisher and day, unless it has a cap of its own
}

// by says whether an event earns the Credit: the impression, but the view where that is paid for,
// which only a token proves.
func (m minting) by(e *Event) bool {
	if m.model == campaign.VCPM {
		return e.Type == Viewable && e.Proof == Signed
	}
	return e.Type == Impression
}

// mint earns the Credit of an auction.
func (p *publisherSums) mint(e *Event, out *Outcome, limit money.Credits) {
	today := p.on(day.Of(e.ReceivedAt))
	limited := limit > 0
	if p.book.HasCap {
		limit, limited = p.book.Cap, true
	}
	if limited && p.book.MintedOn[today.Day]+today.Minted >= int64(limit) {
		today.Capped++
		out.Credit = CreditCapped
		return
	}
	today.Minted++
	today.BrowserMinted += int64(boolInt(e.Browser))
	p.minted++
	out.Minted = 1
	if p.book.Case != uuid.Nil {
		out.Credit = CreditHeld
	}
}

// account is where new Credits of the publisher go.
func (p *publisherSums) account() Account {
	if p.book.Case != uuid.Nil {
		return HeldCredits(p.book.Case)
	}
	return PendingCredits(p.id)
}

// publisherTotals writes the sums in a fixed order.
func (d *decider) publisherTotals() (days []traffic.PublisherDay, charges []HeldCharge) {
	for _, id := range sortedIDs(d.publishers) {
		p := d.publishers[id]
		slices.SortFunc(p.days, func(a, b traffic.PublisherDay) int { return cmp.Compare(a.Day, b.Day) })
		for _, sums := range p.days {
			if sums != (traffic.PublisherDay{DeveloperID: id, Day: sums.Day}) { // e.g. only closes
				days = append(days, sums)
			}
		}
		for sum, amount := range p.charges {
			charges = append(charges, HeldCharge{
				Case: p.book.Case, Charge: TransactionID(KindCharge, d.batch.ref(), sum.campaign),
				CampaignID: sum.campaign, Day: sum.day, Amount: amount,
			})
		}
	}
	slices.SortFunc(charges, func(a, b HeldCharge) int {
		return cmp.Or(
			bytes.Compare(a.Case[:], b.Case[:]), bytes.Compare(a.CampaignID[:], b.CampaignID[:]),
			cmp.Compare(a.Day, b.Day),
		)
	})
	return days, charges
}

// creditTotals writes the sums of charges and of mints into cases in a fixed order.
func (d *decider) creditTotals() (charges []PublisherCharge, mints []CaseMint) {
	for _, id := range sortedIDs(d.publishers) {
		p := d.publishers[id]
		for sum, amount := range p.sources {
			charges = append(charges, PublisherCharge{
				DeveloperID: id, Day: sum.day, AdvertiserID: sum.payer, ByCredits: sum.byCredits, Amount: amount,
			})
		}
		for _, date := range p.days {
			if p.book.Case != uuid.Nil && date.Minted > 0 {
				mints = append(mints, CaseMint{DeveloperID: id, Day: date.Day, Amount: date.Minted})
			}
		}
	}
	slices.SortFunc(charges, func(a, b PublisherCharge) int {
		return cmp.Or(compareIDs(a.DeveloperID, b.DeveloperID), cmp.Compare(a.Day, b.Day),
			compareIDs(a.AdvertiserID, b.AdvertiserID), cmp.Compare(boolInt(a.ByCredits), boolInt(b.ByCredits)))
	})
	return charges, mints
}
