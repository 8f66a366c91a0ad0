package clickhouse_test

import (
	"fmt"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/report"
	"adnet/internal/testenv"
)

// rowsPerBlock is the chunk of the archive.
const rowsPerBlock = 50_000

// benchRows spread over 534 campaigns of 89 advertisers and 8 publishers with an application each:
// 2,136 different rows for the daily counters.
func benchRows() []report.Row {
	rows := testRows(rowsPerBlock)
	for i := range rows {
		r, n := &rows[i], i%534
		r.CampaignID, r.AdvertiserID, r.DeveloperID = uuid.UUID{1, byte(n), byte(n >> 8)}, uuid.UUID{2, byte(n % 89)},
			uuid.UUID{3, byte(i % 8)}
		r.HostApp = fmt.Sprintf("app-%d", i%8)
		r.ReceivedAt = rows[0].ReceivedAt.Add(time.Duration(i) * time.Microsecond)
	}
	return rows
}

// BenchmarkInsert is the whole path: token, deduplication, both views, fsync.
func BenchmarkInsert(b *testing.B) {
	s := open(b)
	rows := benchRows()
	b.ResetTimer()
	for i := range b.N {
		require.NoError(b, s.Insert(b.Context(), fmt.Sprint(i), rows))
	}
	b.ReportMetric(float64(b.N)*rowsPerBlock/b.Elapsed().Seconds(), "rows/s")
}

// The ceiling: the driver's row batches into a table of the same columns, with and without what
// Insert guarantees around it (views, deduplication, fsync).
func BenchmarkBareBatchPlainTable(b *testing.B) {
	bare(
		b,
		"CREATE TABLE bare AS events ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (campaign_id, day, "+
			"type, auction_id)", "bare",
	)
}

func BenchmarkBareBatchSameTables(b *testing.B) { bare(b, "SELECT 1", "events") }

func bare(b *testing.B, prepare, table string) {
	url := testenv.ClickHouse(b)
	exec(b, openAt(b, url), prepare)
	conn := connect(b, url)
	rows := benchRows()
	b.ResetTimer()
	for i := range b.N {
		ctx := driver.Context(
			b.Context(), driver.WithSettings(driver.Settings{"insert_deduplication_token": fmt.Sprint(i)}),
		)
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO "+table)
		require.NoError(b, err)
		for j := range rows {
			r := &rows[j]
			require.NoError(b, batch.Append(r.EventID, r.ReceivedAt, string(r.Type), string(r.Verdict), int64(r.Price),
				int64(r.Charge), int64(r.Minted), r.AuctionID,
				r.CampaignID, r.AdvertiserID, r.DeveloperID, r.BillingModel, r.Format, r.IntegrationMethod, r.Surface,
				r.Region, r.Language, r.HostApp,
				r.Session, r.ConversionType, int64(r.ConversionValue), r.Currency, r.ExternalID))
		}
		require.NoError(b, batch.Send())
	}
	b.ReportMetric(float64(b.N)*rowsPerBlock/b.Elapsed().Seconds(), "rows/s")
}

func connect(t testing.TB, url string) driver.Conn {
	t.Helper()
	options, err := driver.ParseDSN(url)
	require.NoError(t, err)
	options.Compression = &driver.Compression{Method: driver.CompressionLZ4}
	conn, err := driver.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}
