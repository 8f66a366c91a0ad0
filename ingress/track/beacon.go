package track

import (
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/schemas/event"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// maxSession is the longest session id that is kept, in bytes.
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

// pixel serves GET /api/track. Whatever the token turns out to be, a well-formed beacon is answered
// with the pixel: a page must not break because an ad is old.
func (t *Tracker) pixel(c *gin.Context) error {
	kind, ok := eventTypes[c.Query("event")]
	if !ok || kind == event.Type_CONVERSION {
		return errs.New(errs.InvalidRequest, "event must be impression, click, close, skip or video_complete").With("field", "event")
	}
	what := claim{
		kind: kind, auctionID: c.Query("auction_id"), session: c.Query("session"),
		format: c.Query("format"), method: c.Query("integration_method"),
	}
	// A publisher id that is none is ignored: with a token it does not matter, without one nobody earns.
	what.developer, _ = uuid.Parse(c.Query("dev"))
	var err error
	if what.campaignID, err = campaignOf(c.Query("campaign_id"), what.auctionID); err != nil {
		return err
	}
	if _, err := t.take(what); err != nil {
		return err
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

// take records the event durably.
func (t *Tracker) take(what claim) (*event.Event, error) {
	e, err := t.fact(what, t.deps.Now())
	if err != nil {
		return nil, err
	}
	t.count(e)
	return e, t.recorder.record(e)
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
