package budget

import (
	"context"
	"slices"
	"sync"
	"time"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// call runs one exchange. Its success proves that the store worked at the time before the call.
func (l *Leases) call(ctx context.Context, epoch int64, requests []reserve.LeaseRequest) (reserve.Reply, error) {
	sentAt := l.deps.Now()
	seq := l.seq.Add(1)
	reply, err := l.deps.Store.Exchange(ctx, reserve.Call{
		Node: l.deps.Node, Epoch: epoch, Seq: seq, Acked: l.acked.Load(), Clock: sentAt, Requests: requests,
	})
	if err != nil {
		l.metrics.failed.Inc()
		return reply, err
	}
	l.metrics.ahead.Set(reply.Ahead.Seconds())
	if epoch != l.epoch.Load() {
		return reply, nil
	}
	switch reply.State {
	case reserve.Counted:
		raise(&l.acked, seq)
		if epoch != 0 {
			l.grants.Store(reply.Grants)
			raise(&l.worked, int64(sentAt.Sub(l.start)-reply.Idle))
			raise(&l.until, int64(sentAt.Sub(l.start)+l.cfg.Validity))
		}
	default:
		l.until.Store(0) // immediately, not when the validity ends
	}
	return reply, nil
}

func raise(at interface {
	Load() int64
	CompareAndSwap(old, new int64) bool
}, to int64) {
	for {
		old := at.Load()
		if old >= to || at.CompareAndSwap(old, to) {
			return
		}
	}
}

// Run raises leases ahead of need, returns unused amounts and follows the store's epochs until ctx
// ends. Then it returns everything that is not reserved. Call it once.
func (l *Leases) Run(ctx context.Context) error {
	var keeper sync.WaitGroup
	if l.deps.Journal != nil {
		keeper.Go(func() { l.keep(ctx) })
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var beat time.Time
	for n := 0; ; n++ {
		now := l.deps.Now()
		if now.Sub(beat) >= heartbeat {
			beat = now
			l.beat(ctx)
		}
		if l.Live(l.deps.Now()) {
			l.maintain(ctx, n%fullEvery == 0)
		}
		select {
		case <-ctx.Done():
			keeper.Wait()
			l.leave(ctx)
			l.stop()
			return nil
		case <-ticker.C:
		}
	}
}

// beat checks that the store answers and is in the epoch of this node.
func (l *Leases) beat(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	epoch := l.epoch.Load()
	reply, err := l.call(call, epoch, nil)
	switch {
	case ctx.Err() != nil: // shutdown is not a failure
	case err != nil:
		l.log.Warn(ctx, "reservations cannot be reached; this node stops filling within a second", "error", err)
	case reply.State == reserve.Skewed:
		l.metrics.skewed.Inc()
		l.log.Error(
			ctx, "this node's clock differs from that of Redis; it fills nothing until they agree",
			"ahead", reply.Ahead, "allowed", reserve.MaxClockSkew,
		)
	case reply.State == reserve.Moved:
		if err := l.rejoin(call, reply.Epoch); err != nil && ctx.Err() == nil {
			l.log.Warn(ctx, "this node's reservations could not be reported to the new store", "error", err)
		}
	}
}

// rejoin starts an epoch: it seals every slot and reports the reservations of the last hour before
// anything is taken again. Late answers of the old epoch change nothing.
func (l *Leases) rejoin(ctx context.Context, epoch int64) error {
	l.until.Store(0)
	l.epoch.Store(-epoch) // not in use yet
	l.acked.Store(0)
	l.metrics.epochs.Inc()
	now := day.MinuteOf(l.deps.Now())
	var amounts []unconfirmedAmount
	l.each(func(h *lease) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seal(0)
		h.seal(1)
		h.forget(now)
		h.quiet.Store(0)
		h.denied = 0
		for i := range h.past {
			h.past[i].confirmed = false
		}
		amounts = append(amounts, h.unconfirmed()...)
	})
	for rest := amounts; len(rest) > 0; {
		chunk := rest[:min(batch, len(rest))]
		rest = rest[len(chunk):]
		seq := l.seq.Add(1)
		call, cancel := context.WithTimeout(ctx, callFor)
		reply, err := l.deps.Store.Exchange(
			call,
			reserve.Call{Node: l.deps.Node, Epoch: epoch, Seq: seq, Clock: l.deps.Now(), Requests: requestsOf(chunk)},
		)
		cancel()
		if err != nil {
			l.epoch.Store(0)
			return err
		}
		if reply.State != reserve.Counted {
			l.epoch.Store(0) // the epoch changed again
			return nil
		}
		raise(&l.acked, seq)
		confirm(chunk, reply.Granted)
	}
	l.epoch.Store(epoch)
	l.pages.soon() // records the report of this node
	l.deps.Log.Debug("reservations: this node works in a new epoch", "epoch", epoch, "reported", len(amounts))
	beat, cancel := context.WithTimeout(context.WithoutCancel(ctx), callFor)
	defer cancel()
	_, err := l.call(beat, epoch, nil)
	return err
}

// unconfirmedAmount is an amount to report to the store.
type unconfirmedAmount struct {
	lease   *lease
	request reserve.LeaseRequest
}

func requestsOf(list []unconfirmedAmount) []reserve.LeaseRequest {
	requests := make([]reserve.LeaseRequest, len(list))
	for i := range list {
		requests[i] = list[i].request
	}
	return requests
}

// unconfirmed lists the amounts that the store has not confirmed, with mu held.
func (h *lease) unconfirmed() (list []unconfirmedAmount) {
	defer func() { h.dirty = len(list) > 0 }()
	for _, p := range h.past {
		if !p.confirmed {
			list = append(list, unconfirmedAmount{h, reserve.LeaseRequest{
				CampaignID: h.campaign, AdvertiserID: h.advertiser, Minute: p.minute, Window: p.window, Bid: h.bid,
				Amount: p.amount, Exact: true, Step: 1,
			}})
		}
	}
	return list
}

func confirm(list []unconfirmedAmount, answers []reserve.LeaseGrant) {
	for i, t := range list {
		t.lease.mu.Lock()
		for j := range t.lease.past {
			p := &t.lease.past[j]
			if p.minute == t.request.Minute && p.window == t.request.Window && p.amount == t.request.Amount &&
				answers[i].Amount == p.amount {
				p.confirmed = true
			}
		}
		t.lease.mu.Unlock()
	}
}

// forget drops the amounts that the store no longer counts, with mu held.
func (h *lease) forget(now day.Minute) {
	counted := h.past[:0]
	for _, p := range h.past {
		// A zero amount is reported once and can then be dropped.
		if p.minute+day.Minute(p.window+lateMinutes) > now && (p.amount > 0 || !p.confirmed || p.ceiling > 0) {
			counted = append(counted, p)
		}
	}
	h.past = counted
}

func (l *Leases) each(do func(h *lease)) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.RLock()
		list := make([]*lease, 0, len(s.leases))
		for _, h := range s.leases {
			list = append(list, h)
		}
		s.mu.RUnlock()
		for _, h := range list {
			do(h)
		}
	}
}

