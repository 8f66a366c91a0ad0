package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adnet/auction/ranker"
	"adnet/consumers/archive"
	"adnet/consumers/forecast"
	"adnet/consumers/project"
	"adnet/consumers/quarantine"
	"adnet/consumers/retain"
	"adnet/consumers/settle"
	"adnet/ingress/benna"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/docs"
	"adnet/ingress/explain"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/ingress/limits/pacing"
	"adnet/ingress/manage"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/internal/account"
	"adnet/internal/backends"
	"adnet/internal/campaign"
	"adnet/internal/kafka"
	"adnet/internal/lifecycle"
	"adnet/internal/payment"
	"adnet/internal/redis"
	"adnet/internal/token"
	"adnet/schemas/event"
	"adnet/schemas/openapi"
)

// ingressConfig is the settings of the HTTP role.
type ingressConfig struct {
	HTTP   httpapi.Config `embed:""`
	Track  track.Config   `embed:""`
	Offer  offer.Config   `embed:""`
	Limits limits.Config  `embed:""`

	Frequency frequency.Config `embed:""`

	MCP    mcp.Config    `embed:""`
	RTB    rtb.Config    `embed:""`
	Budget budget.Config `embed:""`

	Payments paymentConfig `embed:""`

	TokenKeys   string `name:"token-keys" env:"ADNET_TOKEN_KEYS" help:"Keys that sign auction tokens: id:base64 of 32 bytes; further keys, with @end, only verify."`
	SessionKeys string `name:"session-keys" env:"ADNET_SESSION_KEYS" help:"Keys that sign logins, in the form of ADNET_TOKEN_KEYS."`

	AdminEmail    string `name:"admin-email" env:"ADNET_ADMIN_EMAIL" help:"Administrator to create at start, with the password, while that account does not exist."`
	AdminPassword string `name:"admin-password" env:"ADNET_ADMIN_PASSWORD" help:"Password of the administrator to create."`
}

// keys reads both key lists; random stands in for an empty list where tokens need not outlive the process.
func (c ingressConfig) keys(random bool) (*token.Keyring, *token.Sessions, error) {
	signing, err := keyList("ADNET_TOKEN_KEYS", c.TokenKeys, random)
	if err != nil {
		return nil, nil, err
	}
	ring, err := token.NewKeyring(signing)
	if err != nil {
		return nil, nil, err
	}
	login, err := keyList("ADNET_SESSION_KEYS", c.SessionKeys, random)
	if err != nil {
		return nil, nil, err
	}
	sessions, err := token.NewSessions(login)
	return ring, sessions, err
}

