package archive

import (
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/process/obs"
)

// metrics holds the archiver's metrics.
type metrics struct {
	rows, retries, missing, full prometheus.Counter
	chunk, insert                prometheus.Histogram
	held                         prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return obs.Register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_archive_" + name, Help: help}))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return obs.Register(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "adnet_archive_" + name, Help: help}))
	}
	m := &metrics{
		rows:    counter("rows_total", "Events archived."),
		retries: counter("retries_total", "Rounds that failed and were retried."),
		missing: counter("missing_total", "Settled events that were no longer in the log."),
		full:    counter("buffer_full_total", "Times that reading waited because settlement is behind."),
		chunk: obs.Register(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adnet_archive_chunk_rows", Help: "Rows per insert.", Buckets: prometheus.ExponentialBuckets(1, 4, 9),
		})),
		insert: obs.Register(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adnet_archive_insert_seconds", Help: "Duration of an insert and its mark.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		})),
		held: gauge("held_records", "Events that wait in memory for their verdict or their insert."),
	}
	return m
}
