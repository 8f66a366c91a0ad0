package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// lease is the node's share of one campaign's budget: one slot per minute, and the amounts that
// earlier slots reserved. At most one exchange of a lease with the store runs at a time (inFlight).
// Its requests are absolute and numbered, so the next one repairs a lost answer.
type lease struct {
	campaign, advertiser uuid.UUID
	bid                  bool

	slots [2]atomic.Pointer[slot] // by minute, even and odd
	quiet atomic.Int64            // since Leases.start, ns: no request to the store before this time, after a refusal
	spent atomic.Bool             // the last refusal was for lack of room
	taken atomic.Int64            // micro-USD taken so far
	last  atomic.Int64            // since Leases.start, ns: when Run last noticed a reservation

	mu       sync.Mutex
	removed  bool          // no longer in the table: acquire nothing
	inFlight chan struct{} // closed when the running exchange ends; nil without one
	demand   demand        // of the last acquisition
	seen     int64         // value of taken at the last update
	rate     float64       // recent micro-USD per second
	past     []reserved    // sealed minutes that the store must still count
	dirty    bool          // some of past is unconfirmed
	denied   int           // consecutive refusals for lack of room
	room     ownRoom
}

// demand is the amount and window of an acquisition.
type demand struct {
	price  money.Micros // one reservation
	full   money.Micros // one charge
	window int64        // minutes
}

// slot is the part of a lease for the auctions of one minute. Taking from left is a reservation.
type slot struct {
	minute day.Minute
	window int64
	left   atomic.Int64
	owner  *lease

	// Guarded by the lease's mu:
	leased  money.Micros // absolute, by the store's last answer
	sure    bool         // the store has exactly leased
	ceiling money.Micros // lower bound of the journal's amount
}

// reserved is a sealed slot: an absolute amount that the store must have as long as it counts.
type reserved struct {
	minute    day.Minute
	window    int64
	amount    money.Micros
	confirmed bool         // the store has confirmed this amount
	ceiling   money.Micros // lower bound of the journal's amount
}

// take reserves price from the slot of minute; nil when it has too little.
func (h *lease) take(minute day.Minute, price money.Micros) *slot {
	s := h.slots[minute&1].Load()
	if s == nil || s.minute != minute {
		return nil
	}
	for {
		left := s.left.Load()
		if left < int64(price) {
			return nil
		}
		if s.left.CompareAndSwap(left, left-int64(price)) {
			h.taken.Add(int64(price))
			return s
		}
	}
}

// giveBack returns an unused reservation. If the slot was sealed meanwhile, the amount stays
// reserved until it expires.
func (s *slot) giveBack(price money.Micros) {
	for {
		left := s.left.Load()
		if left < 0 {
			return
		}
		if s.left.CompareAndSwap(left, left+int64(price)) {
			s.owner.taken.Add(-int64(price))
			return
		}
	}
}

// open returns the slot of minute, with mu held. A sealed minute that is needed again continues
// with its old amount.
func (h *lease) open(minute day.Minute, window int64) *slot {
	at := &h.slots[minute&1]
	if s := at.Load(); s != nil {
		if s.minute == minute && s.window == window {
			return s
		}
		h.seal(int(minute & 1))
	}
	s := &slot{minute: minute, window: window, owner: h}
	for i, p := range h.past {
		if p.minute == minute && p.window == window {
			s.leased, s.sure, s.ceiling = p.amount, p.confirmed, p.ceiling
			h.past = append(h.past[:i], h.past[i+1:]...)
			break
		}
	}
	at.Store(s)
	return s
}

// seal closes a slot, with mu held. Nothing more is taken from it, and the taken amount moves to
// past.
func (h *lease) seal(i int) {
	s := h.slots[i].Load()
	if s == nil {
		return
	}
	unused := max(0, s.left.Swap(sealed))
	h.slots[i].Store(nil)
	confirmed := s.sure && unused == 0
	h.past = append(
		h.past,
		reserved{
			minute: s.minute, window: s.window, amount: s.leased - money.Micros(unused), confirmed: confirmed,
			ceiling: s.ceiling,
		},
	)
	h.dirty = h.dirty || !confirmed
}

