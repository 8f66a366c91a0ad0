// Package project keeps the serving nodes' view (Redis) equal to the ledger's store (Postgres):
// campaigns with their versions, and the remaining budget of each.
//
// Contract: the view may be behind, never wrong. Every published value is absolute and versioned,
// and is read after its commit. Any number of projectors may run concurrently, and a repeat or a
// crash at any line costs nothing but work. When the target lost its state, or is behind what this
// process published, everything is published again. The view only makes auctions careful; the
// ledger decides.
package project

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/process/obs"
)

// Projector publishes changes. Run may be called once.
type Projector struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	filled    bool  // everything up to published is in the target as it is now
	published int64 // config version
	followed  time.Time
	cursor    int64 // of rooms; 0 publishes all
	repair    repair
	epochs
	wake  chan struct{}
	aside sync.WaitGroup // work beside the rounds

	failing atomic.Pointer[error]
	often   *obs.LimitedLogger // for failures that repeat
}

var errNotYet = errors.New("campaigns are not published yet")

// New checks the settings. It opens nothing. Errors: a setting out of range or a missing
// dependency.
func New(cfg Config, deps Deps) (*Projector, error) {
	if cfg.Every <= 0 || cfg.RepairEvery <= 0 || cfg.Page < 1 || cfg.Timeout <= 0 {
		return nil, errors.New("project: times and the page size must be positive")
	}
	if deps.Source == nil || deps.Target == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("project: source, target, log and metrics are required")
	}
	p := &Projector{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), wake: make(chan struct{}, 1),
		often: obs.Limited(deps.Log, time.Second),
	}
	p.failing.Store(&errNotYet)
	return p, nil
}

// Ready returns nil once everything was published and while publishing works.
func (p *Projector) Ready() error {
	if err := p.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Run publishes until ctx ends, and only then returns nil.
func (p *Projector) Run(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = p.cfg.Every, max(p.cfg.Every, 2*time.Second)
	defer p.aside.Wait()
	if p.deps.Wake != nil {
		p.aside.Go(func() { p.listen(ctx) })
	}
	for {
		wait := p.cfg.Every
		if err := p.round(ctx); err == nil {
			p.failing.Store(nil)
			pauses.Reset()
		} else if ctx.Err() == nil {
			p.metrics.failures.Inc()
			p.failing.Store(&err)
			p.often.Warn(ctx, "publishing fails, retrying", "error", err)
			wait = pauses.NextBackOff()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// listen wakes the rounds. The next round finds what listen misses.
func (p *Projector) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = p.deps.Wake(ctx, func() {
			select {
			case p.wake <- struct{}{}:
			default:
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// round publishes the changes since the last one, or everything.
func (p *Projector) round(ctx context.Context) error {
	if err := p.watch(ctx); err != nil {
		return err
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if !p.filled {
		if err := p.fill(ctx); err != nil {
			return err
		}
	} else if err := p.follow(ctx); err != nil {
		return err
	}
	p.metrics.version.Set(float64(p.published))
	return p.rooms(ctx)
}

// look checks that the target still has what was published. The result is stored until a fill
// succeeds: a target may report its loss only once.
func (p *Projector) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	head, found, err := p.deps.Target.Head(ctx)
	if err != nil {
		return fmt.Errorf("read head of the target: %w", err)
	}
	if found && head >= p.published {
		return nil
	}
	if p.filled {
		p.metrics.lost.Inc()
		p.deps.Log.Warn(
			"the target lost its state: publishing everything again", "published", p.published, "found", found, "head",
			head,
		)
	}
	p.filled = false
	return nil
}

// fill publishes every campaign. The head is raised only after the last page, so that no node
// mistakes a part of the campaigns for all of them. A crash in between leaves a head that is too
// low, and the next fill repeats the work.
func (p *Projector) fill(ctx context.Context) error {
	p.cursor = 0 // a target that lost campaigns has lost rooms as well
	head, err := p.pages(ctx, 0, func(page []campaign.Campaign, _ int64) error { return p.publish(ctx, page, 0) })
	if err != nil {
		return err
	}
	if err := p.publish(ctx, nil, head); err != nil {
		return err
	}
	p.published, p.filled = head, true
	p.metrics.fills.Inc()
	return nil
}

// follow publishes changes page by page; after each page the target is complete up to its version.
func (p *Projector) follow(ctx context.Context) error {
	p.followed = time.Now()
	_, err := p.pages(ctx, p.published, func(page []campaign.Campaign, head int64) error {
		if err := p.publish(ctx, page, head); err != nil {
			return err
		}
		p.published = head
		return nil
	})
	return err
}

// pages reads changes above since until none are left, and returns the version up to which they are
// complete.
func (p *Projector) pages(
	ctx context.Context, since int64, each func(page []campaign.Campaign, head int64) error,
) (head int64, err error) {
	for {
		page, head, err := p.changed(ctx, since)
		if err != nil {
			return 0, fmt.Errorf("read changed campaigns: %w", err)
		}
		if len(page) > 0 || head > since {
			if err := each(page, head); err != nil {
				return 0, err
			}
		}
		if len(page) < p.cfg.Page || head <= since {
			return max(head, since), nil
		}
		since = head
	}
}

func (p *Projector) changed(ctx context.Context, since int64) ([]campaign.Campaign, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	return p.deps.Source.ChangedCampaigns(ctx, since, p.cfg.Page)
}

func (p *Projector) publish(ctx context.Context, page []campaign.Campaign, head int64) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.deps.Target.PublishCampaigns(ctx, page, head); err != nil {
		return fmt.Errorf("publish campaigns up to version %d: %w", head, err)
	}
	p.metrics.campaigns.Add(float64(len(page)))
	return nil
}

type metrics struct {
	campaigns, rooms, fills, lost, failures, epochs prometheus.Counter
	version, epoch                                  prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return obs.Register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_project_" + name, Help: help}))
	}
	m := &metrics{
		campaigns: counter("campaigns_total", "Campaigns published."),
		rooms:     counter("rooms_total", "Rooms to spend published."),
		fills:     counter("fills_total", "Times that everything was published."),
		lost:      counter("target_lost_total", "Times that the target had lost what was published."),
		failures:  counter("failures_total", "Rounds that failed."),
		epochs:    counter("epochs_total", "Times that the reservations were rebuilt under a new epoch."),
		epoch: obs.Register(
			r,
			prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "adnet_project_epoch", Help: "Epoch of the reservations that this process works in.",
			}),
		),
		version: obs.Register(
			r,
			prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "adnet_project_version", Help: "Config version up to which campaigns are published.",
			}),
		),
	}
	return m
}
