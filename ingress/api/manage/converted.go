package manage

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/report"
)

func (a *API) mountConverted(s *httpapi.Server) {
	ofTypes := with(reads, ofDays(httpapi.Params{"campaign_id": httpapi.IDForm}))
	ofTypes.Scans = true
	s.Handle(http.MethodGet, "/api/stats/conversions", httpapi.Do(a.converted), ofTypes)
}

// converted serves GET /api/stats/conversions: the counted conversions by type, of the caller's
// campaigns or of one campaign.
func (a *API) converted(c *gin.Context, caller account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	q := report.Query{AdvertiserID: overviewOf(caller)}
	if c.Query("campaign_id") != "" {
		q.AdvertiserID = uuid.Nil
		if q.CampaignID, _, err = a.campaignOf(c, caller); err != nil {
			return answer, err
		}
	}
	if q.Since, q.Until, err = a.daysOf(c); err != nil {
		return answer, err
	}
	result, err := a.deps.Stats.Converted(c.Request.Context(), q)
	if err != nil {
		return answer, err
	}
	reply := convertedReply{
		Since: q.Since.String(), Until: q.Until.String(), Conversions: result.Rows,
		AsOf: asOf(result.AsOf, a.deps.Now()),
	}
	if reply.Conversions == nil {
		reply.Conversions = []report.Converted{}
	}
	return httpapi.Table("adnet-conversions-"+reply.Since+"-"+reply.Until, reply, reply.table), nil
}

// convertedReply counts conversions by type.
type convertedReply struct {
	Since       string             `json:"since"`
	Until       string             `json:"until"`
	Conversions []report.Converted `json:"conversions"`
	AsOf        time.Time          `json:"as_of"`
}

// table returns the conversions as rows with a header.
func (r *convertedReply) table() [][]string {
	rows := [][]string{{"campaign_id", "conversion_type", "conversions", "value_usd", "last_received_at"}}
	for _, c := range r.Conversions {
		rows = append(
			rows,
			[]string{
				c.CampaignID.String(), c.Type, strconv.FormatInt(c.Conversions, 10), c.ValueUSD.String(),
				c.Last.UTC().Format(time.RFC3339Nano),
			},
		)
	}
	return rows
}
