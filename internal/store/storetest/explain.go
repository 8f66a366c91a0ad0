package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/report"
)

// ReportExplainer explains auctions and the campaigns in them.
type ReportExplainer interface {
	Auction(ctx context.Context, id uuid.UUID, at time.Time) (report.Auction, error)
	AuctionEvents(ctx context.Context, id, campaign uuid.UUID, at time.Time) ([]report.Row, error)
	Delivery(ctx context.Context, campaign uuid.UUID, since, until time.Time) (report.Delivery, error)
	Demand(ctx context.Context, q report.DemandQuery) (report.Demand, error)
}

func candidateAuction(edit ...func(*report.Auction)) report.Auction {
	a := report.Auction{
		AuctionID: uuid.Must(uuid.NewV7()), At: reportNoon.Add(123456 * time.Microsecond), DeveloperID: uuid.UUID{3},
		CampaignID: uuid.UUID{1},
		Price:      5000, ECPM: 4_000_000, Format: "card", CreativeFormat: "native", IntegrationMethod: "mcp",
		Surface: "chat", Region: "US-CA", Language: "en", HostApp: "it's",
		Took: 42 * time.Microsecond, Tokens: 7, Tools: 2, Floor: 1_000_000, MoreCandidates: true,
		ModelVersion: "benna-2.0badcafe-7", Explores: true, HouseID: uuid.UUID{6},
		Suitability: "suicide", SuitabilityBy: "rule", AgeAdult: true,
		Candidates: []report.Candidate{
			{CampaignID: uuid.UUID{4}, ECPM: 6_000_000, Reason: "budget"}, {CampaignID: uuid.UUID{1}, ECPM: 4_000_000},
			{CampaignID: uuid.UUID{5}, ECPM: 3_000_000, Reason: "outbid"},
		},
	}
	for _, e := range edit {
		e(&a)
	}
	return a
}

func reportsExplain(t *testing.T, s Reports) {
	ctx, full := t.Context(), candidateAuction()
	empty := candidateAuction(func(a *report.Auction) {
		a.CampaignID, a.Reason, a.Price, a.ECPM, a.Candidates, a.MoreCandidates = uuid.Nil, "no_match", 0, 0, nil, false
	})
	midnight := candidateAuction(func(a *report.Auction) { a.At = reportDay.Time() })
	for _, token := range []string{"a", "a", "b"} {
		require.NoError(t, s.Writer.InsertAuctions(ctx, token, []report.Auction{full, empty, midnight}))
	}
	for _, want := range []report.Auction{full, empty, midnight} {
		// The caller derives the time from the id, to the millisecond and by another clock.
		for _, off := range []time.Duration{0, -time.Second, time.Second} {
			got, err := s.Explain.Auction(ctx, want.AuctionID, want.At.Add(off))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	_, err := s.Explain.Auction(ctx, uuid.Must(uuid.NewV7()), reportNoon)
	require.True(t, errs.Is(err, errs.NotFound), err)

	row := func(kind ledger.EventType, v ledger.Verdict, after time.Duration) report.Row {
		return reportRow(withVerdict(v), func(r *report.Row) {
			r.AuctionID, r.CampaignID, r.Type, r.ReceivedAt = full.AuctionID, full.CampaignID, kind, full.At.Add(after)
		})
	}
	click, view := row(ledger.Click, ledger.OK, 26*time.Hour), row(ledger.Impression, ledger.OK, time.Second)
	again, foreign := row(
		ledger.Impression, ledger.Duplicate, 2*time.Second,
	), row(ledger.Impression, ledger.Duplicate, time.Second)
	foreign.CampaignID = uuid.UUID{9}
	insertRows(t, s, "e1", click, reportRow())
	insertRows(t, s, "e2", again, view, foreign)
	events, err := s.Explain.AuctionEvents(ctx, full.AuctionID, full.CampaignID, full.At)
	require.NoError(t, err)
	require.Len(t, events, 3)
	for i, want := range []report.Row{view, again, click} {
		got := events[i]
		require.Equal(t, want.EventID, got.EventID)
		require.Equal(
			t, []any{want.Type, want.Verdict, want.Charge, want.Minted, want.ReceivedAt},
			[]any{got.Type, got.Verdict, got.Charge, got.Minted, got.ReceivedAt},
		)
	}
	events, err = s.Explain.AuctionEvents(ctx, empty.AuctionID, full.CampaignID, full.At)
	require.NoError(t, err)
	require.Empty(t, events)
}

func reportsDelivery(t *testing.T, s Reports) {
	// The store drops rows older than days by its own clock, so this uses current times.
	now := time.Now().UTC().Truncate(time.Minute).Add(30 * time.Second)
	at := func(ago time.Duration, edit ...func(*report.Auction)) report.Auction {
		return candidateAuction(append(edit, func(a *report.Auction) { a.At = now.Add(-ago) })...)
	}
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", []report.Auction{
		at(0), at(time.Minute), at(59 * time.Minute),
		at(65 * time.Minute), // too long ago
		at(time.Minute, func(a *report.Auction) { a.Sandbox = true }),
		at(
			2*time.Minute,
			func(a *report.Auction) { a.Candidates, a.Reason, a.MoreCandidates = nil, "no_match", false },
		),
	}))
	delivery := func(campaign byte) report.Delivery {
		d, err := s.Explain.Delivery(t.Context(), uuid.UUID{campaign}, now.Add(-time.Hour), now)
		require.NoError(t, err)
		return d
	}
	want := func(outcomes map[string]int64) report.Delivery {
		return report.Delivery{Auctions: 4, Truncated: 3, Outcomes: outcomes}
	}
	require.Equal(t, want(map[string]int64{"": 3}), delivery(1))
	require.Equal(t, want(map[string]int64{"budget": 3}), delivery(4))
	require.Equal(t, want(map[string]int64{"outbid": 3}), delivery(5))
	require.Equal(t, want(map[string]int64{}), delivery(7), "a campaign that was nowhere")
}

