// Package load drives a running adnet through its public HTTP API like advertisers, publishers and
// their users: it imports campaigns, replays contexts as ad requests, fires the beacons of the ads,
// repeats a share of them, and then compares the service's counts with the events it sent.
//
// Contract: all randomness comes from the seed and the number of the request, so two runs with one
// seed repeat the same beacons and click the same requests, whatever the concurrency. Memory does
// not grow with the number of requests. With a rate, requests are due at fixed times (open loop)
// and their latency counts from then: a slow service cannot hide its stalls by slowing the
// generator (coordinated omission). A cancelled context ends the run, which still reports its
// results so far.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"adnet/internal/account"
)

// The values of Campaigns and Contexts that are not files.
const (
	Demo = "demo" // the built-in data
	None = "none" // import no campaigns
)

// Config holds the settings of a run. Shares are from 0 to 1.
type Config struct {
	URL       string `name:"url" env:"ADNET_BASE_URL" default:"http://127.0.0.1:8080" help:"Base URL of the service."`
	Campaigns string `name:"campaigns" env:"ADNET_LOAD_CAMPAIGNS" default:"demo" placeholder:"FILE" help:"Campaigns to import, one JSON object a line with the fields of POST /api/campaigns; demo for the built-in ones, none to import nothing."`
	Contexts  string `name:"contexts" env:"ADNET_LOAD_CONTEXTS" default:"demo" placeholder:"FILE" help:"Contexts to replay, one JSON object a line with the fields of POST /v1/ad-request; demo for the built-in ones."`

	Rate        float64  `name:"rate" env:"ADNET_LOAD_RATE" default:"0" help:"Ad requests per second; 0 is as fast as the concurrency allows."`
	Requests    int      `name:"requests" env:"ADNET_LOAD_REQUESTS" default:"0" help:"Ad requests to send, repeating the contexts; 0 sends each context once."`
	Duplicates  float64  `name:"duplicates" env:"ADNET_LOAD_DUPLICATES" default:"0.1" help:"Share of the beacons that are fired twice."`
	Clicks      float64  `name:"clicks" env:"ADNET_LOAD_CLICKS" default:"0.1" help:"Share of the ads that are clicked."`
	Conversions float64  `name:"conversions" env:"ADNET_LOAD_CONVERSIONS" default:"0.02" help:"Share of the ads that convert; they are among the clicked ones. Conversions of campaigns that the run did not import are not verified."`
	HostApps    []string `name:"host-apps" env:"ADNET_LOAD_HOST_APPS" default:"chatgpt,claude-desktop,cursor,discord,vscode" help:"Host apps that requests name in turn where their line names none."`

	Advertisers   int    `name:"advertisers" env:"ADNET_LOAD_ADVERTISERS" default:"8" help:"Advertiser accounts that the campaigns are spread over."`
	Publishers    int    `name:"publishers" env:"ADNET_LOAD_PUBLISHERS" default:"4" help:"Publisher accounts that the requests are spread over; the service limits each to 1,000 requests a minute."`
	AccountSuffix string `name:"account-suffix" env:"ADNET_LOAD_ACCOUNT_SUFFIX" help:"End of the accounts' e-mail names, to use those of an earlier run again; needs the password. Without it every run makes accounts of its own."`
	Password      string `name:"password" env:"ADNET_LOAD_PASSWORD" secret:"" help:"Password of the accounts; without one it is random."`
	AdminEmail    string `name:"admin-email" env:"ADNET_ADMIN_EMAIL" help:"Administrator who approves the imported campaigns; without one only the first campaign of an advertiser delivers."`
	AdminPassword string `name:"admin-password" env:"ADNET_ADMIN_PASSWORD" secret:"" help:"The administrator's password."`
	Key           string `name:"key" env:"ADNET_LOAD_KEY" secret:"" help:"Publisher key to use instead of registering publishers."`

	Concurrency  int           `name:"concurrency" env:"ADNET_LOAD_CONCURRENCY" default:"32" help:"Ads processed concurrently, and the maximum number of connections."`
	Timeout      time.Duration `name:"timeout" env:"ADNET_LOAD_TIMEOUT" default:"10s" help:"Longest wait for a reply."`
	SettleWait   time.Duration `name:"settle-wait" env:"ADNET_LOAD_SETTLE_WAIT" default:"30s" help:"Longest wait at the end until stats include all events; 0 reads them once."`
	Seed         uint64        `name:"seed" env:"ADNET_LOAD_SEED" default:"1" help:"Chooses which ads are clicked, convert and are repeated."`
	ForeignLinks bool          `name:"foreign-links" env:"ADNET_LOAD_FOREIGN_LINKS" help:"Fire links of ads also when they lead to another host than the URL."`
	JSON         bool          `name:"json" env:"ADNET_LOAD_JSON" help:"Print the report as JSON instead of a table."`
	Progress     bool          `name:"progress" env:"ADNET_LOAD_PROGRESS" help:"Show progress also when standard error is no terminal."`
}

