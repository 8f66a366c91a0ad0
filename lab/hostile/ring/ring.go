// Package ring plays a month of a patient ring of accounts against the real rules, in process and
// on a clock of its own: its publishers show its advertisers' ads, its readers click them, its
// Credits buy more ads, and the same advertisers' ads run at honest publishers, where nobody ever
// clicks them.
//
// Everything but the readers is the code of production: auctions, settlement, the release of
// Credits, families, standings, and quarantine, on the store of the in-memory mode.
//
// What a ring takes out is compared with what it pays in. Two sums are allowed for, because the
// bounds of [adnet/internal/ledger/owed] allow them to everyone: what each family may show before its
// first charged act, and, for each campaign with charged acts, what it may show beyond its charges
// before it is behind ([owed.Tolerance]). A campaign that pays for a few acts at publishers of the
// ring is shown for that much elsewhere, once. It is no rate but a constant, and what one campaign
// leaves of it does not count for another.
package ring

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/money"
)

// Strategy is what a ring does.
type Strategy struct {
	Name string
	// Families is the number of families that its accounts fall into: 1 if adnet finds all.
	Families int
	// Advertisers and Publishers are its accounts.
	Advertisers, Publishers int
	// Billing and Bid are those of its campaigns. vcpm pays for views.
	Billing campaign.BillingModel
	Bid     money.Micros
	// Clicks is the rate of its readers' clicks ÷ the usual one. A conversion follows as often.
	Clicks float64
	// Age is the number of days before it competes at honest publishers. Until then it only buys
	// from itself.
	Age int
	// Own is the number of its publishers' requests ÷ those of honest ones.
	Own float64
	// Foreign is the share of its own requests for which honest campaigns compete.
	Foreign float64
	// Spends reports whether its Credits buy ads.
	Spends bool
	// Reviewed reports whether a person approved its campaigns.
	Reviewed bool
	// Server reports whether the servers of its publishers report clicks and views, not readers.
	Server bool
	// Views reports whether the campaigns of others that pay for impressions pay for views.
	Views bool
}

// Strategies are those that a run plays.
func Strategies() []Strategy {
	return []Strategy{
		{
			Name: "is never charged, per click", Families: 8, Advertisers: 8, Publishers: 1, Billing: "cpc",
			Bid: 2 * money.USD,
		},
		{
			Name: "is never charged, per conversion, reviewed", Families: 8, Advertisers: 8, Publishers: 1,
			Billing: "cpa",
			Bid:     100 * money.USD, Reviewed: true,
		},
		{
			Name: "buys from itself", Families: 6, Advertisers: 3, Publishers: 3, Billing: "cpc", Bid: money.USD,
			Clicks: 2,
			Own:    0.5, Spends: true, Age: 30,
		},
		{
			Name: "ages a week, then competes", Families: 6, Advertisers: 3, Publishers: 3, Billing: "cpc",
			Bid: money.USD / 2, Clicks: 2, Own: 0.5, Spends: true, Age: 7,
		},
		{
			Name: "ages two weeks, as one family", Families: 1, Advertisers: 3, Publishers: 3, Billing: "cpc",
			Bid: money.USD / 3, Clicks: 2, Own: 0.3, Foreign: 0.3, Spends: true, Age: 14, Reviewed: true,
		},
		{
			Name: "pays per conversion", Families: 4, Advertisers: 2, Publishers: 2, Billing: "cpa",
			Bid:    10 * money.USD,
			Clicks: 2, Own: 0.5, Spends: true, Age: 7,
		},
		{
			Name: "also shows others' ads", Families: 6, Advertisers: 3, Publishers: 3, Billing: "cpc",
			Bid:    money.USD / 2,
			Clicks: 2, Own: 0.5, Foreign: 0.5, Spends: true, Age: 10,
		},
		{
			Name: "pays for impressions", Families: 6, Advertisers: 3, Publishers: 3, Billing: "cpm",
			Bid:    4 * money.USD,
			Clicks: 2, Own: 0.5, Foreign: 0.3, Spends: true, Age: 7,
		},
		{
			Name: "pays for views that its servers report", Families: 10, Advertisers: 4, Publishers: 6,
			Billing: "vcpm",
			Bid:     6 * money.USD, Clicks: 2, Own: 0.5, Foreign: 0.5, Spends: true, Age: 7, Server: true, Views: true,
		},
		{
			Name: "has 50 accounts", Families: 50, Advertisers: 25, Publishers: 25, Billing: "cpc", Bid: money.USD / 2,
			Clicks: 2, Own: 0.5, Foreign: 0.2, Spends: true, Age: 7,
		},
	}
}

// Drawn draws a strategy of 5 to 50 accounts.
func Drawn(rng *rand.Rand) Strategy {
	accounts := 5 + rng.IntN(46)
	s := Strategy{
		Advertisers: 1 + rng.IntN(accounts-1), Families: 1 + rng.IntN(accounts), Clicks: 1 + rng.Float64(),
		Age: rng.IntN(25), Own: 0.1 + 0.6*rng.Float64(), Spends: rng.IntN(4) > 0, Reviewed: rng.IntN(2) == 0,
		Server: rng.IntN(2) == 0, Views: rng.IntN(2) == 0,
	}
	s.Publishers = accounts - s.Advertisers
	if rng.IntN(2) == 0 {
		s.Foreign = rng.Float64()
	}
	models := []campaign.BillingModel{campaign.CPC, campaign.CPA, campaign.CPM, campaign.VCPM}
	s.Billing = models[rng.IntN(len(models))]
	least := map[campaign.BillingModel]money.Micros{
		campaign.CPC: money.USD / 4, campaign.CPA: 8 * money.USD,
		campaign.CPM: 2 * money.USD, campaign.VCPM: 3 * money.USD,
	}[s.Billing]
	s.Bid = least + money.Micros(rng.Int64N(int64(5*least)))
	s.Name = fmt.Sprintf("has %d accounts in %d families, %d of them advertisers with %s", accounts, s.Families,
		s.Advertisers, s.Billing)
	return s
}

