package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/report"
)

// reportsFamilies: a query by families has the events of each at its own publishers only.
func reportsFamilies(t *testing.T, s Reports) {
	of := func(kind, n byte) uuid.UUID { return uuid.UUID{kind, n} }
	var rows []report.Row
	for a := range byte(4) {
		for d := range byte(4) {
			for range 1 + int(a)*4 + int(d) {
				rows = append(rows, reportRow(func(r *report.Row) {
					r.AdvertiserID, r.CampaignID, r.DeveloperID = of(0xa, a), of(0xc, a), of(0xd, d)
				}))
			}
		}
	}
	rows = append(rows, reportRow(withVerdict(ledger.SelfServed), func(r *report.Row) {
		r.AdvertiserID, r.CampaignID, r.DeveloperID, r.Charge = of(0xa, 3), of(0xc, 3), of(0xd, 3), 0
	}))
	insertRows(t, s, "families", rows...)
	q := report.Query{
		Since: reportDay, Until: reportDay, Breakdown: report.ByCampaign,
		Families: []report.Relatives{
			{Advertisers: []uuid.UUID{of(0xa, 0), of(0xa, 1)}, Developers: []uuid.UUID{of(0xd, 1)}},
			{Advertisers: []uuid.UUID{of(0xa, 3)}, Developers: []uuid.UUID{of(0xd, 2), of(0xd, 3)}},
		},
	}
	read := func() {
		got := stats(t, s, q)
		counts := map[string]int64{}
		for _, g := range got.Groups {
			counts[g.Key] = g.Impressions()
		}
		require.Equal(t, map[string]int64{
			of(0xc, 0).String(): 2, of(0xc, 1).String(): 6, of(0xc, 3).String(): 15 + 16 + 1,
		}, counts)
		require.EqualValues(t, 2+6+15+16+1, got.Impressions())
		require.Equal(t, []report.Traffic{{Reason: report.TrafficSelfServed, Impressions: 1}}, got.Traffic)
	}
	read()
	_, err := s.Rollup.Aggregate(t.Context(), reportDay)
	require.NoError(t, err)
	read()

	many := make([]uuid.UUID, report.MaxRelatives)
	for i := range many {
		many[i] = uuid.New()
	}
	half := report.MaxRelatives / 2
	q.Families = []report.Relatives{{Advertisers: many[:half], Developers: many[half:]}}
	require.Empty(t, stats(t, s, q).Groups, "the largest query")
	q.Families = append(q.Families, report.Relatives{Advertisers: []uuid.UUID{of(0xa, 0)}})
	_, err = s.Reader.Stats(t.Context(), q)
	requireCode(t, err, errs.InvalidRequest)
}

// reportsDelays: charged conversions count by the whole hours since their auction.
func reportsDelays(t *testing.T, s Reports) {
	auction := func(at time.Time) uuid.UUID {
		id, ms := uuid.Must(uuid.NewV7()), at.UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		return id
	}
	first, two := uuid.UUID{0xa, 1}, uuid.UUID{0xa, 2}
	converted := func(advertiser uuid.UUID, at time.Time, delay time.Duration, edit ...func(*report.Row)) report.Row {
		return reportRow(append([]func(*report.Row){func(r *report.Row) {
			r.Type, r.AdvertiserID, r.CampaignID = ledger.Conversion, advertiser, advertiser
			r.AuctionID, r.ReceivedAt = auction(at), at.Add(delay)
		}}, edit...)...)
	}
	free := func(r *report.Row) { r.Charge = 0 }
	insertRows(
		t, s, "delays",
		converted(first, reportNoon, time.Second), converted(first, reportNoon, 59*time.Minute),
		converted(first, reportNoon, 61*time.Minute), converted(two, reportNoon, 29*24*time.Hour),
		converted(first, reportNoon.Add(-24*time.Hour), time.Second),
		converted(first, reportNoon.Add(-48*time.Hour), time.Second), // before
		converted(first, reportNoon.Add(24*time.Hour), time.Second),  // after
		converted(two, reportNoon, 30*24*time.Hour),                  // too late
		converted(two, reportNoon, -time.Hour),
		converted(two, reportNoon, time.Hour, free),
		converted(two, reportNoon, time.Hour, free, withVerdict(ledger.SelfServed)),
		converted(two, reportNoon, time.Hour, func(r *report.Row) { r.Type = ledger.Click }),
		converted(two, reportNoon, time.Hour, func(r *report.Row) { r.AuctionID = uuid.New() }),
	)
	got, err := s.Reader.Delays(t.Context(), report.DelayQuery{Since: reportDay - 1, Until: reportDay})
	require.NoError(t, err)
	require.Equal(t, []report.Delay{
		{AdvertiserID: first, Conversions: 3}, {AdvertiserID: first, Hours: 1, Conversions: 1},
		{AdvertiserID: two, Hours: 29 * 24, Conversions: 1},
	}, got)
	got, err = s.Reader.Delays(t.Context(), report.DelayQuery{Since: -20, Until: -10})
	require.NoError(t, err)
	require.Empty(t, got)
}
