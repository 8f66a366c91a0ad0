package stats

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

const (
	adCounts = `
    sum(impressions) AS impressions, sum(clicks) AS clicks, sum(conversions) AS conversions
FROM stats_daily WHERE day >= {since:Date}`

	campaignCountsQuery = `SELECT campaign_id, toUUID('00000000-0000-0000-0000-000000000000') AS developer_id,` +
		adCounts + ` GROUP BY campaign_id HAVING impressions + clicks + conversions > 0`

	publisherCountsQuery = `SELECT campaign_id, developer_id,` + adCounts + `
    AND developer_id IN {developers:Array(UUID)}
GROUP BY campaign_id, developer_id HAVING impressions + clicks + conversions > 0`

	developersAtOnce = 1000
)

// CampaignCounts sums the counted events of each campaign from a day on. Errors: as [Reader.Stats].
func (r *Reader) CampaignCounts(ctx context.Context, since day.Day) ([]traffic.AdCount, error) {
	return r.adCounts(ctx, campaignCountsQuery, map[string]string{"since": since.String()})
}

// PublisherCounts sums the counted events of each campaign at each of the publishers from a day on.
// Errors: as [Reader.Stats].
func (r *Reader) PublisherCounts(
	ctx context.Context, since day.Day, developers []uuid.UUID,
) (all []traffic.AdCount, err error) {
	for chunk := range slices.Chunk(developers, developersAtOnce) {
		ids := make([]string, len(chunk))
		for i, id := range chunk {
			ids[i] = "'" + id.String() + "'"
		}
		counts, err := r.adCounts(ctx, publisherCountsQuery, map[string]string{
			"since": since.String(), "developers": "[" + strings.Join(ids, ",") + "]",
		})
		if err != nil {
			return nil, err
		}
		all = append(all, counts...)
	}
	return all, nil
}

func (r *Reader) adCounts(
	ctx context.Context, query string, parameters map[string]string,
) ([]traffic.AdCount, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Campaign    uuid.UUID `ch:"campaign_id"`
		Developer   uuid.UUID `ch:"developer_id"`
		Impressions int64     `ch:"impressions"`
		Clicks      int64     `ch:"clicks"`
		Conversions int64     `ch:"conversions"`
	}
	if err := r.store.Select(ctx, &rows, query, parameters); err != nil {
		return nil, r.failure(ctx, err)
	}
	counts := make([]traffic.AdCount, len(rows))
	for i, row := range rows {
		counts[i] = traffic.AdCount{
			CampaignID: row.Campaign, DeveloperID: row.Developer, Impressions: row.Impressions, Clicks: row.Clicks,
			Conversions: row.Conversions,
		}
	}
	return counts, nil
}
