package manage

import (
	"net/http"

	"adnet/ingress/httpapi"
	"adnet/internal/report"
)

// converted serves GET /api/stats/conversions: the counted conversions of the caller's campaigns, or
// of one of them, by type.
func (a *API) converted(c *httpapi.Context) (err error) {
	var q report.Query
	if c.Query("campaign_id") != "" {
		q.CampaignID, _, err = a.campaignOf(c)
	} else {
		q.AdvertiserID, err = a.overviewOf(c)
	}
	if err != nil {
		return err
	}
	if q.Since, q.Until, err = a.daysOf(c); err != nil {
		return err
	}
	rows, err := a.deps.Stats.Converted(c.Request.Context(), q)
	if err != nil {
		return err
	}
	if rows == nil {
		rows = []report.Converted{}
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"since": q.Since.String(), "until": q.Until.String(), "conversions": rows})
}
