// Package budget reserves the price of every ad that is served, so that an auction never promises
// more than a campaign can pay.
//
// Contract. A campaign's room is the rest of its budgets and balance, as settlement published it.
// The leases of all nodes, less the amounts that settlement has released since, never exceed the
// room (see internal/store/redis, Reservations). A node holds a lease: a part of the room for the
// auctions of one minute. The hot path takes from it with one atomic operation and no round trip,
// so every served ad is reserved in the shared store before it is answered. The reservation ends
// with the settled beacon or with its window: an impression's life for cpm, [Config.ClickWindow]
// for cpc and cpa, [Config.BidWindow] for an OpenRTB bid, five minutes for cpm paid on view. The
// reserved amount is the price for cpm, and the expected price (effective CPM / 1000) for cpc and
// cpa, where the full price of every impression would block budget for clicks that never come. A
// campaign also needs room for one full price, so that the next charge is never cut.
//
// Auctions are dated by the node's clock and reservations end by the store's clock. So a node whose
// clock differs from the store's by more than [reserve.MaxClockSkew] gets no leases and serves
// nothing; see adnet_budget_clock_ahead_seconds.
//
// A lease counts only if the store has answered within [Config.Validity], by a monotonic clock.
// Otherwise the node serves nothing. A store that was emptied, or came back older than this node
// has seen it, is another epoch: the node reports its reservations of the last hour before it
// serves again.
//
// The [Journal] replaces the report of a node that has failed by then: every second the node writes
// to PostgreSQL what it may have reserved, as ceilings, and it reserves at most [reserve.Unkept]
// prices of a lease beyond them. An amount reported on a node's behalf counts until its window
// ends, an hour at most, or until the node itself reports the minute. A node that stops in order
// leaves exact amounts. While no node can reach PostgreSQL, a lease grows by at most
// [reserve.GapTimes] the journal's amount of its best minute. While the store works, nothing is
// held back.
//
// # Not obvious
//
// For cpc and cpa, free delivery is therefore bounded in expectation only, and by the clamp of
// settlement. For cpm it is 0 while the store works; at most one price for each node is promised.
// Settlement that lags longer than a reservation lasts is an exception. A view is another: it is
// reserved for five minutes and counts for an hour.
//
// A lease is for one minute, and its amounts are absolute. The next call repairs a lost answer, and
// a call that is overtaken changes nothing.
package budget

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// Config holds the settings of reservations.
type Config struct {
	ClickWindow time.Duration `name:"click-reservation" env:"ADNET_CLICK_RESERVATION" default:"15m" help:"How long the expected price of a cpc or cpa ad stays reserved, 1m to 1h."`
	BidWindow   time.Duration `name:"bid-reservation" env:"ADNET_BID_RESERVATION" default:"5m" help:"How long the price of an OpenRTB bid stays reserved (its exp), 1m to 1h."`
	Ahead       time.Duration `name:"lease-ahead" env:"ADNET_LEASE_AHEAD" default:"3s" help:"Time for which a node leases budget in advance, based on a campaign's recent spend."`
	Wait        time.Duration `name:"lease-wait" env:"ADNET_LEASE_WAIT" default:"20ms" help:"Maximum time that an ad request waits for leases."`
	Validity    time.Duration `name:"lease-validity" env:"ADNET_LEASE_VALIDITY" default:"900ms" help:"How long leases count without an answer from Redis, at most 1s."`
}

// DefaultConfig returns the defaults of the tags above.
func DefaultConfig() Config {
	return Config{
		ClickWindow: 15 * time.Minute, BidWindow: 5 * time.Minute, Ahead: 3 * time.Second, Wait: 20 * time.Millisecond,
		Validity: 900 * time.Millisecond,
	}
}

// Store holds the shared reservations. After an error the call may or may not have been counted.
type Store interface {
	Exchange(ctx context.Context, call reserve.Call) (reserve.Reply, error)
}

// Deps holds the dependencies of leases. All but Journal and Room are required.
type Deps struct {
	Log            *slog.Logger
	Metrics        prometheus.Registerer
	Store          Store
	Node           string        // unique name of this process
	Journal        Journal       // if nil, this node's reservations are lost if it and the store fail together
	ImpressionLife time.Duration // how long after the auction an impression counts
	Now            func() time.Time

	// Room returns a campaign's room as settlement published it, apart from the store. A lease never
	// exceeds it, whatever the store grants; nil for no such limit.
	Room func(campaign uuid.UUID) (reserve.Room, bool)
}

