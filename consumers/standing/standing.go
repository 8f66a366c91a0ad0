// Package standing gives campaigns their standing: the family of the advertiser, its vote in rules
// that count advertisers, and what a campaign that pays per click or conversion is owed. Every
// minute it reads settled charges, balances and reviews, and computes the standings by the pure
// functions of internal/ledger/standing and internal/ledger/owed.
//
// Contract: a standing depends on stored data only, so a repeated or concurrent run gives the same
// result. Nodes receive it like any change of a campaign, and only after a change that matters: of
// a twentieth of a vote, or of more than 5 % of a rate. A change of the owner takes precedence. An
// account that was never charged and has no balance causes no write.
package standing

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/traffic"
)

const (
	every = time.Minute
	first = 10 * time.Second // after the start, when the archive of an earlier process can be read
	page  = 1000             // campaigns of one reading
)

// Config holds the operator's settings.
type Config struct {
	Every time.Duration `name:"standing-every" env:"ADNET_STANDING_EVERY" default:"1m" help:"How often the votes of advertisers and the bounds of campaigns that pay per click or conversion are computed. At least a second."`
}

// Source returns the settled results; see stats.Reader.
type Source interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
	// Delays counts charged conversions by advertiser and the time since their auction.
	Delays(ctx context.Context, q report.DelayQuery) ([]report.Delay, error)
}

// Ads counts the events of campaigns at publishers; see analytics/stats.
type Ads interface {
	// PublisherCounts sums the counted events of each campaign at each of the publishers from a day
	// on.
	PublisherCounts(ctx context.Context, since day.Day, developers []uuid.UUID) ([]traffic.AdCount, error)
}

// Cases lists the open cases of quarantine.
type Cases interface {
	// OpenActCases lists the publishers with open cases about acts, by campaign.
	OpenActCases(ctx context.Context) (map[uuid.UUID][]uuid.UUID, error)
}

// Store stores accounts, charges and campaigns.
type Store interface {
	campaign.Changes
	// Voters lists all accounts.
	Voters(ctx context.Context) ([]standing.Account, error)
	// BackedCharges lists the charges that were received on the days from since to until, by payer
	// and publisher.
	BackedCharges(ctx context.Context, since, until day.Day) ([]standing.Charge, error)
	// HighestBids lists the highest bid of each campaign and billing model.
	HighestBids(ctx context.Context) ([]ledger.HighestBid, error)
	// KeepStandings stores the standings of campaigns that did not change meanwhile.
	KeepStandings(ctx context.Context, changes []campaign.StandingChange) error
	// KeepPublisherVotes replaces the votes of publishers, by account.
	KeepPublisherVotes(ctx context.Context, votes map[uuid.UUID]int64) error
}

// Families returns the place of each account that is in a family with others.
type Families interface {
	Families(ctx context.Context) (map[uuid.UUID]family.Member, error)
}

// Deps holds the dependencies of [Standings]. All but Every, Families, Postpaid, Judge, Told and
// Now are required.
type Deps struct {
	Every    time.Duration // of Run; less than a second is a minute
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Source   Source
	Ads      Ads
	Cases    Cases
	Store    Store
	Families Families // nil: each account is a family with its seats
	// Demo lists the demo accounts. They have standings among themselves, as if there were no others,
	// and the others as if there were no demo. nil for none.
	Demo func() []uuid.UUID
	// Postpaid reports that accounts spend without a deposit (ADNET_PREPAID=off), so that each can
	// pay.
	Postpaid bool
	// Judge returns what campaigns are owed; nil for no own rates, ceilings and bounds.
	Judge    func(owed.Input) map[uuid.UUID]owed.Result
	Reporter roster.Report // nil: runs are not reported to administrators
	Now      func() time.Time
}

