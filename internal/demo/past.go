package demo

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/decision"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/schemas/event"
)

const (
	// Days is the number of days of the history, the current one included.
	Days = 30
	// UsualRequests is the number of ad requests of the history. They cause about 20,000 events.
	UsualRequests = 9000
	// before is the time from the demo's registrations to the first day: its accounts are not new.
	before = 45 * 24 * time.Hour
)

// Deposits stores deposits; see payment.Store.
type Deposits interface {
	CreateDeposit(ctx context.Context, d ledger.Deposit) error
	ApplyNotice(ctx context.Context, n ledger.Notice) (ledger.NoticeResult, error)
}

// Reports stores readers' reports; see adreport.Store.
type Reports interface {
	AddReport(ctx context.Context, r adreport.Report) (added bool, err error)
}

// Decisions stores decisions with their appeals; see decision.Store.
type Decisions interface {
	Decisions(ctx context.Context, q decision.Query) ([]decision.Statement, int, error)
	Appeal(ctx context.Context, a decision.Appeal) error
}

// Log holds the records of one day, in the order of time, as nodes would have written them.
type Log struct {
	Until            time.Time // end of the day, or now
	Auctions, Events []event.Record
}

// PastDeps are the dependencies of [Past].
type PastDeps struct {
	Deps
	Deposits  Deposits
	Reports   Reports
	Decisions Decisions
	Keys      *token.Keyring // signs the ads and their events
	// Set moves the clock of the services and stores.
	Set func(time.Time)
	// Apply settles and archives a day's log.
	Apply func(ctx context.Context, l Log) error
	// Now is read once: the end of the history. nil for the machine's clock.
	Now func() time.Time
	// Requests is the number of ad requests; 0 leaves the accounts and campaigns without a history.
	Requests int
}

// Past loads the demo as [Load] does, and then invents its last [Days] days: traffic of three
// publishers, payments, and acts of owners and administrators. The same day and keys of services
// give the same numbers, as ids alone are random. Everything passes the operations that real
// traffic passes. Errors: those of [Load] and of the operations.
func Past(ctx context.Context, deps PastDeps) (Credentials, error) {
	if deps.Requests <= 0 {
		return Load(ctx, deps.Deps)
	}
	now := schedule.Clock(deps.Now)().UTC()
	today := day.Of(now)
	first := today - Days + 1
	p := &past{PastDeps: deps, end: now}
	p.set(first.Time().Add(-before))
	creds, err := Load(ctx, deps.Deps)
	if err != nil {
		return creds, err
	}
	if err := p.meet(ctx, creds); err != nil {
		return creds, err
	}
	for date := first; date <= today; date++ {
		if err := p.live(ctx, date, int(today-date)); err != nil {
			return creds, err
		}
	}
	creds.InReview += p.waiting
	creds.Active += p.delivering
	return creds, nil
}

// past is the state of an invented history.
type past struct {
	PastDeps
	admin       account.User
	advertisers []account.User
	publishers  []place
	ads         []ad // requests with the campaigns that suit them
	quiet       []Request
	rejected    uuid.UUID
	paid        []ledger.Deposit
	reported    adreport.Report // the newest shown ad

	end                 time.Time // of the history
	at                  time.Time // of the clock
	waiting, delivering int       // changes of [Credentials]
}

// set moves the clock.
func (p *past) set(at time.Time) {
	p.at = at
	p.Set(at)
}

// ad is a request with the campaigns that may win it.
type ad struct {
	of        Request
	campaigns []campaign.Campaign
}

// meet reads the loaded accounts and campaigns, and registers the other publishers.
func (p *past) meet(ctx context.Context, creds Credentials) (err error) {
	if p.admin, err = p.Accounts.ByEmail(ctx, Admin); err != nil {
		return err
	}
	for _, email := range creds.Advertisers {
		u, err := p.Accounts.ByEmail(ctx, email)
		if err != nil {
			return err
		}
		p.advertisers = append(p.advertisers, u)
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	return p.match(ctx)
}

// open registers the publishers.
func (p *past) open(ctx context.Context) error {
	for _, at := range places {
		l := loader{deps: p.Deps}
		u, err := p.Accounts.ByEmail(ctx, at.email) // the first one is loaded
		if errs.Is(err, errs.NotFound) {
			u, err = l.account(ctx, at.email, p.Accounts.Register)
		}
		if err != nil {
			return err
		}
		at.developer = u.DeveloperID
		at.account = u
		p.publishers = append(p.publishers, at)
	}
	return nil
}

// mostAds bounds the requests that repeat: each campaign of them has a ledger row a day.
const mostAds = 48

// match finds the campaigns of the requests. Every language of the data has its share.
func (p *past) match(ctx context.Context) error {
	requests, err := Requests()
	if err != nil {
		return err
	}
	if p.quiet, err = Needs(); err != nil {
		return err
	}
	campaigns := map[string]campaign.Campaign{}
	for _, owner := range p.advertisers {
		list, _, err := p.Campaigns.List(ctx, owner, campaign.Filter{Limit: campaign.MaxPage})
		if err != nil {
			return err
		}
		for i := range list {
			campaigns[list[i].Name] = list[i]
		}
	}
	step := max(1, len(requests)/mostAds)
	for i := 0; i < len(requests); i += step {
		a := ad{of: requests[i]}
		for _, name := range requests[i].Label {
			if c, known := campaigns[name]; known && c.Status == campaign.Active {
				a.campaigns = append(a.campaigns, c)
			}
		}
		p.ads = append(p.ads, a)
	}
	return nil
}

// live is one day: acts in the morning, then the traffic. ago is its distance from today.
func (p *past) live(ctx context.Context, date day.Day, ago int) error {
	begin, until := date.Time(), (date + 1).Time().Add(-time.Second)
	if until.After(p.end) {
		until = p.end
	}
	p.set(begin.Add(until.Sub(begin) / 3))
	if err := p.act(ctx, ago); err != nil {
		return err
	}
	log := p.traffic(date, until, ago)
	p.set(until)
	if err := p.Apply(ctx, log); err != nil {
		return err
	}
	return p.report(ctx, ago)
}
