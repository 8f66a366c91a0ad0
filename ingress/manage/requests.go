package manage

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"adnet/ingress/httpapi"
)

// requestsReply answers GET /api/stats/requests.
type requestsReply struct {
	Since    string     `json:"since"`
	Until    string     `json:"until"`
	Requests int64      `json:"requests"`
	Filled   int64      `json:"filled"`
	FillRate float64    `json:"fill_rate"` // filled per request, 0 to 1
	NoFill   []noFillOf `json:"no_fill"`   // the most frequent first
	Last     *time.Time `json:"last_at"`
}

// noFillOf is how often there was no ad for a reason.
type noFillOf struct {
	Reason   string `json:"reason"`
	Requests int64  `json:"requests"`
}

// requests serves GET /api/stats/requests: what a publisher asked for, and why there was no ad.
func (a *API) requests(c *httpapi.Context) error {
	developer, err := a.developerOf(c)
	if err != nil {
		return err
	}
	since, until, err := a.daysOf(c)
	if err != nil {
		return err
	}
	found, err := a.deps.Stats.Asked(c.Request.Context(), developer, since, until)
	if err != nil {
		return err
	}
	reply := requestsReply{Since: since.String(), Until: until.String(), NoFill: []noFillOf{}}
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
	if reply.Requests > 0 {
		reply.FillRate = float64(reply.Filled) / float64(reply.Requests)
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}
