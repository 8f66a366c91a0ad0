package ledger

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/schemas/event"
)

// Decide settles a batch: every record gets one outcome, and the effects are the sums of the
// outcomes. It is pure and changes neither batch nor books. Equal input gives equal output,
// including the order.
//
// fresh is the result of [Tx.MarkFirst] for [Candidates] of the same batch. A missing mark counts
// as a repeat, so that a fault can only make an event free. Books must contain everything that
// [NeedOf] lists.
//
// Guarantee, for any split of the log into batches: an auction's event of one type is charged and
// minted at most once, also where it has several conversions. A campaign is never charged more than
// its daily budget on a UTC day (of receipt), its total budget, or, if prepaid, its advertiser's
// balance. Every transaction sums to zero per asset. When a budget runs out, the order of the log
// decides which event is not charged. It does not change the campaign's sum.
func Decide(b Batch, fresh []bool, books Books) Effects {
	d := decider{
		batch:     b,
		books:     books,
		fresh:     fresh,
		campaigns: make(map[uuid.UUID]*campaignSums, len(books.Campaigns)),
		cash:      make(map[uuid.UUID]*money.Micros),

		publishers: make(map[uuid.UUID]*publisherSums),
	}
	effects := Effects{At: b.At, Applied: make([]AppliedRange, 0, len(b.Runs))}
	for i := range b.Runs {
		run := &b.Runs[i]
		outcomes := make([]Outcome, len(run.Records))
		for j := range run.Records {
			outcomes[j] = d.record(&run.Records[j])
			switch r := &run.Records[j]; outcomes[j].Verdict {
			case Poison:
				effects.Dead = append(effects.Dead, DeadLetter{
					Partition: run.Partition, Offset: run.First + int64(j), Problem: r.Problem, Raw: r.Raw,
				})
			case VerdictEarly:
				effects.Early = append(effects.Early, Early{
					Partition: run.Partition, Offset: run.First + int64(j), Auction: r.Event.AuctionID,
					Written: r.Written, Value: r.Raw, Acts: r.acts(), Held: r.held,
				})
			}
		}
		effects.Applied = append(effects.Applied, AppliedRange{Range: run.Range, Outcomes: outcomes})
	}
	effects.Spend, effects.Transactions = d.totals()
	effects.Publishers, effects.HeldCharges = d.publisherTotals()
	effects.Sources, effects.CaseMints = d.creditTotals()
	effects.Released = d.released()
	effects.Conversions, effects.Converted = d.conversionTotals(), d.convertedMarks()
	return effects
}

// decider is the running state of one Decide.
type decider struct {
	batch Batch
	books Books
	fresh []bool // unused marks

	campaigns map[uuid.UUID]*campaignSums // campaigns seen so far; nil for an unknown one
	cash      map[uuid.UUID]*money.Micros // remaining prepaid balances
	invalid   map[string]Verdict          // verdicts by invalid-traffic rule, so that the text is built once
	suspect   map[uuid.UUID]bool          // auctions with an invalid impression in this batch so far

	conversions map[ConversionHour]int64 // charged in this batch
	converted   map[uuid.UUID]bool       // auctions with a conversion charged in this batch

	publishers map[uuid.UUID]*publisherSums
}

// campaignSums holds one campaign's running sums on top of its book.
type campaignSums struct {
	id      uuid.UUID
	book    *CampaignBook
	balance *money.Micros // nil if no balance limits the campaign
	charged money.Micros
	days    []daySum    // a batch spans one or two days
	minutes []minuteSum // released, by minute of the auctions
}

type minuteSum struct {
	minute day.Minute
	sum    money.Micros
}

type daySum struct {
	day         day.Day
	before, sum money.Micros // spent before the batch, charged in the batch
}