// leaseUpdate is the part of an exchange for one lease: slots to raise and amounts to report.
type leaseUpdate struct {
	lease       *lease
	inFlight    chan struct{}
	raise       []*slot
	unconfirmed []unconfirmedAmount
	requests    []reserve.LeaseRequest // raises first
}

// maintain updates every lease: it seals past minutes, returns idle leases and raises busy ones
// ahead of need.
func (l *Leases) maintain(ctx context.Context, full bool) {
	now := l.deps.Now()
	var updates []leaseUpdate
	requests, open, held := 0, 0, money.Micros(0)
	flush := func() {
		l.send(ctx, updates)
		updates, requests = updates[:0], 0
	}
	l.each(func(h *lease) {
		e, slots, amount := l.updateFor(h, now, full)
		open, held = open+slots, held+amount
		if len(e.requests) == 0 {
			return
		}
		updates, requests = append(updates, e), requests+len(e.requests)
		if requests >= batch {
			flush()
		}
	})
	if requests > 0 {
		flush()
	}
	if full {
		l.metrics.leases.Set(float64(open))
		l.metrics.held.Set(float64(held))
		l.removeIdle(now)
	}
}

// updateFor decides the update of one lease.
func (l *Leases) updateFor(h *lease, now time.Time, full bool) (e leaseUpdate, open int, held money.Micros) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !full && !h.dirty && h.slots[0].Load() == nil && h.slots[1].Load() == nil {
		return e, 0, 0
	}
	since := int64(now.Sub(l.start))
	taken := h.taken.Load()
	if taken != h.seen {
		h.last.Store(since)
	}
	// A moving average over about two seconds.
	h.rate += (float64(taken-h.seen)/tick.Seconds() - h.rate) * 0.05
	h.seen = taken
	idle := since-h.last.Load() > int64(idleAfter)
	minute := day.MinuteOf(now)
	for i := range h.slots {
		s := h.slots[i].Load()
		if s == nil {
			continue
		}
		open++
		held += s.leased
		if h.inFlight == nil && (idle || now.Sub((s.minute+1).Time()) > sealAfter) {
			h.seal(i)
		}
	}
	for _, p := range h.past {
		held += p.amount
	}
	h.forget(minute)
	if h.inFlight != nil {
		return leaseUpdate{}, open, held
	}
	e = leaseUpdate{lease: h}
	if !idle && h.demand.price > 0 && since >= h.quiet.Load() {
		e.raise = h.toRaise(now, l.cfg.Ahead)
		e.raise = slices.DeleteFunc(e.raise, func(s *slot) bool {
			most, _ := l.roomFor(h, s)
			c, ok := h.request(s, h.demand, l.cfg.Ahead, min(most, l.mayHold(h, s, h.demand.price)))
			if ok {
				e.requests = append(e.requests, c)
			}
			return !ok
		})
	}
	if h.dirty {
		e.unconfirmed = h.unconfirmed()
	}
	for _, t := range e.unconfirmed {
		e.requests = append(e.requests, t.request)
	}
	if len(e.requests) > 0 {
		e.inFlight = make(chan struct{})
		h.inFlight = e.inFlight
	}
	return e, open, held
}

