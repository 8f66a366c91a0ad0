package auction_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

// attacked is a network of honest families and of attackers, who have a balance and are never
// charged for an act. Its votes and bounds are those that settled charges give.
type attacked struct {
	honest, attackers []auction.Campaign
	cash              map[auction.ID]money.Micros // of attackers
	open              map[auction.ID]money.Micros // reserved since the last verdict, by campaign
	campaigns         map[auction.ID]int64        // of a family that pay per act
	owed              owed.Input
	counters          map[auction.ID]int // place in the campaigns of owed
}

// drawAttacked draws a network of as many charged families.
func drawAttacked(t *rapid.T, charged int) *attacked {
	w := &attacked{
		cash: map[auction.ID]money.Micros{}, open: map[auction.ID]money.Micros{},
		campaigns: map[auction.ID]int64{}, counters: map[auction.ID]int{},
	}
	ballot := standing.Ballot{Reviewed: map[uuid.UUID]bool{}, Funded: map[uuid.UUID]bool{}}
	var trades []trade
	for _, name := range []string{"lamps", "insurance without tokens", "German", "Japanese"} {
		trades = append(trades, oneTrade[name])
	}
	first := rapid.Bool().Draw(t, "one trade")
	add := func(n int) {
		of := 0
		if !first {
			of = n % len(trades)
		}
		c := trades[of].of(n, 1, 0)[0]
		c.Bid = money.Micros(rapid.Int64Range(1, 9).Draw(t, "bid")) * money.USD
		w.honest = append(w.honest, c)
	}
	for n := range charged {
		add(n)
		amount := money.Micros(rapid.Int64Range(1, 40).Draw(t, "charged")) * money.USD / 4
		ballot.Charges = append(ballot.Charges, standing.Charge{
			Payer: uuid.UUID(id(n)), Publisher: uuid.UUID(id(900)), Amount: amount,
		})
		w.owed.Median = 3 * money.USD
	}
	for n := charged; n < charged+rapid.IntRange(1, 3).Draw(t, "new families"); n++ {
		add(n)
		ballot.Funded[uuid.UUID(id(n))] = true
		ballot.Reviewed[uuid.UUID(id(n))] = rapid.Bool().Draw(t, "reviewed")
	}
	alone := ballot.Count()
	w.attack(t)
	for i := range w.attackers {
		ballot.Funded[uuid.UUID(w.attackers[i].Advertiser)] = true
	}
	votes := ballot.Count()
	require.Equal(t, alone, votes, "a balance alone is no vote")
	for i := range w.honest {
		w.honest[i].Vote = uint32(standing.Rounded(votes.Advertisers[uuid.UUID(w.honest[i].Advertiser)]))
	}
	return w
}

// attack draws the attackers' campaigns. They say the words of a victim: all of them, some, one, or
// one misspelt, also with others.
func (w *attacked) attack(t *rapid.T) {
	for i := range rapid.IntRange(1, 40).Draw(t, "attackers") {
		family := id(stranger + i%rapid.IntRange(1, 40).Draw(t, "families"))
		victim := rapid.SampledFrom(w.honest).Draw(t, "victim")
		phrases := strings.Fields(victim.Headline + " " + victim.Subtext)
		c := auction.Campaign{
			ID: id(2*stranger + i), Advertiser: family, Headline: victim.Headline, Subtext: victim.Subtext,
			Targeting: &auction.Targeting{},
			Billing: rapid.SampledFrom(
				[]ranker.Billing{ranker.CPC, ranker.CPA, ranker.CPC, ranker.CPM},
			).Draw(t, "billing"),
			Bid: money.Micros(rapid.SampledFrom([]int64{1, 20, 300, 1000}).Draw(t, "bid")) * money.USD,
		}
		word := rapid.SampledFrom(phrases).Draw(t, "word")
		switch rapid.IntRange(0, 4).Draw(t, "says") {
		case 0:
			c.Headline, c.Subtext = word, ""
		case 1:
			c.Headline, c.Subtext = word+"s", ""
		case 2:
			c.Headline, c.Subtext = strings.Join(phrases[:1+len(phrases)/2], " "), "life weather rice"
		case 3:
			c.Targeting = &auction.Targeting{IntentTokens: []string{word, "meaning"}}
		}
		if c.Billing != ranker.CPM {
			w.campaigns[family]++
			w.counters[c.ID] = len(w.owed.Campaigns)
			billing := campaign.CPC
			if c.Billing == ranker.CPA {
				billing = campaign.CPA
			}
			w.owed.Campaigns = append(w.owed.Campaigns, owed.Campaign{
				ID: uuid.UUID(c.ID), Family: uuid.UUID(family), Billing: billing, Bid: c.Bid,
			})
		}
		w.cash[family] = money.USD
		w.attackers = append(w.attackers, c)
	}
}