// maxConcurrency prevents a mistyped setting from opening more connections than a client has ports.
const maxConcurrency = 10_000

func (c *Config) check() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("url (ADNET_BASE_URL) must be an http or https URL, not %q", c.URL)
	}
	for name, share := range map[string]float64{
		"duplicates": c.Duplicates, "clicks": c.Clicks, "conversions": c.Conversions,
	} {
		if !(share >= 0 && share <= 1) { // rejects NaN as well
			return fmt.Errorf("%s must be from 0 to 1, not %v", name, share)
		}
	}
	switch {
	case !(c.Rate >= 0 && c.Rate <= 1e6):
		return fmt.Errorf("rate must be from 0 to 1,000,000 requests per second, not %v", c.Rate)
	case c.Requests < 0:
		return fmt.Errorf("requests must not be negative, not %d", c.Requests)
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("concurrency must be from 1 to %d, not %d", maxConcurrency, c.Concurrency)
	case c.Timeout <= 0 || c.SettleWait < 0:
		return errors.New("timeout must be above 0 and settle-wait not negative")
	case c.Campaigns != None && c.Advertisers < 1:
		return fmt.Errorf("advertisers must be at least 1, not %d", c.Advertisers)
	case c.Key == "" && c.Publishers < 1:
		return fmt.Errorf("publishers must be at least 1, not %d", c.Publishers)
	case c.AccountSuffix != "" && c.Password == "":
		return errors.New("account-suffix needs the password (ADNET_LOAD_PASSWORD) of the accounts")
	case (c.AdminEmail == "") != (c.AdminPassword == ""):
		return errors.New("admin-email and admin-password (ADNET_ADMIN_EMAIL, ADNET_ADMIN_PASSWORD) belong together")
	}
	return nil
}

// Clock is the clock that paces requests.
type Clock interface {
	Now() time.Time
	// SleepUntil returns at t, or with ctx's error when that ends first.
	SleepUntil(ctx context.Context, t time.Time) error
}

// Deps holds the dependencies of a run.
type Deps struct {
	Log *slog.Logger
	// Out receives the report, a table or JSON.
	Out io.Writer
	// Progress receives the progress bar if it is a terminal, or in any case with Config.Progress.
	// Nil: none.
	Progress io.Writer
	// Clock is the real time when nil.
	Clock Clock
}

// Load is one run of the generator.
type Load struct {
	cfg    Config
	deps   Deps
	origin *url.URL
	client *client
	tally  *tally

	mu     sync.Mutex
	owners map[string]string // session of each imported campaign's owner, for conversions
}

// New checks the settings. It opens no connection and no file. Errors name the wrong setting.
func New(cfg Config, deps Deps) (*Load, error) {
	cfg.URL = strings.TrimRight(cfg.URL, "/")
	if err := cfg.check(); err != nil {
		return nil, err
	}
	origin, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if deps.Clock == nil {
		deps.Clock = realClock{}
	}
	if cfg.AccountSuffix == "" {
		cfg.AccountSuffix = uuid.NewString()[:8]
	}
	if cfg.Password == "" {
		cfg.Password = uuid.NewString()
	}
	l := &Load{cfg: cfg, deps: deps, origin: origin, tally: newTally(), owners: make(map[string]string)}
	l.client = newClient(&l.cfg, deps.Clock, l.tally)
	return l, nil
}

