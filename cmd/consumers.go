package cmd

import (
	"context"
	"sync"
	"time"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/cmd/operate"
	"adnet/consumers/archive"
	"adnet/consumers/credit"
	"adnet/consumers/forecast"
	"adnet/consumers/goal"
	"adnet/consumers/learn"
	"adnet/consumers/mails"
	"adnet/consumers/project"
	"adnet/consumers/quarantine"
	"adnet/consumers/retain"
	"adnet/consumers/settle"
	"adnet/consumers/standing"
	"adnet/consumers/unsuitable"
	"adnet/consumers/verify"
	"adnet/consumers/webhooks"
	"adnet/ingress/track"
	"adnet/internal/demo"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/outbound"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/mail"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/report"
	"adnet/internal/store/redis"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// consumers is `adnet consumers`: settlement, archive, projection and the nightly roll-up.
type consumers struct {
	Host    hostConfig       `embed:""`
	Role    consumersConfig  `kong:"embed,set='credit_every=10s',set='credit_hold=168h',set='credit_hold_concentrated=672h',set='quarantine_no_readers=1000'"`
	Money   backends.Money   `embed:"" set:"prepaid=required"`
	Servers backends.Servers `embed:""`
	Life    retain.Life      `embed:""`

	Outbound outbound.Config `kong:"embed,set='outbound_networks='"`
	Mail     mail.Config     `embed:""`
	BaseURL  string          `name:"base-url" env:"ADNET_BASE_URL" help:"Prefix of every link that is handed out, as on ingress: mails have it."`

	TokenKeys string `name:"token-keys" env:"ADNET_TOKEN_KEYS" secret:"" help:"The same list as on ingress: settlement verifies the tokens of billed events, and the projection signs campaigns."`
	Unsigned  string `name:"unsigned-beacons" env:"ADNET_UNSIGNED_BEACONS" default:"record" enum:"record,bill" help:"Beacons without a token, as on ingress: record or bill. Settlement bills them only with the same setting."`
	Clicks    string `name:"click-rates" env:"ADNET_CLICK_RATES" default:"1/1m,3/10m,10/1h,25/24h" help:"As on ingress: settlement charges a campaign for no more clicks of a network and UTC day."`
}

// Run runs the command until it finishes or receives a stop signal.
func (c *consumers) Run(p cli.Process) error {
	ring, err := keyring(c.TokenKeys, false)
	if err != nil {
		return err
	}
	clicks, err := track.TrafficConfig{ClickRates: c.Clicks}.NetworkClicks()
	if err != nil {
		return err
	}
	h, err := newHost(p, c.Host, 0)
	if err != nil {
		return err
	}
	b, err := backends.Open(h.Ctx, c.Servers, c.Money, h.backendDeps())
	if err != nil {
		return err
	}
	defer b.Close()
	c.Role.Life, c.Role.Ring, c.Role.Unsigned = c.Life.Longest(), ring, c.Unsigned == track.UnsignedBill
	c.Role.NetworkClicks, c.Role.Outbound = clicks, c.Outbound
	c.Role.Mails, err = c.mails()
	if err != nil {
		return err
	}
	role, err := newConsumers(h, c.Role, c.Money, b)
	if err != nil {
		return err
	}
	role.addStage()
	return h.run()
}

// consumersConfig holds the settings of the consumer role.
type consumersConfig struct {
	Settle  settle.Config  `embed:""`
	Archive archive.Config `embed:""`
	Project project.Config `embed:""`

	Credit     credit.Config     `embed:""`
	Quarantine quarantine.Config `embed:""`
	Standing   standing.Config   `embed:""`
	Retain     retain.Config     `embed:""`
	Learn      learn.Config      `embed:""`
	Verify     verify.Config     `embed:""`

	// Life is the time after an auction in which its events count.
	Life time.Duration `kong:"-"`
	// Ring verifies auction tokens, with the keys of ingress.
	Ring *token.Keyring `kong:"-"`
	// Unsigned makes settlement bill beacons without a token.
	Unsigned bool `kong:"-"`
	// NetworkClicks is the most clicks of a network that settlement charges on a campaign and day.
	NetworkClicks int64 `kong:"-"`
	// Demo marks the accounts of the demo; nil outside in-memory mode.
	Demo *demo.Marks `kong:"-"`
	// Outbound names the private networks that webhooks may enter, as on ingress.
	Outbound outbound.Config `kong:"-"`
	// Mails sends mails about events.
	Mails mailsOut `kong:"-"`
}

// The consumer groups.
const (
	groupSettle   = "adnet-settle"
	groupArchive  = "adnet-archive"
	groupAuctions = "adnet-auctions"
	groupNotices  = "adnet-notices"
)

// consumersRole is the constructed consumer role.
type consumersRole struct {
	*host
	*backends.All
	cfg     consumersConfig
	funds   backends.Money
	members []lifecycle.Member // run together, as one stage
	settles obs.Need           // for which settlement must work

	standings *standing.Standings
}

// newConsumers constructs the consumer role over b.
func newConsumers(h *host, cfg consumersConfig, funds backends.Money, b *backends.All) (*consumersRole, error) {
	r := &consumersRole{host: h, All: b, cfg: cfg, funds: funds, settles: obs.Ads}
	if h.clerk == nil { // otherwise the HTTP role of this process has created it, and serves without settlement
		h.enlist(roster.Consumers, b)
		r.runs("roster", h.clerk)
		r.settles = obs.Traffic
	}
	for _, area := range []func() error{
		r.settling, r.releasing, r.archiving, r.projecting, r.cleaning, r.counting, r.steering, r.judging, r.learning,
		r.verifying, r.reporting,
	} {
		if err := area(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// addStage adds the role's components to the group as one stage.
func (r *consumersRole) addStage() { r.group.Add(r.members...) }

func (r *consumersRole) runs(name string, c lifecycle.Component) {
	r.members = append(r.members, lifecycle.Named(name, c))
}

// reads creates a consumer group for a topic. stored holds the positions to continue from. If it is
// nil, Kafka holds them.
func (r *consumersRole) reads(cfg kafka.GroupConfig) (*kafka.Group, error) {
	return kafka.NewGroup(r.Kafka, cfg, kafka.Deps{Log: r.Log, Metrics: r.metrics})
}

// settling builds the settler, which charges and mints in one transaction per poll.
func (r *consumersRole) settling() error {
	events, err := r.reads(kafka.GroupConfig{
		Group: groupSettle, Topic: event.TopicEvents, Stored: r.Stores.Ledger.Offsets,
	})
	if err != nil {
		return err
	}
	cfg := r.cfg.Settle
	cfg.Prepaid, cfg.Unsigned, cfg.NetworkClicks = r.funds.Required(), r.cfg.Unsigned, r.cfg.NetworkClicks
	settler, err := settle.New(
		cfg, settle.Deps{Records: events, Store: r.Stores.Ledger, Keys: r.cfg.Ring, Log: r.Log, Metrics: r.metrics},
	)
	if err != nil {
		return err
	}
	r.readiness.Add("settle", r.settles, settler.Ready)
	r.runs("settle", reading{settler, events})
	return nil
}

// releasing builds the component that releases Credits as far as charges back them.
func (r *consumersRole) releasing() (err error) {
	cfg := r.cfg.Credit
	if cfg.Value, err = r.funds.Value(); err != nil {
		return err
	}
	releaser, err := credit.New(cfg, credit.Deps{Store: r.Stores.Ledger, Log: r.Log, Metrics: r.metrics})
	if err != nil {
		return err
	}
	r.runs("credits", releaser)
	return nil
}

// archiving builds the components that fill the analytics store: decided events, auctions, exchange
// notices.
func (r *consumersRole) archiving() error {
	events, err := r.reads(kafka.GroupConfig{
		Group: groupArchive, Topic: event.TopicEvents, Stored: r.Stores.Archive.Archived,
	})
	if err != nil {
		return err
	}
	archiver, err := archive.New(
		r.cfg.Archive,
		archive.Deps{Records: events, Plans: r.Stores.Archive, Sink: r.Analytics, Log: r.Log, Metrics: r.metrics},
	)
	if err != nil {
		return err
	}
	r.readiness.Add("archive", obs.Upkeep, archiver.Ready) // money and ads do without statistics
	r.runs("archive", reading{archiver, events})
	held, err := r.reads(kafka.GroupConfig{Group: groupAuctions, Topic: event.TopicAuctions})
	if err != nil {
		return err
	}
	auctions, err := archive.NewAuctions(r.cfg.Archive, archive.CopyDeps[report.Auction]{
		Records: held, Insert: r.Analytics.InsertAuctions, Seal: r.cfg.Ring.Outcomes(), Log: r.Log,
		Metrics: r.metrics,
	})
	if err != nil {
		return err
	}
	r.runs("auctions", reading{auctions, held})
	sent, err := r.reads(kafka.GroupConfig{Group: groupNotices, Topic: event.TopicNotices})
	if err != nil {
		return err
	}
	notices, err := archive.NewNotices(r.cfg.Archive, archive.CopyDeps[report.Notice]{
		Records: sent, Insert: r.Analytics.InsertNotices, Seal: r.cfg.Ring.Notices(), Log: r.Log,
		Metrics: r.metrics,
	})
	if err != nil {
		return err
	}
	r.runs("notices", reading{notices, sent})
	return nil
}

// projecting builds the projector, which copies campaigns and their remaining budgets to Redis.
func (r *consumersRole) projecting() error {
	seal, err := r.cfg.Ring.Seal()
	if err != nil {
		return err
	}
	sealing := r.Redis.Trusting(redis.Trust{Seal: seal})
	projector, err := project.New(r.cfg.Project, project.Deps{
		Wake: wakes(redis.NewNodes(r.Redis)), Source: r.Rooms, Target: redis.NewProjection(sealing), Log: r.Log,
		Metrics: r.metrics,
	})
	if err != nil {
		return err
	}
	r.readiness.Add("project", obs.Ads, projector.Ready)
	r.runs("project", projector)
	return nil
}

// cleaning builds the components that hold back suspicious earnings and remove old data.
func (r *consumersRole) cleaning() error {
	detector, err := quarantine.New(r.cfg.Quarantine, quarantine.Deps{
		Store: r.Stores.Publishers, Ads: r.ShowRates, Demo: r.cfg.Demo.Developers, Log: r.Log, Metrics: r.metrics,
	})
	if err != nil {
		return err
	}
	r.runs("quarantine", detector)
	retainer, err := retain.New(
		r.cfg.Retain,
		retain.Deps{
			Store: r.Stores.Retention, Life: r.cfg.Life, Reporter: r.clerk.Of(roster.Retention), Log: r.Log,
			Metrics: r.metrics,
		},
	)
	if err != nil {
		return err
	}
	r.runs("retention", retainer)
	return nil
}

// counting adds the components that work on counters, if the backends have them: traffic curves,
// surges of refusals, roll-up.
func (r *consumersRole) counting() error {
	if r.Counted != nil {
		curves := forecast.New(forecast.Deps{
			Log: r.Log, Metrics: r.metrics, Source: r.Counted, Target: redis.NewCurves(r.Redis),
		})
		r.runs("forecast", curves)
	}
	r.runs("unsuitable", unsuitable.New(unsuitable.Deps{Log: r.Log, Metrics: r.metrics, Source: r.Rates}))
	if r.Nightly != nil {
		r.Nightly.Tells(r.clerk.Of(roster.Rollup))
		r.runs("rollup", r.Nightly)
	}
	return nil
}

// steering adds the component that sets the bids of campaigns with a goal.
func (r *consumersRole) steering() error {
	r.runs(
		"goals",
		goal.New(goal.Deps{
			Log: r.Log, Metrics: r.metrics, Source: r.Stats, Store: r.Stores.Campaigns,
			Reporter: r.clerk.Of(roster.Goals),
		}),
	)
	return nil
}

// judging adds the component that computes the standing of campaigns.
func (r *consumersRole) judging() error {
	r.standings = standing.New(standing.Deps{
		Log: r.Log, Metrics: r.metrics, Source: r.Stats, Ads: r.ShowRates,
		Cases: r.Stores.Publishers, Store: r.Stores.Campaigns,
		Families: r.Stores.Families, Judge: owed.Judge, Reporter: r.clerk.Of(roster.Standing),
		Every: r.cfg.Standing.Every, Postpaid: !r.funds.Required(), Demo: r.cfg.Demo.Accounts,
	})
	r.runs("standing", r.standings)
	return nil
}

// learning adds the component that trains the ranking, if the backends store its training data.
func (r *consumersRole) learning() error {
	if r.Learned == nil || r.cfg.Learn.On == "off" {
		return nil
	}
	learner, err := newLearner(r.cfg.Learn, learn.Deps{
		Log: r.Log, Metrics: r.metrics, Source: r.Learned, Campaigns: deliverable{r.Stores.Campaigns},
		Families: r.Stores.Publishers,
		Store:    r.Ranking, Reporter: r.clerk.Of(roster.Train),
	})
	if err != nil {
		return err
	}
	r.runs("learn", learner)
	return nil
}

// verifyWait limits the wait for ClickHouse to catch up with the ledger in an unattended run.
const verifyWait = time.Minute

// verifying adds the component that checks the money invariants nightly and on request.
func (r *consumersRole) verifying() error {
	check := func(ctx context.Context) ([]ledger.Check, error) {
		return operate.Promises(ctx, r.All, r.funds, verifyWait)
	}
	verifier, err := verify.New(
		r.cfg.Verify,
		verify.Deps{
			Store: r.Stores.Ledger, Check: check, Reporter: r.clerk.Of(roster.Verify), Log: r.Log, Metrics: r.metrics,
		},
	)
	if err != nil {
		return err
	}
	r.runs("verify", verifier)
	return nil
}

// reporting adds the components that send events to the webhooks of accounts, and mails.
func (r *consumersRole) reporting() error {
	client, err := outbound.New(r.cfg.Outbound)
	if err != nil {
		return err
	}
	r.runs("webhooks", webhooks.New(webhooks.Deps{
		Outbox: r.Stores.Outbox, Endpoints: r.Stores.Webhooks, Client: client, Log: r.Log, Metrics: r.metrics,
	}))
	r.runs("mails", mails.New(mails.Deps{
		Outbox: r.Stores.Outbox, Notices: r.Stores.Notices, Accounts: r.Stores.Accounts, Campaigns: r.Stores.Campaigns,
		Post: r.cfg.Mails.post, BaseURL: r.cfg.Mails.base, Marks: r.cfg.Ring.Marks, Prepaid: r.funds.Required(),
		Log: r.Log, Metrics: r.metrics,
	}))
	return nil
}

// wakes wakes the projector for announced campaigns, because a node waits for their reservations.
func wakes(nodes *redis.Nodes) func(ctx context.Context, wake func()) error {
	return func(ctx context.Context, wake func()) error {
		return nodes.Subscribe(ctx, func(c redis.Change) {
			if c.Confirm {
				wake()
			}
		})
	}
}

// reading is a consumer whose lag is watched, and that leaves its group when it ends, so that the
// others take over at once.
type reading struct {
	lifecycle.Component
	log *kafka.Group
}

// Run implements lifecycle.Component.
func (r reading) Run(ctx context.Context) error {
	watched, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.log.Watch(watched) })
	defer func() {
		stop()
		watch.Wait()
		leave, cancel := context.WithTimeout(lifecycle.FlushContext(ctx), 2*time.Second)
		defer cancel()
		r.log.Close(leave)
	}()
	return r.Component.Run(ctx)
}
