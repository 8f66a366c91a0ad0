package manage

import (
	"context"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

// reviewQueue returns the review queue, with the readers' reports on each campaign.
func (a *API) reviewQueue(c *gin.Context, admin account.User, page httpapi.Page) (any, error) {
	f := filterOf(c, page)
	f.Status, f.Waiting = "", true
	waiting, total, err := a.deps.Campaigns.List(c.Request.Context(), admin, f)
	if err != nil {
		return nil, err
	}
	list := answerList(c, waiting, total, page)
	reply, is := list.(httpapi.Object)
	if !is {
		return list, nil
	}
	ids := make([]uuid.UUID, len(waiting))
	for i := range waiting {
		ids[i] = waiting[i].ID
	}
	reported, err := a.deps.AdReports.ReportsOf(c.Request.Context(), ids)
	if reported == nil {
		reported = []adreport.Reported{}
	}
	reply["reported"] = reported
	return reply, err
}

type review struct {
	ID            string `json:"id"`
	Decision      string `json:"decision"`
	Notes         string `json:"notes"`
	ConfigVersion int64  `json:"config_version"`
}

// reviewCampaign decides a waiting campaign, and with it the readers' reports on it. Reporters with
// an e-mail address are notified. The campaign's decision comes first and can be repeated while
// reports wait; the reports are decided after it, once.
func (a *API) reviewCampaign(c *gin.Context, admin account.User, in review) (httpapi.Object, error) {
	id, err := httpapi.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	campaigns, err := a.unlessChanged(c, nil)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	reports, err := a.deps.AdReports.ReportsOf(ctx, []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	d := campaign.Decision{Decision: in.Decision, Notes: in.Notes, Seen: in.ConfigVersion, Reported: len(reports) > 0}
	changed, err := campaigns.Decide(ctx, admin, id, d)
	if err != nil {
		return nil, stale(c, admin, err)
	}
	tag(c, &changed.Campaign)
	if d.Reported {
		outcome := map[bool]string{
			true: adreport.Dismissed, false: adreport.Removed,
		}[changed.Campaign.Status != campaign.Rejected]
		of := adreport.Decision{CampaignID: id, Outcome: outcome, Words: in.Notes, By: admin.ID, At: a.deps.Now().UTC()}
		// another administrator has decided them already
		if _, err := a.endReports(ctx, of); err != nil && !errs.Is(err, errs.InvalidState) {
			return nil, err
		}
	}
	return httpapi.Object{
		"campaign": changed.Campaign, "review": changed.Campaign.Review, "propagated": changed.Propagated,
	}, nil
}

// Limits on the changes read to find a campaign's last approved version. An owner's frequent edits
// must not block a review or make a request run without end.
const (
	pastPage  = 500
	pastPages = 4
)

// approvedBefore serves GET /api/admin/campaigns/{id}/approved: the last approved version of a
// campaign, and its differences to the current one.
func (a *API) approvedBefore(c *gin.Context, admin account.User, in httpapi.ID) (httpapi.Object, error) {
	now, err := a.deps.Campaigns.Get(c.Request.Context(), admin, in.ID)
	if err != nil {
		return nil, err
	}
	past := auditlog.PastOf(&now)
	if err := a.goBack(c.Request.Context(), past, in.ID); err != nil {
		return nil, err
	}
	approved, differs, whole := past.Found()
	return httpapi.Object{
		"campaign_id": in.ID, "config_version": now.ConfigVersion, "approved": approved, "differs": differs,
		"whole": whole,
	}, nil
}

func (a *API) goBack(ctx context.Context, past *auditlog.Past, id uuid.UUID) error {
	q := auditlog.Query{TargetKind: auditlog.TargetCampaign, TargetID: id.String(), Limit: pastPage}
	for range pastPages {
		entries, err := a.deps.Audit.AuditLog(ctx, q)
		if err != nil {
			return err
		}
		for i := range entries {
			if past.Undo(&entries[i]) {
				return nil
			}
		}
		if len(entries) < pastPage {
			return nil
		}
		q.Before = entries[len(entries)-1].Seq
	}
	return nil
}
