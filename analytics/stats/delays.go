package stats

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"adnet/internal/report"
)

// The id of an auction has its time (UUIDv7), so no auction and no click is read. The campaigns come
// from the counters, as the events are sorted by campaign.
var delaysQuery = `
SELECT advertiser_id, intDiv(dateDiff('second', UUIDv7ToDateTime(auction_id), received_at), 3600) AS hours,
    toInt64(count()) AS conversions
FROM events
WHERE day BETWEEN {since:Date} AND {until:Date} + 31 AND type = 'conversion' AND charge > 0
    AND toDate(UUIDv7ToDateTime(auction_id), 'UTC') BETWEEN {since:Date} AND {until:Date}
    AND received_at >= UUIDv7ToDateTime(auction_id)
    AND campaign_id IN (
        SELECT DISTINCT campaign_id FROM stats_daily
        WHERE day BETWEEN {since:Date} AND {until:Date} + 31 AND conversions > 0)
GROUP BY advertiser_id, hours
HAVING hours < ` + strconv.Itoa(report.MaxDelay) + `
ORDER BY conversions DESC, advertiser_id, hours
LIMIT ` + strconv.Itoa(report.MaxDelays)

// Delays counts the charged conversions of auctions by advertiser and time since the auction. Errors:
// as [Reader.Stats].
func (r *Reader) Delays(ctx context.Context, q report.DelayQuery) ([]report.Delay, error) {
	params, some := bind(report.Query{Since: q.Since, Until: q.Until})
	if !some {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Advertiser  uuid.UUID `ch:"advertiser_id"`
		Hours       int64     `ch:"hours"`
		Conversions int64     `ch:"conversions"`
	}
	if err := r.store.Select(ctx, &rows, delaysQuery, params); err != nil {
		return nil, r.failure(ctx, err)
	}
	list := make([]report.Delay, len(rows))
	for i, row := range rows {
		list[i] = report.Delay{AdvertiserID: row.Advertiser, Hours: row.Hours, Conversions: row.Conversions}
	}
	return report.SortDelays(list), nil
}
