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
	"adnet/internal/traffic"
)

// The kinds of transactions that move minted Credits. Their subject is the publisher. Their ref is
// the UTC day on which the Credits were minted and the number of the move.
const (
	// pending Credits backed by charges: to held, or spendable if there is no hold
	KindCreditRelease  Kind = "credit_release"
	KindCreditMature   Kind = "credit_available" // held Credits whose hold has ended
	KindCreditTakeBack Kind = "credit_take_back" // released Credits whose charges are no longer backed: to pending
	KindCreditExpire   Kind = "credit_expire"    // pending Credits not backed by a charge in time: destroyed
)

// PendingLife is the time after the end of their day for which Credits wait for charges to back
// them.
const PendingLife = 28 * 24 * time.Hour

// concentrated defines the share of a publisher's day, 1 ÷ concentrated, beyond which the charges
// of one family of advertisers release Credits with the long hold.
const concentrated = 4

// PendingCredits is the CREDIT account of a publisher's Credits that no charge has backed yet.
func PendingCredits(developer uuid.UUID) Account {
	return Account("developer-pending:" + developer.String())
}

// WaitingCredits is the CREDIT account of a publisher's released Credits whose hold has not ended.
func WaitingCredits(developer uuid.UUID) Account {
	return Account("developer-held:" + developer.String())
}

// CreditBalance splits a publisher's Credits by state.
type CreditBalance struct {
	Spendable   money.Credits // below 0 if spent Credits were taken back
	Pending     money.Credits // minted, not backed by charges
	Held        money.Credits // backed, spendable when their hold ends
	Quarantined money.Credits // minted into the open quarantine case
}

// CreditSource is the total that one payer was charged for a publisher's traffic of a day.
type CreditSource struct {
	AdvertiserID uuid.UUID
	Family       uuid.UUID    // of the payer; zero for the payer alone
	ByCredits    bool         // paid from the advertiser's Credits, not from its cash
	Charged      money.Micros // impressions, clicks and verified conversions
	Refunded     money.Micros // refunded by claw-backs
	Unbacked     money.Micros // the part of the rest that the payer owes: see [Debt]
}

// Backed returns the part of the charges that releases Credits.
func (s CreditSource) Backed() money.Micros { return max(0, s.Charged-s.Refunded-s.Unbacked) }

// CreditLot holds Credits of one publisher and day that were released at one value.
type CreditLot struct {
	Value  money.Micros // of one Credit at the time of release
	Until  time.Time    // end of their hold, UTC; zero once they are spendable
	Long   bool         // a longer hold, because one advertiser paid for more than its share of the day
	Amount int64        // released and not taken back
	Left   int64        // of these, not spent; below 0 if spent ones were taken back
}

// Worth returns the value of the lot's Credits, including spent ones.
func (l CreditLot) Worth() money.Micros { return money.Micros(l.Amount) * l.Value }

// CreditDay holds the Credits that a publisher minted on a UTC day, and the charges that back them.
type CreditDay struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Minted      int64
	InCase      int64 // of these, in the account of the open quarantine case
	Gone        int64 // of these, expired or clawed back
	Moves       int64 // number of moves of the day's Credits; it numbers the transactions
	Frozen      bool  // the publisher has an open quarantine case: Credits can only be taken back
	// Rule is the rule of that case, where a store lists waiting days.
	Rule    traffic.QuarantineRule
	Sources []CreditSource
	Lots    []CreditLot
}

// Pending returns the number of Credits not released.
func (d *CreditDay) Pending() int64 {
	n := d.Minted - d.InCase - d.Gone
	for i := range d.Lots {
		n -= d.Lots[i].Amount
	}
	return n
}

// Cover returns the charges that back the day's released Credits.
func (d *CreditDay) Cover() (sum money.Micros) {
	for _, s := range d.Sources {
		sum += s.Backed()
	}
	return sum
}

// Worth returns the value of the day's released Credits.
func (d *CreditDay) Worth() (sum money.Micros) {
	for _, l := range d.Lots {
		sum += l.Worth()
	}
	return sum
}

// spread returns the part of the cover without the excess of advertisers' families beyond their
// share of the day.
func (d *CreditDay) spread() (sum money.Micros) {
	share := d.Cover() / concentrated
	paid := make(map[uuid.UUID]money.Micros, len(d.Sources))
	for _, s := range d.Sources {
		paid[cmp.Or(s.Family, s.AdvertiserID)] += s.Backed()
	}
	for _, amount := range paid {
		sum += min(amount, share)
	}
	return sum
}

// CreditRules are the settings for the release of Credits.
type CreditRules struct {
	Value    money.Micros  // of one Credit (ADNET_CREDIT_VALUE_USD), > 0
	Hold     time.Duration // of released Credits (ADNET_CREDIT_HOLD); 0 for no hold
	LongHold time.Duration // of Credits for which one family pays beyond a quarter of the day; at least Hold
	Now      time.Time     // UTC
}

// CreditMoves is the day after [CreditRules.Move] with the transactions of the move. Emptied lots
// are still listed, with Amount and Left 0.
type CreditMoves struct {
	CreditDay
	Written []Transaction
}

