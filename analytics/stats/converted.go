package stats

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
	"adnet/internal/report"
)

// convertedQuery returns the query for q's conversions by campaign and type. It reads the events
// themselves, since no counter has the type. Only conversions confirmed by the advertiser are
// included, so a third party cannot invent a type.
func convertedQuery(q report.Query) string {
	return `
SELECT campaign_id, toString(conversion_type) AS kind, toInt64(count()) AS conversions, max(received_at) AS last,
    toInt64(least(sumIf(toInt128(conversion_value), currency IN ('', 'USD')), toInt128(9223372036854775807))) AS value
FROM events` + eventsOf(q) + ` AND type = 'conversion' AND class = 'counted'
GROUP BY campaign_id, kind
ORDER BY conversions DESC, campaign_id, kind
LIMIT ` + strconv.Itoa(report.MaxConverted)
}

// Converted counts the conversions of q by campaign and type. Errors: as [Reader.Stats].
func (r *Reader) Converted(ctx context.Context, q report.Query) (result report.Conversions, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	params, some := bind(q)
	if result.AsOf, err = r.days(ctx, params); err != nil {
		return report.Conversions{}, r.failure(ctx, err)
	}
	if !some {
		return result, nil
	}
	var rows []struct {
		Campaign    uuid.UUID `ch:"campaign_id"`
		Kind        string    `ch:"kind"`
		Conversions int64     `ch:"conversions"`
		Last        time.Time `ch:"last"`
		Value       int64     `ch:"value"`
	}
	if err := r.store.Select(ctx, &rows, convertedQuery(q), params); err != nil {
		return report.Conversions{}, r.failure(ctx, err)
	}
	list := make([]report.Converted, len(rows))
	for i, row := range rows {
		list[i] = report.Converted{
			CampaignID: row.Campaign, Type: row.Kind, Conversions: row.Conversions, ValueUSD: money.Micros(row.Value),
			Last: row.Last.UTC(),
		}
	}
	result.Rows = report.SortConverted(list)
	return result, nil
}
