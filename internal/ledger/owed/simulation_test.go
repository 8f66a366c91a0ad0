package owed

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// market is a network in which campaigns are judged every minute and shown meanwhile.
type market struct {
	rng      *rand.Rand
	in       Input
	verdicts map[uuid.UUID]Result
	archived map[uuid.UUID]bool
}

func newMarket(seed uint64) *market {
	return &market{
		rng: rand.New(rand.NewPCG(seed, 31)), verdicts: map[uuid.UUID]Result{}, archived: map[uuid.UUID]bool{},
		in: Input{Median: 5 * money.USD, Families: map[uuid.UUID]Family{}, Campaigns: network()},
	}
}

// show shows campaign i so many times, in a hundredth if it is bound. Its acts are rate times as
// frequent as the network's. It returns the impressions and the worth of those of a campaign that
// is not bound, as auctions value them.
func (m *market) show(i int, requests int64, rate float64) (views int64, value money.Micros) {
	c := &m.in.Campaigns[i]
	v := m.verdicts[c.ID]
	views = requests
	if v.Bound != "" {
		views = int64(float64(requests)/100 + m.rng.Float64())
	}
	clicks := poisson(m.rng, float64(views*FirstClick)/1e6)
	acts := min(clicks, poisson(m.rng, rate*float64(clicks*FirstConvert)/1e6))
	c.Impressions += views
	c.Clicks += clicks
	c.Acts += acts
	c.Conversions += acts
	c.Charged += money.Micros(acts) * c.Bid
	if v.Bound != "" {
		return views, 0
	}
	expected := part(times(views, FirstClick), FirstConvert)
	if v.ClickRate > 0 {
		expected = part(part(expected, v.ClickRate), v.ConvertRate)
	}
	value = worth(expected, c.Bid)
	if v.Ceiling > 0 {
		value = min(value, money.Micros(mulDiv(int64(v.Ceiling), views, 1000)))
	}
	return views, value
}

func (m *market) bid() money.Micros {
	return money.Micros(1 + m.rng.Int64N(1000*int64(money.USD))>>m.rng.IntN(20))
}

// turn archives campaign i or changes what it pays for.
func (m *market) turn(i int) {
	c := &m.in.Campaigns[i]
	if m.rng.IntN(4) == 0 {
		m.archived[c.ID] = true
		return
	}
	models := []campaign.BillingModel{campaign.CPC, campaign.CPA, campaign.CPM}
	before, bid := Former{c.Billing, c.Bid}, m.bid()
	c.Billing = models[m.rng.IntN(len(models))]
	c.Former = slices.DeleteFunc(slices.Clone(c.Former), func(f Former) bool {
		if f.Billing == c.Billing {
			bid = max(bid, f.Bid)
		}
		return f.Billing == c.Billing || f.Billing == before.Billing
	})
	if before.Billing != campaign.CPM && before.Billing != c.Billing {
		c.Former = append(c.Former, before)
	}
	if c.Bid = bid; before.Billing == c.Billing {
		c.Bid = max(bid, before.Bid)
	}
}

func (m *market) judge() { m.verdicts = Judge(m.in) }

