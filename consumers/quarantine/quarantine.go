// Package quarantine detects publishers with an anomalous day and quarantines them: the Credits
// that they mint from then on are held until an administrator decides (POST
// /api/billing?action=quarantine). It also detects young publishers with far more acts of a campaign
// than it has elsewhere: then acts of the campaign at young publishers wait before they are charged.
//
// It judges settlement's own sums per publisher and day, so every process finds the same. Only sold
// ads and acts come from the analytics store, without which all other rules still apply. A case is
// opened once, however many processes run.
package quarantine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/traffic"
)

// Config holds the operator's settings. A threshold of 0 switches its rule off.
type Config struct {
	Every        time.Duration `name:"quarantine-every" env:"ADNET_QUARANTINE_EVERY" default:"1m" help:"How often publishers are judged; 0 puts none into quarantine."`
	MinEvents    int64         `name:"quarantine-min-events" env:"ADNET_QUARANTINE_MIN_EVENTS" default:"1000" help:"Impressions (for the share of invalid traffic: events) of a UTC day below which the fixed thresholds do not apply."`
	CTR          float64       `name:"quarantine-ctr" env:"ADNET_QUARANTINE_CTR" default:"0.5" help:"Clicks per impression of a day above which a publisher's Credits are held."`
	InvalidShare float64       `name:"quarantine-invalid-share" env:"ADNET_QUARANTINE_INVALID_SHARE" default:"0.5" help:"Share of invalid traffic of a day, 0 to 1, above which a publisher's Credits are held."`
	Network      string        `name:"quarantine-network" env:"ADNET_QUARANTINE_NETWORK" default:"on" enum:"on,off" help:"Whether the clicks of publishers' families are compared with the network's rate: more than four times as many or fewer than a quarter, by 6 standard errors, hold their Credits, without a minimum, among at least 4 families with impressions. So do few shown ads of those sold to servers, from ADNET_QUARANTINE_MIN_EVENTS on. Many acts of a campaign at families younger than 30 days against those elsewhere let further ones wait uncharged."`
	Readers      int64         `name:"quarantine-no-readers" env:"ADNET_QUARANTINE_NO_READERS" default:"${quarantine_no_readers}" help:"Impressions within 30 days, without those of browser keys, from which on a publisher without one followed link, pixel or report of a page waits for an approval; 0 disables the rule. In standalone 0, with ADNET_PREPAID=required 1000."`
	Surge        float64       `name:"quarantine-surge" env:"ADNET_QUARANTINE_SURGE" default:"10" help:"How many times the mean of its last 7 days a publisher may mint in a day before its Credits are held."`
}

// Store returns the figures for the rules and stores the cases.
type Store interface {
	// PublisherDays lists the days from since to last of the publishers that have one on last, and
	// of their families' other publishers, by family, then publisher.
	PublisherDays(ctx context.Context, since, last day.Day) ([]traffic.PublisherDay, error)
	// ReaderSums lists the sums of the days from since to last of the publishers of families with at
	// least so many impressions, by family. Those with a released case of
	// [traffic.QuarantineReaders] are not listed.
	ReaderSums(ctx context.Context, since, last day.Day, impressions int64) ([]traffic.PublisherDay, error)
	// FamilyOwners maps the developer ids of accounts to that of their family's oldest account,
	// unless it is their own.
	FamilyOwners(ctx context.Context) (map[uuid.UUID]uuid.UUID, error)
	// YoungPublishers maps the publishers with events within [traffic.ActDays] whose families are
	// young to the developer id of the family's oldest account.
	YoungPublishers(ctx context.Context, now time.Time) (map[uuid.UUID]uuid.UUID, error)
	// PerActCampaigns returns the models of the campaigns that pay per click or conversion.
	PerActCampaigns(ctx context.Context) (map[uuid.UUID]campaign.BillingModel, error)
	// HeldActs counts the acts that wait for a decision.
	HeldActs(ctx context.Context) (map[ledger.Acts]int64, error)
	// OpenActCases lists the publishers with open cases about acts, by campaign.
	OpenActCases(ctx context.Context) (map[uuid.UUID][]uuid.UUID, error)
	Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error)
	// OpenQuarantine opens a case; false if one is open.
	OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error)
}

// Source counts events and the ads of servers; see analytics/stats.
type Source interface {
	// ShownAds counts the ads sold in the whole hours from since to until (excluded), and the counted
	// impressions from since's day on.
	ShownAds(ctx context.Context, since, until time.Time) ([]traffic.ShownAds, error)
	// CampaignCounts sums the counted events of each campaign from a day on.
	CampaignCounts(ctx context.Context, since day.Day) ([]traffic.AdCount, error)
	// PublisherCounts sums them for each of the publishers.
	PublisherCounts(ctx context.Context, since day.Day, developers []uuid.UUID) ([]traffic.AdCount, error)
}

// Deps holds the dependencies of a [Detector]. All are required but Demo and Now.
type Deps struct {
	// Demo lists the developer ids of demo accounts, which are compared only among themselves; nil
	// for none.
	Demo    func() []uuid.UUID
	Store   Store
	Ads     Source
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time
}

// Detector judges publishers. Run may be called once.
type Detector struct {
	cfg    Config
	store  Store
	ads    Source
	demo   func() []uuid.UUID
	log    *slog.Logger
	often  *obs.LimitedLogger
	opened *prometheus.CounterVec
	now    func() time.Time
}