// record decides one record. The order of the checks matters: an unverified event never reaches
// deduplication, and a repeated one never reaches money.
func (d *decider) record(r *Record) Outcome {
	if r.Problem != "" {
		return Outcome{Verdict: Poison}
	}
	e := &r.Event
	switch {
	case r.early:
		return Outcome{Verdict: VerdictEarly}
	case r.again:
		return Outcome{Verdict: Duplicate}
	case e.Proof == BadSignature:
		return Outcome{Verdict: VerdictForged}
	case e.Proof == Expired:
		return Outcome{Verdict: VerdictExpired}
	case e.Proof != Signed && e.Proof != UnsignedBillable && e.Proof != Unverified:
		return Outcome{Verdict: VerdictUnsigned}
	case !Accepted(d.books.Horizon, day.OfUUID(e.AuctionID)):
		// The day's marks may be deleted: repeats cannot be recognised, and the publisher is not
		// blamed for them.
		if r.keyed() {
			d.takeMark() // keeps the marks in step; the store never reports "new" here
		}
		return Outcome{Verdict: VerdictExpired}
	case !d.takeMark():
		return Outcome{Verdict: Duplicate} // of invalid traffic, also a repeat of a valid event
	case e.InvalidTraffic != "":
		d.suspected(e)
		return Outcome{Verdict: d.invalidVerdict(e.InvalidTraffic)}
	}
	d.redeem(e)
	switch {
	case e.Sandbox:
		return Outcome{Verdict: VerdictSandbox}
	case e.House: // guarantee: showing one's own ads earns nothing and costs nothing
		return Outcome{Verdict: VerdictHouse}
	case e.Proof == Unverified: // has no price: any viewer of the ad may have sent it
		return Outcome{Verdict: VerdictUnverified}
	}
	t := d.campaign(e.CampaignID)
	if t != nil {
		t.release(e, d.price(e, t.book))
	}
	switch {
	case t == nil:
		return Outcome{Verdict: UnknownCampaign}
	case e.DeveloperID != uuid.Nil && d.books.ownerOf(e.DeveloperID) == t.book.DeveloperID:
		return Outcome{Verdict: SelfServed}
	}
	out := Outcome{Verdict: OK}
	if t.inactive(e.ReceivedAt) {
		out.Verdict = VerdictPaused
	} else if price := d.price(e, t.book); price > 0 {
		if d.conversionCapped(e) {
			out.Verdict = ConversionCapped
		} else {
			out.Verdict, out.Charge = t.charge(day.Of(e.ReceivedAt), price)
			d.countConversion(e, &out)
		}
	}
	if p := d.publisher(e.DeveloperID); p != nil {
		p.paid(e, t.book, out.Charge)
		p.earn(e, &out, minting{modelOf(e, t.book), d.batch.MintCap})
	}
	return out
}

// takeMark returns the next mark.
func (d *decider) takeMark() bool {
	if len(d.fresh) == 0 {
		return false
	}
	first := d.fresh[0]
	d.fresh = d.fresh[1:]
	return first
}

// suspected counts the first invalid impression of an auction for its publisher. Only data signed
// in a token counts: without a token the publisher is just the sender's claim.
func (d *decider) suspected(e *Event) {
	p := d.publisher(e.DeveloperID)
	if p == nil || e.Type != Impression || e.Proof != Signed || e.Sandbox || e.House {
		return
	}
	if e.Browser { // not billed, and not counted against the account
		p.on(day.Of(e.ReceivedAt)).BrowserInvalid++
		return
	}
	p.on(day.Of(e.ReceivedAt)).Invalid++
	if d.suspect == nil {
		d.suspect = make(map[uuid.UUID]bool)
	}
	d.suspect[e.AuctionID] = true
}

// redeem removes an auction from the invalid ones if its valid impression follows an invalid one:
// the reader's own request counts, whatever a stranger sent first.
func (d *decider) redeem(e *Event) {
	if e.Type != Impression || e.Proof != Signed || e.Sandbox || e.House || e.Browser ||
		!d.suspect[e.AuctionID] && !d.books.Invalid[e.AuctionID] {
		return
	}
	if p := d.publisher(e.DeveloperID); p != nil {
		p.on(day.Of(e.ReceivedAt)).Redeemed++
	}
}

