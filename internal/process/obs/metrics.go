package obs

import (
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxSeries is the most series that a process exposes, however long it runs and whatever callers
// send: no label names an account, a campaign or a key. Tests and the hostile suite compare.
const MaxSeries = 3000

// Register adds c to r and returns the collector that r then has: c itself, or the one registered
// earlier under the same name and labels, so that two components of one process count into one
// metric. With a nil r the metric works but is never exposed. Register never panics, and a metric
// never prevents a start: a metric that contradicts another is left out and logged.
func Register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	if r == nil {
		return c
	}
	err := r.Register(c)
	if err == nil {
		return c
	}
	var taken prometheus.AlreadyRegisteredError
	if errors.As(err, &taken) {
		if existing, same := taken.ExistingCollector.(C); same {
			return existing
		}
	}
	slog.Error("a metric is not exposed", "error", err)
	return c
}
