package memory

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// unprovenKey is a campaign's minute and reason.
type unprovenKey struct {
	campaign uuid.UUID
	minute   day.Minute
	reason   string
}

// AddUnproven adds to the counts of each campaign, reason and minute, and drops those more than
// [traffic.UnprovenDays] before the newest.
func (s *Traffic) AddUnproven(_ context.Context, counts []traffic.Unproven) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := day.Minute(0)
	for _, c := range counts {
		s.unproven[unprovenKey{c.CampaignID, c.Minute, c.Reason}] += c.Events
		newest = max(newest, c.Minute)
	}
	maps.DeleteFunc(
		s.unproven, func(k unprovenKey, _ int64) bool { return k.minute < newest-traffic.UnprovenDays*24*60 },
	)
	return nil
}

// UnreadClicks sums the counts of conversions whose click id cannot be read by day: of a campaign,
// of all campaigns of an advertiser, or of all for zero ids.
func (s *Traffic) UnreadClicks(
	_ context.Context, advertiser, campaign uuid.UUID, since, until day.Day,
) (map[day.Day]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := make(map[day.Day]int64)
	for k, n := range s.unproven {
		date := day.Of(k.minute.Time())
		if k.reason != traffic.ReasonClickID || date < since || date > until ||
			campaign != uuid.Nil && k.campaign != campaign {
			continue
		}
		if of := s.campaigns[k.campaign]; advertiser == uuid.Nil || of != nil && of.AdvertiserID == advertiser {
			sums[date] += n
		}
	}
	return sums, nil
}

// Unproven sums the counts of a campaign by reason, from since to until, both included.
func (s *Traffic) Unproven(_ context.Context, campaign uuid.UUID, since, until day.Day) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := make(map[string]int64)
	for k, n := range s.unproven {
		if date := day.Of(k.minute.Time()); k.campaign == campaign && date >= since && date <= until {
			sums[k.reason] += n
		}
	}
	return sums, nil
}
