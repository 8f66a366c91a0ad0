package settle

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
)

// Each settled event is in one series: an alert on a share of verdicts needs their sum.
func TestEveryVerdictCounts(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	verdicts := append([]ledger.Verdict{ledger.InvalidTraffic + "one", ledger.InvalidTraffic + "other"}, ledger.Verdicts...)
	var applied ledger.AppliedRange
	for _, v := range verdicts {
		applied.Outcomes = append(applied.Outcomes, ledger.Outcome{Verdict: v})
	}
	m.applied(
		&ledger.Batch{Runs: []ledger.Run{{Records: make([]ledger.Record, len(verdicts))}}},
		&ledger.Effects{Applied: []ledger.AppliedRange{applied}},
	)
	for v, counter := range m.verdicts {
		require.EqualValues(t, 1, testutil.ToFloat64(counter), v)
	}
	require.Len(t, m.verdicts, len(ledger.Verdicts))
	require.EqualValues(t, 2, testutil.ToFloat64(m.invalid))
	for _, v := range []ledger.Verdict{ledger.VerdictUnverified, ledger.ConversionCapped} {
		require.Contains(t, m.verdicts, v)
	}
}
