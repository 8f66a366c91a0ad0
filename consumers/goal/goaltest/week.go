// Package goaltest plays the control of goals against a simulated market.
package goaltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"adnet/auction/ranker"
	"adnet/consumers/goal"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// market is a simulated week of requests for which a campaign is a candidate. The ranking's
// predictions are off by a drifting factor, rivals' bids drift and follow the time of day, and
// conversions arrive hours after their impressions.
type market struct {
	rng      *rand.Rand
	table    ranker.Table
	campaign campaign.Campaign
	perMin   float64
	rival    float64 // the median of the highest other bid, USD CPM
	right    float64 // true ÷ predicted conversions at the start
	drift    float64 // of its logarithm, over the week
	wave     float64
	learns   bool
}

const weekMinutes = 7 * 24 * 60

// truth returns true ÷ predicted conversions at a minute.
func (m *market) truth(minute int) float64 {
	at := float64(minute) / weekMinutes
	return m.right * math.Exp(m.drift*at+m.wave*math.Sin(2*math.Pi*at*2.3))
}

// traffic returns the expected requests of a minute.
func (m *market) traffic(minute int) float64 {
	return m.perMin * (1 + 0.6*math.Sin(2*math.Pi*float64(minute)/1440))
}

// request draws the relevance of a request and the highest other bid.
func (m *market) request(minute int) (ranker.PPM, money.Micros) {
	r := ranker.PPM(600_000 + m.rng.Int64N(400_000))
	rival := m.rival * math.Exp(0.7*m.rng.NormFloat64()+0.25*math.Sin(2*math.Pi*float64(minute)/1440+1))
	return r, money.Micros(rival * float64(money.USD))
}

// newMarket draws a campaign and its market.
func newMarket(seed uint64) *market {
	rng := rand.New(rand.NewPCG(seed, 13))
	m := &market{
		rng: rng, table: ranker.Version2(), perMin: 15 + 60*rng.Float64(),
		right: math.Exp(0.35 * rng.NormFloat64()), drift: 0.4 * (2*rng.Float64() - 1), wave: 0.2 * rng.Float64(),
	}
	target := money.Micros((3 + 9*rng.Float64()) * float64(money.USD))
	m.rival = float64(target) / 1e6 * 0.35 * math.Exp(0.4*rng.NormFloat64())
	m.campaign = campaign.Campaign{
		BillingModel: campaign.CPM, Goal: campaign.GoalTargetCPA, TargetCPA: target, BidAmount: campaign.MaxBid,
		DailyBudget: 100 * target, TotalBudget: 1000 * target,
	}
	m.campaign.Normalize()
	return m
}

// played is the result of a week.
type played struct {
	spend       money.Micros
	conversions int64
	expected    float64 // conversions, without chance
	overspent   money.Micros
	aboveBid    int
	published   int
}

func (p *played) costs(target money.Micros) float64 {
	return float64(p.spend) / float64(max(1, p.conversions)) / float64(target)
}

// play runs the production control over the week.
func (m *market) play() (out played) {
	c := &m.campaign
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	s := goal.Begin(c, at)
	known := map[int]int64{} // conversions by the minute of their arrival
	for minute := range weekMinutes {
		if minute%1440 == 0 {
			c.SpentToday = 0
		}
		at = at.Add(time.Minute)
		came := goal.Totals{Conversions: known[minute]}
		came.Spend = m.minute(minute, known, &out)
		var next campaign.Pursuit
		if s, next = s.Step(c, came, at); goal.Differs(&c.Pursuit, &next) {
			out.published++
			c.Pursuit = next
			c.Normalize()
		}
	}
	return out
}

// minute runs the auctions of a minute and returns their cost.
func (m *market) minute(minute int, known map[int]int64, out *played) (spend money.Micros) {
	c := &m.campaign
	bid, aim := c.AuctionBid()
	truth := m.truth(minute)
	for range poisson(m.rng, m.traffic(minute)) {
		r, rival := m.request(minute)
		value := m.table.Value(ranker.CPM, bid, m.worth(aim, minute), r)
		if value > c.BidAmount {
			out.aboveBid++
		}
		price := ranker.CPM.Price(bid, value)
		if value <= rival || price > c.DailyBudget-c.SpentToday || price > c.TotalBudget-c.SpentTotal {
			continue
		}
		c.SpentToday += price
		c.SpentTotal += price
		spend += price
		p := m.chance(r) * truth
		out.expected += p
		if m.rng.Float64() < p {
			out.conversions++
			known[minute+1+int(m.rng.ExpFloat64()*120)]++
		}
	}
	out.spend += spend
	out.overspent += max(0, c.SpentToday-c.DailyBudget)
	return spend
}

