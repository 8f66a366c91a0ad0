package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/alecthomas/kong"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/auction/lexicon"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/ingress/api/docs"
	"adnet/ingress/api/manage"
	"adnet/ingress/api/oversee"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/httpapi"
	"adnet/ingress/idempotency"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/ingress/limits/refusals"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/ingress/web/console"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/classifier"
	"adnet/internal/kafka"
	"adnet/internal/outbound"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/mail"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
	"adnet/internal/token"
)

// ingress is `adnet ingress`: the HTTP role against the real servers.
type ingress struct {
	Host    hostConfig       `embed:""`
	Role    ingressConfig    `kong:"embed,set='unsigned_beacons=record',set='verify_email=required',set='unreviewed=pages',set='outbound_networks='"`
	Money   backends.Money   `embed:"" set:"prepaid=required"`
	Spool   spool.Config     `embed:""`
	Servers backends.Servers `embed:""`
}

// AfterApply is called by the parser.
func (c *ingress) AfterApply(line *kong.Context) error {
	c.Role.inForce = inForce(line)
	return nil
}

// Run runs the command until it finishes or receives a stop signal.
func (c *ingress) Run(p cli.Process) error {
	ring, sessions, err := c.Role.keys(false)
	if err != nil {
		return err
	}
	if err := c.Role.checkMail(); err != nil {
		return err
	}
	c.Servers.Postgres.MaxConns = cmp.Or(c.Servers.Postgres.MaxConns, postgres.IngressConns)
	h, err := newHost(p, c.Host, c.Role.HTTP.Lame()+c.Role.HTTP.DrainTimeout)
	if err != nil {
		return err
	}
	b, err := backends.Open(h.Ctx, c.Servers, c.Money, h.backendDeps())
	if err != nil {
		return err
	}
	defer b.Close()
	role, err := newIngress(
		h,
		parts{
			Config: c.Role, Money: c.Money, Spool: c.Spool, Ring: ring, Sessions: sessions, Servers: c.Servers,
			PostgresConns: int(c.Servers.Postgres.MaxConns),
			Scans:         httpapi.ScansOf(c.Servers.ClickHouse.Connections),
		}, b,
	)
	if err != nil {
		return err
	}
	if err := role.spool.Open(); err != nil {
		return err
	}
	h.group.Add(lifecycle.Task("administrator", role.ensureAdmin))
	role.addStages()
	return h.run()
}

// ingressConfig holds the settings of the HTTP role.
type ingressConfig struct {
	HTTP   httpapi.Config `embed:""`
	Track  track.Config   `embed:""`
	Offer  offer.Config   `embed:""`
	Limits limits.Config  `embed:""`

	Frequency frequency.Config `embed:""`

	Classifier classifier.Config `embed:""`

	MCP    mcp.Config    `embed:""`
	RTB    rtb.Config    `embed:""`
	Budget budget.Config `embed:""`

	Manage   manage.Config      `embed:""`
	Mail     mail.Config        `embed:""`
	Once     idempotency.Config `embed:""`
	Console  console.Config     `embed:""`
	Docs     docs.Config        `embed:""`
	Payments paymentConfig      `embed:""`

	Outbound outbound.Config `embed:""`

	TokenKeys   string `name:"token-keys" env:"ADNET_TOKEN_KEYS" secret:"" help:"Keys that sign auction tokens: id:base64 of 32 bytes; further keys, with @end, only verify."`
	SessionKeys string `name:"session-keys" env:"ADNET_SESSION_KEYS" secret:"" help:"Keys that sign logins, in the form of ADNET_TOKEN_KEYS."`

	AdminEmail    string `name:"admin-email" env:"ADNET_ADMIN_EMAIL" help:"E-mail of the administrator to create at start unless the account exists."`
	AdminPassword string `name:"admin-password" env:"ADNET_ADMIN_PASSWORD" secret:"" help:"Password of the administrator to create."`

	inForce []oversee.Setting // of the whole command
}

// checkMail rejects settings that require confirmed e-mails without a mail server.
func (c ingressConfig) checkMail() error {
	if c.Manage.VerifyEmail == manage.VerifyRequired && !c.Mail.On() {
		return errors.New(
			"ADNET_VERIFY_EMAIL is required and there is no mail server: set ADNET_SMTP_HOST and ADNET_SMTP_FROM, " +
				"or ADNET_VERIFY_EMAIL=off",
		)
	}
	return nil
}

