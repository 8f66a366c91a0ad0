package clickhouse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/analytics/stats"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/testenv"
)

// A term is stored only when 50 sessions of 3 publishers had it in the month, and then nothing
// tells who.
func TestTermsOfFewAreNotStored(t *testing.T) {
	url := testenv.ClickHouse(t)
	s := openAt(t, url)
	year, month, _ := time.Now().UTC().Date() // old days are dropped
	at := time.Date(year, month, 15, 12, 0, 0, 0, time.UTC)
	n := byte(0)
	send := func(sessions, publishers, from int, at time.Time, terms ...uint32) {
		n++
		var rows []report.Auction
		for i := range sessions {
			rows = append(rows, report.Auction{
				AuctionID: uuid.New(), At: at, DeveloperID: uuid.UUID{5, byte(i % publishers)},
				CampaignID: uuid.UUID{7},
				Outcome: report.Outcome{
					Terms: terms, SessionMark: int64(1 + from + i), PClick: 20_000, TrialPClick: 3, Weights: 4,
				},
			})
		}
		require.NoError(t, s.InsertAuctions(t.Context(), fmt.Sprint(n), rows))
	}
	stored := func(term uint32) int64 {
		return number(t, s, fmt.Sprintf("(SELECT count() FROM outcome_terms WHERE has(terms, %d))", term))
	}
	known := func(term uint32) int64 {
		return number(
			t, s,
			fmt.Sprintf(
				"(SELECT count() FROM known_terms WHERE term = %d AND month = '%s')", term,
				at.Format("2006-01-02")[:8]+"01",
			),
		)
	}
	send(49, 3, 0, at, 1)
	send(49, 3, 0, at.Add(time.Hour), 1) // the same sessions again
	send(60, 2, 100, at, 2)
	send(50, 3, 200, at, 3)
	require.Zero(t, known(1), "49 sessions")
	require.Zero(t, known(2), "2 publishers")
	require.EqualValues(t, 1, known(3))
	require.Zero(t, stored(1))
	require.Zero(t, stored(2))
	send(1, 1, 300, at.AddDate(0, 1, 0), 1)
	require.Zero(t, known(1), "another month")
	require.EqualValues(
		t, 49+49+60+50+1, number(t, s, "(SELECT count() FROM outcome_terms)"), "outcomes without their terms",
	)
	require.EqualValues(
		t, 1,
		number(
			t, s,
			"(SELECT count() FROM outcome_terms WHERE p_click = 20000 AND trial_p_click = 3 AND weights = 4 AND day = '"+at.AddDate(0, 1, 0).Format(time.DateOnly)+"')",
		),
	)
	require.Zero(t, number(t, s, "(SELECT count() FROM term_marks)"), "the way in keeps nothing")

	fresh := openAt(t, url) // no process has read the month's terms yet
	require.NoError(t, fresh.InsertAuctions(t.Context(), "later", []report.Auction{{
		AuctionID: uuid.New(), At: at, Outcome: report.Outcome{Terms: []uint32{1, 2, 3}, PClick: 1},
	}, {AuctionID: uuid.New(), At: at, Outcome: report.Outcome{Terms: []uint32{3}}}}))
	reader, err := stats.New(stats.Config{}, stats.Deps{Store: s})
	require.NoError(t, err)
	reported := uuid.New()
	require.NoError(
		t,
		fresh.InsertAuctions(
			t.Context(), "told",
			[]report.Auction{{
				AuctionID: reported, At: at, Outcome: report.Outcome{Terms: []uint32{1, 2, 3, 4}, PClick: 1},
			}},
		),
	)
	for id, want := range map[uuid.UUID][]uint32{reported: {3}, uuid.New(): {}} {
		terms, err := reader.RecordedTerms(t.Context(), id, at.Add(-time.Second))
		require.NoError(t, err)
		require.Equal(t, want, terms, "of an auction, what enough people say")
	}
	terms, err := reader.RecordedTerms(t.Context(), reported, at.AddDate(0, 0, 3))
	require.NoError(t, err)
	require.Empty(t, terms, "another day")
	require.EqualValues(
		t, 2, number(t, s, "(SELECT count() FROM outcome_terms WHERE terms = [3])"),
		"known ones only, and none of a publisher who said no",
	)

	tables, err := s.Tables(t.Context())
	require.NoError(t, err)
	require.Contains(t, tables, "outcome_terms")
	require.NotContains(t, tables, "term_months", "in no backup")
	require.EqualValues(
		t, 1,
		number(
			t, s,
			"(SELECT position(create_table_query, 'TTL day + toIntervalDay(30)') > 0 FROM system.tables WHERE "+
				"database = currentDatabase() AND name = 'outcome_terms')",
		),
	)
}