// The timing of leases.
const (
	tick       = 100 * time.Millisecond // interval of Run
	fullEvery  = 10                     // ticks between checks of empty leases
	heartbeat  = 200 * time.Millisecond // maximum time without a call
	callFor    = 500 * time.Millisecond // longest background call
	idleAfter  = 3 * time.Second        // an unused lease is returned after this time
	askAgain   = 100 * time.Millisecond // after a refusal for lack of room; doubles up to 16 times
	askSoon    = 10 * time.Millisecond  // after a short refusal
	sealAfter  = 2 * time.Second        // a minute's lease stays this long after its end, for requests that began in it
	openBefore = 1500 * time.Millisecond
	firstTake  = reserve.Unkept // reservations requested by a new lease
	batch      = 100
	shards     = 64
	sealed     = math.MinInt64 / 2
)

// Leases holds the leases of this node. Reserving is safe at any time. Before Run no leases are
// granted.
type Leases struct {
	cfg   Config
	deps  Deps
	log   *obs.LimitedLogger
	start time.Time // of the monotonic clock

	until  atomic.Int64 // since start, ns: leases count until then
	grants atomic.Bool  // the epoch grants leases, by the last answer
	epoch  atomic.Int64 // epoch of the leases; answers of another epoch change nothing
	seq    atomic.Int64
	acked  atomic.Int64
	worked atomic.Int64 // since start, ns: last known activity of a projector
	pageAt atomic.Int64 // since start, ns: the journal has all reservations up to then; 0 for none
	pages  pages

	shards  [shards]shard
	metrics metrics

	calls  context.Context // context of exchanges started by requests; ends with Run
	stop   context.CancelFunc
	asking sync.WaitGroup
}

type shard struct {
	mu     sync.RWMutex
	leases map[key]*lease
}

type key struct {
	campaign auction.ID
	bid      bool
}

// New returns the leases, or an error for invalid settings. It opens nothing.
func New(cfg Config, deps Deps) (*Leases, error) {
	deps.Now = schedule.Clock(deps.Now)
	for _, window := range []time.Duration{cfg.ClickWindow, cfg.BidWindow} {
		if window < time.Minute || window > reserve.MaxMinutes*time.Minute {
			return nil, errors.New("ADNET_CLICK_RESERVATION and ADNET_BID_RESERVATION must be between 1m and 1h")
		}
	}
	if cfg.Ahead <= 0 || cfg.Wait <= 0 || cfg.Validity <= heartbeat || cfg.Validity > time.Second {
		return nil, errors.New(
			"ADNET_LEASE_AHEAD and ADNET_LEASE_WAIT must be positive, ADNET_LEASE_VALIDITY between 200ms and 1s",
		)
	}
	l := &Leases{cfg: cfg, deps: deps, log: obs.Limited(deps.Log, time.Second), start: deps.Now()}
	// A request starts an exchange and may end before it, so the exchange has the component's
	// context.
	l.calls, l.stop = context.WithCancel(context.Background())
	for i := range l.shards {
		l.shards[i].leases = make(map[key]*lease)
	}
	l.pages.kick = make(chan struct{}, 1)
	l.metrics.register(deps.Metrics, l)
	return l, nil
}

// Live reports whether leases count: the shared store has answered within the validity.
func (l *Leases) Live(now time.Time) bool { return int64(now.Sub(l.start)) < l.until.Load() }

// Granting reports whether the start of an epoch is over. During the start the nodes report their
// reservations, and new ones are refused.
func (l *Leases) Granting(now time.Time) bool {
	return l.Live(now) && l.grants.Load()
}

// viewWindow is the reservation time of an ad that is paid on view.
const viewWindow = 5 * time.Minute

// window returns the reservation window in minutes, rounded up.
func (l *Leases) window(billing ranker.Billing, bid bool) int64 {
	window := min(l.deps.ImpressionLife, reserve.MaxMinutes*time.Minute)
	switch {
	case billing == ranker.VCPM:
		window = min(window, viewWindow)
	case billing != ranker.CPM:
		window = min(window, l.cfg.ClickWindow)
	case bid:
		window = min(window, l.cfg.BidWindow)
	}
	return int64((window + time.Minute - 1) / time.Minute)
}

// BidLife returns the time for which a bid may wait to be shown and stays reserved.
func (l *Leases) BidLife() time.Duration { return min(l.cfg.BidWindow, l.deps.ImpressionLife) }

