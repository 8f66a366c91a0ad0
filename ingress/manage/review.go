package manage

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/adreport"
	"adnet/internal/auditlog"
	"adnet/internal/campaign"
	"adnet/internal/errs"
)

// reviewQueue returns the campaigns that wait for review, with the readers' reports on each.
func (a *API) reviewQueue(c *gin.Context) error {
	admin, err := a.deps.Auth.Admin(c)
	if err != nil {
		return err
	}
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	f.Status, f.Waiting = "", true
	page, total, err := a.deps.Campaigns.List(c.Request.Context(), admin, f)
	if err != nil {
		return err
	}
	if c.Query("shape") == "array" {
		return answerList(c, page, total, f)
	}
	ids := make([]uuid.UUID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	reported, err := a.deps.AdReports.ReportsOf(c.Request.Context(), ids)
	if err != nil {
		return err
	}
	if page == nil {
		page = []campaign.Campaign{}
	}
	if reported == nil {
		reported = []adreport.Reported{}
	}
	return httpapi.JSON(
		c, http.StatusOK,
		map[string]any{"campaigns": page, "reported": reported, "total": total, "limit": f.Limit, "offset": f.Offset},
	)
}

// reviewCampaign decides a waiting campaign, and with it the readers' reports on it. Reporters with
// an e-mail address are notified. The campaign's decision comes first and can be repeated while
// reports wait; the reports are decided after it, once.
func (a *API) reviewCampaign(c *gin.Context) error {
	admin, err := a.deps.Auth.Admin(c)
	if err != nil {
		return err
	}
	var in struct {
		ID            string `json:"id"`
		Decision      string `json:"decision"`
		Notes         string `json:"notes"`
		ConfigVersion int64  `json:"config_version"`
	}
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	id, err := httpapi.ParseID("id", in.ID)
	if err != nil {
		return err
	}
	campaigns, err := a.unlessChanged(c, nil)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	reports, err := a.deps.AdReports.ReportsOf(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	d := campaign.Decision{Decision: in.Decision, Notes: in.Notes, Seen: in.ConfigVersion, Reported: len(reports) > 0}
	changed, err := campaigns.Decide(ctx, admin, id, d)
	if err != nil {
		return stale(c, err)
	}
	tag(c, &changed.Campaign)
	if d.Reported {
		outcome := map[bool]string{
			true: adreport.Dismissed, false: adreport.Removed,
		}[changed.Campaign.Status != campaign.Rejected]
		of := adreport.Decision{CampaignID: id, Outcome: outcome, Words: in.Notes, By: admin.ID, At: a.deps.Now().UTC()}
		// another administrator has decided them already
		if _, err := a.endReports(ctx, of); err != nil && !errs.Is(err, errs.InvalidState) {
			return err
		}
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"campaign": changed.Campaign, "review": changed.Campaign.Review, "propagated": changed.Propagated,
	})
}

// Limits on the changes read to find a campaign's last approved version. An owner's frequent edits
// must not block a review or make a request run without end.
const (
	pastPage  = 500
	pastPages = 4
)

// approvedBefore serves GET /api/admin/campaigns/{id}/approved: the last approved version of a
// campaign, and its differences to the current one.
func (a *API) approvedBefore(c *gin.Context) error {
	admin, err := a.deps.Auth.Administrator(c)
	if err != nil {
		return err
	}
	id, err := httpapi.ParseID("id", c.Param("id"))
	if err != nil {
		return err
	}
	now, err := a.deps.Campaigns.Get(c.Request.Context(), admin, id)
	if err != nil {
		return err
	}
	past := auditlog.PastOf(&now)
	if err := a.goBack(c.Request.Context(), past, id); err != nil {
		return err
	}
	approved, differs, whole := past.Found()
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"campaign_id": id, "config_version": now.ConfigVersion, "approved": approved, "differs": differs,
		"whole": whole,
	})
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
