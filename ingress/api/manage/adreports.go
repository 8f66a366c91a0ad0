package manage

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/decision"
	"adnet/internal/errs"
)

var ofReports = httpapi.Params{
	"limit": httpapi.NumberForm(1, maxLimit), "offset": httpapi.NumberForm(0, httpapi.MaxOffset),
}

func (a *API) mountReports(s *httpapi.Server) {
	reads, changes := ofAdmin(reads), ofAdmin(changes)
	s.Handle(http.MethodGet, "/api/admin/reports", httpapi.Do(a.listReports), with(reads, ofReports))
	s.Handle(http.MethodPost, "/api/admin/reports/:id", httpapi.Do(a.decideReports), changes)
	s.Handle(http.MethodGet, "/api/admin/campaigns/:id/approved", httpapi.Do(a.approvedBefore), reads)
}

// listReports serves GET /api/admin/reports: the campaigns that readers have reported, with their
// ads.
func (a *API) listReports(c *gin.Context, admin account.User, page httpapi.Page) (httpapi.Object, error) {
	list, total, err := a.deps.AdReports.ReportedCampaigns(c.Request.Context(), page.Limit, page.Offset)
	if err != nil {
		return nil, err
	}
	type reported struct {
		adreport.Reported
		Campaign *campaign.Campaign `json:"campaign,omitempty"`
	}
	reply := make([]reported, len(list))
	for i := range list {
		reply[i].Reported = list[i]
		switch of, err := a.deps.Campaigns.Get(c.Request.Context(), admin, list[i].CampaignID); {
		case err == nil:
			reply[i].Campaign = &of
		case !errs.Is(err, errs.NotFound):
			return nil, err
		}
	}
	return httpapi.Object{"reported": reply, "total": total, "limit": page.Limit, "offset": page.Offset}, nil
}

type reportsRuling struct {
	Outcome string `json:"outcome"`
	Words   string `json:"words"`
}

// decideReports serves POST /api/admin/reports/{campaign}. The outcome kept leaves the ad running,
// removed rejects the campaign. Reporters with an e-mail address are notified. The campaign's
// decision comes first and can be repeated; the reports are decided after it, once.
func (a *API) decideReports(c *gin.Context, admin account.User, in httpapi.Of[reportsRuling]) (httpapi.Object, error) {
	d := adreport.Decision{CampaignID: in.ID, Outcome: in.In.Outcome, By: admin.ID, At: a.deps.Now().UTC()}
	if d.Outcome != adreport.Dismissed && d.Outcome != adreport.Removed {
		return nil, errs.New(errs.InvalidRequest, "outcome must be kept or removed").With("field", "outcome")
	}
	var err error
	if d.Words, err = decision.Clean("words", in.In.Words, 1000); err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	of, err := a.deps.Campaigns.Get(ctx, admin, d.CampaignID)
	if err != nil {
		return nil, err
	}
	reported := slices.ContainsFunc(
		of.PolicyViolations, func(v campaign.Violation) bool { return v.Rule == campaign.RuleReported },
	)
	switch {
	case d.Outcome == adreport.Removed && of.Status != campaign.Rejected && of.Status != campaign.Archived:
		_, err = a.deps.Campaigns.Remove(ctx, admin, d.CampaignID, firstRunes(d.Words, 250))
	case d.Outcome == adreport.Dismissed && reported && of.Waits():
		_, err = a.deps.Campaigns.Decide(
			ctx, admin, d.CampaignID,
			campaign.Decision{Decision: "approved", Notes: firstRunes(d.Words, 250), Seen: of.ConfigVersion},
		)
	}
	if err != nil {
		return nil, err
	}
	notified, err := a.endReports(ctx, d)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"campaign_id": d.CampaignID, "outcome": d.Outcome, "told": notified}, nil
}

// endReports decides the open reports of a campaign, and mails the reporters with an e-mail
// address.
func (a *API) endReports(ctx context.Context, d adreport.Decision) (notified int, err error) {
	emails, err := a.deps.AdReports.DecideReports(ctx, d)
	for _, to := range emails {
		a.tell(to, d)
	}
	return len(emails), err
}

// tell mails a decision to a reporter.
func (a *API) tell(to string, d adreport.Decision) {
	if a.deps.Mailer == nil {
		return
	}
	what := "The ad can continue: it complies with the rules of this network."
	if d.Outcome == adreport.Removed {
		what = "The ad was removed."
	}
	a.deps.Mailer.Send(account.Letter{
		To: to, Subject: "Your report of an ad",
		Text: "You reported an ad on its receipt page and left this e-mail address. " +
			"A person has reviewed your report.\n\n" + what + "\n\n" + d.Words +
			"\n\nWe delete your e-mail address after this mail. If you disagree, you may turn to an " +
			"out-of-court dispute settlement body or a court.\n",
	})
}
