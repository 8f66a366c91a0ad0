package analytics

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// servedBy is the integration method of a publisher.
type servedBy struct {
	developer uuid.UUID
	method    string
}

// ShownAds counts, by publisher and integration method of servers, the ads among the newest stored
// auctions that were sold in the whole hours from since to until (excluded), and the counted
// impressions from since's day on.
func (r *Store) ShownAds(_ context.Context, since, until time.Time) ([]traffic.ShownAds, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sold := map[servedBy]int64{}
	for a := range r.explained.requests {
		hour, server := a.At.Truncate(time.Hour), a.IntegrationMethod == traffic.MethodREST ||
			a.IntegrationMethod == traffic.MethodMCP
		if server && a.Reason == "" && !hour.Before(since) && hour.Before(until) {
			sold[servedBy{a.DeveloperID, a.IntegrationMethod}]++
		}
	}
	counted := map[servedBy]int64{}
	for date, all := range r.days {
		if date < day.Of(since) {
			continue
		}
		for at, counts := range all {
			counted[servedBy{at.developer, at.integrationMethod}] += counts.Impressions()
		}
	}
	ads := make([]traffic.ShownAds, 0, len(sold))
	for by, n := range sold {
		ads = append(
			ads, traffic.ShownAds{DeveloperID: by.developer, Method: by.method, Sold: n, Counted: counted[by]},
		)
	}
	return ads, nil
}
