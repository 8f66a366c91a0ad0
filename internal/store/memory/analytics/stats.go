package analytics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// keyOf returns the key of a row of a day in each breakdown.
var keyOf = map[report.Breakdown]func(day.Day, *dimensions) string{
	"":                         func(day.Day, *dimensions) string { return "" },
	report.ByFormat:            func(_ day.Day, d *dimensions) string { return d.format },
	report.ByHostApp:           func(_ day.Day, d *dimensions) string { return d.hostApp },
	report.ByIntegrationMethod: func(_ day.Day, d *dimensions) string { return d.integrationMethod },
	report.BySurface:           func(_ day.Day, d *dimensions) string { return d.surface },
	report.ByRegion:            func(_ day.Day, d *dimensions) string { return d.region },
	report.ByLanguage:          func(_ day.Day, d *dimensions) string { return d.language },
	report.ByAdvertiser:        func(_ day.Day, d *dimensions) string { return d.advertiser.String() },
	report.ByCampaign:          func(_ day.Day, d *dimensions) string { return d.campaign.String() },
	report.ByPublisher:         func(_ day.Day, d *dimensions) string { return d.developer.String() },
	report.ByDay:               func(date day.Day, _ *dimensions) string { return date.String() },
	report.ByHour: func(date day.Day, d *dimensions) string {
		return report.Hour(date.Time().Add(time.Duration(d.hour) * time.Hour))
	},
}

// idOf returns the key of a row in the breakdowns that [ids] have.
var idOf = map[report.Breakdown]func(*ids) uuid.UUID{
	report.ByAdvertiser: func(d *ids) uuid.UUID { return d.advertiser },
	report.ByCampaign:   func(d *ids) uuid.UUID { return d.campaign },
	report.ByPublisher:  func(d *ids) uuid.UUID { return d.developer },
}

// Stats answers q. Error: errs.InvalidRequest for a breakdown outside the closed list.
func (r *Store) Stats(_ context.Context, q report.Query) (report.Result, error) {
	if err := q.Check(); err != nil {
		return report.Result{}, err
	}
	of := selectionOf(q)
	pairs, accounts := make(map[[2]string]*report.Counts), make(map[uuid.UUID]*report.Counts)
	r.mu.RLock()
	defer r.mu.RUnlock()
	result := report.Result{AsOf: r.until}
	byID := idOf[q.Breakdown]
	if q.Then != "" {
		byID = nil
	}
	for date, rows := range r.sums {
		if date < q.Since || date > q.Until {
			continue
		}
		if daily := (report.Group{Key: date.String()}); of.sum(rows, byID, &daily.Counts, accounts) {
			result.Daily = append(result.Daily, daily)
			result.Add(daily.Counts)
			if byID == nil {
				of.split(date, r.days[date], pairs)
			}
		}
	}
	slices.SortFunc(result.Daily, func(a, b report.Group) int { return cmp.Compare(a.Key, b.Key) })
	for k, counts := range pairs {
		result.Groups = append(result.Groups, report.Group{Key: k[0], Then: k[1], Counts: *counts})
	}
	for k, counts := range accounts {
		result.Groups = append(result.Groups, report.Group{Key: k.String(), Counts: *counts})
	}
	if q.Breakdown == report.ByDay && q.Then == "" {
		result.Groups = slices.Clone(result.Daily)
	}
	q.Sort(result.Groups)
	result.Limit(&q)
	result.Traffic = r.trafficOf(&of)
	return result, nil
}

// sum adds the selected sums of a day to daily and, by key, to groups. It reports whether there are
// any.
func (of *selection) sum(
	rows map[ids]*report.Counts, key func(*ids) uuid.UUID, daily *report.Counts, groups map[uuid.UUID]*report.Counts,
) (some bool) {
	for d, counts := range rows {
		if !of.matches(&d) {
			continue
		}
		some = true
		daily.Add(*counts)
		if key != nil {
			addTo(groups, key(&d), counts)
		}
	}
	return some
}

// split adds the selected rows of a day to the groups of the breakdowns. Days alone are in the
// daily sums.
func (of *selection) split(date day.Day, rows map[dimensions]*report.Counts, groups map[[2]string]*report.Counts) {
	if of.Breakdown == "" || of.Breakdown == report.ByDay && of.Then == "" {
		return
	}
	by, then := keyOf[of.Breakdown], keyOf[of.Then]
	for d, counts := range rows {
		if of.matches(&d.ids) {
			addTo(groups, [2]string{by(date, &d), then(date, &d)}, counts)
		}
	}
}
