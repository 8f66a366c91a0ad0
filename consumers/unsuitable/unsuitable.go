// Package unsuitable watches the rate of publishers' requests refused as unsuitable, and counts the
// publishers whose rate jumped: an app that attracts people in need, one that is misused, or one
// that sends flags wrongly. The metric names no publisher; the administrators' screen does.
//
// It reads sums of the analytics store by publisher and hour, so every process finds the same. It
// changes nothing.
package unsuitable

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
)

const (
	every = 5 * time.Minute
	// The last full hour and the current one are compared with the seven days before.
	usual = 7 * 24 * time.Hour
)

// Source counts requests; see stats.Reader.
type Source interface {
	// NeverRates returns the rates of the publishers that had a request refused as unsuitable from
	// lately to until, beside their rates from since to lately.
	NeverRates(ctx context.Context, since, lately, until time.Time) ([]report.NeverRate, error)
}

// Deps holds the dependencies of a watch. All but Now are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Source  Source
	Now     func() time.Time
}

// Watch counts publishers whose rate of unsuitable requests jumped.
type Watch struct {
	deps   Deps
	often  *obs.LimitedLogger
	jumped prometheus.Gauge
}

// New returns a watch. It starts nothing.
func New(deps Deps) *Watch {
	deps.Now = schedule.Clock(deps.Now)
	return &Watch{deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		jumped: obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "adnet_unsuitable_jumped_publishers",
			Help: "Publishers of whose requests of the last hours more were refused as unsuitable than chance " +
				"explains: over four times, and six standard deviations above, their rate of the seven days before.",
		}))}
}

// Run looks every five minutes until ctx ends, and then returns nil.
func (w *Watch) Run(ctx context.Context) error {
	schedule.Every(ctx, every, w.Look, func(err error) {
		w.often.Warn(ctx, "rates of refused requests could not be read, retrying", "error", err)
	})
	return nil
}

// Look counts the publishers whose rate jumped. Run calls it, and tests may call it directly.
// Errors: those of the source.
func (w *Watch) Look(ctx context.Context) error {
	now := w.deps.Now().UTC()
	lately := now.Truncate(time.Hour).Add(-time.Hour)
	rates, err := w.deps.Source.NeverRates(ctx, lately.Add(-usual), lately, now)
	if err != nil {
		return err
	}
	jumped := 0
	for i := range rates {
		if rates[i].Jumped() {
			jumped++
		}
	}
	w.jumped.Set(float64(jumped))
	return nil
}
