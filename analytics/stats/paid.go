package stats

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// paidQuery counts a publisher's events by advertiser and day. A lot is a campaign with one price.
// The condition on campaigns uses the order of the table.
var paidQuery = `
SELECT day, advertiser_id, sum(n) AS impressions, sum(clicked) AS clicks, sum(charged) AS spend,
	sum(earned) AS credits, countIf(n >= ` + strconv.Itoa(report.FewestInLot) + `) AS lots
FROM (
    SELECT day, advertiser_id, campaign_id, price, toInt64(countIf(class = 'counted' AND type = 'impression')) AS n,
        toInt64(countIf(class = 'counted' AND type = 'click')) AS clicked, sum(charge) AS charged,
        sum(minted) AS earned
    FROM events
    WHERE day BETWEEN {since:Date} AND {until:Date} AND developer_id = {developer:UUID}
        AND campaign_id IN (SELECT DISTINCT campaign_id FROM stats_daily
            WHERE day BETWEEN {since:Date} AND {until:Date} AND developer_id = {developer:UUID})
    GROUP BY day, advertiser_id, campaign_id, price
)
GROUP BY day, advertiser_id
HAVING impressions > 0 OR clicks > 0 OR spend > 0 OR credits > 0
ORDER BY impressions DESC, day, toString(advertiser_id)
LIMIT ` + strconv.Itoa(report.MaxPaid)

// Paid returns what each advertiser paid a publisher on each day, the most impressions first.
// Callers show [report.Disclosed] of it. Errors: as [Reader.Stats].
func (r *Reader) Paid(ctx context.Context, q report.PaidQuery) ([]report.Paid, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Day         time.Time `ch:"day"`
		Advertiser  uuid.UUID `ch:"advertiser_id"`
		Impressions int64     `ch:"impressions"`
		Clicks      int64     `ch:"clicks"`
		Spend       int64     `ch:"spend"`
		Credits     int64     `ch:"credits"`
		Lots        uint64    `ch:"lots"`
	}
	err := r.store.Select(ctx, &rows, paidQuery, map[string]string{
		"developer": q.DeveloperID.String(), "since": stored(q.Since).String(), "until": stored(q.Until).String(),
	})
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	list := make([]report.Paid, len(rows))
	for i, row := range rows {
		list[i] = report.Paid{
			Day: day.Of(row.Day), Advertiser: row.Advertiser, Lots: int64(row.Lots),
			Counts: report.Counts{
				Events: report.Events{event.Type_IMPRESSION: row.Impressions, event.Type_CLICK: row.Clicks},
				Spend:  money.Micros(row.Spend), Credits: money.Credits(row.Credits),
			},
		}
	}
	return list, nil
}