// Whoever is never charged gets a constant for each family that a person looked at, whatever it
// bids, however many campaigns and accounts it makes, archives and makes anew, and whatever they
// pay for in turn: here with the ads of a minute, after which it is judged, and besides the
// hundredth in which bound campaigns are shown.
func TestNeverChargedIsOwedAConstant(t *testing.T) {
	for seed := range uint64(40) {
		m := newMarket(seed)
		families := 1 + m.rng.IntN(6)
		reviewed, minute := 0, money.Micros(0)
		for f := range families {
			of := Family{Since: time.Unix(int64(f), 0), Reviewed: m.rng.IntN(2) == 0}
			if f > 0 && m.rng.IntN(2) == 0 {
				of.BoundTo = id(m.rng.IntN(f))
			}
			if of.Reviewed {
				reviewed++
			}
			m.in.Families[id(f)] = of
		}
		first := len(m.in.Campaigns)
		var got money.Micros
		m.judge()
		for range 300 {
			if len(m.in.Campaigns)-first < 200 && m.rng.IntN(2) == 0 { // another campaign
				n := len(m.in.Campaigns)
				m.in.Campaigns = append(m.in.Campaigns, Campaign{
					ID: id(n), Family: id(m.rng.IntN(families)),
					Billing: []campaign.BillingModel{campaign.CPA, campaign.CPC}[m.rng.IntN(2)], Bid: m.bid(),
				})
				m.judge()
			}
			if n := len(m.in.Campaigns) - first; n > 0 && m.rng.IntN(3) == 0 {
				m.turn(first + m.rng.IntN(n))
				m.judge()
			}
			sum := money.Micros(0)
			for i := first; i < len(m.in.Campaigns); i++ {
				c := &m.in.Campaigns[i]
				if c.Billing == campaign.CPM || m.archived[c.ID] { // impressions would be charged
					continue
				}
				_, value := m.show(i, m.rng.Int64N(5), 0)
				c.Clicks, c.Acts, c.Charged = 0, 0, 0
				sum += value
			}
			got += sum
			minute = max(minute, sum)
			m.judge()
		}
		unreviewed := families - reviewed
		most := money.Micros(reviewed)*ReviewedAllowance + money.Micros(unreviewed)*Allowance
		require.LessOrEqual(t, got, most+money.Micros(families)*minute, "seed %d, %d families", seed, families)
		require.NotZero(t, got)
	}
}

// Honest campaigns whose rates lie within half and twice the network's are shown nearly as often as
// without any bound: 100 networks of 20 campaigns.
func TestHonestCampaignsDeliver(t *testing.T) {
	const networks, campaigns, minutes, lifetime = 100, 20, 300, 30.0 // expected acts
	perMinute := cpa(0, lifetime/minutes, 0).Impressions
	var requests, views, inTime, held int64
	for seed := range uint64(networks) {
		m := newMarket(seed)
		first := len(m.in.Campaigns)
		rates, early, stopped := make([]float64, campaigns), make([]bool, campaigns), make([]bool, campaigns)
		for n := range campaigns {
			m.in.Families[id(n)] = Family{Reviewed: true}
			m.in.Campaigns = append(m.in.Campaigns, Campaign{
				ID: id(n), Family: id(n), Billing: campaign.CPA, Bid: 20 * money.USD,
			})
			rates[n] = 0.5 + 1.5*m.rng.Float64()
		}
		m.judge()
		for range minutes {
			for n := range campaigns {
				got, _ := m.show(first+n, perMinute, rates[n])
				requests, views = requests+perMinute, views+got
			}
			m.judge()
			for n := range campaigns {
				v := m.verdicts[id(n)]
				early[n] = early[n] || v.Acts > 0 && v.Expected <= Weight
				stopped[n] = stopped[n] || v.Bound != ""
			}
		}
		for n := range campaigns {
			if early[n] {
				inTime++
				if stopped[n] {
					held++
				}
			}
		}
	}
	t.Logf("%.2f %% shown; of %d with an act in time %d were held", 100*float64(views)/float64(requests), inTime, held)
	require.GreaterOrEqual(t, float64(views)/float64(requests), 0.95)
	require.LessOrEqual(t, float64(held)/float64(inTime), 0.01)
}

// A campaign outside these bounds moves towards its own charges.
func TestOwnChargesCount(t *testing.T) {
	for _, rate := range []float64{0.1, 0.25, 3} {
		m := newMarket(7)
		first := len(m.in.Campaigns)
		m.in.Families[id(1)] = Family{Reviewed: true}
		m.in.Campaigns = append(m.in.Campaigns, Campaign{
			ID: id(1), Family: id(1), Billing: campaign.CPA, Bid: 20 * money.USD, Acts: 1, Clicks: 25, Impressions: 1500,
		})
		m.judge()
		last := m.verdicts[id(1)]
		for range 40 {
			m.show(first, 5000, rate)
			m.judge()
		}
		got := m.verdicts[id(1)]
		before, now := float64(last.ConvertRate)/1e6, float64(got.ConvertRate)/1e6
		require.Less(t, abs(now-rate), abs(before-rate), "rate %v: %v, then %v", rate, before, now)
	}
}

func abs(x float64) float64 { return max(x, -x) }
