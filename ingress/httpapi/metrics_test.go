package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// The durations have buckets for every server, and a native histogram with a bounded number of finer
// ones. Neither costs a request an allocation.
func TestDurationsAreANativeHistogramToo(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newServerMetrics(registry)
	for i := range 10_000 {
		m.answered("/x", http.StatusOK, time.Duration(i*i)*time.Microsecond)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { m.answered("/x", http.StatusOK, time.Millisecond) }))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "adnet_http_request_seconds" {
			continue
		}
		h := family.GetMetric()[0].GetHistogram()
		require.Len(t, h.GetBucket(), 12)
		native := 0
		for _, span := range h.GetPositiveSpan() {
			native += int(span.GetLength())
		}
		require.Greater(t, native, 12)
		require.LessOrEqual(t, len(h.GetPositiveDelta()), 100)
		return
	}
	require.Fail(t, "no adnet_http_request_seconds")
}
