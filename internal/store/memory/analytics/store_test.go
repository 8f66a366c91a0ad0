package analytics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/store/storetest"
)

func TestReports(t *testing.T) {
	storetest.RunReports(t, func(*testing.T) storetest.Reports {
		r := New()
		return storetest.Reports{Writer: r, Audit: r, Reader: r, Rollup: r, Explain: r, Forecast: r, Refusals: r, Counted: r}
	})
}

// The size of the store follows dimensions and the window of tokens, never the number of events.
func TestReportsAreBounded(t *testing.T) {
	r := New()
	row := report.Row{
		Type: ledger.Impression, Verdict: ledger.OK, ReceivedAt: time.Unix(1e9, 0), CampaignID: uuid.UUID{1},
	}
	const inserts = tokenWindow + 10
	for i := range inserts {
		row.EventID = uuid.UUID{byte(i)}
		require.NoError(t, r.Insert(t.Context(), fmt.Sprint(i), []report.Row{row, row}))
	}
	require.Len(t, r.days, 1)
	require.Len(t, r.days[day.Of(row.ReceivedAt)], 1)
	require.Len(t, r.events.seen, tokenWindow)
	require.Len(t, r.events.ring, tokenWindow)
	require.Equal(t, int64(2*inserts), r.totals.Rows)

	// A token inside the window is known, the oldest ones were forgotten.
	require.NoError(t, r.Insert(t.Context(), "10", []report.Row{row}))
	require.Equal(t, int64(2*inserts), r.totals.Rows)
	require.NoError(t, r.Insert(t.Context(), "9", []report.Row{row}))
	require.Equal(t, int64(2*inserts+1), r.totals.Rows)
}