// Run does the whole run and prints the report, even if it ends early, but not if it fails before
// the first request. A cancelled ctx is not an error: the report has Interrupted set. Errors: an
// unreadable file, a rejected set-up call, an unreachable service. Failures of single requests are
// counted in the report instead.
func (l *Load) Run(ctx context.Context) (Report, error) {
	started := l.deps.Clock.Now()
	defer l.client.http.CloseIdleConnections()
	err := l.run(ctx)
	if ctx.Err() != nil {
		l.tally.setInterrupted()
		err = nil
	}
	report := l.tally.report()
	report.Target, report.Seed = l.cfg.URL, l.cfg.Seed
	report.StartedAt, report.Seconds = started.UTC(), l.deps.Clock.Now().Sub(started).Seconds()
	if l.deps.Out == nil || err != nil && report.Requests == 0 {
		return report, err
	}
	return report, errors.Join(err, report.print(l.deps.Out, l.cfg.JSON))
}

func (l *Load) run(ctx context.Context) error {
	requests, err := readContexts(l.cfg.Contexts)
	if err != nil {
		return err
	}
	if err := l.importCampaigns(ctx); err != nil {
		return err
	}
	publishers, err := l.publishers(ctx)
	if err != nil {
		return err
	}
	view, err := l.baseline(ctx, publishers)
	if err != nil {
		return err
	}
	if err := l.replay(ctx, requests, publishers); err != nil {
		return err
	}
	return l.settle(ctx, view)
}

// publisher is an account, or a configured key, for requesting ads.
type publisher struct {
	key    string // for ad requests
	bearer string // for stats: the login's token, or the configured key; empty without stats
}

// publishers registers the publishers, or uses the configured key.
func (l *Load) publishers(ctx context.Context) ([]publisher, error) {
	if l.cfg.Key != "" {
		p := publisher{key: l.cfg.Key, bearer: l.cfg.Key}
		if account.IsSandbox(l.cfg.Key) {
			p.bearer = ""
			l.tally.note("a sandbox key has no stats: the sent events were not compared with the counts")
		}
		return []publisher{p}, nil
	}
	list := make([]publisher, l.cfg.Publishers)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(l.cfg.Concurrency, setupConcurrency))
	for i := range list {
		g.Go(func() error {
			session, err := l.enter(ctx, l.email("publisher", i))
			if err != nil {
				return err
			}
			key, err := l.client.createKey(ctx, session.Token, "adnet load")
			list[i] = publisher{key: key, bearer: session.Token}
			return err
		})
	}
	return list, g.Wait()
}

// setupConcurrency bounds registrations and imports: they are the service's most expensive calls.
const setupConcurrency = 16

func (l *Load) email(role string, i int) string {
	// Accounts of one mail domain would belong to one family.
	return fmt.Sprintf("load-%[1]s%[2]d-%[3]s@load-%[1]s%[2]d.example", role, i+1, l.cfg.AccountSuffix)
}

// enter registers an account, or logs in if an earlier run has registered it.
func (l *Load) enter(ctx context.Context, email string) (session, error) {
	s, err := l.client.register(ctx, email, l.cfg.Password)
	if isStatus(err, 409) {
		s, err = l.client.login(ctx, email, l.cfg.Password)
	}
	if err != nil {
		return s, fmt.Errorf("account %s: %w", email, err)
	}
	return s, nil
}

// mayFire returns an error unless the link of an ad leads to the service under load. A generator
// that follows any link would load whatever host a wrong ADNET_BASE_URL of the service names.
func (l *Load) mayFire(link string) error {
	if l.cfg.ForeignLinks {
		return nil
	}
	u, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("the service handed out an unusable link: %w", err)
	}
	same := u.Scheme == l.origin.Scheme && u.Host == l.origin.Host
	if same ||
		u.Scheme == l.origin.Scheme && u.Port() == l.origin.Port() && loopback(u.Hostname()) &&
			loopback(l.origin.Hostname()) {
		return nil
	}
	return fmt.Errorf(
		"links of ads lead to %s://%s and not to %s; set ADNET_BASE_URL of the service, or allow it with "+
			"--foreign-links", u.Scheme, u.Host, l.cfg.URL,
	)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
