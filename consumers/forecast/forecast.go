// Package forecast publishes to the serving nodes how each campaign's traffic is usually spread
// over the UTC day: the curve of the last seven whole days, counted from the auctions. Pacing plans
// the next day by it.
//
// Curves are absolute and recomputed every time, so any number of processes may publish them. A
// lost target costs at most an hour. A campaign with fewer than 500 opportunities has no curve, and
// its days are planned evenly.
package forecast

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

const (
	every  = time.Hour
	again  = time.Minute // after a failure
	days   = 7
	offset = 20 * time.Second // after the start, so that it does not slow the start
)

// Source counts opportunities; see stats.Reader.
type Source interface {
	Opportunities(ctx context.Context, first, last day.Day) (map[uuid.UUID]*[campaign.Quarters]int64, error)
}

// Target stores the curves; see redis.Curves.
type Target interface {
	PublishCurves(ctx context.Context, all map[uuid.UUID]campaign.Curve) error
}

// Deps holds the dependencies of a forecast. All but Now are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Source  Source
	Target  Target
	Now     func() time.Time
}

// Forecast computes and publishes traffic curves.
type Forecast struct {
	deps   Deps
	often  *obs.LimitedLogger
	curves prometheus.Gauge
	failed prometheus.Counter
}

// New returns a forecast. It starts nothing.
func New(deps Deps) *Forecast {
	deps.Now = schedule.Clock(deps.Now)
	return &Forecast{
		deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		curves: obs.Register(
			deps.Metrics,
			prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "adnet_forecast_curves", Help: "Campaigns whose traffic curve was published last.",
			}),
		),
		failed: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_forecast_failures_total",
				Help: "Times that traffic curves could not be computed or published.",
			}),
		),
	}
}

// Run publishes curves every hour until ctx ends, and then returns nil.
func (f *Forecast) Run(ctx context.Context) error {
	schedule.Loop(ctx, offset, func(ctx context.Context) time.Duration {
		if err := f.Publish(ctx); err != nil && ctx.Err() == nil {
			f.failed.Inc()
			f.often.Warn(ctx, "traffic curves were not published: pacing uses the last ones", "error", err)
			return again
		}
		return every
	})
	return nil
}

// Publish computes and publishes every curve. Run calls it, and tests may call it directly. Errors:
// those of the source and the target.
func (f *Forecast) Publish(ctx context.Context) error {
	today := day.Of(f.deps.Now())
	counts, err := f.deps.Source.Opportunities(ctx, today-days, today-1)
	if err != nil {
		return err
	}
	curves := make(map[uuid.UUID]campaign.Curve)
	for id, of := range counts {
		if curve, ok := campaign.CurveOf(of); ok {
			curves[id] = curve
		}
	}
	if err := f.deps.Target.PublishCurves(ctx, curves); err != nil {
		return err
	}
	f.curves.Set(float64(len(curves)))
	return nil
}