// Expected returns the expected price of an impression of the campaign, micro-USD, at least 1. For
// cpm it is the charge of the impression or the view.
func Expected(c *auction.Campaign, of auction.Valuation) money.Micros {
	if c.Billing.Thousands() {
		return max(1, of.Price)
	}
	return max(1, of.EffectiveCPM.PerMille())
}

// Reservation is one auction's use of the leases, and the last [auction.Gate] of its chain. The
// zero value is ready for [Reservation.Begin]. Only one goroutine may use it at a time.
type Reservation struct {
	leases *Leases
	now    time.Time
	minute day.Minute
	bid    bool
	waited time.Duration // time this auction has waited for the store

	taken  *slot
	amount money.Micros
}

// Begin starts the reservation of the auction id; now is the caller's time. bid is set for an
// OpenRTB bid.
func (r *Reservation) Begin(leases *Leases, id uuid.UUID, now time.Time, bid bool) {
	minute, dated := day.MinuteOfUUID(id)
	if !dated {
		minute = day.MinuteOf(now)
	}
	*r = Reservation{leases: leases, now: now, minute: minute, bid: bid}
}

// Check implements [auction.Gate]. It takes the expected price from the node's lease. For a
// campaign without a lease it calls the shared store, for at most [Config.Wait] in total per
// auction.
func (r *Reservation) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	l := r.leases
	if !l.Live(r.now) {
		return auction.Stale
	}
	price := Expected(c, of)
	k := key{c.ID, r.bid}
	found := l.find(k)
	if found != nil {
		if s := found.take(r.minute, price); s != nil {
			r.taken, r.amount = s, price
			return ""
		}
		if int64(r.now.Sub(l.start)) < found.quiet.Load() {
			return found.refusal()
		}
	}
	if r.waited >= l.cfg.Wait {
		return auction.Stale
	}
	if found == nil {
		found = l.make(k, c)
	}
	s := r.acquire(found, demand{price: price, full: of.Price, window: l.window(c.Billing, r.bid)})
	if s == nil {
		return found.refusal()
	}
	r.taken, r.amount = s, price
	return ""
}

// warmFor is the maximum wait for a new campaign's first lease. A slower store has a problem that
// is reported elsewhere.
const warmFor = 500 * time.Millisecond

// Warm acquires a lease of c, so that the first request after the creation of c need not wait for
// one: it would end as stale if the store took longer than [Config.Wait]. Before [Leases.Run] has
// called the store nothing can be leased and no request is accepted, so Warm returns at once.
func (l *Leases) Warm(ctx context.Context, c *auction.Campaign) {
	if l.seq.Load() == 0 {
		return
	}
	id, err := uuid.NewV7()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, warmFor)
	defer cancel()
	for ctx.Err() == nil {
		var r Reservation
		r.Begin(l, id, l.deps.Now(), false)
		reason := r.Check(c, auction.Valuation{EffectiveCPM: c.Bid, Price: c.Billing.Price(c.Bid, c.Bid)})
		r.Cancel()
		if reason != auction.Stale {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(askSoon):
		}
	}
}

// Undo implements [auction.Gate]. It returns the reservation of the last Check.
func (r *Reservation) Undo(*auction.Campaign) { r.Cancel() }

// Cancel returns the reservation of the auction if the ad was not served.
func (r *Reservation) Cancel() {
	if r.taken != nil {
		r.taken.giveBack(r.amount)
		r.taken = nil
	}
}

// Lower returns the part of the reservation above price, if the ad was sold for less than the bid
// that the gate checked, such as a deal's fixed price.
func (r *Reservation) Lower(price money.Micros) {
	if r.taken != nil && r.amount > price {
		r.taken.giveBack(r.amount - price)
		r.amount = price
	}
}

// Amount returns the reserved amount, micro-USD; 0 before Check and after Cancel.
func (r *Reservation) Amount() money.Micros {
	if r.taken == nil {
		return 0
	}
	return r.amount
}

func (l *Leases) shard(k key) *shard { return &l.shards[(k.campaign[15]^k.campaign[9])%shards] }

func (l *Leases) find(k key) *lease {
	s := l.shard(k)
	s.mu.RLock()
	found := s.leases[k]
	s.mu.RUnlock()
	return found
}

func (l *Leases) make(k key, c *auction.Campaign) *lease {
	s := l.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.leases[k]
	if found == nil {
		found = &lease{campaign: uuid.UUID(c.ID), advertiser: uuid.UUID(c.Advertiser), bid: k.bid}
		found.last.Store(int64(l.deps.Now().Sub(l.start)))
		s.leases[k] = found
	}
	return found
}

var _ auction.Gate = (*Reservation)(nil)
