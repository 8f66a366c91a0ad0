package analytics

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// lot is a campaign with one price at a publisher.
type lot struct {
	ids
	price money.Micros
}

// addLot counts an event of a day by its price.
func (r *Store) addLot(date day.Day, row *report.Row, one *report.Counts) {
	counts := report.Counts{
		Events: report.Events{event.Type_IMPRESSION: one.Impressions(), event.Type_CLICK: one.Clicks()},
		Spend:  one.Spend, Credits: one.Credits,
	}
	if counts == (report.Counts{}) {
		return // rejected events state any price
	}
	if r.lots[date] == nil {
		r.lots[date] = make(map[lot]*report.Counts)
	}
	addTo(r.lots[date], lot{ids{row.AdvertiserID, row.CampaignID, row.DeveloperID}, row.Price}, &counts)
}

// Paid returns what each advertiser paid a publisher on each day, the most impressions first.
// Callers show [report.Disclosed] of it.
func (r *Store) Paid(_ context.Context, q report.PaidQuery) ([]report.Paid, error) {
	type cell struct {
		day        day.Day
		advertiser uuid.UUID
	}
	found := map[cell]*report.Paid{}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for date, lots := range r.lots {
		for l, counts := range lots {
			if date < q.Since || date > q.Until || l.developer != q.DeveloperID {
				continue
			}
			of := cell{date, l.advertiser}
			if found[of] == nil {
				found[of] = &report.Paid{Day: date, Advertiser: l.advertiser}
			}
			found[of].Add(*counts)
			if counts.Impressions() >= report.FewestInLot {
				found[of].Lots++
			}
		}
	}
	list := make([]report.Paid, 0, len(found))
	for _, p := range found {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b report.Paid) int {
		return cmp.Or(
			cmp.Compare(b.Impressions(), a.Impressions()), cmp.Compare(a.Day, b.Day),
			strings.Compare(a.Advertiser.String(), b.Advertiser.String()),
		)
	})
	return list[:min(len(list), report.MaxPaid)], nil
}

// oneOf counts a single event.
func oneOf(row *report.Row) *report.Counts {
	one := new(report.Counts)
	count(one, row)
	return one
}
