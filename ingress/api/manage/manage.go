// Package manage serves the API for people and their scripts: accounts, keys, campaigns, review and
// stats. The rules live in internal/account and internal/campaign.
package manage

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/auction/lexicon"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/decision"
	"adnet/internal/compliance/person"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// StatsReader answers stats queries, from ClickHouse or from memory in in-memory mode.
type StatsReader interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
	// Requests counts the requests of some placements by winner and price step.
	Requests(ctx context.Context, p report.Places) ([]report.Won, error)
	// Demand counts the auctions of one publisher, or of all.
	Demand(ctx context.Context, q report.DemandQuery) (report.Demand, error)
	// Paid returns what each advertiser paid a publisher on each day; see [report.Disclosed].
	Paid(ctx context.Context, q report.PaidQuery) ([]report.Paid, error)
	// Terms counts events by the recorded terms of their requests.
	Terms(ctx context.Context, q report.Query) ([]report.TermCounts, error)
	// WithTerms counts the events whose requests have one of terms.
	WithTerms(ctx context.Context, q report.Query, terms []uint32) (report.Counts, error)
	// Converted counts the conversions of an advertiser, a campaign, or all advertisers, by
	// campaign and type.
	Converted(ctx context.Context, q report.Query) (report.Conversions, error)
	// Delays counts charged conversions by advertiser and the time since their auction.
	Delays(ctx context.Context, q report.DelayQuery) ([]report.Delay, error)
	// Refusals counts refused requests by publisher and day.
	Refusals(ctx context.Context, q report.RefusalQuery) ([]report.RefusalDay, error)
	// Costs counts a publisher's requests that were refused for each sensitive subject, up to a
	// day.
	Costs(ctx context.Context, publisher uuid.UUID, until day.Day) (map[subject.ID]report.SubjectCost, error)
	// RefusedAt counts the refused requests of some placements by subject.
	RefusedAt(ctx context.Context, p report.Places) ([]report.RefusedPlaces, error)
}

// Registration modes.
const (
	SignupOpen   = "open"   // anyone
	SignupInvite = "invite" // holders of an invitation from `adnet user invite`
	SignupClosed = "closed" // accounts are created only by `adnet user create`
)

// Config holds the settings of accounts.
type Config struct {
	Campaigns    int    `name:"campaigns" env:"ADNET_CAMPAIGNS" default:"100" help:"Campaigns that a new account may have. The limit grows by the same number every 30 days after the first campaign, and by 50 for each campaign that a reviewer approved, up to 10,000. Their targeting may total 10 KiB per allowed campaign. 0 is unlimited. Administrators have no limit."`
	VerifyEmail  string `name:"verify-email" env:"ADNET_VERIFY_EMAIL" default:"${verify_email}" enum:"required,off" help:"Whether a registration needs a confirmed e-mail: required (the mailed link creates the account; needs ADNET_SMTP_HOST, except in standalone mode, which logs the link) or off."`
	ReportsPause string `name:"reports-pause" env:"ADNET_REPORTS_PAUSE" default:"off" enum:"on,off" help:"Whether readers' reports pause an ad until a reviewer decides. It takes reports from three networks and three publishers on one UTC day, for at least 0.1 % of the ad's impressions. A version that a reviewer approved is never paused."`
	Signup       string `name:"signup" env:"ADNET_SIGNUP" default:"open" enum:"open,invite,closed" help:"Registration mode: open to anyone, by invitation, or closed (only the operator creates accounts)."`

	MailProviders []string `name:"mail-providers" env:"ADNET_MAIL_PROVIDERS" help:"Further public mail providers, like mail.example. Accounts whose addresses have the same domain belong to one family, except at public mail providers. It applies to later registrations."`
}

