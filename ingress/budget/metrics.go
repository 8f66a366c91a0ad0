package budget

import (
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/process/obs"
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
	m.acquired = counter("acquisitions_total", "Leases that ad requests requested from Redis.")
	m.late = counter("late_total", "Candidates skipped because Redis took longer than a request waits.")
	m.failed = counter("failures_total", "Lease exchanges that Redis did not answer.")
	m.unkept = counter(
		"pages_failed_total",
		"Pages of the journal of reservations that PostgreSQL did not accept. While they fail and the consumers work, "+
			"leases are not raised.",
	)
	m.epochs = counter("epoch_changes_total", "Times the shared reservations were lost or rebuilt.")
	m.skewed = counter(
		"clock_skewed_total",
		"Heartbeats that Redis rejected because this node's clock differs from its own by more than 1 s. "+
			"Meanwhile this node fills nothing.",
	)
	m.ahead = gauge("clock_ahead_seconds", "Lead of this node's clock over that of Redis, less the network delay.")
	refused := obs.Register(
		r,
		prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "adnet_budget_refused_total", Help: "Leases that were not granted, by cause."},
			[]string{"cause"},
		),
	)
	m.noRoom, m.unknown, m.opening = refused.WithLabelValues("no_room"), refused.WithLabelValues("unknown"),
		refused.WithLabelValues("opening")
	m.leases = gauge("leases", "Leases of this node: campaigns with budget for the current minute.")
	m.held = gauge(
		"held_micros",
		"Micro-USD reserved or leased by this node and not expired, settled amounts included.",
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
