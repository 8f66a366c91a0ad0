package pacing

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// The simulated day: the pacer as in a node, realistic delays of the campaign's spend, and traffic
// of several shapes. Everything is generated from the seed, on the simulation's clock.

var midnight = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

// shapes are offers a second at a moment of the day, with mean 1 over the day (but for the spike).
var shapes = map[string]func(t float64, seed uint64) float64{
	"flat":    func(float64, uint64) float64 { return 1 },
	"diurnal": func(t float64, _ uint64) float64 { return 1 + 0.9*math.Sin(2*math.Pi*(t/86400-0.375)) },
	"bursty": func(t float64, seed uint64) float64 { // two minutes of silence or noise
		r := rand.New(rand.NewPCG(seed, uint64(t/120)))
		if r.Float64() < 0.3 {
			return 3
		}
		return 1.0 / 7
	},
	"spike": func(t float64, _ uint64) float64 { // ten minutes of what no plan knows of
		if t > 14*3600 && t < 14*3600+600 {
			return 20
		}
		return 1
	},
}

type scenario struct {
	shape  string
	known  bool // the curve of a day before is known
	units  float64
	supply float64 // offers of the day in units of the budget
	nodes  int
	joins  time.Duration // after midnight
	model  campaign.BillingModel
	seed   uint64
}

// dayOut is the outcome of a day.
type dayOut struct {
	spent     float64 // of the budget
	rmse      float64 // of spend against plan, of the budget, from when the campaign joined
	exhausted time.Duration
}

// late is spend on its way to the nodes.
type late struct{ at float64 }
type queue []late

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(late)) }
func (q *queue) Pop() any          { old := *q; x := old[len(old)-1]; *q = old[:len(old)-1]; return x }

// world is the catalog of the simulation.
type world struct {
	campaign campaign.Campaign
	room     reserve.Room
}

func (w *world) Creative(uuid.UUID) (*campaign.Campaign, bool) { return &w.campaign, true }
func (w *world) Room(uuid.UUID) (reserve.Room, bool)           { return w.room, true }

func (s scenario) run() dayOut {
	r := rand.New(rand.NewPCG(s.seed, 77))
	price := 5 * money.USD / 1000
	perPass, delay := 0.85, 3.0 // beacons an ad, and seconds to the beacon on average
	bid := 5 * money.USD
	if s.model == campaign.CPC {
		bid, price, perPass, delay = money.USD/2, money.USD/2, 0.05, 20
	}
	budget := money.Micros(s.units) * price
	w := &world{
		campaign: campaign.Campaign{
			ID: uuid.UUID{15: byte(s.seed), 3: 9}, Pacing: campaign.PacingEven, BillingModel: s.model, BidAmount: bid,
			DailyBudget: budget,
		},
		room: reserve.Room{
			Day: day.Of(midnight), Daily: budget, Today: budget, Total: 100 * budget, Balance: money.Max,
		},
	}
	billing, _ := ranker.ParseBilling(string(s.model))
	entry := &auction.Campaign{ID: auction.ID(w.campaign.ID), Bid: bid, Billing: billing}
	now := midnight.Add(s.joins)
	curve, plan := campaign.Curve{}, weigh(campaign.Curve{})
	if s.known {
		curve = s.yesterday()
		plan = weigh(curve)
	}
	nodes := make([]*Pacer, max(1, s.nodes))
	for i := range nodes {
		nodes[i] = New(Deps{Campaigns: w, Now: func() time.Time { return now }})
	}
	out := dayOut{}
	var pending queue
	offers := s.supply * s.units / perPass / 86400
	start := plan.until(now)
	squares, n := 0.0, 0.0
	for second := s.joins.Seconds(); second < 86400; second++ {
		for range poisson(r, offers*shapes[s.shape](second, s.seed)) {
			now = midnight.Add(time.Duration((second + r.Float64()) * float64(time.Second)))
			var id uuid.UUID
			binary.BigEndian.PutUint64(id[:], r.Uint64())
			binary.BigEndian.PutUint64(id[8:], r.Uint64())
			if nodes[r.IntN(len(nodes))].Check(id, entry) == "" && w.room.Today >= price && r.Float64() < perPass {
				// The beacon, then settlement and the way through Redis.
				heap.Push(&pending, late{second + r.ExpFloat64()*delay + 0.2 + 0.8*r.Float64()})
			}
		}
		for len(pending) > 0 && pending[0].at <= second+1 {
			heap.Pop(&pending)
			if w.room.Today -= min(price, w.room.Today); w.room.Today == 0 && out.exhausted == 0 {
				out.exhausted = time.Duration(second) * time.Second
			}
		}
		now = midnight.Add(time.Duration(second+1) * time.Second)
		if second < 86399 {
			for _, p := range nodes {
				p.Step()
				if s.known && int(second)%60 == 0 {
					for _, k := range *p.cells.Load() {
						k.curve.Store(plan)
					}
				}
			}
			planned := (plan.until(now) - start) / (1 - start)
			off := float64(budget-w.room.Today)/float64(budget) - planned
			squares, n = squares+off*off, n+1
		}
	}
	out.spent = float64(budget-w.room.Today) / float64(budget)
	out.rmse = math.Sqrt(squares / n)
	return out
}

