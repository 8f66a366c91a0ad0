package postgres

import (
	"context"

	"adnet/internal/campaign"
)

const (
	selectUnjudged = selectCampaigns + ` CROSS JOIN config_head h
		WHERE c.config_version > h.judged AND c.config_version <= h.unjudged ORDER BY c.config_version LIMIT $1`

	// Nodes that go through them at the same time never move the mark back.
	markJudged = `UPDATE config_head SET judged = greatest(judged, $1)`
)

var _ campaign.Earlier = (*Store)(nil)

// Unjudged lists campaigns of earlier builds, see [campaign.Earlier].
func (s *Store) Unjudged(ctx context.Context, limit int) ([]campaign.Campaign, error) {
	return readCampaigns(ctx, s.pool, selectUnjudged, max(1, limit))
}

// Judged implements [campaign.Earlier].
func (s *Store) Judged(ctx context.Context, version int64) error {
	_, err := s.pool.Exec(ctx, markJudged, version)
	return failure("mark campaigns as judged", err)
}
