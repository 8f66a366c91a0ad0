package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// The kinds of transactions that move minted Credits. Their subject is the publisher, their ref the
// UTC day that the Credits were minted on and the number of the move.
const (
	// pending Credits that charges back: to held, or spendable without a hold
	KindCreditRelease  Kind = "credit_release"
	KindCreditMature   Kind = "credit_available" // held Credits whose hold has ended
	KindCreditTakeBack Kind = "credit_take_back" // released Credits whose charges are not backed any more: to pending
	KindCreditExpire   Kind = "credit_expire"    // pending Credits that no charge backed in time: destroyed
)

// PendingLife is how long after the end of their day Credits wait for charges that back them.
const PendingLife = 28 * 24 * time.Hour

// concentrated is the part of a publisher's day, 1 ÷ concentrated, beyond which the charges of one
// advertiser release Credits with the long hold.
const concentrated = 4

// PendingCredits is the CREDIT account of a publisher's Credits that no charge has backed yet.
func PendingCredits(developer uuid.UUID) Account {
	return Account("developer-pending:" + developer.String())
}

// WaitingCredits is the CREDIT account of a publisher's released Credits whose hold has not ended.
func WaitingCredits(developer uuid.UUID) Account {
	return Account("developer-held:" + developer.String())
}

// CreditBalance says where a publisher's Credits are.
type CreditBalance struct {
	Spendable   money.Credits // below 0 when spent Credits were taken back
	Pending     money.Credits // minted, not backed by charges
	Held        money.Credits // backed, spendable when their hold ends
	Quarantined money.Credits // minted into the open quarantine case
}

// CreditSource is the sum that one payer was charged for a publisher's traffic of a day.
type CreditSource struct {
	AdvertiserID uuid.UUID
	ByCredits    bool         // paid from the advertiser's Credits, not from its cash
	Charged      money.Micros // impressions, clicks and verified conversions
	Refunded     money.Micros // given back by claw-backs
	Unbacked     money.Micros // of the rest, the part that the payer owes: see [Debt]
}

// Backed is the part of the charges that releases Credits.
func (s CreditSource) Backed() money.Micros { return max(0, s.Charged-s.Refunded-s.Unbacked) }

// CreditLot is Credits of one publisher and day that were released at one value.
type CreditLot struct {
	Value  money.Micros // of one Credit, as it was when they were released
	Until  time.Time    // end of their hold, UTC; zero once they are spendable
	Long   bool         // held longer, because one advertiser paid for more than its share of the day
	Amount int64        // released and not taken back
	Left   int64        // of these, not spent; below 0 when spent ones were taken back
}

// Worth is what the lot's Credits pay for, spent ones included.
func (l CreditLot) Worth() money.Micros { return money.Micros(l.Amount) * l.Value }

// CreditDay is the Credits that a publisher minted on a UTC day, and the charges that back them.
type CreditDay struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Minted      int64
	InCase      int64 // of these, in the account of the open quarantine case
	Gone        int64 // of these, expired or clawed back
	Moves       int64 // how often Credits of the day were moved; it numbers the transactions
	Frozen      bool  // the publisher has an open quarantine case: Credits are only taken back
	Sources     []CreditSource
	Lots        []CreditLot
}

// Pending is the Credits that were not released.
func (d *CreditDay) Pending() int64 {
	n := d.Minted - d.InCase - d.Gone
	for i := range d.Lots {
		n -= d.Lots[i].Amount
	}
	return n
}

// Cover is the charges that back the day's released Credits.
func (d *CreditDay) Cover() (sum money.Micros) {
	for _, s := range d.Sources {
		sum += s.Backed()
	}
	return sum
}

// Worth is the value of the day's released Credits.
func (d *CreditDay) Worth() (sum money.Micros) {
	for _, l := range d.Lots {
		sum += l.Worth()
	}
	return sum
}

// spread is the part of the cover that no advertiser pays beyond its share of the day.
func (d *CreditDay) spread() (sum money.Micros) {
	share := d.Cover() / concentrated
	paid := make(map[uuid.UUID]money.Micros, len(d.Sources))
	for _, s := range d.Sources {
		paid[s.AdvertiserID] += s.Backed()
	}
	for _, amount := range paid {
		sum += min(amount, share)
	}
	return sum
}

