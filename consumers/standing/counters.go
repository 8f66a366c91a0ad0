package standing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/owed"
	"adnet/internal/report"
	"adnet/internal/standing"
)

// restEvery is the time between two readings of the days before yesterday, of which only late
// events and claw-backs change.
const restEvery = time.Hour

// span is a range of days by their distance from today, both included.
type span struct{ first, last day.Day }

// spans are the ranges of one reading. Conversions may still follow the younger ones, so each has
// its own age.
var spans = [...]span{{0, 0}, {1, 1}, {2, 3}, {4, 7}, {8, 15}, {16, 29}, {30, maxDays}}

const (
	recentSpans = 2 // read every minute
	maxDays     = 100 * 366
)

// counts are the settled events of a campaign in a span.
type counts struct {
	impressions, clicks, conversions, billed int64
	charged                                  money.Micros
}

// counters holds the counters of all campaigns by span.
type counters struct {
	source Source
	today  day.Day
	restAt time.Time
	of     [len(spans)]map[uuid.UUID]counts
}

// read brings the counters up to date. Errors: those of the source; the next call reads everything.
func (r *counters) read(ctx context.Context, now time.Time) error {
	from := 0
	if today := day.Of(now); today == r.today && now.Sub(r.restAt) < restEvery && !now.Before(r.restAt) {
		from = recentSpans
	} else {
		r.today = today
	}
	restAt := r.restAt
	r.restAt = time.Time{}
	for i, s := range spans {
		if i >= recentSpans && from > 0 {
			break
		}
		all, err := r.readSpan(ctx, s)
		if err != nil {
			return err
		}
		r.of[i] = all
	}
	if r.restAt = restAt; from == 0 {
		r.restAt = now
	}
	return nil
}

func (r *counters) readSpan(ctx context.Context, s span) (map[uuid.UUID]counts, error) {
	result, err := r.source.Stats(ctx, report.Query{
		Since: max(0, r.today-s.last), Until: r.today - s.first, Breakdown: report.ByCampaign,
	})
	if err != nil {
		return nil, err
	}
	all := make(map[uuid.UUID]counts, len(result.Groups))
	for i := range result.Groups {
		g := &result.Groups[i]
		if id, err := uuid.Parse(g.Key); err == nil {
			all[id] = counts{g.Impressions, g.Clicks, g.Conversions, g.Billed, g.Spend}
		}
	}
	return all, nil
}

// life returns the counters of a campaign over its life, and of its last [standing.Days] days.
func (r *counters) life(id uuid.UUID, now time.Time) (all counts, month standing.Shown, recent []owed.Recent) {
	passed := now.Sub(now.Truncate(24 * time.Hour))
	for i, s := range spans {
		c, is := r.of[i][id]
		if !is {
			continue
		}
		all.impressions += c.impressions
		all.clicks += c.clicks
		all.conversions += c.conversions
		all.billed += c.billed
		all.charged = all.charged.AddSaturated(c.charged)
		if s.last == maxDays {
			continue
		}
		month.Impressions += c.impressions
		month.Charged = month.Charged.AddSaturated(c.charged)
		// The middle of the span: the events of today are on average half of the passed time old.
		age := passed / 2
		if s.first > 0 {
			age = passed + time.Duration(s.first+s.last-1)*12*time.Hour
		}
		recent = append(recent, owed.Recent{Age: age, Impressions: c.impressions, Clicks: c.clicks})
	}
	return all, month, recent
}
