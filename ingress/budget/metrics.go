package budget

import (
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/obs"
)

type metrics struct {
	acquired, failed, epochs, late, skewed prometheus.Counter
	unkept                                 prometheus.Counter
	noRoom, unknown, opening               prometheus.Counter
	leases, held, ahead                    prometheus.Gauge
}

func (m *metrics) register(r prometheus.Registerer, l *Leases) {
	counter := func(name, help string) prometheus.Counter {
		return obs.Register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_budget_" + name, Help: help}))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return obs.Register(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "adnet_budget_" + name, Help: help}))
	}
	m.acquired = counter("acquisitions_total", "Ad requests that asked Redis for a lease.")
	m.late = counter("late_total", "Candidates that were passed over because Redis took longer than a request waits.")
	m.failed = counter("failures_total", "Exchanges about leases that Redis did not answer.")
	m.unkept = counter(
		"pages_failed_total",
		"Pages of the journal of reservations that PostgreSQL did not take. While they fail and the consumers work, "+
			"leases are not raised.",
	)
	m.epochs = counter("epoch_changes_total", "Times that the shared reservations were found lost or rebuilt.")
	m.skewed = counter(
		"clock_skewed_total",
		"Heartbeats that Redis refused because this node's clock is more than 1 s from its own. While they come "+
			"this node fills nothing.",
	)
	m.ahead = gauge("clock_ahead_seconds", "How far this node's clock is ahead of that of Redis, less the way there.")
	refused := obs.Register(
		r,
		prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "adnet_budget_refused_total", Help: "Leases that were not granted, by cause."},
			[]string{"cause"},
		),
	)
	m.noRoom, m.unknown, m.opening = refused.WithLabelValues("no_room"), refused.WithLabelValues("unknown"),
		refused.WithLabelValues("opening")
	m.leases = gauge("leases", "Leases that this node holds: campaigns with budget for the running minute.")
	m.held = gauge(
		"held_micros",
		"Micro-USD that this node has reserved or leased and that have not expired; settled ones included.",
	)
	obs.Register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_budget_live", Help: "1 while leases count, 0 while this node may not serve.",
	},
		func() float64 {
			if l.Live(l.deps.Now()) {
				return 1
			}
			return 0
		}))
}
