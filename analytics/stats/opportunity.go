package stats

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
)

// opportunitiesQuery counts the auctions that a campaign won, or lost only to pacing or its budget.
// It returns one row per campaign, the busiest first.
const opportunitiesQuery = `
SELECT candidate_id, groupArray(quarter) AS quarters, groupArray(n) AS counts
FROM (
    SELECT candidate_id, toInt64(intDiv(toHour(minute) * 60 + toMinute(minute), 15)) AS quarter, sum(auctions) AS n
    FROM candidate_minutes
    WHERE toDate(minute) BETWEEN {first:Date} AND {last:Date}
	AND candidate_id != toUUID('00000000-0000-0000-0000-000000000000')
        AND toString(outcome) IN ('', 'paced', 'budget')
    GROUP BY candidate_id, quarter
)
GROUP BY candidate_id
ORDER BY sum(n) DESC
LIMIT 50000`

// opportunitiesWait limits the time of the nightly count.
const opportunitiesWait = time.Minute

// Opportunities counts, per campaign and quarter of an hour of the UTC day, the auctions in which
// only budget or pacing could keep the campaign from being shown. It sums the days from first to
// last and covers the 50,000 busiest campaigns. Errors: as [Reader.Stats].
func (r *Reader) Opportunities(
	ctx context.Context, first, last day.Day,
) (map[uuid.UUID]*[campaign.Quarters]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, opportunitiesWait)
	defer cancel()
	var rows []struct {
		Campaign uuid.UUID `ch:"candidate_id"`
		Quarters []int64   `ch:"quarters"`
		Counts   []int64   `ch:"counts"`
	}
	err := r.store.Select(
		ctx, &rows, opportunitiesQuery,
		map[string]string{"first": max(first, 0).String(), "last": min(last, lastDay).String()},
	)
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	all := make(map[uuid.UUID]*[campaign.Quarters]int64, len(rows))
	for _, row := range rows {
		counts := new([campaign.Quarters]int64)
		for i, quarter := range row.Quarters {
			if quarter >= 0 && quarter < campaign.Quarters {
				counts[quarter] = row.Counts[i]
			}
		}
		all[row.Campaign] = counts
	}
	return all, nil
}