// New checks the settings. Errors: a threshold out of range or a missing dependency.
func New(cfg Config, deps Deps) (*Detector, error) {
	if cfg.Every < 0 || cfg.MinEvents < 0 || cfg.CTR < 0 || cfg.InvalidShare < 0 || cfg.InvalidShare > 1 ||
		cfg.Surge < 0 || cfg.Readers < 0 {
		return nil, errors.New("quarantine: thresholds must not be negative, ADNET_QUARANTINE_INVALID_SHARE at most 1")
	}
	if deps.Store == nil || deps.Ads == nil || deps.Log == nil || deps.Metrics == nil {
		return nil, errors.New("quarantine: store, ads, log and metrics are required")
	}
	d := &Detector{cfg: cfg, store: deps.Store, ads: deps.Ads, demo: deps.Demo, log: deps.Log, often: obs.Limited(deps.Log, time.Minute),
		now: schedule.Clock(deps.Now),
		opened: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_quarantine_opened_total", Help: "Publishers that this process put into quarantine, by rule.",
		}, []string{"rule"}))}
	return d, nil
}

// Run judges until ctx ends and returns nil. A failed run is repeated with the next.
func (d *Detector) Run(ctx context.Context) error {
	schedule.Every(ctx, d.cfg.Every, func(ctx context.Context) error {
		_, err := d.Judge(ctx)
		return err
	}, func(err error) {
		d.often.Warn(ctx, "publishers could not be judged, retrying", "error", err)
	})
	return nil
}

// Judge judges the day once and returns the number of opened cases.
func (d *Detector) Judge(ctx context.Context) (opened int, err error) {
	now := d.now().UTC()
	today := day.Of(now)
	days, err := d.store.PublisherDays(ctx, today-traffic.SurgeDays, today)
	if err != nil {
		return 0, err
	}
	rules := traffic.QuarantineRules{
		MinEvents: d.cfg.MinEvents, CTR: d.cfg.CTR, InvalidShare: d.cfg.InvalidShare, Surge: d.cfg.Surge,
		Network: d.cfg.Network != "off", Readers: d.cfg.Readers,
	}
	shown := d.shown()
	found := append(
		rules.Judge(today, shown.days(days, false)), rules.Judge(today, shown.days(days, true))...,
	)
	if rules.Readers > 0 {
		sums, err := d.store.ReaderSums(ctx, today-traffic.ReaderDays+1, today, rules.Readers)
		if err != nil {
			return 0, err
		}
		found = append(found, rules.Readerless(today, sums)...)
	}
	few, failed := d.fewShown(ctx, rules, now, shown)
	many, err := d.manyActs(ctx, rules, now, shown)
	failed = errors.Join(failed, err)
	if opened, err = d.openActs(ctx, many, now); err != nil {
		return opened, err
	}
	for _, evidence := range append(found, few...) {
		did, err := d.open(ctx, evidence, now)
		if err != nil {
			return opened, err
		}
		if did {
			opened++
		}
	}
	return opened, failed
}

// fewShown judges the ads of servers that were sold today at least an hour ago, the longest time
// within which an impression counts.
func (d *Detector) fewShown(
	ctx context.Context, rules traffic.QuarantineRules, now time.Time, shown demo,
) ([]traffic.Evidence, error) {
	today := day.Of(now)
	since, until := today.Time(), now.Add(-time.Hour).Truncate(time.Hour)
	if !rules.Network || !until.After(since) {
		return nil, nil
	}
	ads, err := d.ads.ShownAds(ctx, since, until)
	if err != nil {
		return nil, err
	}
	owners, err := d.store.FamilyOwners(ctx)
	if err != nil {
		return nil, err
	}
	for i := range ads {
		ads[i].OwnerID = owners[ads[i].DeveloperID]
	}
	return append(
		rules.FewShown(today, shown.ads(ads, false)), rules.FewShown(today, shown.ads(ads, true))...,
	), nil
}

// maxCases bounds the number of a publisher's past cases that are read.
const maxCases = 1000

// open opens a case unless one is open or an administrator released one since the evidence begins:
// released days are not questioned again. After a claw-back the same day's pattern is held again.
func (d *Detector) open(ctx context.Context, e traffic.Evidence, now time.Time) (bool, error) {
	developer := e.Today.DeveloperID
	cases, err := d.store.Quarantines(ctx, ledger.QuarantineQuery{Developer: developer, Limit: maxCases})
	if err != nil {
		return false, err
	}
	for i := range cases {
		if cases[i].Answered(e) {
			return false, nil
		}
	}
	id, what := ledger.QuarantineID(developer, e.Today.Day, len(cases)), "its Credits are held"
	if e.Campaign != uuid.Nil {
		acts := ledger.Acts{CampaignID: e.Campaign, DeveloperID: developer}
		id, what = ledger.ActsCaseID(acts, e.Today.Day, len(cases)), "acts of a campaign at young publishers wait"
	}
	did, err := d.store.OpenQuarantine(ctx, ledger.Quarantine{
		ID: id, DeveloperID: developer, Evidence: e, OpenedAt: now,
	})
	if did {
		d.opened.WithLabelValues(string(e.Rule)).Inc()
		d.log.LogAttrs(ctx, slog.LevelWarn,
			"publisher put into quarantine: "+what+" until an administrator decides",
			slog.String("developer_id", developer.String()), slog.String("rule", string(e.Rule)),
			slog.Float64("value", e.Value), slog.Float64("threshold", e.Threshold))
	}
	return did, err
}