// CreditRules are the settings of the release of Credits.
type CreditRules struct {
	Value    money.Micros  // of one Credit (ADNET_CREDIT_VALUE_USD), > 0
	Hold     time.Duration // of released Credits (ADNET_CREDIT_HOLD); 0 holds none
	LongHold time.Duration // of Credits that one advertiser pays for beyond a quarter of the day; below Hold, Hold
	Now      time.Time     // UTC
}

// CreditMoves is the day after [CreditRules.Move], and the transactions that led there. Lots that
// were emptied are still listed, with Amount and Left 0.
type CreditMoves struct {
	CreditDay
	Written []Transaction
}

// Move brings a publisher's day up to date: takes back Credits that charges no longer back,
// releases what charges back, ends holds that are over and lets old pending Credits expire. It is
// pure; without anything to do it writes nothing and returns the day as it was.
//
// Guarantee: afterwards the worth of the day's released Credits, each at the value of its release,
// is at most the day's backed charges. Summed over all publishers and days this is the promise that
// adnet verify checks. Charges that were paid with Credits count like those paid with cash: these
// Credits are spent and stay on the other side of the inequality, so a Credit that goes round gives
// at most one Credit again, and what can be spent never exceeds what was paid in cash.
func (r CreditRules) Move(d CreditDay) CreditMoves {
	m := mover{rules: r, day: d}
	m.day.Lots = slices.Clone(d.Lots)
	m.takeBack()
	if !d.Frozen {
		m.shorten()
		m.release()
		m.mature()
		m.expire()
	}
	if len(m.written) == 0 && !m.changed {
		return CreditMoves{CreditDay: d}
	}
	m.day.Moves++
	return CreditMoves{CreditDay: m.day, Written: m.written}
}

// mover is the running state of one Move.
type mover struct {
	rules   CreditRules
	day     CreditDay
	written []Transaction
	changed bool // lots changed without a transaction
}

// takeBack moves Credits back to pending until the rest is backed: held ones first, those with the
// longest hold before others, then spendable ones. Credits that were spent leave a debt: the
// publisher's balance falls below zero.
func (m *mover) takeBack() {
	short := m.day.Worth() - m.day.Cover()
	if short <= 0 {
		return
	}
	slices.SortStableFunc(m.day.Lots, func(a, b CreditLot) int {
		if a.Until.IsZero() != b.Until.IsZero() {
			return cmp.Compare(boolInt(a.Until.IsZero()), boolInt(b.Until.IsZero()))
		}
		return b.Until.Compare(a.Until)
	})
	var held, spendable int64
	for i := range m.day.Lots {
		l := &m.day.Lots[i]
		if short <= 0 {
			break
		}
		if l.Value <= 0 {
			continue
		}
		n := min(l.Amount, int64((short+l.Value-1)/l.Value))
		l.Amount, l.Left, short = l.Amount-n, l.Left-n, short-money.Micros(n)*l.Value
		if l.Until.IsZero() {
			spendable += n
		} else {
			held += n
		}
	}
	m.move(KindCreditTakeBack, []Entry{
		{Account: WaitingCredits(m.day.DeveloperID), Amount: -held},
		{Account: DeveloperCredits(m.day.DeveloperID), Amount: -spendable},
		{Account: PendingCredits(m.day.DeveloperID), Amount: held + spendable},
	})
}

// normal is the worth of the released Credits that do not have the long hold.
func (m *mover) normal() (sum money.Micros) {
	for _, l := range m.day.Lots {
		if !l.Long {
			sum += l.Worth()
		}
	}
	return sum
}

// shorten gives Credits of the long hold the normal one, as further advertisers pay for the day.
func (m *mover) shorten() {
	room := m.day.spread() - m.normal()
	var short []CreditLot
	for i := range m.day.Lots {
		l := &m.day.Lots[i]
		if !l.Long || l.Until.IsZero() || l.Value <= 0 || room < l.Value {
			continue
		}
		n := min(l.Amount, int64(room/l.Value))
		until := m.until(m.rules.Hold)
		if n <= 0 || !until.Before(l.Until) {
			continue
		}
		l.Amount, l.Left, room = l.Amount-n, l.Left-n, room-money.Micros(n)*l.Value
		short = append(short, CreditLot{Value: l.Value, Until: until, Amount: n, Left: n})
	}
	for _, l := range short {
		m.changed = true
		m.add(l)
	}
}

