package obs

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func newRuns() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "runs_total", Help: "Runs."})
}

func TestRegisterTwiceCountsIntoOne(t *testing.T) {
	r := prometheus.NewRegistry()
	Register(r, newRuns()).Inc()
	Register(r, newRuns()).Inc()
	families, err := r.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Equal(t, 2.0, families[0].GetMetric()[0].GetCounter().GetValue())
}

func TestRegisterKeepsWhatCannotBeExposed(t *testing.T) {
	r := prometheus.NewRegistry()
	Register(r, newRuns())
	other := Register(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "runs_total", Help: "Something else."}))
	other.Set(3)
	require.Equal(t, 3.0, testutil.ToFloat64(other))
	Register(nil, newRuns()).Inc()
}