// yesterday is the curve of the week before, of the same shape, as it would have been counted.
func (s scenario) yesterday() campaign.Curve {
	r := rand.New(rand.NewPCG(s.seed, 1))
	var counts [campaign.Quarters]int64
	for second := 0; second < 86400; second++ {
		shape := s.shape
		if shape == "spike" {
			shape = "flat" // not known in advance
		}
		for date := range uint64(7) {
			counts[second/900] += int64(poisson(
				r, s.supply*s.units/86400*shapes[shape](float64(second), s.seed+1000*date+1000),
			))
		}
	}
	curve, _ := campaign.CurveOf(&counts)
	return curve
}

func poisson(r *rand.Rand, mean float64) int {
	limit, p, n := math.Exp(-mean), 1.0, 0
	for {
		if p *= r.Float64(); p <= limit {
			return n
		}
		n++
	}
}

// TestDays checks that pacing keeps its targets on every simulated day with enough traffic: at
// least 95 % of the budget spent at midnight, a root mean square distance from the plan of at most
// 0.10 of the budget, and no budget exhausted before 23:00.
func TestDays(t *testing.T) {
	var all []scenario
	for _, shape := range []string{"flat", "diurnal", "bursty", "spike"} {
		for _, units := range []float64{200, 2_000, 10_000} {
			for _, supply := range []float64{2, 10} {
				all = append(
					all, scenario{shape: shape, known: true, units: units, supply: supply, model: campaign.CPM},
				)
			}
		}
		all = append(all,
			scenario{shape: shape, units: 2_000, supply: 3, model: campaign.CPM}, // the first day: planned evenly
			scenario{shape: shape, known: true, units: 2_000, supply: 5, nodes: 2, model: campaign.CPM},
			scenario{shape: shape, known: true, units: 1_000, supply: 4, model: campaign.CPM, joins: 15 * time.Hour},
			scenario{shape: shape, known: true, units: 400, supply: 4, model: campaign.CPC},
		)
	}
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for _, s := range all {
		name := fmt.Sprintf("%s/%s %g units, traffic x%g", s.shape, s.model, s.units, s.supply)
		switch {
		case !s.known:
			name += ", first day"
		case s.nodes > 1:
			name += ", 2 nodes"
		case s.joins > 0:
			name += ", joins at 15:00"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worst := dayOut{spent: 1}
			for seed := range seeds {
				s.seed = seed + 1
				d := s.run()
				worst.spent, worst.rmse = min(worst.spent, d.spent), max(worst.rmse, d.rmse)
				if d.exhausted > 0 && (worst.exhausted == 0 || d.exhausted < worst.exhausted) {
					worst.exhausted = d.exhausted
				}
			}
			exhausted := "never"
			if worst.exhausted > 0 {
				exhausted = midnight.Add(worst.exhausted).Format("15:04:05")
			}
			t.Logf(
				"worst of %d days: spent %.1f %%, RMSE to plan %.3f, exhausted %s", seeds, 100*worst.spent, worst.rmse,
				exhausted,
			)
			require.GreaterOrEqual(t, worst.spent, 0.95)
			require.LessOrEqual(t, worst.rmse, 0.10)
			require.True(t, worst.exhausted == 0 || worst.exhausted >= 23*time.Hour, "exhausted at %s", exhausted)
		})
	}
}
