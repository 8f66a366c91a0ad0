// Package verify runs `adnet verify` without an operator: every night, and on an administrator's
// request. The findings of a run stay in the store, where administrators read them.
//
// Contract: the installation has one run at a time, regardless of the number of processes (the
// store's lock decides), and ten minutes between two, since each reads every row of the ledger. A
// run that dies with its process has no end time, and blocks others for at most an hour.
package verify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
)

// Config holds the time of the nightly run.
type Config struct {
	At time.Duration `name:"verify-at" env:"ADNET_VERIFY_AT" default:"4h" help:"How long after midnight UTC consumers run verify by themselves. 24h: only when an administrator asks."`
}

// never is the Config.At of an installation without nightly runs.
const never = 24 * time.Hour

// Store stores the runs.
type Store interface {
	BeginVerification(ctx context.Context, nightly bool, now time.Time) (ledger.Verification, bool, error)
	EndVerification(ctx context.Context, v ledger.Verification) error
}

// Deps holds the dependencies of a verifier. All but Now are required.
type Deps struct {
	Store Store
	// Check runs every check, as `adnet verify` does.
	Check    func(ctx context.Context) ([]ledger.Check, error)
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Reporter roster.Report // nil: runs are not reported to administrators
	Now      func() time.Time
}

// Verifier runs verify every night and on request.
type Verifier struct {
	cfg    Config
	deps   Deps
	often  *obs.LimitedLogger
	broken prometheus.Gauge
	ended  prometheus.Gauge
}

// New checks the settings; nothing runs yet.
func New(cfg Config, deps Deps) (*Verifier, error) {
	deps.Now = schedule.Clock(deps.Now)
	if cfg.At < 0 || cfg.At > never {
		return nil, errors.New("ADNET_VERIFY_AT must be between 0 and 24h")
	}
	return &Verifier{cfg: cfg, deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		broken: obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "adnet_verify_broken",
			Help: "Promises about money that this process's last run of verify found broken. Above 0: look at once.",
		})),
		ended: obs.Register(deps.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "adnet_verify_ended_timestamp_seconds",
			Help: "End of the last run of verify that this process brought to its end.",
		}))}, nil
}

// look is the interval at which a verifier looks for requests.
const look = 2 * time.Second

// Run runs verify until ctx ends, and then returns nil.
func (v *Verifier) Run(ctx context.Context) error {
	night := v.next()
	v.deps.Reporter.Plans(v.planned())
	schedule.Loop(ctx, look, func(ctx context.Context) time.Duration {
		nightly := v.cfg.At < never && !v.deps.Now().Before(night)
		if nightly {
			night = v.next()
		}
		if err := v.Turn(ctx, nightly); err != nil && ctx.Err() == nil {
			v.often.Warn(ctx, "verify could not begin or store its findings", "error", err)
		}
		return look
	})
	return nil
}

// planned returns [Verifier.next] with nightly runs, and zero without.
func (v *Verifier) planned() time.Time {
	if v.cfg.At == never {
		return time.Time{}
	}
	return v.next()
}

// next returns the time of the next night's run.
func (v *Verifier) next() time.Time {
	now := v.deps.Now()
	return now.Add(schedule.UntilTimeOfDay(now, v.cfg.At%never))
}

// Turn runs verify on request, or for the night. Run calls it, and tests may call it directly.
// Errors: those of the store; errors of the checks are stored as the run's problem.
func (v *Verifier) Turn(ctx context.Context, nightly bool) error {
	run, begun, err := v.deps.Store.BeginVerification(ctx, nightly, v.deps.Now())
	if err != nil || !begun {
		return err
	}
	limited, stop := context.WithTimeout(ctx, ledger.VerifyLimit-time.Minute)
	defer stop()
	run.Checks, err = v.deps.Check(limited)
	run.EndedAt = v.deps.Now()
	switch {
	case err != nil:
		// Administrators read this. The driver's error stays in the log.
		run.Problem = "the stores could not be read; see the consumers' log"
		v.deps.Log.Error("verify failed", "run", run.ID, "error", err)
	case !run.Clean():
		v.deps.Log.Error("verify: a promise is broken", "run", run.ID)
	}
	// Also while the process stops: a run without an end would appear to be running.
	if err := v.deps.Store.EndVerification(context.WithoutCancel(ctx), run); err != nil {
		return err
	}
	var broken float64
	for _, c := range run.Checks {
		if !c.OK() {
			broken++
		}
	}
	if broken > 0 && err == nil {
		err = errors.New("a promise is broken")
	}
	v.deps.Reporter.Ended(ctx, err, run.EndedAt, v.planned())
	v.broken.Set(broken)
	v.ended.Set(float64(run.EndedAt.Unix()))
	return nil
}
