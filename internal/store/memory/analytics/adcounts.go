package analytics

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// CampaignCounts sums the counted events of each campaign from a day on.
func (r *Store) CampaignCounts(_ context.Context, since day.Day) ([]traffic.AdCount, error) {
	return r.adCounts(since, func(*ids) (uuid.UUID, bool) { return uuid.Nil, true }), nil
}

// PublisherCounts sums the counted events of each campaign at each of the publishers from a day on.
func (r *Store) PublisherCounts(
	_ context.Context, since day.Day, developers []uuid.UUID,
) ([]traffic.AdCount, error) {
	return r.adCounts(since, func(d *ids) (uuid.UUID, bool) {
		return d.developer, slices.Contains(developers, d.developer)
	}), nil
}

func (r *Store) adCounts(since day.Day, of func(*ids) (uuid.UUID, bool)) []traffic.AdCount {
	r.mu.RLock()
	defer r.mu.RUnlock()
	type place struct{ campaign, developer uuid.UUID }
	sums := make(map[place]traffic.AdCount)
	for date, all := range r.sums {
		if date < since {
			continue
		}
		for at, counts := range all {
			developer, counted := of(&at)
			if !counted || counts.Impressions()+counts.Clicks()+counts.Conversions() == 0 {
				continue
			}
			sum := sums[place{at.campaign, developer}]
			sum.CampaignID, sum.DeveloperID = at.campaign, developer
			sum.Impressions += counts.Impressions()
			sum.Clicks += counts.Clicks()
			sum.Conversions += counts.Conversions()
			sums[place{at.campaign, developer}] = sum
		}
	}
	return slices.Collect(maps.Values(sums))
}