// Standings computes the standings of campaigns.
type Standings struct {
	deps    Deps
	often   *obs.LimitedLogger
	votes   *prometheus.GaugeVec
	bound   *prometheus.GaugeVec
	changes prometheus.Counter
	failed  prometheus.Counter

	turn      sync.Mutex // held by Turn; guards the rest
	campaigns followed
	counters  counters
	charges   charges
	delays    delays
	doubts    doubts
	highest   map[uuid.UUID]money.Micros
	former    map[uuid.UUID][]owed.Former // the highest bids per act, whatever a campaign pays for now
	highestAt time.Time
	published map[uuid.UUID]int64 // the stored votes of publishers; nil before the first run
	renewAt   time.Time           // when the votes of publishers are stored again without a change
}

// New returns [Standings]. It starts nothing.
func New(deps Deps) *Standings {
	deps.Now = schedule.Clock(deps.Now)
	if deps.Every < time.Second {
		deps.Every = every
	}
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return obs.Register(
			deps.Metrics, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label}),
		)
	}
	counter := func(name, help string) prometheus.Counter {
		return obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
	}
	return &Standings{
		deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		votes: gauge(
			"adnet_standing_votes", "Votes of advertisers' and publishers' families by their charges.", "side",
		),
		bound:    gauge("adnet_standing_bound", "Campaigns that show in few of their requests.", "bound"),
		changes:  counter("adnet_standing_changes_total", "Changes of the standing of campaigns."),
		failed:   counter("adnet_standing_failures_total", "Minutes in which standings could not be computed."),
		counters: counters{source: deps.Source}, charges: charges{store: deps.Store},
		delays: delays{source: deps.Source}, doubts: doubts{ads: deps.Ads, cases: deps.Cases},
	}
}

// Run computes the standings at the set interval until ctx ends, and then returns nil.
func (s *Standings) Run(ctx context.Context) error {
	begin := min(first, s.deps.Every)
	s.deps.Reporter.Plans(s.deps.Now().Add(begin))
	schedule.Loop(ctx, begin, func(ctx context.Context) time.Duration {
		err := s.Turn(ctx)
		s.deps.Reporter.Ended(ctx, err, s.deps.Now(), s.deps.Now().Add(s.deps.Every))
		if err != nil && ctx.Err() == nil {
			s.failed.Inc()
			s.often.Warn(ctx, "standings were not computed: campaigns keep their last ones", "error", err)
		}
		return s.deps.Every
	})
	return nil
}

// Turn computes every standing once. Run calls it; so may others, at any time. Errors: those of the
// source and the store.
func (s *Standings) Turn(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	now := s.deps.Now().UTC()
	if err := s.campaigns.follow(ctx, s.deps.Store); err != nil {
		return err
	}
	people, err := s.people(ctx)
	if err != nil {
		return err
	}
	of := people.relations(s.campaigns.all)
	if err := s.counters.read(ctx, now, of); err != nil {
		return err
	}
	if err := s.doubts.read(ctx, now, of); err != nil {
		return err
	}
	charged, err := s.charges.read(ctx, now)
	if err != nil {
		return err
	}
	ballot := standing.Ballot{
		Families: people.families, Charges: charged, Reviewed: s.campaigns.reviewed(), Funded: people.funded,
		Demo: people.demo,
	}
	s.addCredits(&ballot, now)
	votes := ballot.Count()
	s.report(votes)
	if err := s.publish(ctx, people, votes.Publishers, now); err != nil {
		return err
	}
	s.delays.read(ctx, now, s.often)
	if err := s.readBids(ctx, now); err != nil {
		return err
	}
	judged := s.judge(people, &ballot, votes.Advertisers, now)
	return s.keep(ctx, people, votes.Advertisers, judged)
}

// people is what is known about accounts.
type people struct {
	accounts []standing.Account
	families map[uuid.UUID]family.Member
	funded   map[uuid.UUID]bool
	since    map[uuid.UUID]time.Time // by family: registration of its oldest account
	demo     map[uuid.UUID]bool      // families of demo accounts
}

