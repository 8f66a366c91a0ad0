package goal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// market is a simulated week of the requests that a campaign is a candidate for. The ranking
// foretells conversions by a factor wrong that drifts, rivals' bids drift and follow the time of
// day, and conversions are known hours after their impressions.
type market struct {
	rng      *rand.Rand
	table    ranker.Table
	campaign campaign.Campaign
	perMin   float64
	rival    float64 // the median of the highest other bid, USD CPM
	right    float64 // true ÷ foretold conversions at the start
	drift    float64 // of its logarithm, over the week
	wave     float64
}

const weekMinutes = 7 * 24 * 60

// truth is true ÷ foretold conversions at a minute.
func (m *market) truth(minute int) float64 {
	at := float64(minute) / weekMinutes
	return m.right * math.Exp(m.drift*at+m.wave*math.Sin(2*math.Pi*at*2.3))
}

// traffic is the expected requests of a minute.
func (m *market) traffic(minute int) float64 {
	return m.perMin * (1 + 0.6*math.Sin(2*math.Pi*float64(minute)/1440))
}

// request draws the relevance of a request and the highest other bid.
func (m *market) request(minute int) (ranker.PPM, money.Micros) {
	r := ranker.PPM(600_000 + m.rng.Int64N(400_000))
	rival := m.rival * math.Exp(0.7*m.rng.NormFloat64()+0.25*math.Sin(2*math.Pi*float64(minute)/1440+1))
	return r, money.Micros(rival * float64(money.USD))
}

// newMarket draws a campaign and its surroundings.
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

// played is what became of a week.
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
	s := begin(c, at)
	known := map[int]int64{} // conversions by the minute that they are known
	for minute := range weekMinutes {
		if minute%1440 == 0 {
			c.SpentToday = 0
		}
		at = at.Add(time.Minute)
		came := Totals{Conversions: known[minute]}
		came.Spend = m.minute(minute, known, &out)
		var next campaign.Pursuit
		if s, next = s.Step(c, came, at); differs(&c.Pursuit, &next) {
			out.published++
			c.Pursuit = next
			c.Normalize()
		}
	}
	return out
}

// minute holds the auctions of a minute and answers what they cost.
func (m *market) minute(minute int, known map[int]int64, out *played) (spend money.Micros) {
	c := &m.campaign
	bid, aim := c.Offer()
	truth := m.truth(minute)
	for range poisson(m.rng, m.traffic(minute)) {
		r, rival := m.request(minute)
		value := m.table.Value(ranker.CPM, bid, aim, r)
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

// chance is the foretold probability of a conversion after an impression.
func (m *market) chance(r ranker.PPM) float64 {
	return float64(m.table.PClick(r)) * float64(m.table.PConvert(r)) / 1e12
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for p := rng.ExpFloat64(); p < mean; p += rng.ExpFloat64() {
		n++
	}
	return n
}

// hindsight is the expected conversions of the best fixed multiplier that keeps to the target, chosen
// with the week known; from every tenth minute.
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

// A week of campaigns with target_cpa: what they pay on average, what they bring against the best
// that hindsight finds, and that nothing is overspent.
func TestWeekOfTargetCPA(t *testing.T) {
	const campaigns = 40
	var counted, within, published int
	var brought, possible, all, allPossible float64
	var costs []float64
	for seed := range uint64(campaigns) {
		m := newMarket(seed)
		if seed%20 == 19 {
			m.campaign.DailyBudget /= 20 // which is spent before noon
		}
		out := m.play()
		require.Zero(t, out.overspent)
		require.Zero(t, out.aboveBid)
		published += out.published
		// What cost more than the target counts for as much as the money would have brought at it.
		worth, best := min(out.expected, out.expected*float64(m.campaign.TargetCPA)*out.expected/float64(max(1, out.spend))), m.hindsight()
		all, allPossible = all+worth, allPossible+best
		if out.conversions < 30 {
			continue
		}
		brought, possible = brought+worth, possible+best
		counted++
		cost := out.costs(m.campaign.TargetCPA)
		costs = append(costs, cost)
		if math.Abs(cost-1) <= 0.1 {
			within++
		}
	}
	slices.Sort(costs)
	t.Logf("%d campaigns, %d with 30 conversions or more: %.1f %% within 10 %% of target_cpa (5th, 50th, 95th of a hundred: %.2f %.2f %.2f); value %.1f %% of hindsight (of all campaigns %.1f); %.0f changes published a campaign and day",
		campaigns, counted, 100*float64(within)/float64(counted), costs[len(costs)/20], costs[len(costs)/2], costs[len(costs)*19/20], 100*brought/possible, 100*all/allPossible, float64(published)/campaigns/7)
	require.Greater(t, counted, campaigns/2)
	require.GreaterOrEqual(t, float64(within)/float64(counted), 0.9)
	require.GreaterOrEqual(t, brought/possible, 0.85)
}