func keyList(setting, value string, random bool) ([]token.Key, error) {
	if value == "" && random {
		key, err := token.NewKey("demo")
		return []token.Key{key}, err
	}
	if value == "" {
		return nil, errors.New(setting + ` is not set; make one with: echo "k1:$(head -c 32 /dev/urandom | base64)"`)
	}
	keys, err := token.ParseKeys(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return keys, nil
}

// ingressRole is the constructed HTTP role.
type ingressRole struct {
	http      *httpapi.Server
	catalog   *catalog.Catalog
	limits    *limits.Limits
	delivery  *limits.Delivery
	budget    *budget.Leases
	producer  *kafka.Producer
	spool     *spool.Spool
	accounts  *account.Service
	campaigns *campaign.Service
	admin     func(ctx context.Context) error
}

// parts is what the HTTP role is made from besides the backends.
type parts struct {
	Config   ingressConfig
	Money    backends.Money
	Spool    spool.Config
	Ring     *token.Keyring
	Sessions *token.Sessions
	InMemory bool // nothing outlives the process: deposits may be played
}

// newIngress constructs the HTTP role over b.
func newIngress(h *host, p parts, b *backends.All) (*ingressRole, error) {
	node, err := nodeName()
	if err != nil {
		return nil, err
	}
	creditValue, err := p.Money.Value()
	if err != nil {
		return nil, err
	}
	r := &ingressRole{}
	auth := httpapi.NewAuth(httpapi.AuthDeps{Users: b.Books, Keys: b.Books, Sessions: p.Sessions, Now: time.Now})
	r.limits, err = limits.New(p.Config.Limits, limits.Deps{
		Log: h.Log, Metrics: h.metrics, Exchange: redis.NewExchange(b.Redis, "limits", node), Holds: auth.Holds,
	})
	if err != nil {
		return nil, err
	}
	once, err := newIdempotency(h, b, auth)
	if err != nil {
		return nil, err
	}
	if r.http, err = httpapi.New(p.Config.HTTP, httpapi.Deps{Log: h.Log, Metrics: h.metrics, Readiness: h.readiness, Guard: r.limits, Once: once}); err != nil {
		return nil, err
	}
	if r.producer, err = kafka.NewProducer(b.Kafka, kafka.Deps{Log: h.Log, Metrics: h.metrics}); err != nil {
		return nil, err
	}
	if r.spool, err = spool.New(p.Spool, spool.Deps{Log: h.Log, Metrics: h.metrics, Producer: r.producer}); err != nil {
		return nil, err
	}
	r.catalog = catalog.New(catalog.Deps{
		Log: h.Log, Metrics: h.metrics, Source: redis.NewProjection(b.Redis), Feed: feed{redis.NewNodes(b.Redis)},
		Node: node, Now: time.Now, Loaded: fitMemory,
	})
	caps, err := frequency.New(p.Config.Frequency, frequency.Deps{
		Log: h.Log, Metrics: h.metrics, Campaigns: r.catalog, Store: redis.NewSessions(b.Redis), Exchange: redis.NewExchange(b.Redis, "frequency", node),
	})
	if err != nil {
		return nil, err
	}
	pacer := pacing.New(pacing.Deps{Log: h.Log, Metrics: h.metrics, Campaigns: r.catalog, Curves: redis.NewCurves(b.Redis)})
	r.delivery = &limits.Delivery{Caps: caps, Pacer: pacer}
	tracker, err := track.New(p.Config.Track, track.Deps{
		Log: h.Log, Metrics: h.metrics, Keyring: p.Ring, Producer: r.producer, Spool: r.spool,
		Creatives: r.catalog, Exposures: caps, Auth: auth, Seen: b.Redis, Now: time.Now,
		Clicks: networkClicks{redis.NewClicks(b.Redis)}, Views: r.limits,
	})
	if err != nil {
		return nil, err
	}
	if p.InMemory { // the store shares this process's cores, and nobody else's requests wait for it
		p.Config.Budget.Wait = max(p.Config.Budget.Wait, 250*time.Millisecond)
	}
	if r.budget, err = budget.New(p.Config.Budget, budget.Deps{
		Log: h.Log, Metrics: h.metrics, Store: redis.NewReservations(b.Redis), Node: node,
		ImpressionLife: p.Config.Track.Life.Impression, Now: time.Now,
	}); err != nil {
		return nil, err
	}
	outcomes := new(benna.Diagnostics)
	ads := offer.New(p.Config.Offer, offer.Deps{
		Metrics: h.metrics, Catalog: r.catalog, Limiter: r.limits, Keyring: p.Ring,
		Producer: r.producer, Recording: tracker, BaseURL: r.http.BaseURL, Now: time.Now, Delivery: r.delivery, Outcomes: outcomes,
		Budget: r.budget, Life: p.Config.Track.Life,
	})
	tools, err := mcp.New(p.Config.MCP, mcp.Deps{Log: h.Log, Metrics: h.metrics, Auth: auth, Ads: ads, Events: tracker})
	if err != nil {
		return nil, err
	}
	bids, err := rtb.New(p.Config.RTB, rtb.Deps{
		Metrics: h.metrics, Auth: auth, Seller: ads, Limiter: r.limits, Keyring: p.Ring, Producer: r.producer, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	r.accounts = account.NewService(account.Deps{Users: b.Books, Keys: b.Books, Now: time.Now})
	r.campaigns = campaign.NewService(campaign.Deps{Store: b.Books, Announcer: redis.NewNodes(b.Redis), Now: time.Now, CreditValue: creditValue})
	management := manage.New(manage.Deps{
		Auth: auth, Sessions: p.Sessions, Accounts: r.accounts, Campaigns: r.campaigns, Stats: b.Stats, Rollup: b.Rollup, Audit: b.Books, Now: time.Now,
		Unfunded: payment.Funding{Balances: b.Books, Required: p.Money.Required()}.Unfunded,
	})
	bills, err := newBilling(h, p, b, auth, r.http.BaseURL)
	if err != nil {
		return nil, err
	}
	tracker.Mount(r.http)
	serve.New(serve.Deps{Auth: auth, Ads: ads}).Mount(r.http)
	tools.Mount(r.http)
	bids.Mount(r.http)
	management.Mount(r.http)
	docs.New(docs.Deps{Document: openapi.Document, BaseURL: r.http.BaseURL}).Mount(r.http)
	benna.New(benna.Deps{
		Table: func() ranker.Table { return r.catalog.Snapshot().Table() }, Diagnostics: outcomes, Now: time.Now,
	}).Mount(r.http)
	explain.New(explain.Deps{
		Auth: auth, Keyring: p.Ring, Past: b.Past, Catalog: r.catalog, Campaigns: r.campaigns, Store: b.Books, Now: time.Now,
	}).Mount(r.http)
	bills.Mount(r.http)
	r.admin = func(ctx context.Context) error { return ensureAdmin(ctx, r.accounts, p.Config) }
	h.readiness.Add("catalog", func() error {
		if !r.catalog.Fresh(time.Now()) {
			return errors.New("campaigns cannot be proven up to date")
		}
		return nil
	})
	h.readiness.Add("budget", func() error {
		if !r.budget.Live(time.Now()) {
			return errors.New("budgets cannot be reserved: Redis does not answer, its clock is not this node's, or the consumers have not filled it")
		}
		return nil
	})
	h.readiness.Add("recording", func() error {
		if !tracker.CanRecord(context.Background()) {
			return errors.New("events can neither be sent to Kafka nor be spooled")
		}
		return nil
	})
	return r, nil
}

// feed is Redis as the catalog listens to it.
type feed struct{ *redis.Nodes }

// Subscribe implements catalog.Feed.
func (f feed) Subscribe(ctx context.Context, to catalog.Listener) error {
	return f.Nodes.Subscribe(ctx, func(c redis.Change) {
		switch {
		case c.Ready:
			to.Subscribed()
		case c.Campaign != nil:
			to.Changed(*c.Campaign, c.Confirm)
		default:
			to.Rooms(c.Rooms)
		}
	})
}

// wakes tells the projector about announced campaigns, whose rooms somebody waits for.
func wakes(nodes *redis.Nodes) func(ctx context.Context, wake func()) error {
	return func(ctx context.Context, wake func()) error {
		return nodes.Subscribe(ctx, func(c redis.Change) {
			if c.Confirm {
				wake()
			}
		})
	}
}

// consumersConfig is the settings of the consumer role.
type consumersConfig struct {
	Settle  settle.Config  `embed:""`
	Archive archive.Config `embed:""`
	Project project.Config `embed:""`

	Quarantine quarantine.Config `embed:""`
	Retain     retain.Config     `embed:""`

	// Life is how long the last events of an auction count.
	Life time.Duration `kong:"-"`
}

// The consumer groups.
const (
	groupSettle   = "adnet-settle"
	groupArchive  = "adnet-archive"
	groupAuctions = "adnet-auctions"
	groupNotices  = "adnet-notices"
)

// addConsumers constructs the consumer role over b and adds it as a stage.
func addConsumers(h *host, cfg consumersConfig, funds backends.Money, b *backends.All) error {
	deps := kafka.Deps{Log: h.Log, Metrics: h.metrics}
	settleLog, err := kafka.NewGroup(b.Kafka, kafka.GroupConfig{Group: groupSettle, Topic: event.TopicEvents, Stored: b.Books.Offsets}, deps)
	if err != nil {
		return err
	}
	archiveLog, err := kafka.NewGroup(b.Kafka, kafka.GroupConfig{Group: groupArchive, Topic: event.TopicEvents, Stored: b.Books.Archived}, deps)
	if err != nil {
		return err
	}
	auctionLog, err := kafka.NewGroup(b.Kafka, kafka.GroupConfig{Group: groupAuctions, Topic: event.TopicAuctions}, deps)
	if err != nil {
		return err
	}
	noticeLog, err := kafka.NewGroup(b.Kafka, kafka.GroupConfig{Group: groupNotices, Topic: event.TopicNotices}, deps)
	if err != nil {
		return err
	}
	cfg.Settle.Prepaid = funds.Required()
	settler, err := settle.New(cfg.Settle, settle.Deps{Records: settleLog, Store: b.Books, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	archiver, err := archive.New(cfg.Archive, archive.Deps{Records: archiveLog, Plans: b.Books, Sink: b.Analytics, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	auctions, err := archive.NewAuctions(cfg.Archive, archive.AuctionDeps{Records: auctionLog, Sink: b.Analytics, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	notices, err := archive.NewNotices(cfg.Archive, archive.NoticeDeps{Records: noticeLog, Sink: b.Analytics, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	projector, err := project.New(cfg.Project, project.Deps{
		Wake: wakes(redis.NewNodes(b.Redis)), Source: b.Rooms, Target: redis.NewProjection(b.Redis), Log: h.Log, Metrics: h.metrics,
	})
	if err != nil {
		return err
	}
	detector, err := quarantine.New(cfg.Quarantine, quarantine.Deps{Store: b.Books, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	h.readiness.Add("settle", settler.Ready)
	members := []lifecycle.Member{
		lifecycle.Named("settle", reading{settler, settleLog}),
		lifecycle.Named("archive", reading{archiver, archiveLog}),
		lifecycle.Named("auctions", reading{auctions, auctionLog}),
		lifecycle.Named("notices", reading{notices, noticeLog}),
		lifecycle.Named("project", projector), lifecycle.Named("quarantine", detector),
	}
	retainer, err := retain.New(cfg.Retain, retain.Deps{Store: b.Books, Life: cfg.Life, Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	members = append(members, lifecycle.Named("retention", retainer))
	if b.Counted != nil {
		curves := forecast.New(forecast.Deps{Log: h.Log, Metrics: h.metrics, Source: b.Counted, Target: redis.NewCurves(b.Redis)})
		members = append(members, lifecycle.Named("forecast", curves))
	}
	if b.Nightly != nil {
		members = append(members, lifecycle.Named("rollup", b.Nightly))
	}
	h.group.Add(members...)
	return nil
}

// reading is a consumer that leaves its group when it ends, so that others take over at once.
type reading struct {
	lifecycle.Component
	log *kafka.Group
}

// Run implements lifecycle.Component.
func (r reading) Run(ctx context.Context) error {
	defer func() {
		leave, cancel := context.WithTimeout(lifecycle.FlushContext(ctx), 2*time.Second)
		defer cancel()
		r.log.Close(leave)
	}()
	return r.Component.Run(ctx)
}