// request returns a request to raise a slot for the time ahead, up to most, with mu held. ok is
// false if a raise would not help.
func (h *lease) request(s *slot, w demand, ahead time.Duration, most money.Micros) (c reserve.LeaseRequest, ok bool) {
	left := money.Micros(max(0, s.left.Load()))
	target := max(money.Micros(h.rate*ahead.Seconds()), firstTake*w.price)
	more := min(max(target-left, w.price), most-s.leased)
	if more < w.price {
		return c, false
	}
	more -= more % w.price
	s.sure = false
	return reserve.LeaseRequest{
		CampaignID: h.campaign, AdvertiserID: h.advertiser, Minute: s.minute, Window: s.window, Bid: h.bid,
		Amount: s.leased + more, Least: s.leased + w.price, Step: w.price, Price: w.full,
	}, true
}

// granted applies the answer to a request, with mu held. The store may be another's: no more counts
// than the room has. The rest is given back with the minute.
func (l *Leases) granted(h *lease, s *slot, c reserve.LeaseGrant) {
	if h.slots[s.minute&1].Load() != s {
		return
	}
	most, _ := l.roomFor(h, s)
	amount := min(c.Amount, max(most, s.leased))
	s.sure = amount == c.Amount
	if more := amount - s.leased; more > 0 {
		s.leased = amount
		s.left.Add(int64(more))
	}
}

// acquire waits for room for one price: for the running exchange, for one that it starts, or for a
// page of the journal that must be written before more may be requested. The exchange continues
// when the caller gives up, because its answer helps the next request.
func (r *Reservation) acquire(h *lease, w demand) *slot {
	l := r.leases
	began := time.Now()
	defer func() { r.waited += time.Since(began) }()
	for {
		h.mu.Lock()
		if s := h.take(r.minute, w.price); s != nil || h.removed {
			h.mu.Unlock()
			return s
		}
		var flight <-chan struct{} = h.inFlight
		if flight == nil {
			now := l.deps.Now()
			// A minute long past is sealed everywhere: nothing more is reserved for it.
			if int64(now.Sub(l.start)) < h.quiet.Load() || r.minute+1 < day.MinuteOf(now) {
				h.mu.Unlock()
				return nil
			}
			h.demand = w
			s := h.open(r.minute, w.window)
			most, known := l.roomFor(h, s)
			if most-s.leased < w.price {
				h.spent.Store(known)
				h.quiet.Store(int64(now.Sub(l.start) + askSoon))
				h.mu.Unlock()
				return nil
			}
			if c, ok := h.request(s, w, l.cfg.Ahead, min(most, l.mayHold(h, s, w.price))); ok {
				flight = l.ask(h, s, c)
			} else {
				flight = l.pages.soon()
			}
		}
		h.mu.Unlock()
		if !within(flight, l.cfg.Wait-r.waited-time.Since(began)) {
			l.metrics.late.Inc()
			return nil
		}
	}
}

// ask starts the exchange of one request, with mu held. It ends by itself.
func (l *Leases) ask(h *lease, s *slot, c reserve.LeaseRequest) (flight chan struct{}) {
	flight = make(chan struct{})
	h.inFlight = flight
	l.metrics.acquired.Inc()
	l.asking.Go(func() {
		ctx, cancel := context.WithTimeout(l.calls, callFor)
		defer cancel()
		epoch := l.epoch.Load()
		reply, err := l.call(ctx, epoch, []reserve.LeaseRequest{c})
		h.mu.Lock()
		defer h.mu.Unlock()
		h.inFlight = nil
		close(flight)
		if err != nil || reply.State != reserve.Counted || epoch != l.epoch.Load() {
			h.quiet.Store(int64(l.deps.Now().Sub(l.start) + askSoon))
			return
		}
		l.note(h, reply.Granted[0])
		l.granted(h, s, reply.Granted[0])
	})
	return flight
}

// refusal returns the reason why nothing could be taken: the budget is spent, or the store did not
// answer in time.
func (h *lease) refusal() auction.Reason {
	if h.spent.Load() {
		return auction.Budget
	}
	return auction.Stale
}

// note delays the next request of a refused campaign, with mu held.
func (l *Leases) note(h *lease, c reserve.LeaseGrant) {
	wait := askSoon
	h.spent.Store(c.Refusal == reserve.NoRoom)
	switch c.Refusal {
	case reserve.Granted:
		h.denied = 0
		return
	case reserve.NoRoom:
		l.metrics.noRoom.Inc()
		// Many nodes may compete for the rest of many campaigns' budgets.
		wait = askAgain << min(h.denied, 4)
		h.denied++
	case reserve.NoBudget:
		l.metrics.unknown.Inc()
	case reserve.Opening:
		l.metrics.opening.Inc()
	}
	h.quiet.Store(int64(l.deps.Now().Sub(l.start) + wait))
}

func within(done <-chan struct{}, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
