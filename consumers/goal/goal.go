// Package goal steers the bids of campaigns with a goal (target_cpa, target_roas, max_conversions).
// Every minute it reads the settled results of their events and sets the multipliers of their bids.
//
// Contract: only verified conversions and real charges count. Both come from the counters of the
// archive, so a crash never counts an event twice. A step begins from the stored state and absolute
// counters, so a repeated or concurrent step gives the same result. Nodes receive a multiplier like
// any change of a campaign, and only after a change of more than 5 %. The multiplier changes the
// bid, never the limit: a bid is at most bid_amount.
package goal

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
)

const (
	every = time.Minute
	first = 10 * time.Second // after the start, when the archive of an earlier process can be read
	// window is the number of days of a reading, at least; at most it is twice as many. A reading
	// must lie within the next.
	window = 7
	// news is the smallest change of a multiplier or price that is sent to nodes.
	news = 0.05
)

// Source returns the settled results; see stats.Reader.
type Source interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
}

// Store stores campaigns with their goals.
type Store interface {
	// PursuedGoals lists the campaigns that deliver and have a goal, with the state of its control.
	PursuedGoals(ctx context.Context) ([]campaign.GoalRecord, error)
	// KeepGoals stores the states, and the bids of campaigns that did not change meanwhile.
	KeepGoals(ctx context.Context, changes []campaign.GoalChange) error
}

// Deps holds the dependencies of a [Steering]. All but Now are required.
type Deps struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Source   Source
	Store    Store
	Reporter roster.Report // nil: runs are not reported to administrators
	Now      func() time.Time
}

// Steering adjusts the bids of campaigns with a goal.
type Steering struct {
	deps    Deps
	often   *obs.LimitedLogger
	steered prometheus.Gauge
	changes prometheus.Counter
	failed  prometheus.Counter
}

// New returns a [Steering]. It starts nothing.
func New(deps Deps) *Steering {
	deps.Now = schedule.Clock(deps.Now)
	return &Steering{
		deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		steered: obs.Register(
			deps.Metrics,
			prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "adnet_goal_campaigns", Help: "Campaigns whose goal sets their bids.",
			}),
		),
		changes: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_goal_changes_total", Help: "Changes of the multiplier or price of campaigns with a goal.",
			}),
		),
		failed: obs.Register(
			deps.Metrics,
			prometheus.NewCounter(prometheus.CounterOpts{
				Name: "adnet_goal_failures_total", Help: "Minutes in which goals could not be evaluated.",
			}),
		),
	}
}

// Run evaluates the goals every minute until ctx ends, and then returns nil.
func (s *Steering) Run(ctx context.Context) error {
	s.deps.Reporter.Plans(s.deps.Now().Add(first))
	schedule.Loop(ctx, first, func(ctx context.Context) time.Duration {
		err := s.Turn(ctx)
		s.deps.Reporter.Ended(ctx, err, s.deps.Now(), s.deps.Now().Add(every))
		if err != nil && ctx.Err() == nil {
			s.failed.Inc()
			s.often.Warn(ctx, "goals were not evaluated: their campaigns bid as before", "error", err)
		}
		return every
	})
	return nil
}

// Turn evaluates every goal once. Run calls it, and tests may call it directly. Errors: those of
// the source and the store.
func (s *Steering) Turn(ctx context.Context) error {
	records, err := s.deps.Store.PursuedGoals(ctx)
	if err != nil {
		return err
	}
	s.steered.Set(float64(len(records)))
	if len(records) == 0 {
		return nil
	}
	now := s.deps.Now().UTC().Truncate(time.Microsecond)
	read := counters{source: s.deps.Source, until: day.Of(now), since: map[day.Day]map[string]Totals{}}
	changes := make([]campaign.GoalChange, 0, len(records))
	for i := range records {
		change, err := read.step(ctx, &records[i], now)
		if err != nil {
			return err
		}
		if change.Pursuit != nil {
			s.changes.Inc()
		}
		changes = append(changes, change)
	}
	return s.deps.Store.KeepGoals(ctx, changes)
}

// counters reads the totals of all campaigns, once for each requested first day.
type counters struct {
	source Source
	until  day.Day
	since  map[day.Day]map[string]Totals
}

func (r *counters) of(ctx context.Context, id uuid.UUID, since day.Day) (Totals, error) {
	all, known := r.since[since]
	if !known {
		result, err := r.source.Stats(ctx, report.Query{Since: since, Until: r.until, Breakdown: report.ByCampaign, AllGroups: true})
		if err != nil {
			return Totals{}, err
		}
		all = make(map[string]Totals, len(result.Groups))
		for i := range result.Groups {
			all[result.Groups[i].Key] = totalsOf(&result.Groups[i].Counts)
		}
		r.since[since] = all
	}
	return all[id.String()], nil
}

// from returns the first day of the counters that are read on a day. It changes once a week, so
// that readings of one minute and the next differ only by the events between them.
func from(today day.Day) day.Day { return today - today%window - window }

// step evaluates one goal.
func (r *counters) step(ctx context.Context, record *campaign.GoalRecord, now time.Time) (campaign.GoalChange, error) {
	c := &record.Campaign
	change := campaign.GoalChange{CampaignID: c.ID, Seen: c.ConfigVersion}
	since := from(r.until)
	seen, err := r.of(ctx, c.ID, since)
	if err != nil {
		return change, err
	}
	var s State
	// A state of another build, or of another goal, is useless: the goal begins anew. What was
	// learnt of the campaign's conversions stays.
	if json.Unmarshal(record.State, &s) != nil || s.Goal != c.Goal || s.Target != targetOf(c) {
		s = Begin(c, now)
		s.Since, s.Seen = since, seen
	}
	last := seen
	if s.Since != since {
		if last, err = r.of(ctx, c.ID, s.Since); err != nil {
			return change, err
		}
	}
	next, got := s.Step(c, last.since(s.Seen), now)
	next.Since, next.Seen = since, seen
	if change.State, err = json.Marshal(&next); err != nil {
		return change, err
	}
	if Differs(&c.Pursuit, &got) {
		change.Pursuit = &got
	}
	return change, nil
}

// Differs reports whether a change is sent to nodes and owners: each costs a campaign version.
func Differs(known, next *campaign.Pursuit) bool {
	apart := func(a, b float64) bool { return math.Abs(b-a) > news*math.Max(a, 1) }
	return apart(float64(known.GoalMultiplier), float64(next.GoalMultiplier)) ||
		apart(float64(known.GoalPrice), float64(next.GoalPrice)) ||
		known.GoalConversions < campaign.GoalLearns && known.GoalConversions != next.GoalConversions
}
