package clickhouse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/analytics/stats"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
)

// The five questions of docs/data.md have the same answers from the reader as from SQL.
func TestAnalystsQuestions(t *testing.T) {
	s := open(t)
	reader, err := stats.New(stats.Config{}, stats.Deps{Store: s})
	require.NoError(t, err)
	now := time.Now().UTC().Truncate(time.Second)
	var rows []report.Row
	var asked []report.Auction
	for i := range 600 {
		a := report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: now.AddDate(0, 0, -i%3), DeveloperID: uuid.UUID{9, byte(i % 4)},
			Reason: []string{"", "", "", "no_match", "paced"}[i%5], Language: fmt.Sprint("l", i%3),
		}
		if a.Reason == "" {
			a.CampaignID = uuid.UUID{1, byte(i % 6)}
			a.Outcome = report.Outcome{Terms: []uint32{uint32(5 + i/7%2), 9}, SessionMark: int64(i%200 + 1), PClick: 1}
			for _, kind := range []ledger.EventType{ledger.Impression, ledger.Click}[:1+i%2] {
				rows = append(rows, report.Row{
					EventID: uuid.Must(uuid.NewV7()), ReceivedAt: a.At, Type: kind, Verdict: ledger.OK,
					Charge: money.Micros(1000 + i), AuctionID: a.AuctionID, CampaignID: a.CampaignID,
					AdvertiserID: uuid.UUID{2, byte(i % 3)}, DeveloperID: a.DeveloperID, Language: a.Language,
				})
			}
		}
		asked = append(asked, a)
	}
	require.NoError(t, s.Insert(t.Context(), "events", rows))
	require.NoError(t, s.InsertAuctions(t.Context(), "auctions", asked))
	today := day.Of(now)
	since, until := today-5, today

	sql := func(text string) map[string]int64 {
		var found []struct {
			Key string `ch:"k"`
			N   int64  `ch:"n"`
		}
		require.NoError(t, s.Select(t.Context(), &found, text, nil))
		list := map[string]int64{}
		for _, f := range found {
			list[f.Key] = f.N
		}
		require.NotEmpty(t, list)
		return list
	}
	groups := func(by, then report.Breakdown, number func(*report.Counts) int64) map[string]int64 {
		got, err := reader.Stats(t.Context(), report.Query{Since: since, Until: until, Breakdown: by, Then: then})
		require.NoError(t, err)
		list := map[string]int64{}
		for i := range got.Groups {
			list[got.Groups[i].Key+" "+got.Groups[i].Then] = number(&got.Groups[i].Counts)
		}
		return list
	}
	asks := func(by, then report.Breakdown, number func(report.DemandGroup) int64) map[string]int64 {
		q := report.DemandQuery{All: true, Since: since, Until: until, Breakdown: by, Then: then}
		got, err := reader.Demand(t.Context(), q)
		require.NoError(t, err)
		list := map[string]int64{}
		for _, g := range got.Groups {
			list[g.Key+" "+g.Then] = number(g)
		}
		return list
	}
	const ppm = 1_000_000

	// Spend by advertiser and day.
	require.Equal(t, sql(`SELECT concat(toString(advertiser_id), ' ', toString(day)) AS k, toInt64(sum(charge)) AS n
		FROM events GROUP BY k`), groups(
		report.ByAdvertiser, report.ByDay, func(c *report.Counts) int64 { return int64(c.Spend) },
	))
	// CTR by language.
	require.Equal(t, sql(`SELECT concat(toString(language), ' ') AS k,
		toInt64(intDiv(1000000 * countIf(type = 'click'), countIf(type = 'impression'))) AS n
		FROM events GROUP BY k`), groups(
		report.ByLanguage, "", func(c *report.Counts) int64 { return ppm * c.Clicks() / c.Impressions() },
	))
	// Top terms.
	got, err := reader.Terms(t.Context(), report.Query{Since: since, Until: until, Breakdown: report.ByTerm})
	require.NoError(t, err)
	terms := map[string]int64{}
	for _, term := range got {
		terms[fmt.Sprint(term.Term)] = term.Impressions()
	}
	require.Len(t, terms, 3)
	require.Equal(t, sql(`SELECT toString(term) AS k, toInt64(count()) AS n FROM (
		SELECT o.auction_id AS id, arrayJoin(terms) AS term FROM outcome_terms AS o FINAL
		WHERE id IN (SELECT auction_id FROM events WHERE type = 'impression')) GROUP BY k`), terms)
	// Fill rate by publisher.
	require.Equal(t, sql(`SELECT concat(toString(developer_id), ' ') AS k,
		toInt64(intDiv(1000000 * countIf(reason = ''), count())) AS n FROM auctions FINAL GROUP BY k`), asks(
		report.ByPublisher, "", func(g report.DemandGroup) int64 { return ppm * g.Filled / g.Requests },
	))
	// No-fill by day.
	require.Equal(t, sql(`SELECT concat(toString(reason), ' ', toString(day)) AS k, toInt64(count()) AS n
		FROM auctions FINAL GROUP BY reason, day`), asks(
		report.ByReason, report.ByDay, func(g report.DemandGroup) int64 { return g.Requests },
	))
}
