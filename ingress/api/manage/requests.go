package manage

import (
	"cmp"
	"context"
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
	ThenBy      report.Breakdown `json:"second_by,omitempty"`
	Breakdown   []askedReply     `json:"breakdown,omitzero"`
}

// askedReply counts the requests of one value of the breakdown, or of one pair of values.
type askedReply struct {
	keys
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
			"breakdown": ofRequests,
		}),
	})
	s.Handle(http.MethodGet, "/api/admin/requests", httpapi.Do(a.networkRequests), ofNetworkRequests())
}

// ofNetwork is the policy of the counts of the whole network.
func ofNetwork() httpapi.Policy {
	p := with(ofAdmin(reads), ofDays(nil))
	p.Scans = true
	return p
}

// ofNetworkRequests is the policy of the requests of the whole network.
func ofNetworkRequests() httpapi.Policy {
	return with(ofNetwork(), ofDays(httpapi.Params{"breakdown": ofRequests}))
}

// requests serves GET /api/stats/requests: a publisher's requests, and the reasons for no ad. For an
// administrator without developer_id, a breakdown by publisher has all of them.
func (a *API) requests(c *gin.Context, caller account.User, in httpapi.None) (answer httpapi.Reply, err error) {
	var q report.DemandQuery
	q.Breakdown, q.Then = breakdownsOf(c)
	named := c.Query("developer_id") != "" || c.Query("key") != ""
	if caller.IsAdmin() && !named && (q.Breakdown == report.ByPublisher || q.Then == report.ByPublisher) {
		return a.networkRequests(c, caller, in)
	}
	if q.DeveloperID, err = developerOf(c, caller); err != nil {
		return answer, err
	}
	if q.Since, q.Until, err = a.daysOf(c); err != nil {
		return answer, err
	}
	return a.answerRequests(c, &caller, q)
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
func (a *API) networkRequests(c *gin.Context, caller account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	q := report.DemandQuery{All: true}
	q.Breakdown, q.Then = breakdownsOf(c)
	if q.Since, q.Until, err = a.networkDays(c); err != nil {
		return answer, err
	}
	return a.answerRequests(c, &caller, q)
}

func (a *API) answerRequests(
	c *gin.Context, caller *account.User, q report.DemandQuery,
) (answer httpapi.Reply, err error) {
	found, err := a.deps.Stats.Demand(c.Request.Context(), q)
	if err != nil {
		return answer, err
	}
	reply := requestsReplyOf(&q, &found)
	if reply.Breakdown, err = a.askedGroups(c.Request.Context(), caller, &q, found.Groups); err != nil {
		return answer, err
	}
	name := tableName("adnet-requests", reply.Since, reply.Until, q.Breakdown, q.Then)
	return httpapi.Table(name, reply, reply.table), nil
}

// requestsReplyOf returns the reply without its groups.
func requestsReplyOf(q *report.DemandQuery, found *report.Demand) requestsReply {
	reply := requestsReply{
		Since: q.Since.String(), Until: q.Until.String(), NoFill: []noFillOf{}, BreakdownBy: q.Breakdown, ThenBy: q.Then,
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
	return reply
}

// askedGroups returns the groups of q's breakdowns, nil without one, with the names that caller may
// see.
func (a *API) askedGroups(
	ctx context.Context, caller *account.User, q *report.DemandQuery, groups []report.DemandGroup,
) ([]askedReply, error) {
	if q.Breakdown == "" {
		return nil, nil
	}
	pairs := make([][2]string, len(groups))
	for i, g := range groups {
		pairs[i] = [2]string{g.Key, g.Then}
	}
	named, err := a.keysOf(ctx, caller, q.Breakdown, q.Then, pairs)
	if err != nil {
		return nil, err
	}
	list := make([]askedReply, len(groups))
	for i, g := range groups {
		list[i] = askedReply{named[i], g.Requests, g.Filled, fillRate(g.Filled, g.Requests)}
	}
	return list, nil
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
	rows := [][]string{append(headOf(r.BreakdownBy, r.ThenBy), "requests", "filled", "fill_rate")}
	for i := range r.Breakdown {
		g := &r.Breakdown[i]
		rows = append(
			rows, append(g.cells(), whole(g.Requests), whole(g.Filled), strconv.FormatFloat(g.FillRate, 'f', -1, 64)),
		)
	}
	return rows
}
