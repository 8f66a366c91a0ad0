package clickhouse_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/compliance/consent"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/testenv"
	schema "adnet/schemas/clickhouse"
)

// number asks for one number.
func number(t testing.TB, s *clickhouse.Store, query string) int64 {
	t.Helper()
	var rows []struct {
		N int64 `ch:"n"`
	}
	require.NoError(t, s.Select(t.Context(), &rows, "SELECT toInt64("+query+") AS n", nil))
	require.Len(t, rows, 1)
	return rows[0].N
}

func exec(t testing.TB, s *clickhouse.Store, statement string) {
	t.Helper()
	require.NoError(t, s.Exec(t.Context(), statement, nil))
}

func testRows(n int) []report.Row {
	rows := make([]report.Row, n)
	day := time.Date(2026, 5, 31, 23, 0, 0, 0, time.UTC)
	for i := range rows {
		rows[i] = report.Row{
			EventID: uuid.Must(uuid.NewV7()), ReceivedAt: day.Add(time.Duration(i) * time.Second),
			Type: ledger.Impression, Verdict: ledger.OK,
			Charge: 2500, Minted: 1, AuctionID: uuid.Must(uuid.NewV7()), CampaignID: uuid.UUID{1, byte(i)},
			AdvertiserID: uuid.UUID{2, byte(i % 9)},
			DeveloperID:  uuid.UUID{3, byte(i % 31)}, BillingModel: "cpm", Format: "text", IntegrationMethod: "rest",
			Surface: "chat", Region: "US",
			Language: "en", HostApp: fmt.Sprintf("app-%d", i%50), Session: fmt.Sprintf("session-%d", i),
		}
	}
	return rows
}

// counts are the rows of the source and of everything computed from it.
func counts(t *testing.T, s *clickhouse.Store) [3]int64 {
	return [3]int64{
		number(t, s, "(SELECT count() FROM events)"),
		number(t, s, "(SELECT sum(events) FROM stats_daily)"),
		number(t, s, "(SELECT sum(events) FROM verdict_daily)"),
	}
}

// A block goes to the server in several messages and is still one block, of each table, and nothing
// new when it is sent again.
func TestBlockOfSeveralMessages(t *testing.T) {
	s := open(t)
	rows := testRows(20_000)
	for i := range rows {
		rows[i].ReceivedAt = rows[0].ReceivedAt
	}
	for range 2 {
		require.NoError(t, s.Insert(t.Context(), "topic/0:0-20000", rows))
		require.Equal(t, [3]int64{20_000, 20_000, 20_000}, counts(t, s))
		for _, table := range []string{"events", "stats_daily", "verdict_daily"} {
			require.Equal(t, int64(1), number(t, s, "(SELECT max(max_block_number) FROM system.parts WHERE database = "+
				"currentDatabase() AND table = '"+table+"')"), table) // a merge may already have written it again
		}
	}
}

// The trap of DESIGN.md section 8: the source refuses a repeated block and the views take it all
// the same, unless their targets refuse it too. The rows lie in two months.
func TestThreeSendsOfOneToken(t *testing.T) {
	s := open(t)
	rows := testRows(5000)
	for range 3 {
		require.NoError(t, s.Insert(t.Context(), "topic/0:0-5000", rows))
		require.Equal(t, [3]int64{5000, 5000, 5000}, counts(t, s))
	}
	require.Equal(t, int64(2), number(t, s, "(SELECT uniqExact(toYYYYMM(day)) FROM events)"))

	// Merges forget nothing of it, and neither does a restart: the tables are loaded again from
	// disk.
	for _, table := range []string{"events", "stats_daily", "verdict_daily"} {
		exec(t, s, "OPTIMIZE TABLE "+table+" FINAL")
		exec(t, s, "DETACH TABLE "+table+" SYNC")
		exec(t, s, "ATTACH TABLE "+table)
	}
	require.NoError(t, s.Insert(t.Context(), "topic/0:0-5000", rows))
	require.Equal(t, [3]int64{5000, 5000, 5000}, counts(t, s))
}

// An insert can end after the source and before a view. The repeat adds only the missing rows.
func TestRepeatCompletesAHalfDoneInsert(t *testing.T) {
	s := open(t)
	rows := testRows(100)
	exec(t, s, "DETACH TABLE stats_daily_mv SYNC")
	require.NoError(t, s.Insert(t.Context(), "a", rows))
	require.Equal(t, [3]int64{100, 0, 100}, counts(t, s))
	exec(t, s, "ATTACH TABLE stats_daily_mv")
	for range 2 {
		require.NoError(t, s.Insert(t.Context(), "a", rows))
		require.Equal(t, [3]int64{100, 100, 100}, counts(t, s))
	}
}

