package books

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
)

const (
	// Sorted as the primary key, so that two appliers cannot deadlock. The rows stay locked until the
	// transaction ends, so no other one counts the same network meanwhile.
	countClicksSQL = `
INSERT INTO network_clicks AS n (day, campaign_id, network_mark, clicks)
SELECT day, campaign_id, network_mark, clicks
FROM unnest($1::integer[], $2::uuid[], $3::integer[], $4::bigint[]) AS c (day, campaign_id, network_mark, clicks)
ORDER BY day, campaign_id, network_mark
ON CONFLICT (day, campaign_id, network_mark) DO UPDATE SET clicks = n.clicks + EXCLUDED.clicks
RETURNING day, campaign_id, network_mark, clicks`

	dropClicksSQL = `DELETE FROM network_clicks WHERE day < $1`
)

// CountClicks adds to the clicks of networks in one statement, and returns the sums.
func (b *batchTx) CountClicks(
	ctx context.Context, clicks []ledger.NetworkClicks,
) (map[ledger.NetworkDay]int64, error) {
	n := len(clicks)
	days, campaigns, marks, numbers := make([]int32, n), make([][16]byte, n), make([]int32, n), make([]int64, n)
	for i := range clicks {
		c := &clicks[i]
		days[i], campaigns[i], marks[i], numbers[i] = int32(c.Day), c.CampaignID, c.Mark, c.Clicks
	}
	rows, err := b.tx.Query(ctx, countClicksSQL, days, campaigns, marks, numbers)
	if err != nil {
		return nil, fmt.Errorf("count clicks of networks: %w", err)
	}
	totals := make(map[ledger.NetworkDay]int64, n)
	var date, mark int32
	var id [16]byte
	var total int64
	_, err = pgx.ForEachRow(rows, []any{&date, &id, &mark, &total}, func() error {
		totals[ledger.NetworkDay{CampaignID: uuid.UUID(id), Day: day.Day(date), Mark: mark}] = total
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count clicks of networks: %w", err)
	}
	return totals, nil
}

// DropClicks removes the counts of clicks of networks from before a day.
func (s *Ledger) DropClicks(ctx context.Context, before day.Day) error {
	_, err := s.Pool.Exec(ctx, dropClicksSQL, int32(before))
	return pg.Failure("drop clicks of networks", err)
}
