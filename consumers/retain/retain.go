// Package retain removes unneeded data once a night: deduplication marks of days whose events are
// no longer accepted, archived applied ranges, idempotency keys, dead letters, and reports of ads,
// whose e-mail addresses are removed earlier. The analytics store drops whole months by itself (its
// TTL).
//
// Contract: marks are removed only after the horizon passed their day, and settlement rejects
// events from before the horizon. So a removed mark can never make a repeat look new. Any number of
// processes may run it concurrently.
//
// # Not obvious
//
// Retention keeps sums (pruned_total) of the verdicts, marks and dead letters that it removes,
// so that adnet verify still adds up to the first day.
package retain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/compliance/adreport"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
)

// Config holds the retention of each kind of data. 0 days keeps it forever.
type Config struct {
	Marks   int           `name:"retention-marks-days" env:"ADNET_RETENTION_MARKS_DAYS" default:"60" help:"Days that deduplication marks are kept; at least the lives of a click and a conversion and a week. Events of earlier auctions expire. 0: forever."`
	Applied int           `name:"retention-applied-days" env:"ADNET_RETENTION_APPLIED_DAYS" default:"30" help:"Days that the verdicts of archived events are kept in PostgreSQL: as long as a backup may be restored, or a day of ClickHouse rebuilt. 0: forever."`
	Dead    int           `name:"retention-dlq-days" env:"ADNET_RETENTION_DLQ_DAYS" default:"90" help:"Days that dead letters are kept. 0: forever."`
	At      time.Duration `name:"retention-at" env:"ADNET_RETENTION_AT" default:"3h30m" help:"How long after midnight UTC the nightly removal runs."`
}

// Life is the time for which the last events of an auction count: marks must outlive them.
type Life struct {
	Click      time.Duration `name:"click-life" env:"ADNET_CLICK_LIFE" default:"24h" help:"How long after the auction a click, close, skip or completed video still counts."`
	Conversion time.Duration `name:"conversion-life" env:"ADNET_CONVERSION_LIFE" default:"720h" help:"How long after the click a conversion still counts: the attribution window."`
}

// Longest returns the longest time from an auction to the last event of its ad.
func (l Life) Longest() time.Duration { return l.Click + l.Conversion }

// keyLife is the life of an idempotency key.
const keyLife = 24 * time.Hour

// slack is how much longer than conversions marks must be kept, for clock skew and for events that
// wait in spools and the log.
const slack = 7 * 24 * time.Hour

// Cutoffs returns what may be removed at now when an event counts for at most life after its
// auction. It returns an error if marks would be removed while their events are still accepted.
func (c Config) Cutoffs(now time.Time, life time.Duration) (cut ledger.Cutoffs, err error) {
	if c.Marks < 0 || c.Applied < 0 || c.Dead < 0 {
		return cut, errors.New("ADNET_RETENTION_…: days must not be negative")
	}
	days := func(n int) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return now.UTC().AddDate(0, 0, -n)
	}
	if least := int((life + slack + 24*time.Hour - 1) / (24 * time.Hour)); c.Marks > 0 && c.Marks < least {
		return cut, fmt.Errorf(
			"ADNET_RETENTION_MARKS_DAYS is %d: with ADNET_CLICK_LIFE + ADNET_CONVERSION_LIFE = %s it must be at "+
				"least %d", c.Marks, life, least,
		)
	}
	if c.Marks > 0 {
		cut.Horizon = day.Of(days(c.Marks))
	}
	cut.Applied, cut.Dead, cut.Keys = days(c.Applied), days(c.Dead), now.Add(-keyLife)
	cut.Clicks = day.Of(now) - ledger.NetworkClicksLife
	cut.Emails, cut.Reports = now.Add(-adreport.EmailLife), now.Add(-adreport.Life)
	return cut, nil
}

// Store is the store to clean.
type Store interface {
	Retain(ctx context.Context, cut ledger.Cutoffs, dry bool) (ledger.Removed, error)
}

// Deps holds the dependencies of a [Retainer].
type Deps struct {
	Store    Store
	Life     time.Duration // the longest that an event counts after its auction
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Reporter roster.Report    // nil: runs are not reported to administrators
	Now      func() time.Time // nil: the clock
}

// Retainer runs the nightly removal.
type Retainer struct {
	cfg      Config
	deps     Deps
	removed  *prometheus.CounterVec
	failures prometheus.Counter
}

// New checks the settings; nothing runs yet.
func New(cfg Config, deps Deps) (*Retainer, error) {
	deps.Now = schedule.Clock(deps.Now)
	if cfg.At < 0 || cfg.At >= 24*time.Hour {
		return nil, errors.New("ADNET_RETENTION_AT must be less than 24h")
	}
	if _, err := cfg.Cutoffs(deps.Now(), deps.Life); err != nil {
		return nil, err
	}
	return &Retainer{cfg: cfg, deps: deps,
		removed: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_retention_removed_total",
			Help: "Rows that retention removed: marks, records, dead letters, idempotency keys, reports of ads, " +
				"e-mails left with them.",
		}, []string{"what"})),
		failures: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_retention_failures_total", Help: "Runs of retention that failed and were retried.",
			}),
		),
	}, nil
}

// Run removes every night until ctx ends, and then returns nil. A failed run is retried after ten
// minutes.
func (r *Retainer) Run(ctx context.Context) error {
	next := func() time.Duration { return schedule.UntilTimeOfDay(r.deps.Now(), r.cfg.At) }
	first := next()
	r.deps.Reporter.Plans(r.deps.Now().Add(first))
	schedule.Loop(ctx, first, func(ctx context.Context) time.Duration {
		err := r.once(ctx)
		wait := next()
		if err != nil && ctx.Err() == nil {
			r.failures.Inc()
			r.deps.Log.Error("retention failed, will be retried", "error", err)
			wait = 10 * time.Minute
		}
		r.deps.Reporter.Ended(ctx, err, r.deps.Now(), r.deps.Now().Add(wait))
		return wait
	})
	return nil
}

func (r *Retainer) once(ctx context.Context) error {
	cut, err := r.cfg.Cutoffs(r.deps.Now(), r.deps.Life)
	if err != nil {
		return err
	}
	gone, err := r.deps.Store.Retain(ctx, cut, false)
	for what, n := range map[string]int64{"marks": gone.Marks, "records": gone.Records, "dead_letters": gone.Dead,
		"idempotency_keys": gone.Keys,
		"report_emails":    gone.Emails, "reports": gone.Reports} {
		r.removed.WithLabelValues(what).Add(float64(n))
	}
	if err != nil {
		return err
	}
	r.deps.Log.Info("retention ran", "horizon", gone.Horizon.String(), "days", len(gone.Days), "marks", gone.Marks,
		"ranges", gone.Ranges, "dead_letters", gone.Dead, "idempotency_keys", gone.Keys, "report_emails", gone.Emails,
		"reports", gone.Reports)
	return nil
}
