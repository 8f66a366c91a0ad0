package stats

import (
	"context"
	"strconv"
	"time"

	"adnet/internal/report"
)

// askedGroups maps the breakdowns of requests to expressions. The map is the allow list: no text of
// a query becomes SQL.
var askedGroups = map[report.Breakdown]string{
	"": "''", report.BySurface: "toString(surface)", report.ByHostApp: "toString(host_app)",
	report.ByIntegrationMethod: "toString(integration_method)", report.ByFormat: "toString(format)",
	report.ByPublisher: "toString(developer_id)", report.ByDay: "toString(day)", report.ByReason: "toString(reason)",
}

// askedQueryOf returns the query for the groups of q.
func askedQueryOf(q *report.DemandQuery) string {
	text := "SELECT " + askedGroups[q.Breakdown] + " AS key, " + askedGroups[q.Then] + " AS key2," + askedGroupsQuery
	if most := q.Most(); most > 0 {
		text += " LIMIT " + strconv.Itoa(most)
	}
	return text
}

// Demand counts the auctions of a publisher, or of all publishers, without refused requests.
// Errors: errs.InvalidRequest for a breakdown outside the closed list; otherwise as [Reader.Stats].
func (r *Reader) Demand(ctx context.Context, q report.DemandQuery) (report.Demand, error) {
	if err := q.Check(); err != nil {
		return report.Demand{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Outcome string    `ch:"outcome"`
		N       uint64    `ch:"n"`
		Last    time.Time `ch:"last"`
	}
	params := map[string]string{
		"developer": q.DeveloperID.String(), "since": stored(q.Since).String(), "until": stored(q.Until).String(),
		"all": strconv.FormatBool(q.All),
	}
	if err := r.store.Select(ctx, &rows, askedQuery, params); err != nil {
		return report.Demand{}, r.failure(ctx, err)
	}
	found := report.Demand{Outcomes: make(map[string]int64, len(rows))}
	for _, row := range rows {
		found.Outcomes[row.Outcome] = int64(row.N)
		if last := row.Last.UTC(); last.After(found.Last) {
			found.Last = last
		}
	}
	if q.Breakdown == "" {
		return found, nil
	}
	return found, r.askedGroups(ctx, &q, params, &found)
}

// askedGroups adds the groups of q to found.
func (r *Reader) askedGroups(
	ctx context.Context, q *report.DemandQuery, params map[string]string, found *report.Demand,
) error {
	var groups []struct {
		Key      string `ch:"key"`
		Then     string `ch:"key2"`
		Requests uint64 `ch:"requests"`
		Filled   uint64 `ch:"filled"`
	}
	if err := r.store.Select(ctx, &groups, askedQueryOf(q), params); err != nil {
		return r.failure(ctx, err)
	}
	for _, g := range groups {
		found.Groups = append(
			found.Groups,
			report.DemandGroup{Key: g.Key, Then: g.Then, Requests: int64(g.Requests), Filled: int64(g.Filled)},
		)
	}
	q.Sort(found.Groups)
	found.Limit(q)
	return nil
}
