// Package rollup recomputes the stats of closed days from the events.
//
// Contract of [Rollup.Aggregate]: the rows of a day in stats_rollup become exactly the sums of the
// day's events. They are built in a separate table and swapped in by REPLACE PARTITION. Another run
// gives the same rows. Concurrent runs are safe although the server may then keep the rows of both:
// every row names its run, and readers use the rows of one run per day, one that counts at least as
// many events as the live counters. So readers never use a run that is half visible or that missed
// events.
//
// # Not obvious
//
// Readers use one run per day because the rows of two concurrent REPLACE PARTITION can both remain
// (measured on ClickHouse 26.7).
package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
	"adnet/schemas/event"
)

// Config holds the schedule of the daily run.
type Config struct {
	At time.Duration `name:"rollup-at" env:"ADNET_ROLLUP_AT" default:"10m" help:"How long after midnight UTC the stats of the day before are rolled up."`
	// Retry is the pause after a failed run.
	Retry time.Duration `name:"rollup-retry" env:"ADNET_ROLLUP_RETRY" default:"1m" help:"How long to wait after a failed roll-up before the next try."`
}

// Store is the analytics store; see analytics/clickhouse.
type Store interface {
	Select(ctx context.Context, dest any, query string, params map[string]string) error
	Exec(ctx context.Context, statement string, params map[string]string) error
}

// Deps holds the dependencies of a roll-up.
type Deps struct {
	Store   Store
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil: the clock
}

// Rollup is the daily roll-up.
type Rollup struct {
	cfg      Config
	store    Store
	log      *slog.Logger
	now      func() time.Time
	reporter roster.Report
	failures prometheus.Counter
	newest   prometheus.Gauge
}

// New returns a roll-up without starting it. Zero durations take the defaults. Error:
// errs.InvalidRequest when the time after midnight is a day or more.
func New(cfg Config, deps Deps) (*Rollup, error) {
	if cfg.At <= 0 {
		cfg.At = 10 * time.Minute
	}
	if cfg.At >= 24*time.Hour {
		return nil, errs.New(errs.InvalidRequest, "ADNET_ROLLUP_AT must be less than 24h")
	}
	if cfg.Retry <= 0 {
		cfg.Retry = time.Minute
	}
	if deps.Store == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errs.New(errs.Internal, "rollup: a store, a log and metrics are needed")
	}
	return &Rollup{
		cfg: cfg, store: deps.Store, log: deps.Log, now: schedule.Clock(deps.Now),
		failures: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_rollup_failures_total", Help: "Runs of the daily roll-up that failed and were tried again.",
		})),
		newest: obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "adnet_rollup_newest_day_timestamp_seconds",
			Help: "Midnight UTC of the newest day that this process rolled up.",
		})),
	}, nil
}

// Tells reports each run to administrators; call it before Run.
func (r *Rollup) Tells(reporter roster.Report) { r.reporter = reporter }

// Run rolls up yesterday at once, to make up for a run missed while the process was down, and then
// every day at Config.At after midnight UTC. It retries a failed run until it succeeds. Run returns
// nil when ctx is cancelled.
func (r *Rollup) Run(ctx context.Context) error {
	schedule.Loop(ctx, 0, func(ctx context.Context) time.Duration {
		wait, err := r.turn(ctx)
		r.reporter.Ended(ctx, err, r.now(), r.now().Add(wait))
		return wait
	})
	return nil
}

