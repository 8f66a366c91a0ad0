package app

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
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/internal/account"
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
	Serve  serve.Config   `embed:""`
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
	Money    moneyConfig
	Spool    spool.Config
	Ring     *token.Keyring
	Sessions *token.Sessions
	InMemory bool // nothing outlives the process: deposits may be played
}

// newIngress constructs the HTTP role over b.
func newIngress(h *host, p parts, b backends) (*ingressRole, error) {
	node, err := nodeName()
	if err != nil {
		return nil, err
	}
	creditValue, err := p.Money.creditValue()
	if err != nil {
		return nil, err
	}
	r := &ingressRole{}
	auth := httpapi.NewAuth(httpapi.AuthDeps{Users: b.books, Keys: b.books, Sessions: p.Sessions, Now: time.Now})
	r.limits, err = limits.New(p.Config.Limits, limits.Deps{
		Log: h.log, Metrics: h.metrics, Exchange: redis.NewExchange(b.redis, "limits", node), Holds: auth.Holds,
	})
	if err != nil {
		return nil, err
	}
	once, err := newIdempotency(h, b, auth)
	if err != nil {
		return nil, err
	}
	if r.http, err = httpapi.New(p.Config.HTTP, httpapi.Deps{Log: h.log, Metrics: h.metrics, Readiness: h.readiness, Guard: r.limits, Once: once}); err != nil {
		return nil, err
	}
	if r.producer, err = kafka.NewProducer(b.kafka, kafka.Deps{Log: h.log, Metrics: h.metrics}); err != nil {
		return nil, err
	}
	if r.spool, err = spool.New(p.Spool, spool.Deps{Log: h.log, Metrics: h.metrics, Producer: r.producer}); err != nil {
		return nil, err
	}
	view := redis.NewCatalog(b.redis)
	r.catalog = catalog.New(catalog.Deps{Log: h.log, Metrics: h.metrics, Source: view, Feed: feed{view}, Node: node, Now: time.Now, Loaded: fitMemory})
	caps, err := frequency.New(p.Config.Frequency, frequency.Deps{
		Log: h.log, Metrics: h.metrics, Campaigns: r.catalog, Store: redis.NewSessions(b.redis), Exchange: redis.NewExchange(b.redis, "frequency", node),
	})
	if err != nil {
		return nil, err
	}
	pacer := pacing.New(pacing.Deps{Log: h.log, Metrics: h.metrics, Campaigns: r.catalog, Curves: redis.NewCurves(b.redis)})
	r.delivery = &limits.Delivery{Caps: caps, Pacer: pacer}
	tracker, err := track.New(p.Config.Track, track.Deps{
		Log: h.log, Metrics: h.metrics, Keyring: p.Ring, Producer: r.producer, Spool: r.spool,
		Creatives: r.catalog, Exposures: caps, Auth: auth, Seen: b.redis, Now: time.Now,
		Clicks: networkClicks{redis.NewClicks(b.redis)}, Views: r.limits,
	})
	if err != nil {
		return nil, err
	}
	if p.InMemory { // the store shares this process's cores, and nobody else's requests wait for it
		p.Config.Budget.Wait = max(p.Config.Budget.Wait, 250*time.Millisecond)
	}
	if r.budget, err = budget.New(p.Config.Budget, budget.Deps{
		Log: h.log, Metrics: h.metrics, Store: redis.NewReservations(b.redis), Node: node,
		ImpressionLife: p.Config.Track.Life.Impression, Now: time.Now,
	}); err != nil {
		return nil, err
	}
	outcomes := new(benna.Diagnostics)
	ads := serve.New(p.Config.Serve, serve.Deps{
		Metrics: h.metrics, Auth: auth, Catalog: r.catalog, Limiter: r.limits, Keyring: p.Ring,
		Producer: r.producer, Recording: tracker, BaseURL: r.http.BaseURL, Now: time.Now, Delivery: r.delivery, Outcomes: outcomes,
		Budget: r.budget,
	})
	tools, err := mcp.New(p.Config.MCP, mcp.Deps{Log: h.log, Metrics: h.metrics, Auth: auth, Ads: ads, Events: tracker})
	if err != nil {
		return nil, err
	}
	bids, err := rtb.New(p.Config.RTB, rtb.Deps{
		Metrics: h.metrics, Auth: auth, Catalog: r.catalog, Limiter: r.limits, Keyring: p.Ring, Producer: r.producer, Recording: tracker, Delivery: r.delivery, Outcomes: outcomes,
		Disclosure: p.Config.Serve.Disclosure, Life: p.Config.Track.Life, BaseURL: r.http.BaseURL, Now: time.Now,
		Budget: r.budget,
	})
	if err != nil {
		return nil, err
	}
	r.accounts = account.NewService(account.Deps{Users: b.books, Keys: b.books, Now: time.Now})
	r.campaigns = campaign.NewService(campaign.Deps{Store: b.books, Announcer: redis.NewCatalog(b.redis), Now: time.Now, CreditValue: creditValue})
	management := manage.New(manage.Deps{
		Auth: auth, Sessions: p.Sessions, Accounts: r.accounts, Campaigns: r.campaigns, Stats: b.stats, Rollup: b.rollup, Audit: b.books, Now: time.Now,
		Unfunded: payment.Funding{Balances: b.books, Required: p.Money.prepaid()}.Unfunded,
	})
	bills, err := newBilling(h, p, b, auth, r.http.BaseURL)
	if err != nil {
		return nil, err
	}
	tracker.Mount(r.http)
	ads.Mount(r.http)
	tools.Mount(r.http)
	bids.Mount(r.http)
	management.Mount(r.http)
	docs.New(docs.Deps{Document: openapi.Document, BaseURL: r.http.BaseURL}).Mount(r.http)
	benna.New(benna.Deps{
		Table: func() ranker.Table { return r.catalog.Snapshot().Table() }, Diagnostics: outcomes, Now: time.Now,
	}).Mount(r.http)
	explain.New(explain.Deps{
		Auth: auth, Keyring: p.Ring, Past: b.past, Catalog: r.catalog, Campaigns: r.campaigns, Store: b.books, Now: time.Now,
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
type feed struct{ *redis.Catalog }

// Subscribe implements catalog.Feed.
func (f feed) Subscribe(ctx context.Context, to catalog.Listener) error {
	return f.Catalog.Subscribe(ctx, func(c redis.Change) {
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
func wakes(view *redis.Catalog) func(ctx context.Context, wake func()) error {
	return func(ctx context.Context, wake func()) error {
		return view.Subscribe(ctx, func(c redis.Change) {
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
func addConsumers(h *host, cfg consumersConfig, funds moneyConfig, b backends) error {
	deps := kafka.Deps{Log: h.log, Metrics: h.metrics}
	settleLog, err := kafka.NewGroup(b.kafka, kafka.GroupConfig{Group: groupSettle, Topic: event.TopicEvents, Stored: b.books.Offsets}, deps)
	if err != nil {
		return err
	}
	archiveLog, err := kafka.NewGroup(b.kafka, kafka.GroupConfig{Group: groupArchive, Topic: event.TopicEvents, Stored: b.books.Archived}, deps)
	if err != nil {
		return err
	}
	auctionLog, err := kafka.NewGroup(b.kafka, kafka.GroupConfig{Group: groupAuctions, Topic: event.TopicAuctions}, deps)
	if err != nil {
		return err
	}
	noticeLog, err := kafka.NewGroup(b.kafka, kafka.GroupConfig{Group: groupNotices, Topic: event.TopicNotices}, deps)
	if err != nil {
		return err
	}
	cfg.Settle.Prepaid = funds.prepaid()
	settler, err := settle.New(cfg.Settle, settle.Deps{Log: settleLog, Store: b.books, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	archiver, err := archive.New(cfg.Archive, archive.Deps{Log: archiveLog, Plans: b.books, Sink: b.analytics, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	auctions, err := archive.NewAuctions(cfg.Archive, archive.AuctionDeps{Log: auctionLog, Sink: b.analytics, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	notices, err := archive.NewNotices(cfg.Archive, archive.NoticeDeps{Log: noticeLog, Sink: b.analytics, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	view := redis.NewCatalog(b.redis)
	projection, err := project.New(cfg.Project, project.Deps{Wake: wakes(view), Source: b.rooms, Target: view, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	detector, err := quarantine.New(cfg.Quarantine, quarantine.Deps{Store: b.books, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	h.readiness.Add("settle", settler.Ready)
	members := []lifecycle.Member{
		lifecycle.Named("settle", reading{settler, settleLog}),
		lifecycle.Named("archive", reading{archiver, archiveLog}),
		lifecycle.Named("auctions", reading{auctions, auctionLog}),
		lifecycle.Named("notices", reading{notices, noticeLog}),
		lifecycle.Named("project", projection), lifecycle.Named("quarantine", detector),
	}
	retainer, err := retain.New(cfg.Retain, retain.Deps{Store: b.books, Life: cfg.Life, Logger: h.log, Registerer: h.metrics})
	if err != nil {
		return err
	}
	members = append(members, lifecycle.Named("retention", retainer))
	if b.counted != nil {
		curves, err := forecast.New(forecast.Deps{Log: h.log, Metrics: h.metrics, Source: b.counted, Target: redis.NewCurves(b.redis)})
		if err != nil {
			return err
		}
		members = append(members, lifecycle.Named("forecast", curves))
	}
	if b.nightly != nil {
		members = append(members, lifecycle.Named("rollup", b.nightly))
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
