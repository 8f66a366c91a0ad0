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

// maxSession is the number of significant bytes of a session id.
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
	paramEvent: "event", paramAuction: "auction_id", paramSession: "session", paramFormat: "format",
	paramMethod: "integration_method", paramDeveloper: "dev", paramCampaign: "campaign_id",
}

const (
	paramEvent = iota
	paramAuction
	paramSession
	paramFormat
	paramMethod
	paramDeveloper
	paramCampaign
)

// pixel serves GET /api/track. It answers a well-formed beacon with the pixel whatever its token,
// because a page must not break on an old ad.
func (t *Tracker) pixel(c *gin.Context) error {
	var params [len(beaconNames)]string
	httpapi.QueryValues(c.Request.URL.RawQuery, beaconNames[:], params[:])
	kind, ok := event.TypeOf(params[paramEvent])
	switch {
	case !ok:
		return errs.New(errs.InvalidRequest, "event must be %s", event.TypeNames()).With("field", "event")
	case kind.Kind().By == event.Advertiser:
		return t.postback(c)
	}
	report := reportedEvent{
		kind: kind, auctionID: params[paramAuction], session: params[paramSession],
		format: params[paramFormat], method: params[paramMethod], origin: Origin{request: c},
	}
	// Ignore an invalid publisher id: a token overrides it, and without a token no publisher earns.
	report.developer, _ = uuid.Parse(params[paramDeveloper])
	var err error
	if report.campaignID, err = campaignOf(params[paramCampaign], report.auctionID); err != nil {
		return err
	}
	if !looksOnly(c) {
		e, err := t.take(c.Request.Context(), &report)
		if err != nil {
			return err
		}
		t.noted(c.Request.Context(), e)
	}
	httpapi.Send(c, http.StatusOK, "image/gif", gif)
	return nil
}

// campaignOf reads the campaign id, which is optional with a token.
func campaignOf(text, auctionID string) (uuid.UUID, error) {
	id, err := httpapi.ParseID("campaign_id", text)
	if err != nil && auctionID == "" {
		return uuid.Nil, err
	}
	return id, nil
}

// take records a verified event durably. An unverified event is only counted.
func (t *Tracker) take(ctx context.Context, report *reportedEvent) (*placedEvent, error) {
	now := t.deps.Now()
	e, countable, err := t.eventOf(report, now)
	if err != nil {
		return nil, err
	}
	if !countable {
		return e, t.stranger(&e.Event, report, now)
	}
	t.judge(ctx, &e.Event, report.origin, now)
	if err := t.recorder.record(&e.Event); err != nil {
		return e, err
	}
	t.noteUnverified(&e.Event, report)
	t.confirm(&e.Event)
	return e, nil
}

// confirm reports a genuine impression to the frequency caps, under the auction's id.
func (t *Tracker) confirm(e *event.Event) {
	if t.deps.Exposures == nil || len(e.SessionHash) == 0 || e.Type != event.Type_IMPRESSION ||
		e.Proof != event.Proof_SIGNED || e.Sandbox || e.InvalidTraffic != "" {
		return
	}
	t.deps.Exposures.Confirm(campaign.SessionKey(e.SessionHash), uuid.UUID(e.CampaignId), uuid.UUID(e.AuctionId))
}

// cut returns the longest prefix of text of at most n bytes that is valid UTF-8, without invalid
// bytes: protobuf strings must be valid.
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
