package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// groupsAddUp requires that the groups have all events of the totals.
func groupsAddUp(t *testing.T, r *report.Result, note ...any) {
	t.Helper()
	var sum report.Counts
	for _, g := range r.Groups {
		sum.Add(g.Counts)
	}
	require.Equal(t, r.Counts, sum, note...)
}

// Every two breakdowns split the events once more, live and rolled up.
func reportsPairs(t *testing.T, s Reports) {
	spread(t, s)
	insertRows(t, s, "crossed", reportRow(onDay(reportDay), func(r *report.Row) {
		r.CampaignID, r.AdvertiserID, r.DeveloperID = uuid.UUID{0xc, 1}, uuid.UUID{0xa, 1}, uuid.UUID{0xd, 2}
		r.Surface, r.Region, r.Language, r.Format, r.HostApp, r.IntegrationMethod = "s0", "r2", "l0", "f1", "h2", "m0"
	}))
	for _, roll := range []bool{false, true} {
		if roll {
			_, err := s.Rollup.Aggregate(t.Context(), reportDay)
			require.NoError(t, err)
		}
		for _, by := range report.Breakdowns {
			for _, then := range report.Breakdowns {
				q := report.Query{
					Since: reportDay, Until: reportDay + 3, Breakdown: report.Breakdown(by), Then: report.Breakdown(then),
				}
				if by == then {
					_, err := s.Reader.Stats(t.Context(), q)
					require.True(t, errs.Is(err, errs.InvalidRequest), by)
					continue
				}
				got := stats(t, s, q)
				groupsAddUp(t, &got, by, then)
				require.Len(t, got.Daily, 3)
				require.True(t, len(got.Groups) == 3 || len(got.Groups) == 4, "%s, %s: %v", by, then, got.Groups)
			}
		}
		one := report.Counts{Events: report.Events{event.Type_IMPRESSION: 1}, Billed: 1, Spend: 2000, Credits: 1}
		spend := stats(t, s, report.Query{
			AdvertiserID: uuid.UUID{0xa, 1}, Since: reportDay, Until: reportDay + 3, Breakdown: report.ByAdvertiser,
			Then: report.ByDay,
		})
		two := one
		two.Add(one)
		a := uuid.UUID{0xa, 1}.String()
		require.Equal(t, []report.Group{
			{Key: a, Then: (reportDay + 1).String(), Counts: two}, {Key: a, Then: reportDay.String(), Counts: one},
		}, spend.Groups, "by spend")
		places := stats(t, s, report.Query{
			CampaignID: uuid.UUID{0xc, 1}, Since: reportDay, Until: reportDay + 3, Breakdown: report.ByHour,
			Then: report.ByLanguage,
		})
		require.Equal(t, []report.Group{
			{Key: "2026-03-11T12:00:00Z", Then: "l1", Counts: two}, {Key: "2026-03-10T12:00:00Z", Then: "l0", Counts: one},
		}, places.Groups)
	}
}

// Two breakdowns have a bounded number of groups, and one for the rest.
func reportsPairsAreBounded(t *testing.T, s Reports) {
	var rows []report.Row
	for i := range report.MaxGroups + 5 {
		rows = append(rows, reportRow(onDay(reportDay+day.Day(i%2)), func(r *report.Row) {
			r.HostApp = fmt.Sprintf("h%04d", i/3)
			r.Format = fmt.Sprintf("f%d", i%3)
			r.Charge = money.Micros(5000 - i)
		}))
	}
	insertRows(t, s, "many", rows...)
	for _, pair := range [][2]report.Breakdown{
		{report.ByHostApp, report.ByFormat}, {report.ByFormat, report.ByHostApp},
	} {
		got := stats(t, s, report.Query{
			Since: reportDay, Until: reportDay + 1, Breakdown: pair[0], Then: pair[1],
		})
		require.Len(t, got.Groups, report.MaxGroups+1)
		others := got.Groups[report.MaxGroups]
		require.Equal(t, [2]string{report.OthersKey, report.OthersKey}, [2]string{others.Key, others.Then})
		require.EqualValues(t, 5, others.Impressions(), "the smallest spend")
		groupsAddUp(t, &got)
	}
}

