package stats

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/traffic"
)

// Impressions have no hour, so those of the whole days count: ads that were sold after until, too.
const shownQuery = `
SELECT developer_id, method, sum(ads) AS sold, sum(impressions) AS shown
FROM (
    SELECT developer_id, tupleElement(part, 1) AS method, tupleElement(part, 2) AS ads, toInt64(0) AS impressions
    FROM suitability_hours
    ARRAY JOIN [('` + traffic.MethodREST + `', sold_rest), ('` + traffic.MethodMCP + `', sold_mcp)] AS part
    WHERE hour >= toDateTime({since:Int64}, 'UTC') AND hour < toDateTime({until:Int64}, 'UTC')
    UNION ALL
    SELECT developer_id, toString(integration_method) AS method, toInt64(0) AS ads, impressions
    FROM stats_daily
    WHERE day >= toDate(toDateTime({since:Int64}, 'UTC'))
        AND integration_method IN ('` + traffic.MethodREST + `', '` + traffic.MethodMCP + `')
)
GROUP BY developer_id, method
HAVING sold > 0`

// ShownAds counts, by publisher and integration method of servers, the ads that were sold in the
// whole hours from since to until (excluded), and the counted impressions from since's day on.
// Errors: as [Reader.Stats].
func (r *Reader) ShownAds(ctx context.Context, since, until time.Time) ([]traffic.ShownAds, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Developer uuid.UUID `ch:"developer_id"`
		Method    string    `ch:"method"`
		Sold      int64     `ch:"sold"`
		Counted   int64     `ch:"shown"`
	}
	if err := r.store.Select(ctx, &rows, shownQuery, map[string]string{
		"since": strconv.FormatInt(since.Unix(), 10), "until": strconv.FormatInt(until.Unix(), 10),
	}); err != nil {
		return nil, r.failure(ctx, err)
	}
	ads := make([]traffic.ShownAds, len(rows))
	for i, row := range rows {
		ads[i] = traffic.ShownAds{DeveloperID: row.Developer, Method: row.Method, Sold: row.Sold, Counted: row.Counted}
	}
	return ads, nil
}
