package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// Events are counted by the terms that enough people used, and by no others.
func reportsTerms(t *testing.T, s Reports) {
	// The store drops terms older than days by its own clock, so this uses current times.
	now := time.Now().UTC().Truncate(time.Second)
	asked := func(developer byte, session int64, terms ...uint32) report.Auction {
		return report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: now, DeveloperID: uuid.UUID{developer}, CampaignID: uuid.UUID{1},
			Outcome: report.Outcome{Terms: terms, SessionMark: session, PClick: 1000},
		}
	}
	var rows []report.Auction
	for i := range int64(50) {
		rows = append(rows, asked(byte(i%3), i+1, 5, 7))
		if i > 0 {
			rows = append(rows, asked(byte(i%3), i+1, 6)) // one session is missing
		}
		rows = append(rows, asked(byte(i%2), i+1, 8)) // one publisher is missing
	}
	both, one, rare := asked(1, 1, 5, 7), asked(1, 2, 5, 6), asked(1, 3, 6, 8)
	opted := asked(1, 4, 5)
	opted.Outcome.PClick = 0 // nothing is recorded
	rows = append(rows, both, one, rare, opted)
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "terms", rows))
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "again", []report.Auction{one}), "counts once")

	var events []report.Row
	for _, a := range []report.Auction{both, one, rare, opted} {
		for _, kind := range []ledger.EventType{ledger.Impression, ledger.Click} {
			events = append(events, reportRow(func(r *report.Row) {
				r.AuctionID, r.CampaignID, r.ReceivedAt, r.Type = a.AuctionID, uuid.UUID{1}, now, kind
			}))
		}
	}
	insertRows(t, s, "events", events...)
	counts := func(n int64) report.Counts {
		return report.Counts{
			Events: report.Events{event.Type_IMPRESSION: n, event.Type_CLICK: n}, Billed: 2 * n,
			Spend: money.Micros(4000 * n), Credits: money.Credits(2 * n),
		}
	}
	today := day.Of(now)
	q := report.Query{Since: today - 1, Until: today + 1, Breakdown: report.ByTerm}
	two, single := counts(2), counts(1)
	for _, of := range []report.Query{{}, {CampaignID: uuid.UUID{1}}, {AdvertiserID: uuid.UUID{2}}} {
		of.Since, of.Until, of.Breakdown = q.Since, q.Until, q.Breakdown
		got, err := s.Reader.Terms(t.Context(), of)
		require.NoError(t, err)
		require.Equal(t, []report.TermCounts{{Term: 5, Counts: two}, {Term: 7, Counts: single}}, got)
		sum, err := s.Reader.WithTerms(t.Context(), of, []uint32{5, 7})
		require.NoError(t, err)
		require.Equal(t, two, sum, "each event once")
		sum, err = s.Reader.WithTerms(t.Context(), of, []uint32{6, 8})
		require.NoError(t, err)
		require.Equal(t, report.Counts{}, sum, "a term that few used is not recorded")
	}
	q.AdvertiserID = uuid.UUID{9}
	got, err := s.Reader.Terms(t.Context(), q)
	require.NoError(t, err)
	require.Empty(t, got)
	for _, wrong := range []report.Query{
		{Breakdown: report.ByDay}, {Breakdown: report.ByTerm, Then: report.ByDay},
		{Breakdown: report.ByTerm, Until: report.MaxTermDays},
	} {
		_, err = s.Reader.Terms(t.Context(), wrong)
		require.True(t, errs.Is(err, errs.InvalidRequest))
	}
	_, err = s.Reader.Stats(t.Context(), report.Query{Breakdown: report.ByTerm})
	require.True(t, errs.Is(err, errs.InvalidRequest))
}
