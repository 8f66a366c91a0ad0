// Package credit releases publishers' Credits: from pending to held as far as charges back them,
// from held to spendable when their hold ends, and back to pending when refunds, disputes or
// claw-backs remove the charges. Credits that no charge backed in time expire. [ledger.CreditRules]
// holds the rules; this package schedules them.
//
// Any number of processes may run it at once: each step is one transaction of the store.
//
// # Not obvious
//
// The value of a Credit may be above the mean charge of an impression. Credits are released only as
// far as charges reach, so many of them then expire. The process logs a warning and continues.
package credit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// Config holds the operator's settings.
type Config struct {
	Every    time.Duration `name:"credit-every" env:"ADNET_CREDIT_EVERY" default:"${credit_every}" help:"How often Credits are released that charges back; 0 releases none."`
	Hold     time.Duration `name:"credit-hold" env:"ADNET_CREDIT_HOLD" default:"${credit_hold}" help:"How long released Credits are held before they can fund a campaign; 0 holds none."`
	LongHold time.Duration `name:"credit-hold-concentrated" env:"ADNET_CREDIT_HOLD_CONCENTRATED" default:"${credit_hold_concentrated}" help:"How long Credits are held that one family of advertisers pays for beyond a quarter of a publisher's day. Less than ADNET_CREDIT_HOLD counts as that."`

	// Value is the price that one Credit pays (ADNET_CREDIT_VALUE_USD). The setting belongs to the
	// whole product, so the wiring sets it.
	Value money.Micros `kong:"-"`
}

// Store stores the Credits.
type Store interface {
	// ReleaseCredits updates every publisher day that needs it.
	ReleaseCredits(ctx context.Context, r ledger.CreditRules) (ledger.CreditRun, error)
	// MarkExpired lets the next release examine the days from since to before (excluded) that have
	// pending Credits.
	MarkExpired(ctx context.Context, since, before day.Day) error
	// MeanCharge sums charges and impressions of the days from first to last.
	MeanCharge(ctx context.Context, first, last day.Day) (ledger.MeanCharge, error)
}

// Deps holds the dependencies of a [Releaser]. All are required but Now.
type Deps struct {
	Store   Store
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time
}

// Releaser releases Credits. Run may be called once.
type Releaser struct {
	cfg     Config
	store   Store
	log     *slog.Logger
	often   *obs.LimitedLogger
	now     func() time.Time
	moved   *prometheus.CounterVec
	failed  prometheus.Counter
	mean    prometheus.Gauge
	tooDear prometheus.Gauge

	lookedAt  time.Time // last check of expired days and the mean charge
	expiredTo day.Day   // days before it were marked as expired
	dear      bool      // the last check found the value above the mean charge
}

// New checks the settings. Errors: a negative duration, no value, or a missing dependency.
func New(cfg Config, deps Deps) (*Releaser, error) {
	if cfg.Every < 0 || cfg.Hold < 0 || cfg.LongHold < 0 || cfg.Value <= 0 {
		return nil, errors.New("ADNET_CREDIT_…: times must not be negative, ADNET_CREDIT_VALUE_USD must be above 0")
	}
	if deps.Store == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("credit: store, log and metrics are required")
	}
	r := &Releaser{
		cfg: cfg, store: deps.Store, log: deps.Log, often: obs.Limited(deps.Log, time.Minute),
		now: schedule.Clock(deps.Now),
	}
	r.moved = obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_credits_moved_total",
		Help: "Credits by what this process did: released, available (their hold ended, or there was none), " +
			"taken_back, expired.",
	}, []string{"what"}))
	r.failed = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_credit_failures_total", Help: "Runs of the release of Credits that failed and were retried.",
	}))
	r.mean = obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "adnet_credit_mean_charge_micros",
		Help: "Mean charge of an impression of the last 7 days, clicks and conversions included, micro-USD; 0 " +
			"without impressions.",
	}))
	r.tooDear = obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "adnet_credit_value_above_mean",
		Help: "1 while ADNET_CREDIT_VALUE_USD is above the mean charge of an impression: part of the Credits then " +
			"expires.",
	}))
	return r, nil
}

// Run releases until ctx ends and returns nil. A failed run is repeated with the next.
func (r *Releaser) Run(ctx context.Context) error {
	schedule.Every(ctx, r.cfg.Every, func(ctx context.Context) error {
		_, err := r.Release(ctx)
		return err
	}, func(err error) {
		r.failed.Inc()
		r.often.Warn(ctx, "Credits could not be released, retrying", "error", err)
	})
	return nil
}

// lookEvery is the interval of the checks for expired days and the mean charge.
const lookEvery = 10 * time.Minute

// Release runs once.
func (r *Releaser) Release(ctx context.Context) (ledger.CreditRun, error) {
	now := r.now().UTC()
	if r.lookedAt.IsZero() || now.Sub(r.lookedAt) >= lookEvery {
		if err := r.look(ctx, now); err != nil {
			return ledger.CreditRun{}, err
		}
		r.lookedAt = now
	}
	run, err := r.store.ReleaseCredits(
		ctx, ledger.CreditRules{Value: r.cfg.Value, Hold: r.cfg.Hold, LongHold: r.cfg.LongHold, Now: now},
	)
	for what, n := range map[string]int64{
		"released": run.Released, "available": run.Available, "taken_back": run.TakenBack, "expired": run.Expired,
	} {
		r.moved.WithLabelValues(what).Add(float64(n))
	}
	return run, err
}

// meanDays is the number of days over which the mean charge is taken.
const meanDays = 7

// look marks the days whose Credits expire now, and compares the value of a Credit with the
// charges. The first run covers all days. Later runs cover only the newly expired days and the two
// before, whose Credits may have returned to pending since.
func (r *Releaser) look(ctx context.Context, now time.Time) error {
	before := ledger.ExpiredBefore(now)
	if err := r.store.MarkExpired(ctx, max(0, r.expiredTo-2), before); err != nil {
		return err
	}
	r.expiredTo = before
	today := day.Of(now)
	charges, err := r.store.MeanCharge(ctx, today-meanDays+1, today)
	if err != nil {
		return err
	}
	dear := false
	mean := money.Micros(0)
	if charges.Impressions > 0 {
		mean = charges.Charged / money.Micros(charges.Impressions)
		dear = r.cfg.Value > mean
	}
	r.mean.Set(float64(mean))
	r.tooDear.Set(0)
	if dear {
		r.tooDear.Set(1)
	}
	if dear && !r.dear {
		r.log.LogAttrs(ctx, slog.LevelWarn,
			"ADNET_CREDIT_VALUE_USD is above the mean charge of an impression: Credits that no charge backs expire",
			slog.String("value_usd", r.cfg.Value.String()), slog.String("mean_charge_usd", mean.String()))
	}
	r.dear = dear
	return nil
}
