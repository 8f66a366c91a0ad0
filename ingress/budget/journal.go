package budget

import (
	"context"
	"math"
	"sync"
	"time"

	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
)

// Journal stores a copy of this node's possible reservations, for the case that the node fails and
// the shared store is lost later; see [reserve.Page]. After an error the page may still have been
// stored.
type Journal interface {
	KeepPage(ctx context.Context, p reserve.Page) error
}

const (
	pageGap    = 10 * time.Millisecond  // minimum time between two pages
	pageFailed = 100 * time.Millisecond // and after a failed page
	pageSize   = 20_000                 // maximum number of entries
	fastStart  = 64                     // maximum growth of a ceiling, in prices, while the rate is unknown
)

// pages is the state of writing the journal.
type pages struct {
	kick chan struct{}
	last int64 // number of the last page

	mu      sync.Mutex
	waiting chan struct{} // closed after the next page; nil without a waiter
}

// soon requests a page now. It returns a channel that is closed after the attempt, whether or not
// it succeeded.
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

// begin returns the channel of the callers that wait for a page.
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
			l.log.Warn(ctx, "the journal of reservations cannot be written", "error", err)
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

// keeping is an entry being written.
type keeping struct {
	lease *lease
	entry reserve.Entry
}

// writePage writes the changes to the journal. closed marks the node's last page.
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
			k.lease.written(k.entry, err == nil)
		}
		if err != nil {
			l.metrics.unkept.Inc()
			return err
		}
		if len(list) == 0 {
			raise(&l.pageAt, int64(began.Sub(l.start)))
			return nil
		}
	}
}

// changed appends the journal entries of a lease: raised ceilings of slots that have nearly reached
// theirs, and the final amounts of sealed minutes.
func (h *lease) changed(list []keeping, ahead time.Duration) []keeping {
	h.mu.Lock()
	defer h.mu.Unlock()
	add := func(e reserve.Entry) {
		e.CampaignID, e.Bid = h.campaign, h.bid
		list = append(list, keeping{h, e})
	}
	// The next raise of the lease: for the time ahead, or a quick start.
	soon := max(money.Micros(h.rate*ahead.Seconds()), 2*firstTake*h.demand.price)
	for i := range h.slots {
		s := h.slots[i].Load()
		if s == nil {
			continue
		}
		if more := max(soon, min(s.leased, fastStart*h.demand.price)); s.ceiling < s.leased+more/2 {
			add(reserve.Entry{Minute: s.minute, Window: s.window, Amount: s.leased + more})
		}
	}
	for _, p := range h.past {
		if p.ceiling != p.amount {
			add(reserve.Entry{Minute: p.minute, Window: p.window, Amount: p.amount})
		}
	}
	return list
}

// written records the journal's amount of a minute. After a failed page, which may have been stored
// or not, the lower amount counts.
func (h *lease) written(e reserve.Entry, sure bool) {
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
		set(&s.ceiling)
	}
	for i := range h.past {
		if p := &h.past[i]; p.minute == e.Minute && p.window == e.Window {
			set(&p.ceiling)
		}
	}
}

// mayHold returns the maximum that a slot may hold before another page is written, with the lease's
// mu held.
func (l *Leases) mayHold(h *lease, s *slot, price money.Micros) money.Micros {
	if l.deps.Journal == nil {
		return math.MaxInt64
	}
	if l.pageAt.Load() == 0 {
		return 0 // no projector knows this node
	}
	spare := firstTake * price
	if l.alone() {
		spare += reserve.GapTimes * h.largest()
	}
	for i := range h.slots {
		if other := h.slots[i].Load(); other != nil && other != s {
			spare -= max(0, other.leased-other.ceiling)
		}
	}
	for _, p := range h.past {
		spare -= max(0, p.amount-p.ceiling)
	}
	return s.ceiling + max(0, spare)
}

// largest returns the largest ceiling of a minute that is certain to be in the journal, with mu
// held.
func (h *lease) largest() (ceiling money.Micros) {
	for i := range h.slots {
		if s := h.slots[i].Load(); s != nil {
			ceiling = max(ceiling, s.ceiling)
		}
	}
	for _, p := range h.past {
		ceiling = max(ceiling, p.ceiling)
	}
	return ceiling
}

// alone reports whether neither this node nor a projector reaches the journal's store, and this
// node did until the projectors stopped. Ads then continue for a while, and the period is known as
// a gap.
func (l *Leases) alone() bool {
	now, worked, page := int64(l.deps.Now().Sub(l.start)), l.worked.Load(), l.pageAt.Load()
	return page != 0 && now-worked > int64(reserve.SilentFor) && now-page > int64(3*reserve.PageEvery) &&
		page > worked-int64(3*reserve.PageEvery)
}