// Move updates a publisher's day: it takes back Credits that charges no longer back, releases
// Credits that charges back, ends expired holds and destroys old pending Credits. It is pure. If
// there is nothing to do, it writes nothing and returns the day unchanged.
//
// Guarantee: afterwards the worth of the day's released Credits, each at the value of its release,
// is at most the day's backed charges. Summed over all publishers and days this is the guarantee
// that adnet verify checks. Charges paid with Credits count like charges paid with cash: these
// Credits are spent and stay on the other side of the inequality. So a reused Credit yields at most
// one Credit again, and spendable Credits never exceed the cash paid.
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

// takeBack moves Credits back to pending until the rest is backed: first held ones, longest hold
// first, then spendable ones. Spent Credits leave a debt: the publisher's balance falls below zero.
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

// normal returns the worth of the released Credits without the long hold.
func (m *mover) normal() (sum money.Micros) {
	for _, l := range m.day.Lots {
		if !l.Long {
			sum += l.Worth()
		}
	}
	return sum
}

// shorten replaces the long hold of Credits with the normal one when more advertisers pay for the
// day.
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

// release moves pending Credits that are backed by charges.
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

// holdSteps is the number of steps in a hold. Credits whose holds end in the same step form one
// lot, so that a publisher has about 24 lots a day instead of one per release.
const holdSteps = 7 * 24

// until returns the end of a hold that begins now, rounded up to its step, or zero without a hold.
func (m *mover) until(hold time.Duration) time.Time {
	if hold <= 0 {
		return time.Time{}
	}
	step := max(hold/holdSteps, time.Microsecond)
	return m.rules.Now.UTC().Add(hold).Truncate(step).Add(step).Truncate(time.Microsecond)
}

// mature makes Credits spendable after the end of their hold.
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

// ExpiredBefore returns the day before which pending Credits are destroyed at now.
func ExpiredBefore(now time.Time) day.Day { return day.Of(now.Add(-PendingLife)) }

// expire destroys pending Credits that have waited too long.
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

// add merges a lot into one of the same kind, or appends it.
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

// move writes a transaction with the entries that are not zero.
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

// PaidDay is the amount that one payer was charged for one publisher's day.
type PaidDay struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Charged     money.Micros // less refunds of claw-backs
	Unbacked    money.Micros
}

// Debt assigns a payer's debt to its charges, newest first: these are the charges that the missing
// money did not cover. It returns the days whose Unbacked changes, with the new value, and the part
// of the debt assigned to all days.
//
// A payer with cash owes the amount by which money taken back by providers (refunds, disputes)
// brings its balance below zero. A payer with Credits owes the amount by which its Credits are
// below zero, at the value of their release. Charges to an account that may run into debt
// (ADNET_PREPAID=off) create no debt here: the operator grants credit to it.
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

// CompareNewest defines the order of the days in [Debt].
func (d PaidDay) CompareNewest(o PaidDay) int {
	return cmp.Or(cmp.Compare(o.Day, d.Day), compareIDs(d.DeveloperID, o.DeveloperID))
}

// CreditDebt returns the worth of Credits that a publisher spent and that were later taken back. It
// is 0 while its spendable lots together are above zero.
func CreditDebt(lots []CreditLot) money.Micros {
	var sum money.Micros
	for _, l := range lots {
		if l.Until.IsZero() {
			sum -= money.Micros(l.Left) * l.Value
		}
	}
	return max(0, sum)
}

// FundingLot is a lot of a publisher's spendable Credits, as used to fund a campaign.
type FundingLot struct {
	Day   day.Day
	Value money.Micros
	Left  int64
}

// Fund takes Credits for a budget from a publisher's spendable lots, in order. A Credit pays for
// value, but for no more than its worth at release: a higher setting does not raise the worth of
// old Credits. It returns the number taken from each lot, their sum, and false if there are too few
// Credits.
func Fund(budget, value money.Micros, lots []FundingLot) (take []int64, sum int64, enough bool) {
	take = make([]int64, len(lots))
	available := int64(0)
	for _, l := range lots {
		available += l.Left // lots below zero are debts, which are settled first
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

// InsufficientCredits returns the error for a budget that exceeds the lots.
func InsufficientCredits(budget, value money.Micros, lots []FundingLot) error {
	available := int64(0)
	for _, l := range lots {
		available += l.Left
	}
	return errs.New(errs.InsufficientCredit, "not enough Credits").
		With("available", max(0, available)).With("requested", int64((budget+value-1)/value))
}

// CreditCheck compares the worth of Credits with the charges that back them.
func CreditCheck(worth, backed int64) Check {
	return Check{
		Name: CheckCredits, Want: worth, Got: min(worth, backed),
		Detail: "charges, less claw-backs and debts: " + money.Micros(backed).String() + " USD",
	}
}

// CreditRun counts the results of one run of the release.
type CreditRun struct {
	Days      int   // publisher days processed
	Released  int64 // Credits
	Available int64 // Credits whose hold ended, or without a hold
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

// Add counts the transactions of a day.
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

// MeanCharge is the total that advertisers were charged for publishers' traffic of some days, with
// the number of impressions.
type MeanCharge struct {
	Charged     money.Micros
	Impressions int64
}
