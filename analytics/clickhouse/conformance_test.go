package clickhouse_test

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/analytics/stats"
	"adnet/internal/store/storetest"
	"adnet/internal/testenv"
)

// open migrates an empty database of its own.
func open(t testing.TB) *clickhouse.Store {
	t.Helper()
	return openAt(t, testenv.ClickHouse(t))
}

func openAt(t testing.TB, url string) *clickhouse.Store {
	t.Helper()
	cfg := clickhouse.Config{URL: url}
	_, err := clickhouse.Migrate(t.Context(), cfg)
	require.NoError(t, err)
	s, err := clickhouse.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestReports(t *testing.T) {
	storetest.RunReports(t, func(t *testing.T) storetest.Reports {
		s := open(t)
		reader, err := stats.New(stats.Config{}, stats.Deps{Store: s})
		require.NoError(t, err)
		daily, err := rollup.New(
			rollup.Config{},
			rollup.Deps{Store: s, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
		)
		require.NoError(t, err)
		return storetest.Reports{
			Writer: s, Audit: s, Reader: reader, Rollup: daily, Explain: reader, Forecast: reader, Refusals: reader,
			Counted: reader,
		}
	})
}