// A view whose target refuses the rows must fail the insert, or its counters would silently stay
// behind.
func TestFailingViewFailsTheInsert(t *testing.T) {
	s := open(t)
	exec(t, s, "ALTER TABLE stats_daily ADD CONSTRAINT none CHECK events < 0")
	require.Error(t, s.Insert(t.Context(), "a", testRows(10)))
	exec(t, s, "ALTER TABLE stats_daily DROP CONSTRAINT none")
	require.NoError(t, s.Insert(t.Context(), "a", testRows(10)))
	require.Equal(t, [3]int64{10, 10, 10}, counts(t, s))
}

func TestEveryTargetOfAViewHasAWindow(t *testing.T) {
	s := open(t)
	const windowless = `(SELECT count() FROM system.tables WHERE database = currentDatabase()
		AND engine LIKE '%MergeTree'
		AND name NOT IN ('stats_rollup', 'schema_migrations')
			AND create_table_query NOT LIKE '%non_replicated_deduplication_window = 100000%')`
	require.Zero(t, number(t, s, windowless))
	exec(t, s, "CREATE TABLE forgotten (n Int64) ENGINE = MergeTree ORDER BY n")
	require.Equal(t, int64(1), number(t, s, windowless))
}

// What the TTL drops from events stays in the totals, which the ledger is compared with.
func TestTotalsOutliveTheEvents(t *testing.T) {
	s := open(t)
	rows := testRows(5000)
	rows[0].Verdict, rows[0].Charge, rows[0].Minted = ledger.Poison, 0, 0
	rows[0].ReceivedAt = time.Time{}
	require.NoError(t, s.Insert(t.Context(), "a", rows))
	before, err := s.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(5000), before.Rows)
	exec(t, s, "ALTER TABLE events DROP PARTITION '202605'")
	require.Less(t, counts(t, s)[0], int64(5000))
	after, err := s.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestEveryFieldIsStored(t *testing.T) {
	s := open(t)
	id := func(b byte) uuid.UUID { return uuid.UUID{b, 15: b} }
	// Of today: what stands for people is cleared after its time.
	day := time.Now().UTC().Format(time.DateOnly)
	at, err := time.Parse(time.RFC3339Nano, day+"T23:59:59.123456789Z")
	require.NoError(t, err)
	require.NoError(t, s.Insert(t.Context(), "a", []report.Row{{
		EventID: id(1), ReceivedAt: at, Type: ledger.Conversion, Verdict: ledger.OverBalance, Price: 4, Charge: 5,
		Minted: 6, Credit: ledger.CreditHeld, AuctionID: id(2),
		CampaignID: id(3), AdvertiserID: id(4), DeveloperID: id(5), BillingModel: "cpa", Format: "f",
		IntegrationMethod: "m", Surface: "s",
		Region: "r", Language: "l", HostApp: "h", Session: "se", ConversionType: "ct", ConversionValue: 7,
		Currency: "EUR", ExternalID: "x", NetworkMark: 8,
	}}))
	require.NoError(t, s.InsertAuctions(t.Context(), "a", []report.Auction{{
		AuctionID: id(2), At: at, DeveloperID: id(5), CampaignID: id(3), HouseID: id(8), Reason: "budget", Price: 8,
		ECPM: 9, Format: "f", CreativeFormat: "cf", IntegrationMethod: "m",
		Surface: "s", Region: "r", Language: "l", HostApp: "h", Sandbox: true, Took: 1500 * time.Nanosecond,
		Tokens: 3, Tools: 4, Floor: 5, Candidates: []report.Candidate{{CampaignID: id(7), ECPM: 6, Reason: "outbid"}},
		MoreCandidates: true, ModelVersion: "m", Explores: true, Consent: (consent.Signal | consent.OptOut).String(),
		Suitability: "debt", SuitabilityBy: "flag", AgeAdult: true,
	}}))
	require.NoError(t, s.InsertNotices(t.Context(), "a", []report.Notice{{
		AuctionID: id(2), At: at, Kind: "loss", Proof: "signed", CampaignID: id(3), DeveloperID: id(5),
		ImpressionID: "i", Price: 7, Reason: 102, Sandbox: true,
	}}))
	for table, want := range map[string]string{
		"notices": "02000000-0000-0000-0000-000000000002|loss|signed|" + day + " 23:59:59.123456|" + day +
			"|03000000-0000-0000-0000-000000000003|" +
			"05000000-0000-0000-0000-000000000005|i|7|102|true",
		"events": "01000000-0000-0000-0000-000000000001|" + day + " 23:59:59.123456|" + day +
			"|conversion|over_balance|counted|4|5|6|held|" +
			"02000000-0000-0000-0000-000000000002|03000000-0000-0000-0000-000000000003|04000000-0000-0000-0000-000000000004|" +
			"05000000-0000-0000-0000-000000000005|cpa|f|m|s|r|l|h|se|ct|7|EUR|x|8",
		"auctions": "02000000-0000-0000-0000-000000000002|" + day + " 23:59:59.123456|" + day +
			"|05000000-0000-0000-0000-000000000005|" +
			"03000000-0000-0000-0000-000000000003|budget|8|9|f|cf|m|s|r|l|h|true|1|3|4|5|['07000000-0000-0000-0000-000000000007']|[6]|['outbid']|true|m|true|given,opt_out|08000000-0000-0000-0000-000000000008|debt|flag|true",
	} {
		var rows []struct {
			Text string `ch:"text"`
		}
		require.NoError(t, s.Select(t.Context(), &rows, "SELECT concatWithSeparator('|', *) AS text FROM "+table+
			" SETTINGS asterisk_include_materialized_columns = 1", nil))
		require.Len(t, rows, 1)
		require.Equal(t, want, rows[0].Text)
	}
}