// turn makes one run and returns the time to wait for the next, and the run's error.
func (r *Rollup) turn(ctx context.Context) (time.Duration, error) {
	now := r.now()
	date := day.Of(now.Add(-r.cfg.At)) - 1
	rows, err := r.Aggregate(ctx, date)
	if err == nil {
		err = r.sweep(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return r.cfg.Retry, ctx.Err()
	case err != nil:
		r.failures.Inc()
		r.log.LogAttrs(ctx, slog.LevelError, "roll-up failed, will be tried again",
			slog.String("day", date.String()), slog.Duration("in", r.cfg.Retry), slog.Any("error", err))
		return r.cfg.Retry, err
	}
	r.newest.Set(float64(date.Time().Unix()))
	r.log.LogAttrs(ctx, slog.LevelInfo, "rolled up", slog.String("day", date.String()), slog.Int("rows", rows))
	return schedule.UntilTimeOfDay(now, r.cfg.At), nil
}

const (
	// stagingPrefix starts the names of the tables in which a day is built. The rest is random.
	stagingPrefix = "stats_rollup_staging_"

	// abandonedQuery finds the tables left by killed runs. No run takes as long as a day.
	abandonedQuery = `
SELECT name FROM system.tables
WHERE database = currentDatabase() AND startsWith(name, {prefix:String})
	AND metadata_modification_time < now() - INTERVAL 1 DAY`
)

// fillQuery counts a day into a table. The counters match those of stats_daily_mv
// (schemas/clickhouse); the conformance suite compares the two.
var fillQuery = `
INSERT INTO %s (day, run, advertiser_id, campaign_id, developer_id, format, integration_method, host_app, events,
    ` + event.Join(func(k *event.Kind) string { return k.Column }) + `,
    conversions_unverified, spend, credits, billed, conversion_usd, duplicates, rejected, sandbox, invalid,
    last_received_at)
SELECT
    day, {run:UUID}, advertiser_id, campaign_id, developer_id, format, integration_method, host_app, count(),
    ` + event.Join(func(k *event.Kind) string { return "countIf(class = 'counted' AND type = '" + k.Name + "')" }) + `,
    countIf(class = 'unverified'),
    sum(charge),
    sum(minted),
    countIf(charge > 0),
    sumIf(toInt128(conversion_value), class = 'counted' AND type = 'conversion' AND currency IN ('', 'USD')),
    countIf(class = 'duplicate'),
    countIf(class = 'rejected'),
    countIf(class = 'sandbox'),
    countIf(class = 'invalid'),
    max(received_at)
FROM events
WHERE day = {day:Date}
GROUP BY day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app`

// Aggregate recomputes a UTC day and returns its number of rows (see the package contract). A day
// without events has none. Errors: errs.InvalidRequest for a day outside 1970 to 2105;
// errs.Unavailable.
func (r *Rollup) Aggregate(ctx context.Context, date day.Day) (rows int, err error) {
	if date < 0 || date.Time().Year() > 2105 {
		return 0, errs.New(errs.InvalidRequest, "the day must lie between 1970 and 2105")
	}
	run := uuid.NewString()
	staging := stagingPrefix + strings.ReplaceAll(run, "-", "")
	if err := r.store.Exec(ctx, "CREATE TABLE "+staging+" AS stats_rollup", nil); err != nil {
		return 0, err
	}
	defer func() {
		// The table must be dropped even if the caller has gone away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, r.drop(ctx, staging))
	}()
	params := map[string]string{"day": date.String(), "run": run}
	if err := r.store.Exec(ctx, fmt.Sprintf(fillQuery, staging), params); err != nil {
		return 0, err
	}
	var counted []struct {
		N uint64 `ch:"n"`
	}
	if err := r.store.Select(ctx, &counted, "SELECT count() AS n FROM "+staging, nil); err != nil {
		return 0, err
	}
	if len(counted) == 1 {
		rows = int(counted[0].N)
	}
	if rows == 0 { // replacing by an empty partition would keep the old rows
		return 0, r.store.Exec(ctx, "ALTER TABLE stats_rollup DROP PARTITION '"+date.String()+"'", nil)
	}
	return rows, r.store.Exec(ctx, "ALTER TABLE stats_rollup REPLACE PARTITION '"+date.String()+"' FROM "+staging, nil)
}

func (r *Rollup) drop(ctx context.Context, table string) error {
	return r.store.Exec(ctx, "DROP TABLE IF EXISTS "+table+" SYNC", nil)
}

// sweep drops the tables left by killed runs.
func (r *Rollup) sweep(ctx context.Context) error {
	var tables []struct {
		Name string `ch:"name"`
	}
	if err := r.store.Select(ctx, &tables, abandonedQuery, map[string]string{"prefix": stagingPrefix}); err != nil {
		return err
	}
	for _, t := range tables {
		if err := r.drop(ctx, t.Name); err != nil {
			return err
		}
	}
	return nil
}