// judge settles what was shown, and sets the bounds and ceilings of the attackers.
func (w *attacked) judge() index.Changes {
	clear(w.open)
	verdicts := owed.Judge(w.owed)
	for i := range w.attackers {
		c := &w.attackers[i]
		v, ok := verdicts[uuid.UUID(c.ID)]
		if !ok {
			continue
		}
		c.ClickRate, c.ConvertRate, c.Ceiling = uint32(v.ClickRate), uint32(v.ConvertRate), v.Ceiling
		c.Bound = map[campaign.Bound]index.Bound{
			campaign.Unproven: index.BoundUnproven, campaign.Behind: index.BoundBehind,
		}[v.Bound]
	}
	return index.Changes{Upsert: w.attackers}
}

// Check lets attackers show what their balance pays for, and what a family that was never charged
// may have reserved at a time.
func (w *attacked) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	switch {
	case !isStranger(c):
	case c.Billing == ranker.CPM && w.cash[c.Advertiser] < of.Price,
		c.Billing != ranker.CPM && w.open[c.ID]+worthOf(of) > owed.Open(w.campaigns[c.Advertiser], false):
		return auction.Budget
	}
	return ""
}

func (w *attacked) Undo(*auction.Campaign) {}

// worthOf returns what an ad counts for.
func worthOf(of auction.Valuation) money.Micros { return (of.EffectiveCPM + 999) / 1000 }

// displayed records an ad of an attacker, and returns what was not charged for it.
func (w *attacked) displayed(o *auction.Outcome) money.Micros {
	c := o.Winner
	if c.Billing == ranker.CPM {
		w.cash[c.Advertiser] -= o.Price
		return 0
	}
	w.owed.Campaigns[w.counters[c.ID]].Impressions++
	worth := worthOf(auction.Valuation{EffectiveCPM: o.EffectiveCPM})
	w.open[c.ID] += worth
	return worth
}

// However many families with a balance copy the words of others: while nothing is charged to them,
// they change no vote and no ad but those that they win themselves. What they win is paid for, or
// worth no more than the allowance of a family, a minute's reservations and a hundredth. Without a
// balance they change nothing.
func TestFamiliesThatAreNeverChargedChangeAConstant(t *testing.T) {
	requests := []string{
		"zebra lamp", "where can I buy a zebra lamp with warm light", "car insurance", "compare prices of a new car",
		"Ich suche ein Fahrrad für die Stadt", "シマウマのランプ", "what is the meaning of life", "warm", "light",
		"how do I cook rice for ten people", "recommend a lamp",
	}
	for _, charged := range []int{0, 1, 5, 20} {
		won := 0
		rapid.Check(t, func(t *rapid.T) {
			w := drawAttacked(t, charged)
			before := index.Build(ranker.Version2(), w.honest)
			after := before
			if rapid.Bool().Draw(t, "built together") {
				after = index.Build(ranker.Version2(), append(append([]auction.Campaign{}, w.honest...), w.attackers...))
			}
			free, bound := map[auction.ID]money.Micros{}, 0
			seed := rapid.IntRange(0, 1<<20).Draw(t, "seed") << 10
			const minutes, perMinute = 12, 20
			for minute := range minutes {
				after = after.Apply(w.judge())
				for n := range perMinute {
					at := minute*perMinute + n
					req := auction.Request{
						ID: id(seed + at), Words: terms(requests[(at*7+seed>>10)%len(requests)]),
						MinRelevance: ranker.DefaultFloor,
					}
					want := auction.Decide(&req, before, nil, new(auction.Scratch))
					got := auction.Decide(&req, after, broke{}, new(auction.Scratch))
					require.Equal(t, winnerID(want), winnerID(got))
					require.Equal(t, want.Price, got.Price)
					require.Equal(t, want.Prediction, got.Prediction)
					paid := auction.Decide(&req, after, w, new(auction.Scratch))
					if !isStranger(paid.Winner) {
						require.Equal(t, winnerID(want), winnerID(paid))
						require.Equal(t, want.Price, paid.Price)
						continue
					}
					won++
					require.GreaterOrEqual(t, paid.EffectiveCPM, want.EffectiveCPM)
					worth := w.displayed(&paid)
					if paid.Winner.Bound != index.BoundNone {
						bound++
						continue
					}
					free[paid.Winner.Advertiser] += worth
				}
			}
			for family, worth := range free {
				// The verdict counts by the network's rates, which ads that fit exceed by a third,
				// and which ads without acts lower to half at most.
				require.LessOrEqual(t, worth, 4*owed.Allowance, family)
			}
			require.LessOrEqual(t, bound, 12, "a hundredth of %d, by chance", minutes*perMinute)
		})
		require.Positive(t, won, "attackers win something in a network of %d", charged)
	}
}
