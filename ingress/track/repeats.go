package track

import (
	"context"
	"encoding/hex"
	"hash/maphash"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// recentEvents remembers hashes of events that this node took, each in the one place that its hash
// names: a newer event may push an older one out. So a pixel, a redirect and a post of the same
// event know of each other without asking the shared store for every beacon. It only ever informs.
type recentEvents struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

func newRecentEvents() *recentEvents { return &recentEvents{seed: maphash.MakeSeed()} }

// note remembers e and says whether it was known.
func (r *recentEvents) note(e *event.Event) (known bool) {
	if !leavesMark(e) {
		return false
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.Write(e.AuctionId)
	_, _ = h.WriteString(seenAs(e))
	sum := h.Sum64()
	return r.places[sum%uint64(len(r.places))].Swap(sum) == sum
}

// leavesMark is true of events that may count. What proves nothing leaves no mark: a stranger could
// make any number of them, and make others' events look repeated.
func leavesMark(e *event.Event) bool {
	return e.Proof == event.Proof_SIGNED || e.Proof == event.Proof_UNSIGNED_BILLABLE
}

// seenAs is settlement's key of e's type: unverified conversions must not make the real one look
// repeated.
func seenAs(e *event.Event) string {
	if e.Conversion != nil && !e.Conversion.Verified {
		return wireNames[e.Type] + "_unverified"
	}
	return wireNames[e.Type]
}

// repeated says whether an event of the same auction and type was taken before: what settlement
// deduplicates by. It is an information: without Redis this node's own memory speaks.
func (t *Tracker) repeated(ctx context.Context, e *event.Event) bool {
	if !leavesMark(e) {
		return false
	}
	known := t.recent.note(e)
	first, err := t.deps.Seen.Seen(ctx, seenAs(e)+":"+hex.EncodeToString(e.AuctionId), t.cfg.Life.Of(wireNames[e.Type]))
	return known || err == nil && !first
}

// again is [Tracker.repeated]. Of a browser key's ad that is seen for the first time it gives back
// what the ad held: once, since a stranger can repeat its beacon.
func (t *Tracker) again(ctx context.Context, made *placedEvent) bool {
	known := t.repeated(ctx, &made.Event)
	if !known && t.deps.Unseen != nil && frees(made) {
		a := &made.auction
		t.deps.Unseen.Seen(traffic.Unseen{
			Campaign: a.CampaignID, Key: a.Asker.Key, Network: a.Asker.Network, Sold: a.IssuedAt(),
			Amount: a.Asker.Held,
		}, t.deps.Now())
	}
	return known
}

// frees says whether an event shows that an ad of a browser key was seen: by a view where that is
// paid for, so that impressions alone hold no budget.
func frees(made *placedEvent) bool {
	e, shows := &made.Event, event.Type_IMPRESSION
	if e.BillingModel == event.BillingModel_VCPM {
		shows = event.Type_VIEWABLE
	}
	return made.auction.Browser && e.Type == shows && e.Proof == event.Proof_SIGNED && e.InvalidTraffic == "" &&
		!e.Sandbox && !e.House
}

// noted remembers the event of a pixel, whose answer says nothing of repeats: the shared store is
// asked only where something depends on it.
func (t *Tracker) noted(ctx context.Context, made *placedEvent) {
	if !frees(made) {
		t.recent.note(&made.Event)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	t.again(ctx, made)
}

// looksOnly is true of a request that comes from a link checker or a preview: no reader saw or
// clicked the ad.
func looksOnly(c *gin.Context) bool { return c.Request.Method == http.MethodHead }