func reportsAsked(t *testing.T, s Reports) {
	of := func(developer byte, after time.Duration, reason string) report.Auction {
		return candidateAuction(func(a *report.Auction) {
			a.DeveloperID, a.At, a.Reason = uuid.UUID{developer}, reportNoon.Add(after), reason
		})
	}
	const oneDay = 24 * time.Hour
	tried := of(11, time.Hour, "")
	tried.Sandbox = true
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", []report.Auction{
		of(11, 0, ""), of(11, time.Minute, ""), of(11, 2*time.Minute, "no_match"), of(11, -oneDay, "paced"),
		of(11, oneDay, "paced"), of(12, time.Hour, ""), tried,
	}))
	requests := func(developer byte, since, until day.Day) report.Demand {
		r, err := s.Explain.Demand(
			t.Context(), report.DemandQuery{DeveloperID: uuid.UUID{developer}, Since: since, Until: until},
		)
		require.NoError(t, err)
		return r
	}
	today := day.Of(reportNoon)
	require.Equal(
		t, report.Demand{Outcomes: map[string]int64{"": 2, "no_match": 1}, Last: reportNoon.Add(2 * time.Minute)},
		requests(11, today, today),
	)
	require.Equal(t, map[string]int64{"": 2, "no_match": 1, "paced": 2}, requests(11, today-1, today+1).Outcomes)
	require.Equal(t, report.Demand{Outcomes: map[string]int64{}}, requests(13, 0, today+5))
	all, err := s.Explain.Demand(t.Context(), report.DemandQuery{All: true, Since: today, Until: today})
	require.NoError(t, err)
	require.Equal(
		t, report.Demand{Outcomes: map[string]int64{"": 3, "no_match": 1}, Last: reportNoon.Add(time.Hour)}, all,
		"without the sandbox's",
	)

	placed := func(surface, host, reason string) report.Auction {
		a := of(14, time.Minute, reason)
		a.Surface, a.HostApp = surface, host
		return a
	}
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "b", []report.Auction{
		placed("welcome", "slack", ""), placed("chat", "slack", "no_match"), placed("chat", "discord", ""),
		placed("buttons", "slack", "paced"),
	}))
	for by, want := range map[report.Breakdown][]report.DemandGroup{
		report.BySurface: {
			{Key: "chat", Requests: 2, Filled: 1}, {Key: "buttons", Requests: 1},
			{Key: "welcome", Requests: 1, Filled: 1},
		},
		report.ByHostApp:           {{Key: "slack", Requests: 3, Filled: 1}, {Key: "discord", Requests: 1, Filled: 1}},
		report.ByIntegrationMethod: {{Key: "mcp", Requests: 4, Filled: 2}},
		report.ByFormat:            {{Key: "card", Requests: 4, Filled: 2}},
	} {
		got, err := s.Explain.Demand(
			t.Context(), report.DemandQuery{DeveloperID: uuid.UUID{14}, Since: today, Until: today, Breakdown: by},
		)
		require.NoError(t, err)
		require.Equal(t, want, got.Groups, by)
	}
	var many []report.Auction
	for i := range report.MaxDemandGroups + 5 {
		a := placed("chat", fmt.Sprint("app", i), "")
		a.DeveloperID = uuid.UUID{15}
		many = append(many, a)
	}
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "c", many))
	got, err := s.Explain.Demand(
		t.Context(),
		report.DemandQuery{DeveloperID: uuid.UUID{15}, Since: today, Until: today, Breakdown: report.ByHostApp},
	)
	require.NoError(t, err)
	require.Len(t, got.Groups, report.MaxDemandGroups+1, "a publisher invents names of apps")
	require.Equal(
		t, report.DemandGroup{Key: report.OthersKey, Requests: 5, Filled: 5}, got.Groups[report.MaxDemandGroups],
	)
	require.EqualValues(t, len(many), got.Outcomes[""], "the totals count all")
	_, err = s.Explain.Demand(
		t.Context(), report.DemandQuery{DeveloperID: uuid.UUID{14}, Since: today, Until: today, Breakdown: report.ByHour},
	)
	require.True(t, errs.Is(err, errs.InvalidRequest))
}