func TestViewsForDataTeams(t *testing.T) {
	s := open(t)
	rows := testRows(1000)
	for i := range 10 {
		rows[i].CampaignID = uuid.UUID{0xcc}
	}
	rows[1].Type, rows[1].Charge, rows[1].AuctionID = ledger.Click, 0, rows[0].AuctionID
	rows[2].Type, rows[2].Charge, rows[2].AuctionID, rows[2].ConversionValue = ledger.Conversion, 0, rows[0].AuctionID,
		4_000_000
	rows[3].Verdict, rows[3].Charge, rows[3].Minted = ledger.Duplicate, 0, 0
	require.NoError(t, s.Insert(t.Context(), "a", rows))
	require.NoError(t, s.InsertAuctions(t.Context(), "a", []report.Auction{
		{AuctionID: uuid.UUID{1}, At: rows[0].ReceivedAt, Format: "text"},
		{AuctionID: uuid.UUID{2}, At: rows[0].ReceivedAt, Format: "text", Reason: "no_match"},
		{AuctionID: uuid.UUID{3}, At: rows[0].ReceivedAt, Format: "text", Reason: "no_match", Sandbox: true},
	}))
	const campaign = " FROM campaign_daily WHERE campaign_id = 'cc000000-0000-0000-0000-000000000000'"
	for query, want := range map[string]int64{
		"(SELECT count()" + campaign + ")":                                      1,
		"(SELECT any(impressions)" + campaign + ")":                             7,
		"(SELECT any(clicks)" + campaign + ")":                                  1,
		"(SELECT round(any(spend_usd) * 1e6)" + campaign + ")":                  7 * 2500,
		"(SELECT round(any(ctr) * 7000)" + campaign + ")":                       1000,
		"(SELECT round(any(ecpm_usd) * 1e6)" + campaign + ")":                   2_500_000,
		"(SELECT sum(impressions) FROM publisher_daily)":                        997,
		"(SELECT sum(credits) FROM publisher_daily)":                            999,
		"(SELECT sum(events) FROM verdict_share_daily)":                         1000,
		"(SELECT round(1000 * sum(share)) FROM verdict_share_daily)":            1000,
		"(SELECT count() FROM verdict_share_daily WHERE verdict = 'duplicate')": 1,
		"(SELECT round(100 * any(fill_rate)) FROM fill_daily)":                  50,
		"(SELECT sum(auctions) FROM no_fill_daily WHERE reason = 'no_match')":   1,
		"(SELECT count() FROM conversion_path)":                                 1,
		"(SELECT round(sum(value_usd)) FROM conversion_path)":                   4,
		"(SELECT round(sum(charge_usd) * 1e6) FROM conversion_path)":            2500,
		"(SELECT sum(impression_at > 0 AND click_at > 0) FROM conversion_path)": 1,
	} {
		require.Equal(t, want, number(t, s, query), query)
	}
	const undocumented = "(SELECT count() FROM system.tables WHERE database = currentDatabase() AND comment = '' " +
		"AND engine != 'MaterializedView')"
	require.Zero(t, number(t, s, undocumented))
}

// A backup keeps sums of 128 bits.
func TestCopiesKeepLargeSums(t *testing.T) {
	s := open(t)
	const fill = "INSERT INTO %s (day, campaign_id, conversion_usd) VALUES ('2026-03-10', " +
		"'01000000-0000-0000-0000-000000000000', %s)"
	const sum = "toInt128(9223372036854775807) * 3"
	exec(t, s, fmt.Sprintf(fill, "stats_daily", sum))
	var copied bytes.Buffer
	_, err := s.CopyOut(t.Context(), "stats_daily", &copied)
	require.NoError(t, err)
	exec(t, s, "TRUNCATE TABLE stats_daily SYNC")
	_, err = s.CopyIn(t.Context(), "stats_daily", &copied)
	require.NoError(t, err)
	require.Equal(t, int64(1), number(t, s, "(SELECT sum(conversion_usd) = "+sum+" FROM stats_daily)"))
}

