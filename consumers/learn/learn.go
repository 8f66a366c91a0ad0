// Package learn trains the ranking each night and promotes the result one stage a day: first it
// scores all auctions without deciding any, then decides 5 %, then all.
//
// Contract of [Learner.Turn]: weights reach the next stage only by a day of at least 1,000 clicks
// on which they predicted clicks at least as well as those in force (train.Judge). A rejection ends
// the trial and is stored with its reasons. The store serializes turns of several processes, and
// the second one finds the first one's result.
package learn

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/train"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
	"adnet/internal/ranking"
	"adnet/internal/report"
)

// Config holds the settings of learning.
type Config struct {
	At time.Duration `name:"train-at" env:"ADNET_TRAIN_AT" default:"1h" help:"How long after midnight UTC the ranking is trained on clicks."`
	On string        `name:"train" env:"ADNET_TRAIN" default:"on" enum:"on,off" help:"Whether consumers train the ranking each night."`
}

// days is the number of days that training reads; outcomes are kept as long.
const days = 30

// mostLearnt is the maximum number of impressions for training and judging: one takes about 500
// bytes while a turn runs.
const mostLearnt = 1_000_000

// mostClicks is the maximum number of clicks for training on conversions. ripens is the number of
// days for conversions to arrive.
const (
	mostClicks = 300_000
	ripens     = 3
)

// viewDays is the number of days from which view rates are learnt.
const viewDays = 7

// again is the pause after a failure.
const again = 5 * time.Minute

// Source returns impressions, clicks and their results.
type Source interface {
	// Impressions reads at most most impressions of a UTC day, in any representative choice.
	Impressions(ctx context.Context, day time.Time, most int) ([]report.Impression, error)
	// Clicks returns the clicked impressions with their conversions so far.
	Clicks(ctx context.Context, day time.Time, most int) ([]report.Impression, error)
	// Views counts the viewed impressions of a UTC day, where views can be reported.
	Views(ctx context.Context, day time.Time) ([]report.Seen, error)
}

// Campaigns lists the campaigns that deliver now.
type Campaigns interface {
	Deliverable(ctx context.Context) ([]index.Campaign, error)
}

// Families finds the families of publishers.
type Families interface {
	// FamilyOwners maps developer ids to that of their family's oldest account, unless it is their
	// own.
	FamilyOwners(ctx context.Context) (map[uuid.UUID]uuid.UUID, error)
}

// Store stores versions of weights.
type Store interface {
	WeightVersions(ctx context.Context, limit int) ([]ranking.Version, error)
	WeightData(ctx context.Context, number int64) ([]byte, error)
	AddWeights(
		ctx context.Context, at time.Time, report []byte, encode func(number int64) ([]byte, error),
	) (int64, error)
	MoveWeights(ctx context.Context, at time.Time, decide func([]ranking.Version) ([]ranking.Move, error)) error
}

// Deps holds the dependencies of learning. All but Now are required.
type Deps struct {
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Source    Source
	Campaigns Campaigns
	Families  Families
	Store     Store
	World     train.World
	Reporter  roster.Report // nil: runs are not reported to administrators
	Now       func() time.Time
}

// Learner trains and promotes weights.
type Learner struct {
	cfg    Config
	deps   Deps
	failed prometheus.Counter
}

// New returns a learner. It starts nothing. Errors: errs.InvalidRequest when the time after
// midnight is a day or more.
func New(cfg Config, deps Deps) (*Learner, error) {
	if cfg.At < 0 || cfg.At >= 24*time.Hour {
		return nil, errs.New(errs.InvalidRequest, "ADNET_TRAIN_AT must be from 0 to less than 24h")
	}
	deps.Now = schedule.Clock(deps.Now)
	return &Learner{cfg: cfg, deps: deps,
		failed: obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_train_failures_total", Help: "Times that the ranking could not be trained.",
		}))}, nil
}

// Run trains each night until ctx ends, and then returns nil.
func (l *Learner) Run(ctx context.Context) error {
	next := func() time.Duration { return schedule.UntilTimeOfDay(l.deps.Now(), l.cfg.At) }
	first := next()
	l.deps.Reporter.Plans(l.deps.Now().Add(first))
	schedule.Loop(ctx, first, func(ctx context.Context) time.Duration {
		done, err := l.nightly(ctx, l.deps.Now().AddDate(0, 0, -1))
		wait := next()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.failed.Inc()
			l.deps.Log.LogAttrs(
				ctx, slog.LevelError, "the ranking was not trained, will be retried", slog.Any("error", err),
			)
			wait = again
		default:
			l.deps.Log.LogAttrs(
				ctx, slog.LevelInfo, "trained", slog.Int64("version", done.Number),
				slog.String("stage", string(done.Stage)), slog.Any("why", done.Report.Why),
			)
		}
		l.deps.Reporter.Ended(ctx, err, l.deps.Now(), l.deps.Now().Add(wait))
		return wait
	})
	return nil
}