func (s *Standings) people(ctx context.Context) (*people, error) {
	accounts, err := s.deps.Store.Voters(ctx)
	if err != nil {
		return nil, err
	}
	p := &people{
		accounts: accounts, families: map[uuid.UUID]family.Member{}, funded: map[uuid.UUID]bool{},
		since: map[uuid.UUID]time.Time{}, demo: map[uuid.UUID]bool{},
	}
	if s.deps.Families != nil {
		if p.families, err = s.deps.Families.Families(ctx); err != nil {
			return nil, err
		}
	}
	for i := range accounts {
		a := &accounts[i]
		if _, known := p.families[a.ID]; !known && a.Parent != uuid.Nil {
			p.families[a.ID] = family.Of(p.families, a.Parent)
		}
		p.funded[a.ID] = a.Funded || s.deps.Postpaid
		of := family.Of(p.families, a.ID).Family
		if since, known := p.since[of]; !known || a.Created.Before(since) {
			p.since[of] = a.Created
		}
	}
	if s.deps.Demo != nil {
		for _, id := range s.deps.Demo() {
			p.demo[family.Of(p.families, id).Family] = true
		}
	}
	return p, nil
}

// addCredits adds the accounts whose campaigns have unspent Credits to those that can pay.
func (s *Standings) addCredits(b *standing.Ballot, now time.Time) {
	for id, k := range s.campaigns.all {
		if k.credits > 0 && k.delivers && !b.Funded[k.advertiser] {
			all, _, _ := s.counters.life(id, now)
			b.Funded[k.advertiser] = all.spent < k.credits
		}
	}
}

func (s *Standings) report(v standing.Votes) {
	for side, of := range map[string]map[uuid.UUID]int64{"advertiser": v.Advertisers, "publisher": v.Publishers} {
		sum := int64(0)
		for _, vote := range of {
			sum += vote
		}
		s.votes.WithLabelValues(side).Set(float64(sum) / float64(campaign.FullVote))
	}
}

// publish stores the votes of publishers, in whole steps. Another process may have stored others
// meanwhile, so they are stored again every hour.
func (s *Standings) publish(ctx context.Context, p *people, votes map[uuid.UUID]int64, now time.Time) error {
	next := map[uuid.UUID]int64{}
	for i := range p.accounts {
		id := p.accounts[i].ID
		if vote := standing.Rounded(votes[family.Of(p.families, id).Family]); vote > 0 {
			next[id] = vote
		}
	}
	if s.published != nil && maps.Equal(s.published, next) && now.Before(s.renewAt) {
		return nil
	}
	if err := s.deps.Store.KeepPublisherVotes(ctx, next); err != nil {
		return err
	}
	s.published, s.renewAt = next, now.Add(restEvery)
	return nil
}

// judge returns what campaigns are owed. Those of the demo and all others do not see each other.
func (s *Standings) judge(
	p *people, ballot *standing.Ballot, votes map[uuid.UUID]int64, now time.Time,
) map[uuid.UUID]owed.Result {
	if s.deps.Judge == nil {
		return nil
	}
	judged := map[uuid.UUID]owed.Result{}
	maps.Copy(judged, s.deps.Judge(s.known(p, ballot, votes, now, false)))
	if len(p.demo) > 0 {
		maps.Copy(judged, s.deps.Judge(s.known(p, ballot, votes, now, true)))
	}
	return judged
}