func (d *decider) invalidVerdict(rule string) Verdict {
	v, ok := d.invalid[rule]
	if !ok {
		if d.invalid == nil {
			d.invalid = make(map[string]Verdict)
		}
		v = InvalidTraffic + Verdict(rule)
		d.invalid[rule] = v
	}
	return v
}

// price returns the event's cost before any budget: from the signed token's price and model, or
// from the campaign if there is no token.
func (d *decider) price(e *Event, book *CampaignBook) money.Micros {
	model, price := modelOf(e, book), e.Price
	if e.Proof == UnsignedBillable {
		price = book.Bid
		if model.Thousands() {
			price = price.PerMille()
		}
	}
	switch kind, billed := billedTypes[model]; {
	case !billed || e.Type != kind,
		(model == campaign.VCPM || model == campaign.CPA) && e.Proof != Signed,
		model == campaign.CPA && !d.sells(e, book):
		return 0
	}
	return price
}

// billedTypes is the event type that each billing model charges, from the table of event types.
var billedTypes = func() map[campaign.BillingModel]EventType {
	types := make(map[campaign.BillingModel]EventType)
	for _, k := range event.Kinds() {
		if model, _ := k.Billed.Name(); model != "" {
			types[campaign.BillingModel(model)] = EventType(k.Name)
		}
	}
	return types
}()

// modelOf returns the billing model of an event: from its token, or from the campaign if there is
// no token.
func modelOf(e *Event, book *CampaignBook) campaign.BillingModel {
	if e.Proof == UnsignedBillable {
		return book.BillingModel
	}
	return e.BillingModel
}

// campaign returns the running sums of a campaign, nil if the ledger does not know it.
func (d *decider) campaign(id uuid.UUID) *campaignSums {
	if t, ok := d.campaigns[id]; ok {
		return t
	}
	book := d.books.Campaigns[id]
	if book == nil {
		d.campaigns[id] = nil
		return nil
	}
	t := &campaignSums{id: id, book: book}
	if d.batch.Prepaid && !book.CreditFunded {
		t.balance = d.cash[book.AdvertiserID]
		if t.balance == nil {
			left := d.books.Balances[book.AdvertiserID]
			t.balance = &left
			d.cash[book.AdvertiserID] = t.balance
		}
	}
	d.campaigns[id] = t
	return t
}

func (t *campaignSums) inactive(at time.Time) bool {
	for _, i := range t.book.Inactive {
		if i.Covers(at) {
			return true
		}
	}
	return false
}

// charge charges the lesser of price and the remaining budget. A partial amount is a charge. Only
// an empty budget is a rejection.
func (t *campaignSums) charge(date day.Day, price money.Micros) (Verdict, money.Micros) {
	sum := t.day(date)
	budget := min(t.book.DailyBudget-sum.before-sum.sum, t.book.TotalBudget-t.book.SpentTotal-t.charged)
	if budget <= 0 {
		return OverBudget, 0
	}
	balance := money.Micros(math.MaxInt64)
	if t.balance != nil {
		balance = *t.balance
	}
	if balance <= 0 {
		return OverBalance, 0
	}
	amount := min(price, budget, balance)
	sum.sum += amount
	t.charged += amount
	if t.balance != nil {
		*t.balance -= amount
	}
	return OK, amount
}

func (t *campaignSums) day(date day.Day) *daySum {
	for i := range t.days {
		if t.days[i].day == date {
			return &t.days[i]
		}
	}
	t.days = append(t.days, daySum{day: date, before: t.book.SpentOn[date]})
	return &t.days[len(t.days)-1]
}

// releases returns the minute whose reservation a settled event uses up.
func (e *Event) releases() (day.Minute, bool) {
	minute, dated := day.MinuteOfUUID(e.AuctionID)
	return minute, dated && e.Proof == Signed && !e.Sandbox &&
		e.ReceivedAt.Before(minute.Time().Add(reserve.ReleaseFor))
}

