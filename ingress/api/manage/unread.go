package manage

import (
	"context"
	"slices"
	"strings"

	"adnet/internal/day"
	"adnet/internal/report"
)

// addUnread adds the conversions whose click id could not be read to the unverified ones of a
// campaign or an overview. They are counted without a record, so breakdowns other than by day do not
// have them, and publishers do not see them.
func (a *API) addUnread(ctx context.Context, kind report.Type, q report.Query, r *report.Result) error {
	if a.deps.Unproven == nil || kind != report.Campaign && kind != report.Overview {
		return nil
	}
	unread, err := a.deps.Unproven.UnreadClicks(ctx, q.AdvertiserID, q.CampaignID, q.Since, q.Until)
	if err != nil {
		return err
	}
	for date, n := range unread {
		r.Unverified += n
		r.Daily = addUnverified(r.Daily, date, n)
		if q.Breakdown == report.ByDay {
			r.Groups = addUnverified(r.Groups, date, n)
		}
	}
	slices.SortFunc(r.Daily, func(a, b report.Group) int { return strings.Compare(a.Key, b.Key) })
	return nil
}

// addUnverified adds to the day's group, which it creates if the day has no events.
func addUnverified(days []report.Group, date day.Day, n int64) []report.Group {
	key := date.String()
	i := slices.IndexFunc(days, func(g report.Group) bool { return g.Key == key })
	if i < 0 {
		days, i = append(days, report.Group{Key: key}), len(days)
	}
	days[i].Unverified += n
	return days
}
