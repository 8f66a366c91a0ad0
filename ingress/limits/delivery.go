package limits

import (
	"context"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/limits/frequency"
	"adnet/ingress/limits/pacing"
)

// Delivery combines the rules that can hold back an eligible campaign for now: frequency caps and
// pacing. Either may be nil. A nil Delivery limits nothing.
type Delivery struct {
	Caps  *frequency.Caps
	Pacer *pacing.Pacer
}

// pacedFor is the retry delay for a caller whose candidates are all paced, in seconds: shares
// change every second, but only slightly.
const pacedFor = 60

// DeliveryGate is the gate of one auction. It checks caps, then budgets, then pacing, which counts
// its calls. The zero value lets every campaign pass.
type DeliveryGate struct {
	inner auction.Gate
	pacer *pacing.Pacer
	id    uuid.UUID
	visit frequency.Visit
}

// Begin makes g the gate of auction id, in front of inner. [DeliveryGate.End] must be called. Until
// then other auctions of the same session wait.
func (d *Delivery) Begin(ctx context.Context, g *DeliveryGate, id uuid.UUID, ask frequency.Ask, inner auction.Gate) {
	*g = DeliveryGate{inner: inner, id: id}
	if d == nil {
		return
	}
	g.pacer = d.Pacer
	if d.Caps != nil {
		d.Caps.Begin(ctx, ask, &g.visit)
	}
}

// Check implements [auction.Gate].
func (g *DeliveryGate) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if reason := g.visit.Check(c); reason != "" {
		return reason
	}
	if g.inner != nil {
		if reason := g.inner.Check(c, of); reason != "" {
			return reason
		}
	}
	if g.pacer == nil {
		return ""
	}
	reason := g.pacer.Check(g.id, c)
	if reason != "" && g.inner != nil {
		g.inner.Undo(c)
	}
	return reason
}

// Capped returns the reason if the session has reached the cap of c, whatever its budget, else "".
func (g *DeliveryGate) Capped(c *auction.Campaign) auction.Reason { return g.visit.Check(c) }

// Undo implements [auction.Gate].
func (g *DeliveryGate) Undo(c *auction.Campaign) {
	if g.pacer != nil {
		g.pacer.Undo(c)
	}
	if g.inner != nil {
		g.inner.Undo(c)
	}
}

// Early returns the number of turns until the conversation may have its next ad, 0 for now.
func (g *DeliveryGate) Early() (turns int) { return g.visit.Wait() }

// RetryAfter returns when to retry after reason, in seconds or in turns of the conversation. It
// returns 0 if waiting does not help or the time is unknown.
func (g *DeliveryGate) RetryAfter(reason auction.Reason) (seconds, turns int) {
	switch reason {
	case auction.Paced:
		return pacedFor, 0
	case auction.FrequencyCapped:
		return g.visit.RetryAfter()
	}
	return 0, 0
}

// End ends the auction with its winner, nil for none. RetryAfter still works afterwards.
func (g *DeliveryGate) End(winner *auction.Campaign) { g.visit.End(g.id, winner) }
