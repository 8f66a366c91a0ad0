// Package pacing spreads campaigns' daily budgets over the UTC day.
//
// It throttles: a campaign takes part in a share of the auctions that it would win. The share is
// recomputed every second from the plan for the rest of the day, the spend so far and the spend per
// ad; see control. A hash of auction and campaign selects the auctions, without randomness: nodes
// with the same share select the same auctions. The plan follows the campaign's own traffic of the
// last days, and is flat until there is data for a day.
//
// Campaigns with `pacing: asap` are not paced, nor are campaigns whose daily budget buys fewer than
// 100 billed events: one event would be larger than the plan's steps.
//
// Guarantee, where traffic suffices: at least 95 % of the budget is spent at midnight, the budget
// is never exhausted before 23:00, and spend stays within a root mean square of 0.10 of the budget
// from the plan. TestDays simulates days with the production controller.
//
// # Not obvious
//
// Pacing keeps no state of the day: a restarted node, a campaign that joins at noon and a wrong
// forecast correct themselves. Curves are computed hourly from ClickHouse and read from Redis
// (consumers/forecast); in-memory mode plans a flat day.
//
// Nodes need not count each other to pace. A node compares the network's spend with its own passes.
// With two nodes the spend per pass appears twice as high, so each takes half of the plan.
package pacing

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// Tiny is the number of billed events that a daily budget must buy to be paced.
const Tiny = 100

// The intervals of a node.
const (
	stepEvery   = time.Second
	idleStep    = 5 * time.Second // interval for a campaign without offers, and for one that is not paced
	forgetAfter = time.Hour       // without an offer
	curvesEvery = 15 * time.Second
	curvesWait  = 3 * time.Second
	curvesAge   = 30 * time.Minute // after which a curve is read again
	curvesPage  = 1000
)

// Campaigns is this node's data on campaigns and their spend; see catalog.Catalog.
type Campaigns interface {
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
	Room(id uuid.UUID) (reserve.Room, bool)
}

// Curves reads the traffic curves of campaigns; campaigns without one are missing. See
// redis.Curves.
type Curves interface {
	Curves(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]campaign.Curve, error)
}

// Deps holds the dependencies of pacing. Campaigns is required. Without Curves every day is planned
// flat.
type Deps struct {
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Campaigns Campaigns
	Curves    Curves
	Now       func() time.Time
}

// Pacer is the component. Check may be called from any goroutine. Before the first step every offer
// passes, up to a small burst.
type Pacer struct {
	deps  Deps
	often *obs.LimitedLogger
	even  *weights

	cells atomic.Pointer[map[auction.ID]*cell] // replaced, never modified
	mu    sync.Mutex
	fresh map[auction.ID]*cell // made since the last step
}

// cell is one campaign that had an opportunity here.
type cell struct {
	// Read and updated by auctions:
	off           atomic.Bool
	below         atomic.Uint64 // hashes below it pass
	most          atomic.Int64  // passes until the next step
	opportunities atomic.Int64  // since the last step
	passed        atomic.Int64

	curve atomic.Pointer[weights] // nil: not read yet
	read  atomic.Int64            // UnixNano of the last reading of curve

	// Used by the stepping goroutine:
	control control
	seen    time.Time // of the last offer
	looked  time.Time
}

// New returns the pacer. It starts nothing.
func New(deps Deps) *Pacer {
	deps.Now = schedule.Clock(deps.Now)
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pacer{
		deps: deps, even: weigh(campaign.Curve{}), often: obs.Limited(deps.Log, time.Minute),
		fresh: map[auction.ID]*cell{},
	}
	p.cells.Store(&map[auction.ID]*cell{})
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_pacing_campaigns", Help: "Campaigns that this node paces or has evaluated in the last hour.",
	}, func() float64 { return float64(len(*p.cells.Load())) }))
	return p
}

// Check returns auction.Paced if c must not take part in the auction id, else "". It counts an
// offer, so it is called once per auction, for candidates that would win otherwise. It costs a map
// lookup and a hash.
func (p *Pacer) Check(id uuid.UUID, c *auction.Campaign) auction.Reason {
	k, known := (*p.cells.Load())[c.ID]
	if !known {
		k = p.cell(c.ID)
	}
	if k.off.Load() {
		return ""
	}
	k.opportunities.Add(1)
	if hash(id, c.ID) >= k.below.Load() {
		return auction.Paced
	}
	if k.passed.Add(1) > k.most.Load() {
		k.passed.Add(-1)
		return auction.Paced
	}
	return ""
}

