package track

import (
	"context"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/schemas/event"
)

// maxSession is the longest session id that is told apart, in bytes.
const maxSession = 128

// gif is the 43-byte transparent pixel (GIF89a, 1×1).
var gif = mustHex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")

func mustHex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err) // a constant of this file
	}
	return b
}

// beaconNames are the query parameters of a beacon.
var beaconNames = [...]string{
	saidEvent: "event", saidAuction: "auction_id", saidSession: "session", saidFormat: "format",
	saidMethod: "integration_method", saidDeveloper: "dev", saidCampaign: "campaign_id",
}

const (
	saidEvent = iota
	saidAuction
	saidSession
	saidFormat
	saidMethod
	saidDeveloper
	saidCampaign
)

// pixel serves GET /api/track. Whatever the token turns out to be, a well-formed beacon is answered
// with the pixel: a page must not break because an ad is old.
func (t *Tracker) pixel(c *gin.Context) error {
	var said [len(beaconNames)]string
	httpapi.QueryValues(c.Request.URL.RawQuery, beaconNames[:], said[:])
	kind, ok := eventTypes[said[saidEvent]]
	if !ok || kind == event.Type_CONVERSION {
		return errs.New(
			errs.InvalidRequest, "event must be impression, viewable, click, close, skip or video_complete",
		).With("field", "event")
	}
	what := reportedEvent{
		kind: kind, auctionID: said[saidAuction], session: said[saidSession],
		format: said[saidFormat], method: said[saidMethod], origin: Origin{request: c},
	}
	// An invalid publisher id is ignored: with a token it does not matter, and without one no
	// publisher earns.
	what.developer, _ = uuid.Parse(said[saidDeveloper])
	var err error
	if what.campaignID, err = campaignOf(said[saidCampaign], what.auctionID); err != nil {
		return err
	}
	if !looksOnly(c) {
		made, err := t.take(c.Request.Context(), what)
		if err != nil {
			return err
		}
		t.noted(c.Request.Context(), made)
	}
	c.Data(http.StatusOK, "image/gif", gif)
	return nil
}

// campaignOf reads the campaign id, which a token makes unnecessary.
func campaignOf(text, auctionID string) (uuid.UUID, error) {
	id, err := httpapi.ParseID("campaign_id", text)
	if err != nil && auctionID == "" {
		return uuid.Nil, err
	}
	return id, nil
}

// take records the event durably; one that proves nothing it counts.
func (t *Tracker) take(ctx context.Context, what reportedEvent) (*placedEvent, error) {
	now := t.deps.Now()
	made, kept, err := t.eventOf(what, now)
	if err != nil {
		return nil, err
	}
	e := &made.Event
	if !kept {
		return made, t.stranger(e, what.origin, now)
	}
	t.judge(ctx, e, what.origin, now)
	if err := t.recorder.record(e); err != nil {
		return made, err
	}
	t.confirm(e)
	return made, nil
}

// confirm tells the frequency caps that an ad was seen: by a genuine impression, under the
// auction's id.
func (t *Tracker) confirm(e *event.Event) {
	if t.deps.Exposures == nil || len(e.SessionHash) == 0 || e.Type != event.Type_IMPRESSION ||
		e.Proof != event.Proof_SIGNED || e.Sandbox || e.InvalidTraffic != "" {
		return
	}
	t.deps.Exposures.Confirm(campaign.SessionKey(e.SessionHash), uuid.UUID(e.CampaignId), uuid.UUID(e.AuctionId))
}

// cut is the longest valid UTF-8 text of at most n bytes that text starts with, bytes that are not
// UTF-8 left out: protobuf strings must be valid.
func cut(text string, n int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