// release moves pending Credits that charges back.
func (m *mover) release() {
	r := m.rules
	if r.Value <= 0 {
		return
	}
	n := min(m.day.Pending(), int64((m.day.Cover()-m.day.Worth())/r.Value))
	if n <= 0 {
		return
	}
	long := int64(0)
	if r.LongHold > r.Hold {
		long = n - min(n, max(0, int64((m.day.spread()-m.normal())/r.Value)))
	}
	var held, spendable int64
	for _, l := range []CreditLot{
		{Value: r.Value, Until: m.until(r.Hold), Amount: n - long, Left: n - long},
		{Value: r.Value, Until: m.until(r.LongHold), Long: true, Amount: long, Left: long},
	} {
		m.add(l)
		if l.Until.IsZero() {
			spendable += l.Amount
		} else {
			held += l.Amount
		}
	}
	m.move(KindCreditRelease, []Entry{
		{Account: PendingCredits(m.day.DeveloperID), Amount: -n},
		{Account: WaitingCredits(m.day.DeveloperID), Amount: held},
		{Account: DeveloperCredits(m.day.DeveloperID), Amount: spendable},
	})
}

// holdSteps is into how many steps a hold is divided: Credits whose holds end in one step are one
// lot, so that a publisher has about 24 lots a day and not one for each release.
const holdSteps = 7 * 24

// until is the end of a hold that begins now, rounded up to its step; zero without a hold.
func (m *mover) until(hold time.Duration) time.Time {
	if hold <= 0 {
		return time.Time{}
	}
	step := max(hold/holdSteps, time.Microsecond)
	return m.rules.Now.UTC().Add(hold).Truncate(step).Add(step).Truncate(time.Microsecond)
}

// mature makes Credits spendable whose hold is over.
func (m *mover) mature() {
	var ended []CreditLot
	for i := range m.day.Lots {
		if l := &m.day.Lots[i]; !l.Until.IsZero() && !l.Until.After(m.rules.Now) && l.Amount > 0 {
			ended = append(ended, CreditLot{Value: l.Value, Amount: l.Amount, Left: l.Left})
			l.Amount, l.Left = 0, 0
		}
	}
	n := int64(0)
	for _, l := range ended {
		n += l.Amount
		m.add(l)
	}
	if n > 0 {
		m.move(KindCreditMature, []Entry{
			{Account: WaitingCredits(m.day.DeveloperID), Amount: -n},
			{Account: DeveloperCredits(m.day.DeveloperID), Amount: n},
		})
	}
}

// ExpiredBefore is the day before which pending Credits are destroyed at now.
func ExpiredBefore(now time.Time) day.Day { return day.Of(now.Add(-PendingLife)) }

// expire destroys pending Credits that waited too long.
func (m *mover) expire() {
	n := m.day.Pending()
	if n <= 0 || m.day.Day >= ExpiredBefore(m.rules.Now) {
		return
	}
	m.day.Gone += n
	m.move(
		KindCreditExpire, []Entry{{Account: PendingCredits(m.day.DeveloperID), Amount: -n}, {Account: Mint, Amount: n}},
	)
}

// add puts a lot to the one of the same kind.
func (m *mover) add(l CreditLot) {
	if l.Amount == 0 && l.Left == 0 {
		return
	}
	for i := range m.day.Lots {
		if same := &m.day.Lots[i]; same.Value == l.Value && same.Until.Equal(l.Until) && same.Long == l.Long {
			same.Amount, same.Left = same.Amount+l.Amount, same.Left+l.Left
			return
		}
	}
	m.day.Lots = append(m.day.Lots, l)
}