func TestMigrateCreatesTheDatabaseOnce(t *testing.T) {
	target := testenv.ClickHouse(t)
	server, err := clickhouse.Open(t.Context(), clickhouse.Config{URL: target})
	require.NoError(t, err)
	name := target[strings.LastIndex(target, "/")+1:] + "_new"
	cfg := clickhouse.Config{URL: target + "_new"}
	t.Cleanup(func() {
		// The test's own context is over by now.
		require.NoError(
			t, server.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE IF EXISTS "+name+" SYNC", nil),
		)
		require.NoError(t, server.Close())
	})

	_, err = clickhouse.Open(t.Context(), cfg)
	require.True(t, errs.Is(err, errs.InvalidState), "%v", err)
	require.ErrorContains(t, err, "adnet migrate")
	require.NoError(t, server.Ping(t.Context()))

	all, err := schema.Migrations()
	require.NoError(t, err)
	applied, err := clickhouse.Migrate(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, applied, len(all))
	require.Equal(
		t, int64(1),
		number(t, server, "(SELECT count() FROM system.databases WHERE engine = 'Atomic' AND name = '"+name+"')"),
	)
	applied, err = clickhouse.Migrate(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, applied)
}

func TestMigrationsAtOnce(t *testing.T) {
	cfg := clickhouse.Config{URL: testenv.ClickHouse(t)}
	var wg sync.WaitGroup
	failed := make(chan error, 3)
	for range cap(failed) {
		wg.Go(func() {
			_, err := clickhouse.Migrate(t.Context(), cfg)
			failed <- err
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	applied, err := clickhouse.Migrate(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, applied)
}

func TestMigrateRefusesAnotherHistory(t *testing.T) {
	target := testenv.ClickHouse(t)
	cfg := clickhouse.Config{URL: target}
	_, err := clickhouse.Migrate(t.Context(), cfg)
	require.NoError(t, err)
	s, err := clickhouse.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })

	exec(t, s, "INSERT INTO schema_migrations (version, name, sum) VALUES (9999, '9999_future.sql', '')")
	_, err = clickhouse.Migrate(t.Context(), cfg)
	require.True(t, errs.Is(err, errs.InvalidState), "%v", err)
	exec(t, s, "DELETE FROM schema_migrations WHERE version = 9999")
	exec(t, s, "INSERT INTO schema_migrations (version, name, sum) VALUES (1, '0001_baseline.sql', 'edited')")
	_, err = clickhouse.Migrate(t.Context(), cfg)
	require.True(t, errs.Is(err, errs.InvalidState), "%v", err)
	require.ErrorContains(t, err, "0001_baseline.sql")
}

func TestConfigErrors(t *testing.T) {
	for _, target := range []string{"", "http://127.0.0.1:1/adnet", "clickhouse:///adnet", "clickhouse://127.0.0.1:1",
		"clickhouse://127.0.0.1:1/a;b",
		"clickhouse://127.0.0.1:1/1a", "clickhouse://u:secret@127.0.0.1:1/%zz",
		"clickhouse://u:secret@127.0.0.1:1/adnet?dial_timeout=x"} {
		_, err := clickhouse.Open(t.Context(), clickhouse.Config{URL: target})
		require.True(t, errs.Is(err, errs.InvalidRequest), "%s: %v", target, err)
		require.NotContains(t, err.Error(), "secret")
		_, err = clickhouse.Migrate(t.Context(), clickhouse.Config{URL: target})
		require.True(t, errs.Is(err, errs.InvalidRequest), "%s: %v", target, err)
	}
}

func TestDeadServerIsUnavailable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = clickhouse.Open(
		t.Context(), clickhouse.Config{URL: "clickhouse://" + dead + "/adnet", DialTimeout: time.Second},
	)
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)

	s, err := clickhouse.New(clickhouse.Config{URL: "clickhouse://" + dead + "/adnet", DialTimeout: time.Second})
	require.NoError(t, err, "it connects on first use")
	defer func() { require.NoError(t, s.Close()) }()
	err = s.Ping(t.Context())
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)
	require.Contains(t, errs.Of(err).Extra, "retry_after")
}

func TestErrorsOfStatements(t *testing.T) {
	s := open(t)
	require.NoError(t, s.Ping(t.Context()))
	err := s.Exec(t.Context(), "SELECT no_such_column", nil)
	require.True(t, errs.Is(err, errs.Internal), "%v", err)
	exec(t, s, "DROP TABLE events")
	err = s.Insert(t.Context(), "a", testRows(1))
	require.True(t, errs.Is(err, errs.Internal), "%v", err)
	// The connections are whole after errors.
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, int64(1), number(t, s, "1"))
}
