package track

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/internal/campaign"
	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/schemas/event"
)

var errNoLink = errs.New(errs.NotFound, "this link is not from this service")

// redirect serves GET /s/<token>: 302 to the landing page. The destination comes from the token,
// never from the query: it is the page that was approved when the ad was sold, not a later one.
// Without the reader's consent nothing is appended to it. A valid token always redirects, even if
// it has expired or the campaign is paused or out of budget. A forged token gets 404 without a
// Location.
func (t *Tracker) redirect(c *gin.Context) error {
	auction, creative, err := t.served(token.ForRedirect, c.Param("token"))
	if err != nil {
		return err
	}
	landing := auction.Landing
	if !looksOnly(c) {
		e, err := t.click(c, &auction, c.Param("token"))
		if err != nil {
			return err
		}
		if e.Proof == event.Proof_SIGNED && creative.ClickID != campaign.ClickIDOff && !e.NoConsent {
			auction.ClickAfter = time.UnixMicro(e.ReceivedAtUs).Sub(auction.IssuedAt())
			landing = withClickID(landing, t.deps.Keyring.Sign(token.PurposeConversion, auction))
		}
	}
	c.Header("Location", adtext.URI(landing))
	c.Status(http.StatusFound)
	return nil
}

func (t *Tracker) click(c *gin.Context, auction *token.Auction, text string) (*event.Event, error) {
	now := t.deps.Now()
	report := reportedEvent{
		kind: event.Type_CLICK, auctionID: text, session: c.Query("session"), origin: Origin{request: c, link: true},
	}
	e, err := t.provenOf(auction, &report, now)
	if err != nil {
		return nil, err
	}
	t.judge(c.Request.Context(), &e.Event, report.origin, now)
	t.note(&e.Event)
	return &e.Event, t.recorder.recordLater(c.Request.Context(), &e.Event)
}

// served returns the ad of a token that is valid for this purpose. A key past its grace period
// verifies nothing.
func (t *Tracker) served(allowed token.Purposes, text string) (token.Auction, *campaign.Campaign, error) {
	auction, err := t.deps.Keyring.Verify(allowed, text, t.deps.Now())
	if err != nil {
		return token.Auction{}, nil, errNoLink
	}
	creative, ok := t.deps.Creatives.Creative(auction.CampaignID)
	if !ok {
		return token.Auction{}, nil, errs.New(errs.NotFound, "the campaign of this link does not exist here")
	}
	return auction, creative, nil
}