// toRaise returns the slots that run low, with mu held: the current minute's, and shortly before it
// begins the next minute's.
func (h *lease) toRaise(now time.Time, ahead time.Duration) (list []*slot) {
	low := int64(max(h.rate*ahead.Seconds()/2, float64(h.demand.price)*firstTake/2))
	minute := day.MinuteOf(now)
	if s := h.slots[minute&1].Load(); s != nil && s.minute == minute && s.left.Load() < low {
		list = append(list, s)
	}
	if now.Add(openBefore).Before((minute + 1).Time()) {
		return list
	}
	next := h.slots[(minute+1)&1].Load()
	if next == nil || next.minute < minute {
		next = h.open(minute+1, h.demand.window)
	}
	if next.left.Load() < low {
		list = append(list, next)
	}
	return list
}

// send exchanges updates with the store. From updateFor until the answer these leases have no other
// exchange.
func (l *Leases) send(ctx context.Context, updates []leaseUpdate) {
	var requests []reserve.LeaseRequest
	for i := range updates {
		requests = append(requests, updates[i].requests...)
	}
	call, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	epoch := l.epoch.Load()
	reply, err := l.call(call, epoch, requests)
	if err != nil && ctx.Err() == nil {
		l.log.Warn(ctx, "leases could not be renewed", "error", err)
	}
	counted := err == nil && reply.State == reserve.Counted && epoch == l.epoch.Load()
	at := 0
	for _, e := range updates {
		var answers []reserve.LeaseGrant
		if counted {
			answers = reply.Granted[at : at+len(e.requests)]
		}
		at += len(e.requests)
		e.lease.mu.Lock()
		for i, s := range e.raise {
			if counted {
				l.note(e.lease, answers[i])
				l.granted(e.lease, s, answers[i])
			}
		}
		e.lease.inFlight = nil
		close(e.inFlight)
		e.lease.mu.Unlock()
		if counted {
			confirm(e.unconfirmed, answers[len(e.raise):])
		}
	}
}

// removeIdle removes leases without holdings and history.
func (l *Leases) removeIdle(now time.Time) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for k, h := range s.leases {
			h.mu.Lock()
			if h.inFlight == nil && len(h.past) == 0 && h.slots[0].Load() == nil && h.slots[1].Load() == nil &&
				int64(now.Sub(l.start))-h.last.Load() > int64(idleAfter) && int64(now.Sub(l.start)) > h.quiet.Load() {
				h.removed = true
				delete(s.leases, k)
			}
			h.mu.Unlock()
		}
		s.mu.Unlock()
	}
}

// leave returns everything that is not reserved, so that other nodes can use it at once and not
// only after the minute's window.
func (l *Leases) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	l.until.Store(0)
	l.asking.Wait() // each has a timeout
	var amounts []unconfirmedAmount
	l.each(func(h *lease) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seal(0)
		h.seal(1)
		amounts = append(amounts, h.unconfirmed()...)
	})
	for len(amounts) > 0 {
		chunk := amounts[:min(batch, len(amounts))]
		amounts = amounts[len(chunk):]
		if _, err := l.deps.Store.Exchange(ctx, reserve.Call{
			Node: l.deps.Node, Epoch: l.epoch.Load(), Seq: l.seq.Add(1), Acked: l.acked.Load(), Clock: l.deps.Now(),
			Requests: requestsOf(chunk),
		}); err != nil {
			l.log.Warn(ctx, "unused leases could not be returned; they end with their windows", "error", err)
			break
		}
	}
	if l.deps.Journal != nil {
		if err := l.writePage(ctx, true); err != nil {
			l.log.Warn(ctx, "the journal of reservations could not be closed", "error", err)
		}
	}
}