// move writes a transaction of the entries that are not zero.
func (m *mover) move(kind Kind, entries []Entry) {
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Amount == 0 })
	if len(entries) == 0 {
		return
	}
	for i := range entries {
		entries[i].Asset = Credit
	}
	ref := m.day.Day.String() + "#" + strconv.FormatInt(m.day.Moves+1, 10)
	m.written = append(m.written, Transaction{
		ID: TransactionID(kind, ref, m.day.DeveloperID), Kind: kind, Ref: ref, Subject: m.day.DeveloperID,
		At: m.rules.Now, Entries: entries,
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// PaidDay is what one payer was charged for one publisher's day.
type PaidDay struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Charged     money.Micros // less what claw-backs gave back
	Unbacked    money.Micros
}

// Debt spreads what a payer owes over its charges, the newest first: these are the ones that the
// missing money did not pay for. It returns the days whose Unbacked changes, with the new value,
// and how much of the debt lies on them and the others together.
//
// A payer owes what providers took back of its payments (refunds, disputes) as far as its balance
// is below zero, and a payer with Credits what its Credits are below zero, at the value of their
// release. An account that may run into debt (ADNET_PREPAID=off) owes nothing here by being
// charged: the operator lends to it.
func Debt(owed money.Micros, newest []PaidDay) (changed []PaidDay, spread money.Micros) {
	for _, d := range newest {
		unbacked := min(max(0, d.Charged), owed-spread)
		spread += unbacked
		if unbacked != d.Unbacked {
			d.Unbacked = unbacked
			changed = append(changed, d)
		}
	}
	return changed, spread
}

// CompareNewest is the order of the days in [Debt].
func (d PaidDay) CompareNewest(o PaidDay) int {
	return cmp.Or(cmp.Compare(o.Day, d.Day), compareIDs(d.DeveloperID, o.DeveloperID))
}

// CreditDebt is the worth of Credits that a publisher spent and that were taken back since; 0 while
// its spendable lots together are above zero.
func CreditDebt(lots []CreditLot) money.Micros {
	var sum money.Micros
	for _, l := range lots {
		if l.Until.IsZero() {
			sum -= money.Micros(l.Left) * l.Value
		}
	}
	return max(0, sum)
}

// FundingLot is a lot of spendable Credits of a publisher, as a campaign's funding sees it.
type FundingLot struct {
	Day   day.Day
	Value money.Micros
	Left  int64
}

// Fund takes Credits for a budget from a publisher's spendable lots, in their order. A Credit pays
// for value, but for no more than it was worth when it was released: a higher setting does not make
// old Credits dearer. It returns how many it takes of each lot, their sum, and false when the
// Credits do not suffice.
func Fund(budget, value money.Micros, lots []FundingLot) (take []int64, sum int64, enough bool) {
	take = make([]int64, len(lots))
	available := int64(0)
	for _, l := range lots {
		available += l.Left // lots below zero are debts, which others pay first
	}
	for i, l := range lots {
		pays := min(value, l.Value)
		if budget <= 0 {
			break
		}
		if pays <= 0 || l.Left <= 0 {
			continue
		}
		n := min(l.Left, available-sum, int64((budget+pays-1)/pays))
		if n <= 0 {
			break
		}
		take[i], sum, budget = n, sum+n, budget-money.Micros(n)*pays
	}
	return take, sum, budget <= 0
}

// InsufficientCredits is the refusal of a budget that the lots do not pay for.
func InsufficientCredits(budget, value money.Micros, lots []FundingLot) error {
	available := int64(0)
	for _, l := range lots {
		available += l.Left
	}
	return errs.New(errs.InsufficientCredit, "not enough Credits").
		With("available", max(0, available)).With("requested", int64((budget+value-1)/value))
}

// CreditCheck compares what Credits are worth with the charges that back them.
func CreditCheck(worth, backed int64) Check {
	return Check{
		Name: CheckCredits, Want: worth, Got: min(worth, backed),
		Detail: "charges, less claw-backs and debts: " + money.Micros(backed).String() + " USD",
	}
}

// CreditRun counts what one run of the release did.
type CreditRun struct {
	Days      int   // publisher days that were looked at
	Released  int64 // Credits
	Available int64 // Credits whose hold ended, or that had none
	TakenBack int64
	Expired   int64
}

// Merge adds another run.
func (r *CreditRun) Merge(o CreditRun) {
	r.Days += o.Days
	r.Released += o.Released
	r.Available += o.Available
	r.TakenBack += o.TakenBack
	r.Expired += o.Expired
}

// Add counts the transactions of a day in.
func (r *CreditRun) Add(m CreditMoves) {
	r.Days++
	for i := range m.Written {
		t := &m.Written[i]
		for _, e := range t.Entries {
			switch {
			case t.Kind == KindCreditRelease && e.Amount < 0:
				r.Released -= e.Amount
			case t.Kind == KindCreditTakeBack && e.Amount > 0:
				r.TakenBack += e.Amount
			case t.Kind == KindCreditExpire && e.Amount > 0:
				r.Expired += e.Amount
			}
			if e.Account == DeveloperCredits(m.DeveloperID) && e.Amount > 0 {
				r.Available += e.Amount
			}
		}
	}
}

// MeanCharge is what advertisers were charged for publishers' traffic of some days, and for how
// many impressions.
type MeanCharge struct {
	Charged     money.Micros
	Impressions int64
}
