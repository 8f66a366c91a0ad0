package track

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/compliance/adreport"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// Complaints stores readers' reports of ads. Errors: errs.InvalidRequest.
type Complaints interface {
	File(ctx context.Context, r adreport.Report) error
}

// complaint is a reader's report, as the page shows it.
type complaint struct {
	adreport.Report
	status  int
	filed   bool
	problem string // the invalid field
}

// reportAd serves POST /r/<token>, the form "report this ad" of the receipt page, without an
// account. The token is the receipt of an ad that this service served, and each receipt allows one
// report, so strangers cannot add arbitrary rows. A further report is acknowledged as well.
func (t *Tracker) reportAd(c *gin.Context) error {
	auction, err := t.deps.Keyring.Verify(token.ForReceipt, c.Param("token"), t.deps.Now())
	if err != nil || auction.Sandbox || t.deps.Complaints == nil {
		return errNoLink
	}
	var form url.Values
	if err := httpapi.ReadBody(c, func(body []byte) error {
		if form, err = url.ParseQuery(string(body)); err != nil {
			return errs.New(errs.InvalidRequest, "the body must be a form: reason=…&text=…&email=…")
		}
		return nil
	}); err != nil {
		return err
	}
	now := t.deps.Now().UTC()
	network := traffic.Network(c.ClientIP())
	of := complaint{status: http.StatusOK, Report: adreport.Report{
		AuctionID: auction.AuctionID, AuctionDay: day.OfUUID(auction.AuctionID), CampaignID: auction.CampaignID,
		AdvertiserID: auction.AdvertiserID,
		DeveloperID:  auction.DeveloperID, Headline: auction.Headline, At: now,
		Network: t.deps.Keyring.Network(token.NetworkOfReport, auction.CampaignID, day.Of(now), network),
		Reason:  form.Get("reason"), Text: strings.TrimSpace(strings.ReplaceAll(form.Get("text"), "\r\n", "\n")),
		Email: strings.TrimSpace(form.Get("email")),
	}}
	switch err := t.deps.Complaints.File(c.Request.Context(), of.Report); {
	case errs.Is(err, errs.InvalidRequest):
		of.status = http.StatusBadRequest
		of.problem, _ = errs.Of(err).Extra["field"].(string) // the page has the text for each field
	case err != nil:
		return err
	default:
		of.filed = true
	}
	return t.showReceipt(c, auction, of)
}