// Requests are split by publisher, day and reason, alone and two at once.
func reportsAskedPairs(t *testing.T, s Reports) {
	var rows []report.Auction
	asked := func(developer byte, on day.Day, reason string, n int) {
		for range n {
			rows = append(rows, candidateAuction(func(a *report.Auction) {
				a.DeveloperID, a.At, a.Reason = uuid.UUID{developer}, on.Time().Add(time.Hour), reason
			}))
		}
	}
	asked(1, reportDay, "", 3)
	asked(1, reportDay, "no_match", 1)
	asked(1, reportDay+1, "no_match", 2)
	asked(2, reportDay+1, "paced", 1)
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", rows))
	one, two := uuid.UUID{1}.String(), uuid.UUID{2}.String()
	first, second := reportDay.String(), (reportDay + 1).String()
	for _, c := range []struct {
		by, then report.Breakdown
		want     []report.DemandGroup
	}{
		{report.ByPublisher, "", []report.DemandGroup{
			{Key: one, Requests: 6, Filled: 3}, {Key: two, Requests: 1},
		}},
		{report.ByDay, "", []report.DemandGroup{
			{Key: first, Requests: 4, Filled: 3}, {Key: second, Requests: 3},
		}},
		{report.ByReason, "", []report.DemandGroup{
			{Requests: 3, Filled: 3}, {Key: "no_match", Requests: 3}, {Key: "paced", Requests: 1},
		}},
		{report.ByReason, report.ByDay, []report.DemandGroup{
			{Then: first, Requests: 3, Filled: 3}, {Key: "no_match", Then: second, Requests: 2},
			{Key: "no_match", Then: first, Requests: 1}, {Key: "paced", Then: second, Requests: 1},
		}},
		{report.ByDay, report.ByPublisher, []report.DemandGroup{
			{Key: first, Then: one, Requests: 4, Filled: 3}, {Key: second, Then: one, Requests: 2},
			{Key: second, Then: two, Requests: 1},
		}},
	} {
		q := report.DemandQuery{All: true, Since: reportDay, Until: reportDay + 1, Breakdown: c.by, Then: c.then}
		got, err := s.Explain.Demand(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Groups, "%s, %s", c.by, c.then)
		q.All, q.DeveloperID = false, uuid.UUID{2}
		got, err = s.Explain.Demand(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, got.Groups, 1, "of one publisher")
	}
	_, err := s.Explain.Demand(t.Context(), report.DemandQuery{Then: report.ByDay})
	require.True(t, errs.Is(err, errs.InvalidRequest))
}

// The advertisers of a publisher have their campaigns and prices counted by day.
func reportsPaid(t *testing.T, s Reports) {
	var rows []report.Row
	shows := func(developer, advertiser, campaign byte, on day.Day, price money.Micros, n int, edit ...func(*report.Row)) {
		for range n {
			rows = append(rows, reportRow(append(edit, onDay(on), func(r *report.Row) {
				r.DeveloperID, r.AdvertiserID, r.CampaignID = uuid.UUID{developer}, uuid.UUID{advertiser}, uuid.UUID{campaign}
				r.Price = price
			})...))
		}
	}
	shows(1, 1, 1, reportDay, 2000, 90)
	shows(1, 1, 1, reportDay, 2500, report.FewestInLot) // a second bid
	shows(1, 1, 2, reportDay, 2000, report.FewestInLot-1)
	shows(1, 1, 1, reportDay, 2000, 2, func(r *report.Row) { r.Type = ledger.Click })
	shows(1, 1, 1, reportDay, 9999, 20, withVerdict(ledger.Duplicate))
	shows(1, 2, 3, reportDay, 2000, 20)
	shows(1, 2, 3, reportDay+1, 2000, 5)
	shows(2, 1, 1, reportDay, 2000, 50)
	insertRows(t, s, "paid", rows...)
	counts := func(impressions, clicks int64) report.Counts {
		return report.Counts{
			Events: report.Events{event.Type_IMPRESSION: impressions, event.Type_CLICK: clicks},
			Spend:  money.Micros(2000 * (impressions + clicks)), Credits: money.Credits(impressions + clicks),
		}
	}
	paid := func(since, until day.Day) []report.Paid {
		got, err := s.Reader.Paid(t.Context(), report.PaidQuery{DeveloperID: uuid.UUID{1}, Since: since, Until: until})
		require.NoError(t, err)
		return got
	}
	first := []report.Paid{
		{Day: reportDay, Advertiser: uuid.UUID{1}, Counts: counts(109, 2), Lots: 2},
		{Day: reportDay, Advertiser: uuid.UUID{2}, Counts: counts(20, 0), Lots: 1},
	}
	require.Equal(t, first, paid(reportDay, reportDay))
	require.Equal(
		t, append(first, report.Paid{Day: reportDay + 1, Advertiser: uuid.UUID{2}, Counts: counts(5, 0)}),
		paid(reportDay, reportDay+9),
	)
	require.Empty(t, paid(reportDay+2, reportDay+3))
}

// names finds the names of accounts by both of their ids, and those of campaigns.
func names(t *testing.T, s Stores) {
	u := AddUser(t, s)
	c := AddCampaign(t, s, u.ID, campaign.Active)
	unknown := newID(t)
	for _, ids := range [][]uuid.UUID{{u.ID}, {u.DeveloperID}, {u.ID, u.DeveloperID, unknown}} {
		got, err := s.Users.Named(t.Context(), ids)
		require.NoError(t, err)
		require.Equal(t, []account.Named{account.NamedOf(&u)}, got)
	}
	none, err := s.Users.Named(t.Context(), []uuid.UUID{unknown, uuid.Nil})
	require.NoError(t, err)
	require.Empty(t, none)
	titles, err := s.Campaigns.Titles(t.Context(), []uuid.UUID{c.ID, unknown})
	require.NoError(t, err)
	require.Equal(
		t, []campaign.Title{{ID: c.ID, AdvertiserID: u.ID, Name: c.Name, Headline: c.Headline}}, titles,
	)
	titles, err = s.Campaigns.Titles(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, titles)
}