// keys reads both key lists. A random key replaces an empty list where tokens need not outlive the
// process.
func (c ingressConfig) keys(random bool) (*token.Keyring, *token.Sessions, error) {
	ring, err := keyring(c.TokenKeys, random)
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

// keyring builds the keyring of auction tokens from ADNET_TOKEN_KEYS.
func keyring(value string, random bool) (*token.Keyring, error) {
	signing, err := keyList("ADNET_TOKEN_KEYS", value, random)
	if err != nil {
		return nil, err
	}
	return token.NewKeyring(signing)
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

// parts holds the inputs of the HTTP role other than the backends.
type parts struct {
	Config   ingressConfig
	Money    backends.Money
	Spool    spool.Config
	Ring     *token.Keyring
	Sessions *token.Sessions
	Servers  backends.Servers // empty in memory
	// PostgresConns is the maximum number of connections to PostgreSQL.
	PostgresConns int
	Scans         int  // of recorded data that run at once; 0 is the default
	InMemory      bool // nothing outlives the process: deposits may be simulated
	Demo          bool // visitors may be signed in to the demo accounts
	Invented      bool // the stores hold the demo's history
}

// ingressRole is the constructed HTTP role: its inputs, the state that its areas share, and its
// running components.
type ingressRole struct {
	*host
	*backends.All
	inputs parts
	node   string // identifies this process

	sealed    *redis.Client // for campaigns
	auth      *httpapi.Auth
	http      *httpapi.Server
	limits    *limits.Limits
	catalog   *catalog.Catalog
	delivery  *limits.Delivery
	refusals  *refusals.Memory
	budget    *budget.Leases
	producer  *kafka.Producer
	spool     *spool.Spool
	tracker   *track.Tracker
	flags     *offer.FlagCounter
	accounts  *account.Service
	mail      *mail.Sender // nil without a mail server
	campaigns *campaign.Service

	accountDeps  account.Deps // of accounts
	campaignDeps campaign.Deps
}

// newIngress constructs the HTTP role over b and mounts its routes. It opens and starts nothing.
func newIngress(h *host, inputs parts, b *backends.All) (*ingressRole, error) {
	go lexicon.Prepare() // the campaign index needs it after the load
	r := &ingressRole{host: h, All: b, inputs: inputs, node: h.name}
	role := roster.Ingress
	if inputs.InMemory {
		role = roster.Standalone
	}
	h.enlist(role, b)
	h.clerk.Serves(r.serves)
	// Each area uses the results of those before it.
	for _, area := range []func() error{
		r.listening, r.following, r.tracking, r.serving, r.managing, r.billing, r.notifying,
	} {
		if err := area(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// listening builds the engine with the middleware of every route: caller, rate limits, idempotency.
func (r *ingressRole) listening() (err error) {
	r.auth = httpapi.NewAuth(httpapi.AuthDeps{
		Users: r.Stores.Accounts, Keys: r.Stores.Accounts, Sessions: r.inputs.Sessions, Logins: r.Stores.Logins,
		Now: time.Now, Spend: r.spend, Scans: r.inputs.Scans,
		BaseURL: func() string { return r.http.BaseURL() }, // r.http is created below
	})
	deps := limits.Deps{
		Log: r.Log, Metrics: r.metrics, KnownKey: r.auth.KnownKey,
		BidLife: min(r.inputs.Config.Budget.BidWindow, r.inputs.Config.Track.Life.Impression),
	}
	if !r.inputs.InMemory { // in memory, this process is the only node
		deps.Exchange = r.exchange("limits")
	}
	r.limits, err = limits.New(r.inputs.Config.Limits, deps)
	if err != nil {
		return err
	}
	once := r.idempotency()
	r.readiness.Add("http", obs.Traffic, func() error { return r.http.Listening() })
	r.http, err = httpapi.New(
		r.inputs.Config.HTTP,
		httpapi.Deps{
			Log: r.Log, Metrics: r.metrics, Readiness: r.readiness, Auth: r.auth, Guard: r.limits, Once: once,
			KeepFiles: r.keepFiles(),
		},
	)
	r.public = r.http
	return err
}

// spend calls the limits, which are built after the authentication.
func (r *ingressRole) spend(c *gin.Context, account uuid.UUID, what httpapi.Work) error {
	return r.limits.Spend(c, account, what)
}

// keepFiles returns the number of file descriptors to reserve for everything but the public
// listener: connections to PostgreSQL, Redis (10 a core), Kafka and ClickHouse, the spool, the
// admin listener.
func (r *ingressRole) keepFiles() int {
	needed := 256 + r.inputs.PostgresConns + 10*runtime.GOMAXPROCS(0)
	if r.inputs.InMemory { // this process runs the servers as well
		needed *= 2
	}
	return needed
}

// addStages puts the role's components into stages, which stop in reverse: first the listener stops
// taking requests, then the producer flushes its buffer, and undelivered records go to the spool.
func (r *ingressRole) addStages() {
	r.group.Add(lifecycle.Named("spool", r.spool))
	r.group.Add(lifecycle.Named("producer", r.producer))
	r.group.Add(lifecycle.Named("catalog", r.catalog), lifecycle.Named("budget", r.budget),
		lifecycle.Named("limits", r.limits),
		lifecycle.Named("caps", r.delivery.Caps), lifecycle.Named("refusals", r.refusals),
		lifecycle.Named("pacing", r.delivery.Pacer), lifecycle.Named("pages", lifecycle.Func(keepGathered)))
	r.group.Add(lifecycle.Named("flags", r.flags))
	if r.mail != nil {
		r.group.Add(lifecycle.Named("mail", r.mail))
	}
	r.group.Add(
		lifecycle.Named("tracking", r.tracker), lifecycle.Named("roster", r.clerk),
	)
	r.group.Add(lifecycle.Named("http", r.http))
}
