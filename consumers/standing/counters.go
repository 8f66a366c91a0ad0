package standing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
	"adnet/internal/report"
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

// counts are the settled events of a campaign in a span, without those at publishers of its
// advertiser's own family, and without those between the demo and others: they prove nothing.
type counts struct {
	impressions, clicks, conversions, billed int64
	charged                                  money.Micros
	spent                                    money.Micros // charged at all publishers
}

// less returns c without part of it. The part may have been read later than c.
func (c counts) less(part *report.Counts) counts {
	c.impressions = max(0, c.impressions-part.Impressions())
	c.clicks = max(0, c.clicks-part.Clicks())
	c.conversions = max(0, c.conversions-part.Conversions())
	c.billed = max(0, c.billed-part.Billed)
	c.charged = max(0, c.charged-part.Spend)
	return c
}

// counters holds the counters of all campaigns by span.
type counters struct {
	source Source
	today  day.Day
	restAt time.Time
	of     [len(spans)]map[uuid.UUID]counts
}

// read brings the counters up to date. Errors: those of the source; the next call reads everything.
func (r *counters) read(ctx context.Context, now time.Time, of relations) error {
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
		all, err := r.readSpan(ctx, s, of)
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

func (r *counters) readSpan(ctx context.Context, s span, of relations) (map[uuid.UUID]counts, error) {
	q := report.Query{Since: max(0, r.today-s.last), Until: r.today - s.first, Breakdown: report.ByCampaign, AllGroups: true}
	all := map[uuid.UUID]counts{}
	if err := r.each(ctx, q, func(id uuid.UUID, c *report.Counts) {
		all[id] = counts{c.Impressions(), c.Clicks(), c.Conversions(), c.Billed, c.Spend, c.Spend}
	}); err != nil {
		return nil, err
	}
	publishers := q
	publishers.Breakdown = report.ByPublisher
	families := map[uuid.UUID]*report.Relatives{}
	if err := r.each(ctx, publishers, func(developer uuid.UUID, _ *report.Counts) {
		if family, known := of.developers[developer]; known {
			f := add(families, family)
			f.Developers = append(f.Developers, developer)
		}
	}); err != nil {
		return nil, err
	}
	var queries [][]report.Relatives
	if len(of.demo) > 0 {
		for _, pair := range of.strangers(families, all) {
			if len(pair.Advertisers) > 0 && len(pair.Developers) > 0 {
				queries = append(queries, batches(map[uuid.UUID]*report.Relatives{uuid.Nil: &pair})...)
			}
		}
	}
	of.addAdvertisers(families, all)
	for _, q.Families = range append(queries, batches(families)...) {
		if err := r.each(ctx, q, func(id uuid.UUID, own *report.Counts) {
			if c, known := all[id]; known {
				all[id] = c.less(own)
			}
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// each calls add with the groups of an answer whose key is an id.
func (r *counters) each(ctx context.Context, q report.Query, add func(uuid.UUID, *report.Counts)) error {
	result, err := r.source.Stats(ctx, q)
	if err != nil {
		return err
	}
	for i := range result.Groups {
		if id, err := uuid.Parse(result.Groups[i].Key); err == nil {
			add(id, &result.Groups[i].Counts)
		}
	}
	return nil
}

// life returns the counters of a campaign over its life, and of its last [standing.Days] days.
func (r *counters) life(id uuid.UUID, now time.Time) (all counts, month standing.Delivered, recent []owed.Recent) {
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
		all.spent = all.spent.AddSaturated(c.spent)
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
