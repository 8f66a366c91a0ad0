package track

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/internal/ledger"
	"adnet/schemas/event"
)

// note remembers e and reports whether this node took it before: a pixel, a redirect and a post of
// the same event are recognized as repeats without a store lookup per beacon. It is informational
// only.
func (t *Tracker) note(e *event.Event) (known bool) {
	return leavesMark(e) && t.recent.Note(e.AuctionId, seenAs(e))
}

// leavesMark reports whether e may count. Unverified events leave no mark: a stranger could send
// any number, and make genuine events look repeated.
func leavesMark(e *event.Event) bool {
	return e.Proof == event.Proof_SIGNED || e.Proof == event.Proof_UNSIGNED_BILLABLE
}

// seenAs returns settlement's key of e's type. Unverified conversions have their own, so that they
// do not make the real one look repeated.
func seenAs(e *event.Event) string {
	if e.Conversion == nil {
		return e.Type.Name()
	}
	if !e.Conversion.Verified {
		return string(ledger.UnverifiedKey(e.Conversion.Type, e.Conversion.ExternalHash))
	}
	return string(ledger.ConversionKey(e.Conversion.Type, e.Conversion.ExternalHash))
}

// repeated reports whether an event of the same auction and type, settlement's deduplication key,
// was taken before. It is informational only: without Redis only this node's own memory is used.
func (t *Tracker) repeated(ctx context.Context, e *event.Event) bool {
	if !leavesMark(e) {
		return false
	}
	known := t.note(e)
	first, err := t.deps.Seen.Seen(ctx, seenAs(e)+":"+hex.EncodeToString(e.AuctionId), t.cfg.Life.Of(e.Type))
	return known || err == nil && !first
}

// again is [Tracker.repeated]. The first time an ad is shown, it also releases the budget that the
// ad held.
func (t *Tracker) again(ctx context.Context, e *placedEvent) bool {
	known := t.repeated(ctx, &e.Event)
	if !known {
		t.release(e)
	}
	return known
}

// release releases the budget that an ad held until it was shown.
func (t *Tracker) release(e *placedEvent) {
	if t.deps.Unseen == nil || !shows(e) {
		return
	}
	held := e.auction.Unseen()
	t.deps.Unseen.Seen(&held, t.deps.Now())
}

// shows reports whether an event proves that an ad was shown: a view if views are billed, so that
// impressions alone release no budget.
func shows(e *placedEvent) bool {
	kind := event.Type_IMPRESSION
	if e.BillingModel == event.BillingModel_VCPM {
		kind = event.Type_VIEWABLE
	}
	return e.Type == kind && e.Proof == event.Proof_SIGNED && e.InvalidTraffic == "" &&
		!e.Sandbox && !e.House
}

// noted records the event of a pixel. Its reply does not report repeats, so the shared store is
// read only for a browser key's ad: strangers can repeat its beacon through every node.
func (t *Tracker) noted(ctx context.Context, e *placedEvent) {
	if !e.auction.Browser || !shows(e) {
		if !t.note(&e.Event) {
			t.release(e)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	t.again(ctx, e)
}

// looksOnly reports whether a request comes from a link checker or a preview: no reader saw or
// clicked the ad.
func looksOnly(c *gin.Context) bool { return c.Request.Method == http.MethodHead }
