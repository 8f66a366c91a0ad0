package settle

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/ledger"
	"adnet/internal/process/obs"
)

// metrics holds the settler's metrics; handles of all known labels are looked up once.
type metrics struct {
	verdicts     map[ledger.Verdict]prometheus.Counter
	invalid      prometheus.Counter // any invalid-traffic rule
	refused      map[string]prometheus.Counter
	charged      prometheus.Counter
	minted       prometheus.Counter
	batch        prometheus.Histogram
	tx           prometheus.Histogram
	retries      prometheus.Counter
	fenced       prometheus.Counter
	lost         prometheus.Counter
	hintFailures prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return obs.Register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_settle_" + name, Help: help}))
	}
	events := obs.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_settle_events_total", Help: "Settled events by verdict; all invalid-traffic rules are one label.",
	}, []string{"verdict"}))
	m := &metrics{
		verdicts: make(map[ledger.Verdict]prometheus.Counter),
		invalid:  events.WithLabelValues("invalid_traffic"),
		charged:  counter("charge_micros_total", "Charged to advertisers, micro-USD."),
		minted:   counter("credits_minted_total", "Credits minted for publishers."),
		batch: obs.Register(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adnet_settle_batch_events", Help: "Events per transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		})),
		tx: obs.Register(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "adnet_settle_tx_seconds", Help: "Duration of a try of a transaction, failed ones included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		})),
		retries:      counter("retries_total", "Tries that failed and were retried."),
		fenced:       counter("fenced_total", "Batches dropped because the partition was applied elsewhere."),
		lost:         counter("lost_offsets_total", "Offsets that were no longer in the log; settled as poison."),
		hintFailures: counter("hint_failures_total", "Failed commits of the broker's offset, which is a hint."),
	}
	refused := obs.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_settle_refused_total",
		Help: "Events refused because they contradict their auction token, by reason. They are " +
			"dead letters.",
	}, []string{"reason"}))
	m.refused = make(map[string]prometheus.Counter)
	for _, problem := range refusals {
		m.refused[problem] = refused.WithLabelValues(problem)
	}
	for _, v := range ledger.Verdicts {
		m.verdicts[v] = events.WithLabelValues(string(v))
	}
	return m
}

// applied counts a committed batch.
func (m *metrics) applied(b *ledger.Batch, effects *ledger.Effects) {
	counts := make(map[ledger.Verdict]int, 4)
	var charged, minted int64
	total := 0
	for i, a := range effects.Applied {
		total += len(a.Outcomes)
		for j, o := range a.Outcomes {
			counts[o.Verdict]++
			charged, minted = charged+int64(o.Charge), minted+int64(o.Minted)
			r := &b.Runs[i].Records[j]
			if r.Problem == problemLost {
				m.lost.Inc()
			} else if refused := m.refused[r.Problem]; refused != nil {
				refused.Inc()
			}
		}
	}
	for verdict, n := range counts {
		c, ok := m.verdicts[verdict]
		if !ok && strings.HasPrefix(string(verdict), string(ledger.InvalidTraffic)) {
			c, ok = m.invalid, true
		}
		if ok {
			c.Add(float64(n))
		}
	}
	m.charged.Add(float64(charged))
	m.minted.Add(float64(minted))
	m.batch.Observe(float64(total))
}