// Done is the result of a turn: a version's new stage, with the report behind it.
type Done struct {
	Number int64
	Stage  ranking.Stage
	Report *train.Report
}

// Turn is one run that judges by the given UTC day: it moves the version on trial, or trains a new
// one on the days before. A day judges one stage of a version: a second turn does nothing.
func (l *Learner) Turn(ctx context.Context, day time.Time) (Done, error) {
	day = day.UTC().Truncate(24 * time.Hour)
	versions, err := l.deps.Store.WeightVersions(ctx, ranking.Retained)
	if err != nil {
		return Done{}, err
	}
	if done, waits := waiting(versions, day); waits {
		return done, nil
	}
	campaigns, err := l.deps.Campaigns.Deliverable(ctx)
	if err != nil {
		return Done{}, err
	}
	owners, err := l.deps.Families.FamilyOwners(ctx)
	if err != nil {
		return Done{}, err
	}
	t := turn{
		Learner: l, day: day, state: ranking.StateOf(versions), owners: owners,
		network: train.Network{Index: index.Build(ranker.Version2(), campaigns)},
	}
	if t.state.Stage == ranking.Shadow || t.state.Stage == ranking.Part {
		return t.promote(ctx)
	}
	return t.teach(ctx)
}

// waiting finds the version on trial that a day cannot judge: the day has judged already, or was
// over before the version had its stage.
func waiting(versions []ranking.Version, day time.Time) (Done, bool) {
	for _, v := range versions {
		if v.Stage != ranking.Shadow && v.Stage != ranking.Part {
			continue
		}
		report := reportOf(v)
		if v.StageAt.UTC().Truncate(24*time.Hour).After(day) || report.Day == day.Format(time.DateOnly) {
			return Done{v.Number, v.Stage, report}, true
		}
	}
	return Done{}, false
}

// nightly is the turn of a night; only the first of several processes runs one.
func (l *Learner) nightly(ctx context.Context, day time.Time) (Done, error) {
	versions, err := l.deps.Store.WeightVersions(ctx, 1)
	if err != nil {
		return Done{}, err
	}
	if len(versions) > 0 && reportOf(versions[0]).Day == day.UTC().Format(time.DateOnly) {
		return Done{versions[0].Number, versions[0].Stage, reportOf(versions[0])}, nil
	}
	return l.Turn(ctx, day)
}

// reportOf returns the report behind the last judgement of a version.
func reportOf(v ranking.Version) *train.Report {
	report := new(train.Report)
	_ = json.Unmarshal(v.Report, report) // of another build: treated as empty
	return report
}

// turn is one run.
type turn struct {
	*Learner
	day     time.Time
	state   ranking.State
	network train.Network
	owners  map[uuid.UUID]uuid.UUID // see [Families]
}

// table returns the table of a version; 0 is the first day's.
func (t *turn) table(ctx context.Context, number int64) (ranker.Table, error) {
	table := ranker.Version2()
	if number == 0 {
		return table, nil
	}
	data, err := t.deps.Store.WeightData(ctx, number)
	if err != nil {
		return table, err
	}
	learnt, err := train.Decode(data)
	return table.With(learnt), err
}

// promote judges the trial by the predictions of nodes on the day.
func (t *turn) promote(ctx context.Context) (Done, error) {
	samples, err := t.samples(ctx, t.day, 0)
	if err != nil {
		return Done{}, err
	}
	trial, err := t.table(ctx, t.state.Trial)
	if err != nil {
		return Done{}, err
	}
	live, err := t.table(ctx, t.state.Live)
	if err != nil {
		return Done{}, err
	}
	report := train.Judge(
		predicted(train.Counted(samples)), train.Examine(trial, t.network, t.deps.World),
		train.Examine(live, t.network, t.deps.World),
	)
	to := t.state.Stage
	switch {
	case report.Promotes():
		to = to.Next()
	case report.Clicks >= train.LeastClicks:
		to = ranking.Refused
	}
	return t.move(ctx, Done{t.state.Trial, to, report}, func([]ranking.Version) ([]ranking.Move, error) {
		return []ranking.Move{{Number: t.state.Trial, To: to}}, nil
	})
}

// predicted returns the impressions with predictions of both tables.
func predicted(samples []train.Sample) (list []train.Forecast) {
	part := func(p ranker.PPM) float64 { return float64(p) / float64(ranker.Certain) }
	for i := range samples {
		if f := &samples[i]; f.TrialPClick > 0 && f.PClick > 0 {
			list = append(list, train.Forecast{Sample: f, Candidate: part(f.TrialPClick), Incumbent: part(f.PClick)})
		}
	}
	return list
}