// release counts the price of an event that used up the reservation of its ad, even if nothing was
// charged: nothing will be charged for it later.
func (t *campaignSums) release(e *Event, price money.Micros) {
	minute, reserved := e.releases()
	if !reserved || price <= 0 {
		return
	}
	for i := range t.minutes {
		if t.minutes[i].minute == minute {
			t.minutes[i].sum += price
			return
		}
	}
	t.minutes = append(t.minutes, minuteSum{minute: minute, sum: price})
}

// released lists the sums in a fixed order.
func (d *decider) released() (list []reserve.Released) {
	for _, id := range sortedIDs(d.campaigns) {
		t := d.campaigns[id]
		if t == nil {
			continue
		}
		slices.SortFunc(t.minutes, func(a, b minuteSum) int { return cmp.Compare(a.minute, b.minute) })
		for _, m := range t.minutes {
			list = append(list, reserve.Released{CampaignID: id, Minute: m.minute, Amount: m.sum})
		}
	}
	return list
}

// totals returns the sums as rows in a fixed order: charges by campaign, then mints by developer.
func (d *decider) totals() ([]Spend, []Transaction) {
	var spend []Spend
	var transactions []Transaction
	ref := d.batch.ref()
	for _, id := range sortedIDs(d.campaigns) {
		t := d.campaigns[id]
		if t == nil || t.charged == 0 {
			continue
		}
		slices.SortFunc(t.days, func(a, b daySum) int { return cmp.Compare(a.day, b.day) })
		for _, d := range t.days {
			if d.sum > 0 {
				spend = append(spend, Spend{CampaignID: id, Day: d.day, Amount: d.sum})
			}
		}
		payer := AdvertiserCash(t.book.AdvertiserID)
		if t.book.CreditFunded {
			payer = CreditFunding
		}
		transactions = append(transactions, newTransfer(transfer{
			kind: KindCharge, ref: ref, subject: id, at: d.batch.At,
			asset: USD, from: payer, to: Revenue, amount: int64(t.charged),
		}))
	}
	for _, id := range sortedIDs(d.publishers) {
		p := d.publishers[id]
		if p.minted == 0 {
			continue
		}
		transactions = append(transactions, newTransfer(transfer{
			kind: KindMint, ref: ref, subject: id, at: d.batch.At,
			asset: Credit, from: Mint, to: p.account(), amount: p.minted,
		}))
	}
	return spend, transactions
}

// ref identifies the batch by its first range and the number of further ranges. A range starts at
// an offset that is claimed only once, so no two applied batches share a ref.
func (b *Batch) ref() string {
	if len(b.Runs) == 0 {
		return ""
	}
	ref := b.Runs[0].Range.String()
	if more := len(b.Runs) - 1; more > 0 {
		ref += "+" + strconv.Itoa(more)
	}
	return ref
}

type transfer struct {
	kind     Kind
	ref      string
	subject  uuid.UUID
	at       time.Time
	asset    Asset
	from, to Account
	amount   int64
	reverses uuid.UUID
}

func newTransfer(t transfer) Transaction {
	return Transaction{
		ID: TransactionID(t.kind, t.ref, t.subject), Kind: t.kind, Ref: t.ref, Subject: t.subject, At: t.at,
		Reverses: t.reverses,
		Entries: []Entry{
			{Account: t.from, Asset: t.asset, Amount: -t.amount},
			{Account: t.to, Asset: t.asset, Amount: t.amount},
		},
	}
}

// TransactionID returns the id of the only transaction of a kind that ref causes for subject. It is
// a UUIDv8 of their SHA-256, so writing the same transaction twice produces the same primary key.
func TransactionID(kind Kind, ref string, subject uuid.UUID) uuid.UUID {
	data := make([]byte, 0, 128)
	data = append(append(data, kind...), 0)
	data = append(append(data, ref...), 0)
	data = append(data, subject[:]...)
	sum := sha256.Sum256(data)
	var id uuid.UUID
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id
}
