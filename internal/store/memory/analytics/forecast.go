package analytics

import (
	"context"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// Requests counts requests of some placements by winner, among the newest stored auctions.
func (r *Store) Requests(_ context.Context, p report.Places) ([]report.Won, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	owners := make(map[uuid.UUID]uuid.UUID)
	for _, rows := range r.sums {
		for d := range rows {
			owners[d.campaign] = d.advertiser
		}
	}
	type key struct {
		advertiser uuid.UUID
		step       int
	}
	sums := make(map[key]int64)
	for _, record := range r.explained.byID {
		a := &record.auction
		date := day.Of(a.At)
		if !record.recorded || a.Sandbox || a.Refused() || date < p.Since || date > p.Until ||
			!report.Covers(p.HostApps, a.HostApp) || !report.Covers(p.Surfaces, a.Surface) ||
			!report.Covers(p.Methods, a.IntegrationMethod) || !report.Covers(p.Regions, a.Region) ||
			!report.Covers(p.Languages, a.Language) {
			continue
		}
		k := key{owners[a.CampaignID], report.Step(a.ECPM)}
		if a.CampaignID == uuid.Nil {
			k.step = 0
		}
		sums[k]++
	}
	won := make([]report.Won, 0, len(sums))
	for k, n := range sums {
		won = append(won, report.Won{Advertiser: k.advertiser, Step: k.step, Requests: n})
	}
	return won, nil
}
