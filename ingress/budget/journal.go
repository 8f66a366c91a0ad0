package budget

import (
	"context"
	"math"
	"sync"
	"time"

	"adnet/internal/money"
	"adnet/internal/reserve"
	"adnet/internal/schedule"
)

// Journal keeps a copy of what this node may have reserved, for a shared store that is lost after
// the node died: see [reserve.Page]. When it fails the page may have been kept.
type Journal interface {
	KeepPage(ctx context.Context, p reserve.Page) error
}

const (
	pageGap    = 10 * time.Millisecond  // least time between two pages
	pageFailed = 100 * time.Millisecond // and after one that failed
	pageSize   = 20_000                 // entries
	fastStart  = 64                     // prices by which a ceiling grows at most where no rate is known yet
)

// pages is the writing of the journal.
type pages struct {
	kick chan struct{}
	last int64 // number

	mu      sync.Mutex
	waiting chan struct{} // closed when the next page to begin has ended; nil without a waiter
}

// soon has a page written now, and answers a channel that is closed when it has ended, whether or
// not it was kept.
func (p *pages) soon() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(chan struct{})
	}
	select {
	case p.kick <- struct{}{}:
	default:
	}
	return p.waiting
}

// begin takes those who wait for a page.
func (p *pages) begin() (waiting chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, p.waiting = p.waiting, nil
	return waiting
}

// keep writes pages until ctx ends.
func (l *Leases) keep(ctx context.Context) {
	ticker := time.NewTicker(reserve.PageEvery)
	defer ticker.Stop()
	for {
		pause := pageGap
		if err := l.writePage(ctx, false); err != nil && ctx.Err() == nil {
			pause = pageFailed
			l.log.Warn(ctx, "the journal of reservations cannot be kept", "error", err)
		}
		if schedule.Pause(ctx, pause) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.pages.kick:
		}
	}
}

// keeping is an entry on its way.
type keeping struct {
	lease *lease
	entry reserve.Entry
}

// writePage says what changed. closed says that it is the node's last.
func (l *Leases) writePage(ctx context.Context, closed bool) error {
	if waiting := l.pages.begin(); waiting != nil {
		defer close(waiting)
	}
	began := l.deps.Now()
	epoch := max(0, l.epoch.Load())
	acked := l.acked.Load()
	var list []keeping
	l.each(func(h *lease) { list = h.changed(list, l.cfg.Ahead) })
	for {
		part := list[:min(pageSize, len(list))]
		list = list[len(part):]
		page := reserve.Page{
			Node: l.deps.Node, Epoch: epoch, Acked: acked, Closed: closed && len(list) == 0,
			Entries: make([]reserve.Entry, len(part)),
		}
		for i := range part {
			page.Entries[i] = part[i].entry
		}
		l.pages.last++
		page.Number = l.pages.last
		call, cancel := context.WithTimeout(ctx, reserve.PageEvery)
		err := l.deps.Journal.KeepPage(call, page)
		cancel()
		for _, k := range part {
			k.lease.kept(k.entry, err == nil)
		}
		if err != nil {
			l.metrics.unkept.Inc()
			return err
		}
		if len(list) == 0 {
			raise(&l.keptAt, int64(began.Sub(l.start)))
			return nil
		}
	}
}

// changed adds what the journal has to say of a lease: ceilings of its slots that are nearly
// reached, and what sealed minutes reserved in the end.
func (h *lease) changed(list []keeping, ahead time.Duration) []keeping {
	h.mu.Lock()
	defer h.mu.Unlock()
	add := func(e reserve.Entry) {
		e.CampaignID, e.Bid = h.campaign, h.bid
		list = append(list, keeping{h, e})
	}
	// What a lease is raised by next: for the time ahead, or from a start quickly.
	soon := max(money.Micros(h.rate*ahead.Seconds()), 2*firstTake*h.demand.price)
	for i := range h.slots {
		s := h.slots[i].Load()
		if s == nil {
			continue
		}
		if more := max(soon, min(s.leased, fastStart*h.demand.price)); s.kept < s.leased+more/2 {
			add(reserve.Entry{Minute: s.minute, Window: s.window, Amount: s.leased + more})
		}
	}
	for _, p := range h.past {
		if p.kept != p.amount {
			add(reserve.Entry{Minute: p.minute, Window: p.window, Amount: p.amount})
		}
	}
	return list
}

// kept notes what the journal says of a minute now. Of a page that failed the lower of both may be
// there.
func (h *lease) kept(e reserve.Entry, sure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := func(to *money.Micros) {
		if sure {
			*to = e.Amount
		} else {
			*to = min(*to, e.Amount)
		}
	}
	if s := h.slots[e.Minute&1].Load(); s != nil && s.minute == e.Minute && s.window == e.Window {
		set(&s.kept)
	}
	for i := range h.past {
		if p := &h.past[i]; p.minute == e.Minute && p.window == e.Window {
			set(&p.kept)
		}
	}
}

// mayHold is the most that a slot may hold before a page says more, with the lease's mu held.
func (l *Leases) mayHold(h *lease, s *slot, price money.Micros) money.Micros {
	if l.deps.Journal == nil {
		return math.MaxInt64
	}
	if l.keptAt.Load() == 0 {
		return 0 // no projector knows of this node
	}
	spare := firstTake * price
	if l.alone() {
		spare += reserve.GapTimes * h.largest()
	}
	for i := range h.slots {
		if other := h.slots[i].Load(); other != nil && other != s {
			spare -= max(0, other.leased-other.kept)
		}
	}
	for _, p := range h.past {
		spare -= max(0, p.amount-p.kept)
	}
	return s.kept + max(0, spare)
}

// largest is the largest ceiling that the journal surely has of a minute, with mu held.
func (h *lease) largest() (kept money.Micros) {
	for i := range h.slots {
		if s := h.slots[i].Load(); s != nil {
			kept = max(kept, s.kept)
		}
	}
	for _, p := range h.past {
		kept = max(kept, p.kept)
	}
	return kept
}

// alone says that neither this node nor a projector reaches the journal's store, and that this node
// did until the projectors stopped. Ads go on then for a while, and the time is known as a gap.
func (l *Leases) alone() bool {
	now, worked, kept := int64(l.deps.Now().Sub(l.start)), l.worked.Load(), l.keptAt.Load()
	return kept != 0 && now-worked > int64(reserve.SilentFor) && now-kept > int64(3*reserve.PageEvery) &&
		kept > worked-int64(3*reserve.PageEvery)
}
