package campaigns

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/traffic"
)

// Traffic stores counts of unproven events.
type Traffic struct{ *pg.Core }

const (
	// Sorted, so that two nodes that write the same rows cannot deadlock.
	addUnprovenSQL = `
INSERT INTO unproven_minute AS u (campaign_id, minute, reason, events, sample)
SELECT * FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::bigint[], $5::jsonb[]) AS c (campaign_id, minute,
	reason, events, sample)
ORDER BY campaign_id, minute, reason COLLATE "C"
ON CONFLICT (campaign_id, minute, reason) DO UPDATE SET events = u.events + EXCLUDED.events,
	sample = coalesce(EXCLUDED.sample, u.sample)`

	dropUnprovenSQL = `
DELETE FROM unproven_minute WHERE ctid = ANY(ARRAY(SELECT ctid FROM unproven_minute WHERE minute < $1
	LIMIT 10000 FOR UPDATE SKIP LOCKED))`

	unprovenSQL = `
SELECT reason, sum(events)::bigint FROM unproven_minute WHERE campaign_id = $1 AND minute >= $2 AND minute < $3
	GROUP BY reason`

	unreadClicksSQL = `
SELECT minute / 1440, sum(events)::bigint FROM unproven_minute
WHERE reason = $1 AND minute >= $2 AND minute < $3 AND ($4::uuid IS NULL OR campaign_id = $4)
	AND ($5::uuid IS NULL OR campaign_id IN (SELECT id FROM campaign WHERE advertiser_id = $5))
GROUP BY 1`
)

// AddUnproven adds to the counts of each campaign, reason and minute, and drops counts more than
// [traffic.UnprovenDays] older than the newest.
func (s *Traffic) AddUnproven(ctx context.Context, counts []traffic.Unproven) error {
	n := len(counts)
	ids, minutes, reasons := make([][16]byte, n), make([]int32, n), make([]string, n)
	events, samples := make([]int64, n), make([]*string, n)
	newest := day.Minute(0)
	for i, c := range counts {
		ids[i], minutes[i], reasons[i], events[i] = c.CampaignID, int32(c.Minute), c.Reason, c.Events
		newest = max(newest, c.Minute)
		if c.Sample == nil {
			continue
		}
		text, err := json.Marshal(c.Sample)
		if err != nil {
			return err
		}
		sample := string(text)
		samples[i] = &sample
	}
	return s.Transact(ctx, "count unproven events", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, addUnprovenSQL, ids, minutes, reasons, events, samples); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, dropUnprovenSQL, int32(newest)-traffic.UnprovenDays*24*60)
		return err
	})
}

// Unproven sums the counts of a campaign by reason, from since to until, both included.
func (s *Traffic) Unproven(ctx context.Context, campaign uuid.UUID, since, until day.Day) (map[string]int64, error) {
	rows, err := s.Pool.Query(
		ctx, unprovenSQL, campaign, int32(day.MinuteOf(since.Time())), int32(day.MinuteOf((until + 1).Time())),
	)
	if err != nil {
		return nil, pg.Failure("read unproven events", err)
	}
	sums := make(map[string]int64)
	var reason string
	var events int64
	_, err = pgx.ForEachRow(rows, []any{&reason, &events}, func() error {
		sums[reason] = events
		return nil
	})
	return sums, pg.Failure("read unproven events", err)
}

// UnreadClicks sums the counts of conversions whose click id cannot be read by day: of a campaign,
// of all campaigns of an advertiser, or of all for zero ids.
func (s *Traffic) UnreadClicks(
	ctx context.Context, advertiser, campaign uuid.UUID, since, until day.Day,
) (map[day.Day]int64, error) {
	rows, err := s.Pool.Query(
		ctx, unreadClicksSQL, traffic.ReasonClickID, int32(day.MinuteOf(since.Time())),
		int32(day.MinuteOf((until + 1).Time())), pg.NullID(campaign), pg.NullID(advertiser),
	)
	if err != nil {
		return nil, pg.Failure("read unproven conversions", err)
	}
	sums := make(map[day.Day]int64)
	var date int32
	var events int64
	_, err = pgx.ForEachRow(rows, []any{&date, &events}, func() error {
		sums[day.Day(date)] = events
		return nil
	})
	return sums, pg.Failure("read unproven conversions", err)
}
