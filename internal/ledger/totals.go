package ledger

import (
	"fmt"
	"maps"
	"strings"

	"adnet/internal/money"
)

// Totals sums applied outcomes. Another store of the same events must have the same sums.
type Totals struct {
	Rows      int64
	Charge    money.Micros
	Minted    money.Credits
	ByVerdict map[Verdict]int64
}

// Billable is the value of a store's unique charged events at the prices of their auctions.
type Billable struct {
	// Worth sums, once per auction and event type, the price of each charged event, or the charge
	// if a budget or balance cut it below the price. The ledger's charges must equal it.
	Worth money.Micros
	// Cut is the number of events charged less than their price.
	Cut int64
}

// Add counts one unique charged event.
func (b *Billable) Add(price, charge money.Micros) {
	b.Worth += min(price, charge)
	if charge < price {
		b.Cut++
	}
}

// Add counts outcomes.
func (t *Totals) Add(outcomes []Outcome) {
	if t.ByVerdict == nil {
		t.ByVerdict = make(map[Verdict]int64)
	}
	t.Rows += int64(len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		t.Charge += o.Charge
		t.Minted += o.Minted
		t.ByVerdict[o.Verdict]++
	}
}

// WithoutEarly returns the sums without early events, which have no row in the analytics store.
func (t *Totals) WithoutEarly() Totals {
	rest := *t
	rest.ByVerdict = maps.Clone(t.ByVerdict)
	rest.Rows -= rest.ByVerdict[VerdictEarly]
	delete(rest.ByVerdict, VerdictEarly)
	return rest
}

// Marked returns the number of outcomes that used up a deduplication key. Each of them must have
// left exactly one first-time mark in the store.
func (t *Totals) Marked() int64 {
	var n int64
	for v, count := range t.ByVerdict {
		if v.Marked() {
			n += count
		}
	}
	return n
}

// Marked reports whether a record with this verdict was the first of its key. Unverified or invalid
// records never reach deduplication, and duplicates found the mark of another record.
func (v Verdict) Marked() bool {
	switch v {
	case Duplicate, VerdictExpired, VerdictUnsigned, VerdictForged, Poison, VerdictEarly:
		return false
	}
	return !strings.HasPrefix(string(v), string(InvalidTraffic))
}

// Balanced fails unless t has entries, none of them zero, that sum to zero in every asset.
func (t *Transaction) Balanced() error {
	if len(t.Entries) == 0 {
		return fmt.Errorf("ledger transaction %s (%s) has no entries", t.ID, t.Kind)
	}
	sums := make(map[Asset]int64, 1)
	for _, e := range t.Entries {
		if e.Amount == 0 {
			return fmt.Errorf("ledger transaction %s (%s) moves nothing on %s", t.ID, t.Kind, e.Account)
		}
		sums[e.Asset] += e.Amount
	}
	for asset, sum := range sums {
		if sum != 0 {
			return fmt.Errorf("ledger transaction %s (%s) does not sum to zero: %d %s", t.ID, t.Kind, sum, asset)
		}
	}
	return nil
}

// VerifyOptions selects the guarantees that apply to this installation.
type VerifyOptions struct {
	Prepaid bool // cash campaigns never spend more than their deposits (ADNET_PREPAID=required)
}

// The names of the checks of a verification, the same in every store.
const (
	CheckSumUSD         = "ledger sums to zero, micro-USD"
	CheckSumCredit      = "ledger sums to zero, Credits"
	CheckTransactions   = "every transaction has entries that sum to zero"
	CheckBalances       = "balances equal the sum of their entries"
	CheckChargeVerdicts = "charges in the ledger equal charges in the verdicts, micro-USD"
	CheckChargeDays     = "charges in the ledger equal the daily spend, micro-USD"
	CheckChargeTotals   = "charges in the ledger equal the campaign totals, micro-USD"
	CheckCampaigns      = "campaigns whose ledger, daily spend and total agree"
	CheckChargedOK      = "only accepted events were charged"
	CheckChargedUnique  = "charged events were unique"
	CheckMinted         = "Credits minted equal valid impressions"
	CheckMintedUnique   = "minting impressions were unique"
	CheckCredits        = "value of spendable, held and spent Credits that charges back, micro-USD"
	CheckCreditDays     = "publisher days that released Credits worth more than their charges"
	CheckCreditLots     = "publishers whose released Credits equal their balances"
	CheckMarks          = "deduplication marks equal first-time events"
	CheckDailyBudget    = "campaign days above the daily budget"
	CheckTotalBudget    = "campaigns above the total budget"
	CheckClawbacks      = "claw-backs that name all that they take back"
	CheckReversed       = "movements of which more was taken back than they moved"
	CheckReopened       = "claw-backs in the ledger equal what was given back to budgets, micro-USD"
	CheckPrepaid        = "prepaid balances below zero by more than was refunded"
	CheckDeposits       = "deposits less refunds in the ledger equal the payments reported, micro-USD"
	CheckGaps           = "gaps and overlaps between applied ranges"
	CheckRecords        = "records applied equal records claimed"
	CheckOffsets        = "partitions whose applied ranges end at the stored offset"
	CheckArchive        = "partitions whose archive is not ahead of settlement"
	CheckDead           = "dead letters equal poison verdicts"
	CheckChain          = "accounts whose hash chain is whole, from the first entry to the balance"
	CheckBids           = "campaigns that an event was charged above the highest bid they ever had"
	CheckRights         = "rights of the application's role to change the ledger"
)

// Follows reports whether checks fail only in lines that catch up with the ledger within the next
// run of the release.
func Follows(checks []Check) bool {
	behind := false
	for _, c := range checks {
		if c.OK() {
			continue
		}
		if c.Name != CheckCredits && c.Name != CheckCreditDays {
			return false
		}
		behind = true
	}
	return behind
}

// Tally counts the outcomes with an effect, for comparison with the deduplication marks.
type Tally struct {
	Charged   int64 // outcomes with a charge
	ChargedOK int64 // of these, with the verdict that allows a charge
	Minting   int64 // outcomes that minted
}

// Add counts outcomes.
func (t *Tally) Add(outcomes []Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		if o.Charge != 0 {
			t.Charged++
			if o.Verdict == OK {
				t.ChargedOK++
			}
		}
		if o.Minted != 0 {
			t.Minting++
		}
	}
}
