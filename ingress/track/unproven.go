package track

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// Strangers limits unverified events by address; see limits.Limits.
type Strangers interface {
	// Unproven counts an event whose token does not verify. Above the limit it returns
	// errs.RateLimited with retry_after.
	Unproven(address string, now time.Time) error
}

// UnprovenStore stores the counts of unverified events.
type UnprovenStore interface {
	// AddUnproven adds to the counts of each campaign, reason and minute.
	AddUnproven(ctx context.Context, counts []traffic.Unproven) error
}

// Limits on the counts of unverified events. A node never has more than twice unprovenMost counts
// in memory, and adds at most that many rows a minute.
const (
	unprovenMost  = 256
	unprovenEvery = time.Minute
	unprovenWait  = 10 * time.Second
)

// unproven counts unverified events.
type unproven struct {
	mu     sync.Mutex
	events int64 // of this process
	counts map[unprovenKey]*traffic.Unproven
}

type unprovenKey struct {
	campaign uuid.UUID
	reason   string
	minute   day.Minute
}

// note counts one event. Every [traffic.SampleEvery]-th event is stored as a sample.
func (u *unproven) note(c traffic.Unproven) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.events++; u.events%traffic.SampleEvery != 0 {
		c.Sample = nil
	}
	u.add(c)
}

// add adds a count. Counts beyond the limit go under no campaign. The lock is held.
func (u *unproven) add(c traffic.Unproven) {
	if u.counts == nil {
		u.counts = make(map[unprovenKey]*traffic.Unproven)
	}
	key := unprovenKey{c.CampaignID, c.Reason, c.Minute}
	if len(u.counts) >= unprovenMost && u.counts[key] == nil {
		c.CampaignID, key.campaign = uuid.Nil, uuid.Nil
	}
	if len(u.counts) >= 2*unprovenMost && u.counts[key] == nil {
		return // after an outage of hours; the metric still counts them
	}
	if known := u.counts[key]; known == nil {
		u.counts[key] = &c
	} else {
		known.Events += c.Events
		if c.Sample != nil {
			known.Sample = c.Sample
		}
	}
}

// take returns and clears the counts.
func (u *unproven) take() []traffic.Unproven {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]traffic.Unproven, 0, len(u.counts))
	for _, c := range u.counts {
		list = append(list, *c)
	}
	clear(u.counts)
	return list
}

// back adds counts again that the store did not accept.
func (u *unproven) back(counts []traffic.Unproven) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range counts {
		u.add(c)
	}
}

// lacking returns the proof of a token that does not verify.
func lacking(err error) event.Proof {
	if errors.Is(err, token.ErrKeyExpired) {
		return event.Proof_EXPIRED
	}
	return event.Proof_BAD_SIGNATURE
}

// stranger handles an unverified event: it is counted and discarded. It creates no record, no mark
// of a repeat and no group in stats, because anyone can send any number of them. Errors: a
// conversion of no campaign, a sender above its limit.
func (t *Tracker) stranger(e *event.Event, report *reportedEvent, now time.Time) error {
	if err := t.unread(e, report); err != nil {
		return err
	}
	o := report.origin
	if o.request != nil && t.deps.Strangers != nil {
		if err := t.deps.Strangers.Unproven(o.request.ClientIP(), now); err != nil {
			return err
		}
	}
	t.events[e.Type][e.Proof].Inc()
	t.noteUnverified(e, report)
	campaign := uuid.UUID(e.CampaignId)
	if _, exists := t.deps.Creatives.Creative(campaign); !exists {
		campaign = uuid.Nil
	}
	p := e.Placement
	t.unproven.note(traffic.Unproven{
		CampaignID: campaign, Reason: defect(e, report), Minute: day.MinuteOf(now), Events: 1,
		Sample: &traffic.Sample{
			At: now.UTC(), Type: e.Type.Name(), Developer: uuid.UUID(e.DeveloperId),
			Format: p.GetFormat(), Method: p.GetIntegrationMethod(), Posted: o.posted,
		},
	})
	return nil
}

// reasonOf returns the reason why e is unverified.
func reasonOf(e *event.Event) string {
	switch e.Proof {
	case event.Proof_UNSIGNED:
		return traffic.ReasonUnsigned
	case event.Proof_EXPIRED:
		return traffic.ReasonKeyExpired
	}
	return traffic.ReasonForged
}

// Run stores the counts of unverified events each minute until ctx ends, and then once more. Counts
// that the store did not accept go with the next call. It returns nil.
func (t *Tracker) Run(ctx context.Context) error {
	ticker := time.NewTicker(unprovenEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			t.FlushUnproven(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			t.FlushUnproven(ctx)
		}
	}
}

// FlushUnproven stores the counts once. [Tracker.Run] calls it; tests may call it directly.
func (t *Tracker) FlushUnproven(ctx context.Context) {
	counts := t.unproven.take()
	if len(counts) == 0 || t.deps.Unproven == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unprovenWait)
	defer cancel()
	if err := t.deps.Unproven.AddUnproven(ctx, counts); err != nil {
		t.recorder.log.Warn(ctx, "counts of unverified events could not be stored; they are retried", "error", err)
		t.unproven.back(counts)
	}
}