// Only what is valid and was accepted for billing teaches.
func TestWhatIsLearntFrom(t *testing.T) {
	s := openAt(t, testenv.ClickHouse(t))
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var auctions []report.Auction
	for i := range 60 {
		auctions = append(auctions, report.Auction{
			AuctionID: uuid.UUID{1, byte(i)}, At: at, DeveloperID: uuid.UUID{5, byte(i % 3)}, CampaignID: uuid.UUID{7},
			Outcome: report.Outcome{
				Terms: []uint32{11, uint32(100 + i)}, SessionMark: int64(1 + i), PClick: 20_000, TrialPClick: 30_000,
				Weights: 4,
			},
		})
	}
	require.NoError(t, s.InsertAuctions(t.Context(), "a", auctions[:50]))
	require.NoError(t, s.InsertAuctions(t.Context(), "b", auctions[50:]))
	event := func(n byte, kind ledger.EventType, verdict ledger.Verdict) report.Row {
		return report.Row{
			EventID: uuid.New(), ReceivedAt: at, Type: kind, Verdict: verdict, AuctionID: uuid.UUID{1, n},
			CampaignID: uuid.UUID{7}, AdvertiserID: uuid.UUID{8},
			DeveloperID: uuid.UUID{5, n % 3}, HostApp: "app", NetworkMark: int64(n),
		}
	}
	require.NoError(t, s.Insert(t.Context(), "e", []report.Row{
		event(50, ledger.Impression, ledger.OK), event(50, ledger.Click, ledger.OK),
		event(51, ledger.Impression, ledger.OK), event(51, ledger.Click, "invalid_traffic:fast_click"),
		event(52, ledger.Impression, ledger.OK), event(52, ledger.Click, ledger.Duplicate),
		event(53, ledger.Impression, "self_served"), event(53, ledger.Click, ledger.OK),
		event(54, ledger.Impression, "sandbox"), event(55, ledger.Impression, "over_budget"),
		event(56, ledger.Impression, "invalid_traffic:robot"),
		event(57, ledger.Click, ledger.OK),
	}))
	rows, err := s.Impressions(t.Context(), at, 100)
	require.NoError(t, err)
	byNetwork := map[int64]report.Impression{}
	for _, r := range rows {
		byNetwork[r.Network] = r
	}
	require.Len(t, rows, 3)
	require.Len(t, byNetwork, 2, "neither refused clicks nor their networks are there")
	clicked := byNetwork[50]
	require.True(t, clicked.Clicked)
	require.Equal(t, []any{
		uuid.UUID{7}, uuid.UUID{8}, uuid.UUID{5, 2}, []uint32{11}, int64(20_000), int64(30_000), int64(4),
	},
		[]any{
			clicked.CampaignID, clicked.Advertiser, clicked.DeveloperID, clicked.Terms, clicked.PClick,
			clicked.TrialPClick, clicked.Weights,
		})
	require.NotZero(t, clicked.Place)
	require.False(t, byNetwork[0].Clicked)
	paid := func(n byte, verdict ledger.Verdict) report.Row {
		r := event(n, ledger.Conversion, verdict)
		r.ReceivedAt = at.Add(20 * time.Hour)
		return r
	}
	require.NoError(t, s.Insert(t.Context(), "v", []report.Row{
		event(58, ledger.Impression, ledger.OK), event(58, ledger.Click, ledger.OK), paid(58, ledger.VerdictUnverified),
		paid(58, "conversion_cap"),
		event(59, ledger.Impression, ledger.OK), event(59, ledger.Click, "invalid_traffic:fast_click"),
		paid(59, ledger.OK),
		paid(50, ledger.OK), paid(50, ledger.Duplicate),
	}))
	clicks, err := s.Clicks(t.Context(), at, 100)
	require.NoError(t, err)
	converted := map[int64]bool{}
	for _, r := range clicks {
		require.True(t, r.Clicked)
		require.False(t, r.PaysCPA)
		converted[r.Network] = r.Converted
	}
	require.Equal(t, map[int64]bool{50: true, 58: false}, converted, "valid conversions of valid clicks, each once")
	require.Len(t, clicks, 2)
	placed := func(
		n byte, kind ledger.EventType, verdict ledger.Verdict, publisher byte, app string, later time.Duration,
	) report.Row {
		r := event(n, kind, verdict)
		r.DeveloperID, r.HostApp, r.ReceivedAt = uuid.UUID{6, publisher}, app, at.Add(later)
		r.IntegrationMethod = "js_snippet"
		if app == "chat" {
			r.IntegrationMethod = "mcp"
		}
		return r
	}
	require.NoError(t, s.Insert(t.Context(), "views", []report.Row{
		placed(70, ledger.Impression, ledger.OK, 1, "page", 0),
		placed(70, ledger.Viewable, ledger.OK, 1, "page", 24*time.Hour),
		placed(71, ledger.Impression, ledger.OK, 1, "page", 0),
		placed(71, ledger.Viewable, ledger.Duplicate, 1, "page", 0),
		placed(72, ledger.Impression, ledger.OK, 1, "page", 0),
		placed(72, ledger.Viewable, "invalid_traffic:robot", 1, "page", 0),
		placed(73, ledger.Impression, "self_served", 1, "page", 0),
		placed(73, ledger.Viewable, ledger.OK, 1, "page", 0),
		placed(74, ledger.Viewable, ledger.OK, 1, "page", 0),
		placed(75, ledger.Impression, ledger.OK, 1, "chat without views", 0),
		placed(76, ledger.Impression, ledger.OK, 2, "page", 0), placed(76, ledger.Viewable, ledger.OK, 2, "page", 0),
		placed(77, ledger.Impression, ledger.OK, 2, "page", 0), placed(77, ledger.Viewable, ledger.OK, 2, "page", 0),
		placed(78, ledger.Impression, ledger.OK, 3, "page", 0),
		placed(79, ledger.Impression, ledger.OK, 1, "chat", 0), placed(79, ledger.Viewable, ledger.OK, 1, "chat", 0),
	}))
	seen, err := s.Views(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, []report.Seen{
		{DeveloperID: uuid.UUID{6, 1}, Impressions: 3, Views: 1},
		{DeveloperID: uuid.UUID{6, 2}, Impressions: 2, Views: 2},
	}, seen,
		"valid views of valid impressions, of places where one was reported")
	rows, err = s.Impressions(t.Context(), at, 2)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	rows, err = s.Impressions(t.Context(), at.AddDate(0, 0, -1), 100)
	require.NoError(t, err)
	require.Empty(t, rows)
}
