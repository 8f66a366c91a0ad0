package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/report"
)

// ReportRefusals counts refusals because of a conversation.
type ReportRefusals interface {
	Refusals(ctx context.Context, q report.RefusalQuery) ([]report.RefusalDay, error)
	Costs(ctx context.Context, publisher uuid.UUID, until day.Day) (map[subject.ID]report.SubjectCost, error)
	RefusedAt(ctx context.Context, p report.Places) ([]report.RefusedPlaces, error)
	NeverRates(ctx context.Context, since, lately, until time.Time) ([]report.NeverRate, error)
}

// refusing returns auctions of a publisher that ended with a reason.
func refusing(
	developer byte, at time.Time, reason, about string, n int, edit ...func(*report.Auction),
) []report.Auction {
	list := make([]report.Auction, n)
	for i := range list {
		list[i] = report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: at, DeveloperID: uuid.UUID{developer}, Reason: reason,
			Suitability: about,
			HostApp:     "App", Surface: "chat", IntegrationMethod: "rest", Language: "en_US",
		}
		for _, e := range edit {
			e(&list[i])
		}
	}
	return list
}

func reportsRefusals(t *testing.T, s Reports) {
	// The store drops days older than a month by its own clock, so this uses current times.
	today := day.Of(time.Now())
	noon := today.Time().Add(time.Minute) // today, whenever the test runs
	before := func(days day.Day) time.Time { return (today - days).Time().Add(5 * time.Hour) }
	var all []report.Auction
	add := func(list []report.Auction) { all = append(all, list...) }
	add(refusing(1, noon, "", "", 3))
	add(refusing(1, noon, "no_match", "", 2, func(a *report.Auction) { a.AgeAdult = true }))
	add(refusing(1, noon, report.Unsuitable, "suicide", 9, func(a *report.Auction) { a.AgeAdult = true }))
	add(refusing(1, noon, report.Unsuitable, "", 8))
	add(refusing(1, noon, report.Sensitive, "health", 9))
	add(refusing(1, noon, report.Unsuitable, "suicide", 50, func(a *report.Auction) { a.Sandbox = true }))
	add(refusing(1, before(3), report.Sensitive, "health", 130))
	add(refusing(1, before(3), report.Sensitive, "debt", 99))
	add(refusing(
		1, before(20), report.Sensitive, "health", 250,
		func(a *report.Auction) { a.Surface, a.Language = "welcome", "de" },
	))
	add(refusing(2, noon, report.Unsuitable, "suicide", 120))
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "refusals", all))
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "refusals", all), "once per token")

	first, two := uuid.UUID{1}, uuid.UUID{2}
	days, err := s.Refusals.Refusals(t.Context(), report.RefusalQuery{DeveloperID: first, Since: today - 3, Until: today})
	require.NoError(t, err)
	want := []report.RefusalDay{
		{DeveloperID: first, Day: today - 3, Sensitive: report.RefusalsOf(229)},
		{DeveloperID: first, Day: today, Requests: 5, Adults: 2, Never: report.RefusalsOf(17)},
	}
	require.Equal(t, want, days, "nine are not told, and sandbox keys count for nothing")
	days, err = s.Refusals.Refusals(t.Context(), report.RefusalQuery{All: true, Since: today - 1, Until: today})
	require.NoError(t, err)
	require.Equal(t, []report.RefusalDay{want[1], {DeveloperID: two, Day: today, Never: report.RefusalsOf(120)}}, days)

	costs, err := s.Refusals.Costs(t.Context(), first, today)
	require.NoError(t, err)
	require.Equal(t, map[subject.ID]report.SubjectCost{
		subject.Health: {Week: report.HundredsOf(100), Month: report.HundredsOf(300)}, subject.Debt: {},
	}, costs)

	refused := func(p report.Places) []report.RefusedPlaces {
		p.Since, p.Until = today-27, today
		got, err := s.Refusals.RefusedAt(t.Context(), p)
		require.NoError(t, err)
		return got
	}
	health := report.Refused{Reason: report.Sensitive, Subject: "health"}
	never := report.RefusedPlaces{
		Refused: report.Refused{Reason: report.Unsuitable, Subject: "suicide"}, Requests: report.HundredsOf(100),
	}
	require.Equal(
		t, []report.RefusedPlaces{{Refused: health, Requests: report.HundredsOf(300)}, never}, refused(report.Places{}),
	)
	require.Equal(t, []report.RefusedPlaces{never, {Refused: health, Requests: report.HundredsOf(100)}},
		refused(report.Places{
			Surfaces: []string{"CHAT"}, Languages: []string{"en"}, Methods: []string{"rest"}, HostApps: []string{"app"},
			Regions: []string{"us"},
		}),
		"a refusal has no region")
	require.Empty(t, refused(report.Places{HostApps: []string{"other"}}))

	now := noon.Add(time.Second)
	lately := now.Truncate(time.Hour)
	rates, err := s.Refusals.NeverRates(t.Context(), lately.AddDate(0, 0, -7), lately, now)
	require.NoError(t, err)
	require.ElementsMatch(
		t, []report.NeverRate{{Requests: 31, Never: 17, UsualRequests: 229}, {Requests: 120, Never: 120}}, rates,
	)
}

// No other count includes refused requests, since subtraction would then reveal them.
func reportsRefusalsApart(t *testing.T, s Reports) {
	now := time.Now().UTC().Truncate(time.Minute).Add(30 * time.Second)
	accepted := append(refusing(1, now, "", "", 1), refusing(1, now, "no_match", "", 1)...)
	hidden := append(
		refusing(1, now.Add(time.Second), report.Unsuitable, "suicide", 3),
		refusing(1, now.Add(time.Second), report.Sensitive, "health", 4)...,
	)
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", append(accepted, hidden...)))
	today := day.Of(now)
	for _, by := range append([]string{""}, report.DemandBreakdowns...) {
		got, err := s.Explain.Demand(
			t.Context(),
			report.DemandQuery{All: true, Since: today - 1, Until: today + 1, Breakdown: report.Breakdown(by)},
		)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"": 1, "no_match": 1}, got.Outcomes)
		require.Equal(t, now, got.Last, "not even when")
		var requests int64
		for _, g := range got.Groups {
			requests += g.Requests
		}
		require.EqualValues(t, 2*min(len(by), 1), requests, by)
	}
	delivery, err := s.Explain.Delivery(t.Context(), uuid.UUID{9}, now.Add(-time.Hour), now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, report.Delivery{Auctions: 2, Outcomes: map[string]int64{}}, delivery)
}