// teach trains a new version, judges it by a day outside its training data, and puts it on trial.
func (t *turn) teach(ctx context.Context) (Done, error) {
	task, err := t.task(ctx)
	if err != nil {
		return Done{}, err
	}
	trained := train.Train(task)
	text, err := t.text(trained.Report)
	if err != nil {
		return Done{}, err
	}
	number, err := t.deps.Store.AddWeights(ctx, t.deps.Now(), text, func(number int64) ([]byte, error) {
		trained.Learnt.Version = number
		return train.Encode(trained.Learnt)
	})
	if err != nil || !trained.Report.Promotes() {
		return Done{number, ranking.Refused, trained.Report}, err
	}
	return t.move(ctx, Done{
		number, ranking.Shadow, trained.Report,
	}, func(versions []ranking.Version) ([]ranking.Move, error) {
		return ranking.Begin(versions, number)
	})
}

// task reads the training data: the days before the judging day, the newest first, as far as memory
// permits.
func (t *turn) task(ctx context.Context) (task train.Task, err error) {
	task = train.Task{Network: t.network, World: t.deps.World}
	for back := 1; back < days && len(task.Log) < mostLearnt; back++ {
		samples, err := t.samples(ctx, t.day.AddDate(0, 0, -back), -int32(back))
		if err != nil {
			return task, err
		}
		if len(task.Last) == 0 {
			task.Last = train.Counted(samples)
		} else {
			task.Log = append(task.Log, train.Counted(samples)...)
		}
	}
	if task.Day, err = t.samples(ctx, t.day, 0); err != nil {
		return task, err
	}
	for back := ripens; back < days && len(task.Clicks) < mostClicks; back++ {
		rows, err := t.deps.Source.Clicks(ctx, t.day.AddDate(0, 0, -back), mostClicks)
		if err != nil {
			return task, err
		}
		task.Clicks = append(task.Clicks, t.samplesOf(rows, -int32(back))...)
	}
	if task.Views, err = t.views(ctx); err != nil {
		return task, err
	}
	inForce := t.state.Live
	if t.state.Stage == ranking.All {
		inForce = t.state.Trial
	}
	task.Incumbent, err = t.table(ctx, inForce)
	return task, err
}

// views returns the views of the last days, the newest being the judging day.
func (t *turn) views(ctx context.Context) (list []train.Seen, err error) {
	for back := range viewDays {
		rows, err := t.deps.Source.Views(ctx, t.day.AddDate(0, 0, -back))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			list = append(
				list,
				train.Seen{
					Publisher: t.publisher(r.DeveloperID), Day: -int32(back), Impressions: r.Impressions, Views: r.Views,
				},
			)
		}
	}
	return list, nil
}

// move stores the decision of a turn, unless another decision came meanwhile.
func (t *turn) move(
	ctx context.Context, done Done, decide func([]ranking.Version) ([]ranking.Move, error),
) (Done, error) {
	text, err := t.text(done.Report)
	if err != nil {
		return Done{}, err
	}
	return done, t.deps.Store.MoveWeights(ctx, t.deps.Now(), func(versions []ranking.Version) ([]ranking.Move, error) {
		if ranking.StateOf(versions) != t.state {
			return nil, errs.New(errs.Conflict, "the weights were changed meanwhile: run it again")
		}
		moves, err := decide(versions)
		for i := range moves {
			if moves[i].Number == done.Number {
				moves[i].Report = text
			}
		}
		return moves, err
	})
}

// text encodes a report with its day for storage.
func (t *turn) text(r *train.Report) ([]byte, error) {
	r.Day = t.day.Format(time.DateOnly)
	return json.Marshal(r)
}

// Rollback restores the previous weights, on every node within two seconds.
func (l *Learner) Rollback(ctx context.Context) error {
	return l.deps.Store.MoveWeights(ctx, l.deps.Now(), ranking.Rollback)
}

func (t *turn) samples(ctx context.Context, day time.Time, number int32) ([]train.Sample, error) {
	rows, err := t.deps.Source.Impressions(ctx, day, mostLearnt)
	if err != nil {
		return nil, err
	}
	return t.samplesOf(rows, number), nil
}

// publisher returns the publisher that stands for its family: the weight of evidence and the
// suspicion of a day count families, since accounts cost nothing.
func (t *turn) publisher(developer uuid.UUID) index.ID {
	if owner, other := t.owners[developer]; other {
		return index.ID(owner)
	}
	return index.ID(developer)
}

func (t *turn) samplesOf(rows []report.Impression, number int32) []train.Sample {
	samples := make([]train.Sample, len(rows))
	for i, r := range rows {
		samples[i] = train.Sample{
			Campaign: index.ID(r.CampaignID), Advertiser: index.ID(r.Advertiser), Publisher: t.publisher(r.DeveloperID),
			Day: number, Place: r.Place,
			Terms: r.Terms, Clicked: r.Clicked, Converted: r.Converted, PerConversion: r.PaysCPA,
			Network: uint32(r.Network), PClick: ranker.PPM(r.PClick), TrialPClick: ranker.PPM(r.TrialPClick),
		}
	}
	return samples
}
