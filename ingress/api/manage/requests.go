package manage

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/report"
)

// requestsReply is the reply to GET /api/stats/requests.
type requestsReply struct {
	Since    string     `json:"since"`
	Until    string     `json:"until"`
	Requests int64      `json:"requests"`
	Filled   int64      `json:"filled"`
	FillRate float64    `json:"fill_rate"` // filled per request, 0 to 1
	NoFill   []noFillOf `json:"no_fill"`   // the most frequent first
	Last     *time.Time `json:"last_at"`

	BreakdownBy report.Breakdown `json:"breakdown_by,omitempty"`
	Breakdown   []askedReply     `json:"breakdown,omitzero"`
}

// askedReply counts the requests of one value of the breakdown.
type askedReply struct {
	Key      string  `json:"key"`
	Requests int64   `json:"requests"`
	Filled   int64   `json:"filled"`
	FillRate float64 `json:"fill_rate"`
}

func fillRate(filled, requests int64) float64 {
	if requests <= 0 {
		return 0
	}
	return float64(filled) / float64(requests)
}

// noFillOf counts the requests without an ad for a reason.
type noFillOf struct {
	Reason   string `json:"reason"`
	Requests int64  `json:"requests"`
}

func (a *API) mountRequests(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/stats/requests", httpapi.Do(a.requests), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true,
		Params: ofDays(httpapi.Params{
			"developer_id": httpapi.IDForm, "key": httpapi.IDForm,
			"breakdown": httpapi.WordForm(report.DemandBreakdowns...),
		}),
	})
	s.Handle(http.MethodGet, "/api/admin/requests", httpapi.Do(a.networkRequests), ofNetwork())
}

// ofNetwork is the policy of the counts of the whole network.
func ofNetwork() httpapi.Policy {
	p := with(ofAdmin(reads), ofDays(nil))
	p.Scans = true
	return p
}

// requests serves GET /api/stats/requests: a publisher's requests, and the reasons for no ad.
func (a *API) requests(c *gin.Context, caller account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	developer, err := developerOf(c, caller)
	if err != nil {
		return answer, err
	}
	since, until, err := a.daysOf(c)
	if err != nil {
		return answer, err
	}
	q := report.DemandQuery{
		DeveloperID: developer, Since: since, Until: until, Breakdown: report.Breakdown(c.Query("breakdown")),
	}
	if err := q.Check(); err != nil {
		return answer, err
	}
	return a.answerRequests(c, q)
}

// maxNetworkDays bounds the range of a query over the auctions of all publishers.
const maxNetworkDays = 31

// networkDays returns the range of an administrator's query over all publishers. Errors: the days
// are invalid or too many.
func (a *API) networkDays(c *gin.Context) (since, until day.Day, err error) {
	if since, until, err = a.daysOf(c); err != nil {
		return 0, 0, err
	}
	if until-since >= maxNetworkDays {
		return 0, 0, errs.New(
			errs.InvalidRequest, "the requests of all publishers can be counted over at most %d days", maxNetworkDays,
		).With("field", "since")
	}
	return since, until, nil
}

// networkRequests serves GET /api/admin/requests: the requests of all publishers.
func (a *API) networkRequests(c *gin.Context, _ account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	since, until, err := a.networkDays(c)
	if err != nil {
		return answer, err
	}
	return a.answerRequests(c, report.DemandQuery{All: true, Since: since, Until: until})
}

func (a *API) answerRequests(c *gin.Context, q report.DemandQuery) (answer httpapi.Reply, err error) {
	found, err := a.deps.Stats.Demand(c.Request.Context(), q)
	if err != nil {
		return answer, err
	}
	reply := requestsReply{
		Since: q.Since.String(), Until: q.Until.String(), NoFill: []noFillOf{}, BreakdownBy: q.Breakdown,
	}
	if !found.Last.IsZero() {
		reply.Last = &found.Last
	}
	for reason, n := range found.Outcomes {
		reply.Requests += n
		if reason == "" {
			reply.Filled = n
			continue
		}
		reply.NoFill = append(reply.NoFill, noFillOf{reason, n})
	}
	slices.SortFunc(reply.NoFill, func(a, b noFillOf) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Reason, b.Reason))
	})
	reply.FillRate = fillRate(reply.Filled, reply.Requests)
	if q.Breakdown != "" {
		reply.Breakdown = make([]askedReply, 0, len(found.Groups))
	}
	for _, g := range found.Groups {
		reply.Breakdown = append(
			reply.Breakdown, askedReply{g.Key, g.Requests, g.Filled, fillRate(g.Filled, g.Requests)},
		)
	}
	return httpapi.Table("adnet-requests-"+reply.Since+"-"+reply.Until, reply, reply.table), nil
}

// table returns the groups of the breakdown as rows with a header. Without a breakdown the rows
// count requests by the reason for no ad, which is empty for filled requests.
func (r *requestsReply) table() [][]string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	if r.BreakdownBy == "" {
		rows := [][]string{{"reason", "requests"}, {"", whole(r.Filled)}}
		for _, n := range r.NoFill {
			rows = append(rows, []string{n.Reason, whole(n.Requests)})
		}
		return rows
	}
	rows := [][]string{{string(r.BreakdownBy), "requests", "filled", "fill_rate"}}
	for _, g := range r.Breakdown {
		rows = append(
			rows, []string{g.Key, whole(g.Requests), whole(g.Filled), strconv.FormatFloat(g.FillRate, 'f', -1, 64)},
		)
	}
	return rows
}