// Outcome is the balance of a month, in micro-USD.
type Outcome struct {
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	// Paid is the cash charged to its advertisers.
	Paid money.Micros `json:"paid"`
	// Bought is the part of the charges that its Credits paid for.
	Bought money.Micros `json:"bought_with_credits"`
	// Credits is the value of the Credits that it could spend at the end, or soon.
	Credits money.Micros `json:"credits"`
	// Elsewhere is the value of its ads at honest publishers: their price where impressions or
	// views are paid, else as auctions valued them, without those of bound campaigns, whose number
	// is Held.
	Elsewhere money.Micros `json:"shown_elsewhere"`
	Held      int          `json:"ads_of_bound_campaigns"`
	// Others is the sum that other advertisers were charged for its publishers' traffic, and Fair
	// that for as many ads at honest publishers.
	Others money.Micros `json:"others_charged"`
	Fair   money.Micros `json:"fair_price"`
	chance float64      // sum of the squares of the charges in Others: their variance
	// Allowance is what its families may show before their first charged act, with the ads of the
	// time until that is computed, and Tolerated what its campaigns with charged acts were shown
	// for beyond their charges, each for no more than its [owed.Tolerance].
	Allowance money.Micros `json:"allowance"`
	Tolerated money.Micros `json:"tolerated"`
	// Refused is the number of clicks and views of its servers above the network's rates.
	Refused int `json:"acts_above_the_rate"`
	// Cases is the number of its publishers in quarantine at the end.
	Cases int `json:"cases"`
	// Requests is the number of requests of honest publishers.
	Requests int `json:"requests"`
}

func (o *Outcome) addOthers(charge money.Micros) {
	o.Others += charge
	o.chance += float64(charge) * float64(charge)
}

// Takes returns what the ring takes out: ads at others' publishers beyond the constants, and
// Credits.
func (o *Outcome) Takes() money.Micros {
	return max(0, o.Elsewhere-o.Allowance-o.Tolerated) + o.Credits
}

// Pays returns what it pays in, with the price of the ads of others that its publishers showed.
func (o *Outcome) Pays() money.Micros { return o.Paid + o.Others }

// Breach returns which rule the outcome violates; empty for none.
func (o *Outcome) Breach() string {
	switch {
	case o.Takes() > o.Pays():
		return fmt.Sprintf("a patient ring takes out %s USD and pays in %s USD", o.Takes(), o.Pays())
	case o.Held*100 > o.Requests:
		return fmt.Sprintf("bound campaigns were shown in %d of %d requests", o.Held, o.Requests)
	// A few conversions, which advertisers report themselves, are three times as many by chance.
	case float64(o.Others)-3*math.Sqrt(o.chance) > 3*float64(o.Fair):
		return fmt.Sprintf("a patient ring costs others %s USD for ads worth %s USD", o.Others, o.Fair)
	}
	return ""
}

// Month plays a month. Errors: those of the stores.
func Month(ctx context.Context, s Strategy, seed uint64) (Outcome, error) {
	m := newMonth(s, rand.New(rand.NewPCG(seed, 31)))
	m.out.Strategy, m.out.Seed = s.Name, seed
	if err := m.populate(ctx); err != nil {
		return m.out, err
	}
	for range 30 * ticks {
		if err := m.tick(ctx); err != nil {
			return m.out, err
		}
	}
	return m.out, m.balance(ctx)
}

// balance sums what the ring has and paid at the end.
func (m *month) balance(ctx context.Context) error {
	for _, a := range m.ring {
		b, err := m.store.Ledger.CreditBalance(ctx, a.developer)
		if err != nil {
			return err
		}
		m.out.Credits += money.Micros(b.Spendable+b.Held) * creditValue
		m.out.Credits -= money.Micros(m.spent[a.developer]) * creditValue
		open, err := m.store.Publishers.Quarantines(
			ctx, ledger.QuarantineQuery{Developer: a.developer, Open: true, Limit: 1},
		)
		if err != nil {
			return err
		}
		m.out.Cases += len(open)
	}
	for _, c := range m.campaigns {
		if !c.ring {
			continue
		}
		now, err := m.store.Campaigns.Campaign(ctx, c.id)
		if err != nil {
			return err
		}
		m.out.Paid += now.SpentTotal
		m.out.Elsewhere += c.displayed
		if c.acts > 0 && !c.billing.Thousands() {
			beyond := max(0, c.displayed-c.charged)
			m.out.Tolerated += min(beyond, owed.Tolerance(c.acts, c.charged/money.Micros(c.acts)))
		}
	}
	m.out.Paid = max(0, m.out.Paid-m.out.Bought)
	if m.shownAt[0] > 0 {
		m.out.Fair = money.Micros(int64(m.chargedAt) / int64(m.shownAt[0]) * int64(m.shownAt[1]))
	}
	return nil
}