// Logins limits wrong passwords and mailed links; see limits.Limits.
type Logins interface {
	// TryLogin counts an attempt from an address. known reports whether the account has logged in
	// from the address' network before. takeBack undoes what was counted. doubted is the reply to a
	// right password without a mailed code, nil if it needs none. Errors: errs.RateLimited.
	TryLogin(email, address string, known func() bool) (takeBack func(), doubted, err error)
	// TryMail counts a mail for a purpose that is asked for from an address. takeBack undoes it.
	// Errors: errs.RateLimited.
	TryMail(purpose, email, address string) (takeBack func(), err error)
}

// Aggregator rolls up a day. Repeating it gives the same rows.
type Aggregator interface {
	Aggregate(ctx context.Context, date day.Day) (rows int, err error)
}

// Deps holds the dependencies of the endpoints.
type Deps struct {
	Auth      *httpapi.Auth
	Sessions  *token.Sessions
	Accounts  *account.Service
	Campaigns *campaign.Service
	Names     account.NameStore
	Titles    campaign.TitleStore
	// Vocabulary returns the words of all campaigns on this node.
	Vocabulary func() *lexicon.Table
	Stats      StatsReader
	Rollup     Aggregator
	Audit      AuditLog
	Decisions  decision.Store
	AdReports  adreport.Store
	Cases      Cases          // nil: an appeal does not release a hold
	Unproven   UnprovenReader // nil: stats omit unverified events
	Blocks     account.BlockStore
	Persons    person.Store // all data of an account
	Families   family.Rulings
	Shared     traffic.Networks // trusted proxies and networks of many people: see [family.Network]
	Publish    account.PublishingStore
	Flags      FlagReader // nil: there are no flags
	Logins     Logins     // limits on wrong passwords; nil for none
	Verify     bool       // whether an account is created only after its e-mail is confirmed
	Mailer     Mailer     // nil: this server sends no mail
	Confirmed  Confirmed  // nil: nothing stores confirmed addresses
	// MailLogged reports whether mails go to the log.
	MailLogged bool
	Signup     string // SignupOpen and so on; empty means open
	// BaseURL returns the address of the installation.
	BaseURL func() string
	Snippet Snippet
	Packages
	// Demo maps advertiser, publisher and admin to the e-mail of a demo account that visitors can
	// be signed in to. It is empty if people other than the owner could reach this server.
	Demo map[string]string
	// Invented reports that the stores hold a history that never happened: the console names it.
	Invented bool
	Now      func() time.Time
	// CreditValue is the total budget in USD that one Credit pays for (ADNET_CREDIT_VALUE_USD).
	CreditValue money.Micros
}

// Snippet is the script that publishers include in their pages.
type Snippet struct {
	Path      string // of the immutable file, below the base URL
	Integrity string // value of the integrity attribute
}

// Packages are the paths, below the base URL, of the SDKs that npm and pip install.
type Packages struct{ NPM, Python string }

// API is the management endpoints.
type API struct{ deps Deps }

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// The policies of most routes. Each file mounts the routes of its subject.
var (
	reads   = httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	changes = httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
)

func ofAdmin(p httpapi.Policy) httpapi.Policy {
	p.Auth = httpapi.AdminToken
	return p
}

// ofReviewer is for the routes where the specification requires 401, also for a login.
func ofReviewer(p httpapi.Policy) httpapi.Policy {
	p.Auth, p.NotAdmin = httpapi.AdminToken, errs.InvalidToken
	return p
}

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	a.mountLogins(s)
	a.mountSessions(s)
	a.mountFactor(s)
	a.mountProfile(s)
	a.mountBlocks(s)
	a.mountSuitability(s)
	a.mountKeys(s)
	a.mountCampaigns(s)
	a.mountDecisions(s)
	a.mountReports(s)
	a.mountUsers(s)
	a.mountAudit(s)
	a.mountStats(s)
	a.mountRequests(s)
	a.mountConverted(s)
}

func with(p httpapi.Policy, params httpapi.Params) httpapi.Policy {
	p.Params = params
	return p
}
