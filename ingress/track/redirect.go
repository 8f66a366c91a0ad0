package track

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/schemas/event"
)

var errNoLink = errs.New(errs.NotFound, "this link was not made by this service")

// redirect serves GET /s/<token>: 302 to the landing page. The destination is the one that the ad
// was sold with, which the token has, so that a link that is out leads to the page that was
// approved then and to no later one; it is never the query's. Without the reader's consent nothing
// is appended to it. A valid token always redirects, also when it is expired or the campaign paused
// or out of budget; a forged one is 404 without a Location.
func (t *Tracker) redirect(c *gin.Context) error {
	auction, creative, err := t.served(token.ForRedirect, c.Param("token"))
	if err != nil {
		return err
	}
	landing := cmp.Or(auction.Landing, creative.CTAURL) // links of earlier builds name no page
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
	c.Header("Location", landing)
	c.Status(http.StatusFound)
	return nil
}

func (t *Tracker) click(c *gin.Context, auction *token.Auction, text string) (*event.Event, error) {
	now := t.deps.Now()
	made, err := newEvent(event.Type_CLICK, now)
	if err != nil {
		return nil, err
	}
	made.auction = *auction
	t.signed(made, text, now)
	e, from := &made.Event, Origin{request: c, link: true}
	t.remember(made, &reportedEvent{session: c.Query("session"), origin: from}, now)
	t.judge(c.Request.Context(), e, from, now)
	t.recent.note(e)
	return e, t.recorder.recordLater(c.Request.Context(), e)
}

// served is the ad that a token was made for, if it may be used so. A key past its grace proves
// nothing any more.
func (t *Tracker) served(allowed token.Purposes, text string) (token.Auction, *campaign.Campaign, error) {
	auction, err := t.deps.Keyring.Verify(allowed, text, t.deps.Now())
	if err != nil {
		return token.Auction{}, nil, errNoLink
	}
	creative, ok := t.deps.Creatives.Creative(auction.CampaignID)
	if !ok {
		return token.Auction{}, nil, errs.New(errs.NotFound, "the campaign of this link is not known here")
	}
	return auction, creative, nil
}