// worth returns the value of an aim in auctions. From the middle of a week with learning on,
// weights know the campaign's conversion rate, at most half as high again as before.
func (m *market) worth(aim money.Micros, minute int) money.Micros {
	if !m.learns || minute < weekMinutes/2 {
		return aim
	}
	learnt := m.truth(weekMinutes / 4)
	return money.Micros(float64(aim) * max(1/1.5, min(1.5, learnt)))
}

// chance returns the predicted probability of a conversion after an impression.
func (m *market) chance(r ranker.PPM) float64 {
	return float64(m.table.PClick(r)) * float64(m.table.PConvert(r)) / 1e12
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for p := rng.ExpFloat64(); p < mean; p += rng.ExpFloat64() {
		n++
	}
	return n
}

// hindsight returns the expected conversions of the best fixed multiplier that meets the target,
// chosen with full knowledge of every tenth minute of the week.
func (m *market) hindsight() (best float64) {
	w := *m
	w.rng = rand.New(rand.NewPCG(7, 7))
	var fixed [25]struct{ factor, conversions, spend, today float64 }
	for i := range fixed {
		fixed[i].factor = math.Exp(float64(i-12) / 10)
	}
	for minute := 0; minute < weekMinutes; minute += 10 {
		for range poisson(w.rng, w.traffic(minute)) {
			r, rival := w.request(minute)
			p := w.chance(r)
			for i := range fixed {
				f := &fixed[i]
				value := f.factor * float64(m.campaign.TargetCPA) * p * 1000
				if value > float64(rival) && f.today+value/100 <= float64(m.campaign.DailyBudget) {
					f.today += value / 100
					f.spend += value / 100
					f.conversions += 10 * p * w.truth(minute)
				}
			}
		}
		if minute%1440 == 1430 {
			for i := range fixed {
				fixed[i].today = 0
			}
		}
	}
	for _, f := range fixed {
		if f.spend <= f.conversions*float64(m.campaign.TargetCPA) {
			best = max(best, f.conversions)
		}
	}
	return best
}

// Week is the result of a week of campaigns with target_cpa.
type Week struct {
	Campaigns int
	// Costs holds the cost of a conversion ÷ target_cpa, ascending, of the campaigns with at least
	// [Enough] conversions. Within counts those that met the target within a tenth.
	Costs  []float64
	Within int
	// Value is the conversions of these campaigns ÷ those of the best fixed bids, chosen with full
	// knowledge of the week. ValueOfAll covers all campaigns. Conversions above the target price
	// count for as much as the money would have bought at the target.
	Value, ValueOfAll float64
	// Spend is the sum of all campaigns. Overspent is the excess over daily budgets, and AboveBid
	// counts auctions with more than the stated bid. Both must be 0.
	Spend, Overspent money.Micros
	AboveBid         int
	// Published counts the changes of a bid that were sent to nodes.
	Published int
}

// Enough is the number of conversions from which a campaign is judged by its target.
const Enough = 30

// TargetCPA plays a week of the given number of campaigns, always the same. With learns, conversion
// rates change in its middle.
func TargetCPA(campaigns int, learns bool) (w Week) {
	var brought, possible, all, allPossible float64
	for seed := range uint64(campaigns) {
		m := newMarket(seed)
		m.learns = learns
		if seed%20 == 19 {
			m.campaign.DailyBudget /= 20 // spent before noon
		}
		out := m.play()
		w.Spend += out.spend
		w.Overspent += out.overspent
		w.AboveBid += out.aboveBid
		w.Published += out.published
		target := m.campaign.TargetCPA
		worth, best := min(
			out.expected, out.expected*float64(target)*out.expected/float64(max(1, out.spend)),
		), m.hindsight()
		all, allPossible = all+worth, allPossible+best
		if out.conversions < Enough {
			continue
		}
		brought, possible = brought+worth, possible+best
		cost := out.costs(target)
		w.Costs = append(w.Costs, cost)
		if math.Abs(cost-1) <= 0.1 {
			w.Within++
		}
	}
	slices.Sort(w.Costs)
	w.Campaigns, w.Value, w.ValueOfAll = campaigns, brought/max(possible, 1), all/max(allPossible, 1)
	return w
}