// Undo undoes a Check that let c pass into an auction which it then could not win for lack of
// budget: an offer that spends nothing must not use up the plan.
func (p *Pacer) Undo(c *auction.Campaign) {
	if k, known := (*p.cells.Load())[c.ID]; known {
		k.takeBack()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, known := p.fresh[c.ID]; known {
		k.takeBack()
	}
}

func (k *cell) takeBack() {
	if !k.off.Load() {
		k.opportunities.Add(-1)
		k.passed.Add(-1)
	}
}

// hash mixes the random bits of both ids. It is the same on every node and in every release: a
// change would only shift the selection of auctions.
func hash(auctionID uuid.UUID, campaignID auction.ID) uint64 {
	h := binary.LittleEndian.Uint64(auctionID[8:]) ^ mix(binary.LittleEndian.Uint64(campaignID[8:])^mix(
		binary.LittleEndian.Uint64(campaignID[:8]),
	))
	return mix(h + binary.LittleEndian.Uint64(auctionID[:8]))
}

// mix is the finalizer of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// cell finds or creates the cell of a campaign that is new since the last step.
func (p *Pacer) cell(id auction.ID) *cell {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, known := p.fresh[id]; known {
		return k
	}
	k := new(cell)
	now := p.deps.Now()
	k.seen = now
	p.step(id, k, now)
	p.fresh[id] = k
	return k
}

// Run steps every second until ctx ends, and reads curves. It returns nil.
func (p *Pacer) Run(ctx context.Context) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	if p.deps.Curves != nil {
		reading.Go(func() { p.follow(ctx) })
	}
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			p.Step()
		}
	}
}

// Step recomputes every share. Run calls it every second; a simulation may call it directly.
func (p *Pacer) Step() {
	now := p.deps.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	cells := *p.cells.Load()
	forget := false
	for id, k := range cells {
		if k.opportunities.Load() > 0 {
			k.seen = now
		} else if now.Sub(k.looked) < idleStep {
			continue
		}
		p.step(id, k, now)
		forget = forget || now.Sub(k.seen) > forgetAfter
	}
	if len(p.fresh) == 0 && !forget {
		return
	}
	next := make(map[auction.ID]*cell, len(cells)+len(p.fresh))
	for id, k := range cells {
		if now.Sub(k.seen) <= forgetAfter {
			next[id] = k
		}
	}
	for id, k := range p.fresh {
		p.step(id, k, now)
		next[id] = k
	}
	clear(p.fresh)
	p.cells.Store(&next)
}

// step recomputes the share of one campaign.
func (p *Pacer) step(id auction.ID, k *cell, now time.Time) {
	k.looked = now
	offered, passed := k.opportunities.Swap(0), k.passed.Swap(0)
	of, known := p.deps.Campaigns.Creative(uuid.UUID(id))
	room, funded := p.deps.Campaigns.Room(uuid.UUID(id))
	if !known || !funded || of.Pacing == campaign.PacingASAP {
		k.stop()
		return
	}
	billing, _ := ranker.ParseBilling(string(of.Billing()))
	price := billing.Price(of.BidAmount, of.BidAmount) // maximum: relevance may lower it
	spent, budget := today(room, day.Of(now))
	if price <= 0 || budget < Tiny*price {
		k.stop()
		return
	}
	plan := k.curve.Load()
	if plan == nil {
		plan = p.even
	}
	var ends time.Time
	if of.EndAt != nil {
		ends = *of.EndAt
	}
	share, most := k.control.step(observed{
		now: now, opportunities: float64(offered), passed: float64(passed), spent: float64(spent),
		budget: float64(budget),
		unit:   float64(price) * expected(of.Billing()), weights: plan, ends: ends,
	})
	k.below.Store(threshold(share))
	k.most.Store(most)
	k.off.Store(false)
}

// stop lets every offer pass and clears the learned state.
func (k *cell) stop() {
	k.control = control{}
	k.off.Store(true)
}

func threshold(share float64) uint64 {
	if share >= 1 {
		return math.MaxUint64
	}
	return uint64(share * (1 << 63) * 2)
}

// expected returns the assumed billed events per ad without data. It is high, so that a campaign
// starts slowly.
func expected(model campaign.BillingModel) float64 {
	switch model {
	case campaign.VCPM:
		return float64(ranker.FirstView) / float64(ranker.Certain)
	case campaign.CPC:
		return 0.02
	case campaign.CPA:
		return 0.001
	}
	return 1
}

// today returns a campaign's spend on date and its total budget for date.
func today(room reserve.Room, date day.Day) (spent, budget money.Micros) {
	if date <= room.Day {
		spent = max(0, room.Daily-room.Today)
	}
	return spent, spent + room.Left(date)
}

// follow reads the curves of campaigns that have none yet or an old one.
func (p *Pacer) follow(ctx context.Context) {
	ticker := time.NewTicker(curvesEvery)
	defer ticker.Stop()
	for {
		if err := p.Learn(ctx); err != nil && ctx.Err() == nil {
			p.often.Warn(ctx, "traffic curves cannot be read: plans do not change", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Learn reads the missing and the old curves. Run calls it; tests may call it directly. Errors:
// those of Curves.
func (p *Pacer) Learn(ctx context.Context) error {
	now := p.deps.Now()
	var ids []uuid.UUID
	cells := *p.cells.Load()
	for id, k := range cells {
		if !k.off.Load() && now.Sub(time.Unix(0, k.read.Load())) > curvesAge {
			ids = append(ids, uuid.UUID(id))
		}
	}
	for len(ids) > 0 {
		page := ids[:min(len(ids), curvesPage)]
		ids = ids[len(page):]
		asking, cancel := context.WithTimeout(ctx, curvesWait)
		found, err := p.deps.Curves.Curves(asking, page)
		cancel()
		if err != nil {
			return err
		}
		for _, id := range page {
			k := cells[auction.ID(id)]
			k.read.Store(now.UnixNano())
			if curve, ok := found[id]; ok {
				k.curve.Store(weigh(curve))
			} else {
				k.curve.Store(nil)
			}
		}
	}
	return nil
}
