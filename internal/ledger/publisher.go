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

// CreditNote is the destination of an impression's Credit.
type CreditNote uint8

// The notes. With [CreditCapped], Outcome.Minted is 0. With [CreditHeld], the Credit is in the
// account of the quarantine case and not among the publisher's pending Credits.
const (
	CreditPlain  CreditNote = iota // went to the publisher's pending Credits, or no Credit was earned
	CreditCapped                   // not minted: the publisher's daily mint cap was reached
	CreditHeld                     // minted and held: the publisher is in quarantine
	creditNotes
)

// String returns the note as used by stores and views: "", "capped" or "held".
func (n CreditNote) String() string {
	switch n {
	case CreditCapped:
		return "capped"
	case CreditHeld:
		return "held"
	}
	return ""
}

// Valid reports whether n is one of the notes.
func (n CreditNote) Valid() bool { return n < creditNotes }

// HeldCredits returns the CREDIT account of a quarantine case: the Credits minted by its publisher
// since the case was opened. They are neither pending nor released. A decision makes them pending
// or destroys them.
func HeldCredits(quarantine uuid.UUID) Account { return Account("held:" + quarantine.String()) }

// PublisherBook holds a publisher's data for minting.
type PublisherBook struct {
	MintedOn map[day.Day]int64 // Credits minted per UTC day of receipt, including held ones
	HasCap   bool              // the account has a cap of its own
	Cap      money.Credits     // per UTC day, with HasCap; 0 mints nothing
	Case     uuid.UUID         // the open quarantine case; zero without one
	Owner    uuid.UUID         // developer id of a seat's owner; zero for any other publisher
}

// ownerOf returns the developer whose account a publisher belongs to: a seat's owner, else the
// publisher itself. An owner's campaigns on its seats are the owner's own traffic. Those of another
// account of its family are charged: two accounts of a company are honest, and Credits are worth
// less than what the charge costs. They prove nothing for standings, see consumers/standing.
func (b *Books) ownerOf(developer uuid.UUID) uuid.UUID {
	if owner := b.Publishers[developer].Owner; owner != uuid.Nil {
		return owner
	}
	return developer
}

// HeldCharge is the amount charged to a campaign for the traffic of a publisher in quarantine.
type HeldCharge struct {
	Case       uuid.UUID
	Charge     uuid.UUID // the transaction that includes it
	CampaignID uuid.UUID
	Day        day.Day      // of the charged budget
	Amount     money.Micros // > 0
}

// PublisherCharge is the amount charged to one payer for a publisher's traffic of a day.
type PublisherCharge struct {
	DeveloperID  uuid.UUID
	Day          day.Day // UTC day of receipt
	AdvertiserID uuid.UUID
	ByCredits    bool         // paid from the advertiser's Credits
	Amount       money.Micros // > 0
}

// CaseMint is the number of Credits that a publisher minted into its quarantine case on a day.
type CaseMint struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Amount      int64 // > 0
}

// sourceSum is the key for the sum of one payer's charges.
type sourceSum struct {
	day       day.Day
	payer     uuid.UUID
	byCredits bool
}

// heldSum is the key for the sum of charges of a publisher in quarantine.
type heldSum struct {
	campaign uuid.UUID
	day      day.Day
}

// publisherSums holds one publisher's running sums on top of its book.
type publisherSums struct {
	id      uuid.UUID
	book    PublisherBook
	minted  int64
	days    []traffic.PublisherDay
	charges map[heldSum]money.Micros // while in quarantine
	sources map[sourceSum]money.Micros
}

// publisher returns the running sums of a developer, nil for an unknown one.
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

// paid counts a charge for the publisher's traffic. It backs Credits of the day.
func (p *publisherSums) paid(e *Event, book *CampaignBook, charge money.Micros) {
	if charge <= 0 {
		return
	}
	if p.sources == nil {
		p.sources = make(map[sourceSum]money.Micros)
	}
	p.sources[sourceSum{day.Of(e.ReceivedAt), book.AdvertiserID, book.CreditFunded}] += charge
}

// earn counts an accepted event and mints for it: one Credit per valid impression, or per view if
// views are paid, up to the day's cap. The Credit is pending until charges back it, or goes into
// the account of an open quarantine case. Ads shown for nothing (paused, over budget, over balance)
// mint nothing.
func (p *publisherSums) earn(e *Event, out *Outcome, m minting) {
	today := p.on(day.Of(e.ReceivedAt))
	if p.book.Case != uuid.Nil && out.Charge > 0 {
		if p.charges == nil {
			p.charges = make(map[heldSum]money.Micros)
		}
		p.charges[heldSum{e.CampaignID, today.Day}] += out.Charge
	}
	today.Readers += int64(boolInt(e.FromReader))
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

// minting holds the rules for the Credit of an auction.
type minting struct {
	model campaign.BillingModel
	limit money.Credits // per publisher and day, unless it has its own cap
}

// by reports whether an event earns the Credit: the impression, or the view if views are paid,
// which requires a token.
func (m minting) by(e *Event) bool {
	if m.model == campaign.VCPM {
		return e.Type == Viewable && e.Proof == Signed
	}
	return e.Type == Impression
}

// mint mints the Credit of an auction.
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

// account returns the account for new Credits of the publisher.
func (p *publisherSums) account() Account {
	if p.book.Case != uuid.Nil {
		return HeldCredits(p.book.Case)
	}
	return PendingCredits(p.id)
}

// publisherTotals returns the sums in a fixed order.
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

// creditTotals returns the sums of charges and of mints into cases in a fixed order.
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