// known returns what is known about the campaigns of the demo, or about all others.
func (s *Standings) known(
	p *people, ballot *standing.Ballot, votes map[uuid.UUID]int64, now time.Time, demo bool,
) owed.Input {
	votes = maps.Clone(votes)
	maps.DeleteFunc(votes, func(id uuid.UUID, _ int64) bool { return p.demo[id] != demo })
	in := owed.Input{Families: map[uuid.UUID]owed.Family{}, Curve: s.delays.curve(p.families, votes)}
	var thousands, acts []standing.Delivered
	for id, k := range s.campaigns.all {
		all, month, recent := s.counters.life(id, now)
		member := family.Of(p.families, k.advertiser)
		if all == (counts{}) && !k.delivers || p.demo[member.Family] != demo {
			continue
		}
		f := in.Families[member.Family]
		f.Since, f.Reviewed = p.since[member.Family], f.Reviewed || ballot.Reviewed[k.advertiser]
		if member.BoundTo != uuid.Nil {
			f.BoundTo = member.BoundTo
		}
		in.Families[member.Family] = f
		c := owed.Campaign{
			ID: id, Family: member.Family, Billing: k.billing, Goal: k.goal, Bid: max(k.bid, s.highest[id]),
			Impressions: all.impressions, Clicks: all.clicks, Conversions: all.conversions, Charged: all.charged,
			Billed: all.billed, Former: s.former[id], Recent: recent, Doubted: s.doubts.of[id],
		}
		if k.billing == campaign.CPM {
			thousands = append(thousands, month)
		} else {
			c.Acts = chargedActs(k.billing, &all)
			acts = append(acts, month)
		}
		in.Campaigns = append(in.Campaigns, c)
	}
	if in.Median = standing.MedianPrice(thousands); in.Median == 0 {
		in.Median = standing.MedianPrice(acts)
	}
	return in
}

// chargedActs returns the number of charged acts. Impressions that a campaign paid for before it
// paid per act are none.
func chargedActs(billing campaign.BillingModel, all *counts) int64 {
	if billing == campaign.CPA {
		return min(all.billed, all.conversions)
	}
	return min(all.billed, all.clicks)
}

// readBids reads the highest bids that campaigns had for their acts: a lower bid later does not
// lower what was shown.
func (s *Standings) readBids(ctx context.Context, now time.Time) error {
	if s.deps.Judge == nil || s.highest != nil && now.Sub(s.highestAt) < restEvery {
		return nil
	}
	bids, err := s.deps.Store.HighestBids(ctx)
	if err != nil {
		return err
	}
	s.highest, s.highestAt, s.former = map[uuid.UUID]money.Micros{}, now, map[uuid.UUID][]owed.Former{}
	for _, bid := range bids {
		if bid.BillingModel != campaign.CPM {
			s.former[bid.CampaignID] = append(s.former[bid.CampaignID], owed.Former{Billing: bid.BillingModel, Bid: bid.Bid})
		}
		if k, known := s.campaigns.all[bid.CampaignID]; known && k.billing == bid.BillingModel {
			s.highest[bid.CampaignID] = bid.Bid
		}
	}
	return nil
}

// keep stores the standings that changed.
func (s *Standings) keep(
	ctx context.Context, p *people, votes map[uuid.UUID]int64, judged map[uuid.UUID]owed.Result,
) error {
	var changes []campaign.StandingChange
	bound := map[campaign.Bound]int{campaign.Unproven: 0, campaign.Behind: 0}
	for id, k := range s.campaigns.all {
		if !k.delivers {
			continue
		}
		of, verdict := family.Of(p.families, k.advertiser).Family, judged[id]
		next := campaign.Standing{
			Vote: standing.Rounded(votes[of]), ClickRate: verdict.ClickRate, ConvertRate: verdict.ConvertRate,
			Ceiling: verdict.Ceiling, Bound: verdict.Bound,
		}
		if of != k.advertiser {
			next.Family = of
		}
		if next.Bound != "" {
			bound[next.Bound]++
		}
		if standing.Differs(&k.standing, &next) {
			changes = append(changes, campaign.StandingChange{CampaignID: id, Seen: k.version, Standing: next})
		}
	}
	for reason, n := range bound {
		s.bound.WithLabelValues(string(reason)).Set(float64(n))
	}
	s.changes.Add(float64(len(changes)))
	if len(changes) == 0 {
		return nil
	}
	return s.deps.Store.KeepStandings(ctx, changes)
}
