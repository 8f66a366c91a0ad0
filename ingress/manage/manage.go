// Package manage serves the API for people and their scripts: accounts, keys, campaigns, review and
// stats. The rules live in internal/account and internal/campaign.
package manage

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/adreport"
	"adnet/internal/auditlog"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/decision"
	"adnet/internal/errs"
	"adnet/internal/family"
	"adnet/internal/person"
	"adnet/internal/report"
	"adnet/internal/schedule"
	"adnet/internal/subject"
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
	Stats     StatsReader
	Rollup    Aggregator
	Audit     AuditLog
	Decisions decision.Store
	AdReports adreport.Store
	Cases     Cases          // nil: an appeal does not release a hold
	Unproven  UnprovenReader // nil: stats omit unverified events
	Blocks    account.BlockStore
	Persons   person.Store // all data of an account
	Families  family.Rulings
	Shared    traffic.Networks // trusted proxies and networks of many people: see [family.Network]
	Publish   account.PublishingStore
	Flags     FlagReader // nil: there are no flags
	Logins    Logins     // limits on wrong passwords; nil for none
	Verify    bool       // whether an account is created only after its e-mail is confirmed
	Mailer    Mailer     // nil: this server sends no mail
	// MailLogged reports whether mails go to the log.
	MailLogged bool
	Signup     string // SignupOpen and so on; empty means open
	// BaseURL returns the address of the installation.
	BaseURL func() string
	Snippet Snippet
	// Demo maps advertiser, publisher and admin to the e-mail of a demo account that visitors can
	// be signed in to. It is empty if people other than the owner could reach this server.
	Demo map[string]string
	Now  func() time.Time
	// Unfunded reports whether a new campaign cannot deliver for lack of a deposit; nil for never.
	Unfunded func(ctx context.Context, c campaign.Campaign) (bool, error)
}

// Snippet is the script that publishers include in their pages.
type Snippet struct {
	Path      string // of the immutable file, below the base URL
	Integrity string // value of the integrity attribute
}

// API is the management endpoints.
type API struct{ deps Deps }

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	reads := httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	changes := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	// Wrong tokens are answered 401, which is limited.
	byLink := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	queries := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.No, Audited: httpapi.No,
	}
	scans, judges := queries, queries
	scans.Scans, judges.Judges = true, true
	ofAdmin := func(p httpapi.Policy) httpapi.Policy { p.Auth = httpapi.AdminToken; return p }
	// The specification requires 401 here, also for a login.
	ofReviewer := func(p httpapi.Policy) httpapi.Policy { p = ofAdmin(p); p.NotAdmin = errs.InvalidToken; return p }
	s.HandleActions(http.MethodPost, "/api/auth", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Open(a.login)}, "login": {Do: httpapi.Open(a.login)},
		"register": {Do: httpapi.Open(a.register), Policy: httpapi.Policy{
			Limit: httpapi.LimitRegistrations, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
		}},
		"demo":   {Do: httpapi.Open(a.demoLogin)},
		"verify": {Do: httpapi.Open(a.verify), Policy: byLink}, "reset": {Do: httpapi.Open(a.reset), Policy: byLink},
		// No Idempotency-Key: a second call mails a second link.
		"forgot": {
			Do: httpapi.Open(a.forgot),
			Policy: httpapi.Policy{
				Limit: httpapi.LimitRegistrations, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No,
			},
		},
		// No Idempotency-Key for a logout: an ended session stays ended, and the reply is the same.
		"logout": {
			Do: httpapi.Open(a.logout),
			Policy: httpapi.Policy{
				Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.Yes,
			},
		},
		// No Idempotency-Key for a login: a second one opens one more session, which the owner
		// sees.
	}}, httpapi.Policy{Limit: httpapi.LimitLogins, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No})
	s.Handle(
		http.MethodGet, "/api/info", httpapi.Open(a.info),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
	s.Handle(http.MethodGet, "/api/account/sessions", httpapi.Do(a.listSessions), reads)
	// No Idempotency-Key: an ended session stays ended, and a caller without a session gets 401.
	ends := changes
	ends.Idempotent = httpapi.No
	s.Handle(
		http.MethodDelete, "/api/account/sessions", httpapi.Do(a.endSessions),
		with(ends, httpapi.Params{"keep": httpapi.WordForm("current")}),
	)
	s.Handle(http.MethodDelete, "/api/account/sessions/:id", httpapi.Do(a.endSession), ends)
	s.Handle(http.MethodPost, "/api/account/password", httpapi.Do(a.changePassword), changes)
	looks, sets, erases := reads, changes, ends
	looks.Admits, sets.Admits, erases.Admits = httpapi.WithoutFactor, httpapi.WithoutFactor, httpapi.WithoutFactor
	begins := sets
	begins.Audited = httpapi.No // an unconfirmed factor does not affect logins
	s.Handle(http.MethodGet, "/api/account/second_factor", httpapi.Do(a.readFactor), looks)
	s.Handle(http.MethodPost, "/api/account/second_factor", httpapi.Do(a.beginFactor), begins)
	s.Handle(http.MethodPost, "/api/account/second_factor/confirm", httpapi.Do(a.confirmFactor), sets)
	s.Handle(http.MethodPost, "/api/account/second_factor/recovery_codes", httpapi.Do(a.renewRecovery), sets)
	s.Handle(http.MethodPost, "/api/account/second_factor/remove", httpapi.Do(a.removeFactor), sets)
	s.Handle(http.MethodGet, "/api/account/profile", httpapi.Do(a.readProfile), reads)
	s.Handle(http.MethodPatch, "/api/account/profile", httpapi.Do(a.changeProfile), changes)
	exports := reads
	exports.Scans = true
	s.Handle(http.MethodGet, "/api/account/export", httpapi.Do(a.exportAccount), exports)
	s.Handle(http.MethodPost, "/api/account/delete", httpapi.Do(a.eraseAccount), erases)
	s.Handle(http.MethodGet, "/api/account/blocks", httpapi.Do(a.readBlocks), reads)
	s.Handle(http.MethodPut, "/api/account/blocks", httpapi.Do(a.putBlocks), changes)
	s.Handle(http.MethodGet, "/api/account/publishing", httpapi.Do(a.readPublishing), reads)
	s.Handle(http.MethodPut, "/api/account/publishing", httpapi.Do(a.putPublishing), changes)
	ofPublisher := with(reads, httpapi.Params{"developer_id": httpapi.IDForm, "key": httpapi.IDForm})
	ofPublisher.Auth = httpapi.UserToken | httpapi.PublisherKey
	s.Handle(http.MethodGet, "/api/account/suitability", httpapi.Do(a.readSuitability), ofPublisher)
	s.Handle(http.MethodGet, "/api/suitability/subjects", httpapi.Open(a.subjects), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone,
		Params: httpapi.Params{"language": httpapi.WordForm("en", "de")},
	})
	s.Handle(http.MethodGet, "/api/keys", httpapi.Do(a.listKeys), reads)
	s.Handle(http.MethodPost, "/api/keys", httpapi.Do(a.createKey), changes)
	s.Handle(http.MethodDelete, "/api/keys", httpapi.Do(a.revokeKey), with(changes, httpapi.Params{"id": httpapi.IDForm}))
	s.Handle(http.MethodDelete, "/api/keys/:id", httpapi.Do(a.revokeKey), changes)
	s.Handle(http.MethodPost, "/api/keys/:id/rotate", httpapi.Do(a.rotateKey), changes)
	s.HandleActions(http.MethodGet, "/api/campaigns", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Do(a.listCampaigns)}, "list": {Do: httpapi.Do(a.listCampaigns)},
		"review_queue": {Do: httpapi.Do(a.reviewQueue), Policy: with(ofReviewer(reads), ofCampaigns)},
	}}, with(reads, ofCampaigns))
	s.HandleActions(http.MethodPost, "/api/campaigns", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Do(a.createCampaign)}, "create": {Do: httpapi.Do(a.createCampaign)},
		"update":  {Do: httpapi.Do(a.updateCampaign)},
		"pause":   {Do: a.moveCampaign((*campaign.Service).Pause)},
		"resume":  {Do: a.moveCampaign((*campaign.Service).Resume)},
		"submit":  {Do: a.moveCampaign((*campaign.Service).Submit)},
		"archive": {Do: a.moveCampaign((*campaign.Service).Archive)},
		"copy":    {Do: httpapi.Do(a.copyCampaign)},
		"review":  {Do: httpapi.Do(a.reviewCampaign), Policy: ofReviewer(changes)},
		// No Idempotency-Key: these store nothing.
		"check":    {Do: httpapi.Do(a.checkCampaign), Policy: judges},
		"forecast": {Do: httpapi.Do(a.forecastCampaign), Policy: scans},
	}}, with(changes, httpapi.Params{"id": httpapi.IDForm}))
	s.Handle(http.MethodGet, "/api/campaigns/:id", httpapi.Do(a.getCampaign), reads)
	s.Handle(http.MethodPatch, "/api/campaigns/:id", httpapi.Do(a.updateCampaign), changes)
	s.Handle(http.MethodPatch, "/api/campaigns", httpapi.Do(a.updateCampaign), changes)
	a.mountDecisions(s, reads, changes)
	a.mountReports(s, ofAdmin(reads), ofAdmin(changes))
	a.mountUsers(s, ofAdmin(reads), ofAdmin(changes))
	s.Handle(http.MethodGet, "/api/audit", httpapi.Do(a.auditLog), with(reads, ofAudit))
	s.Handle(http.MethodGet, "/api/stats", httpapi.Do(a.stats), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true, Params: ofStats,
	})
	s.Handle(http.MethodGet, "/api/stats/requests", httpapi.Do(a.requests), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true,
		Params: httpapi.Params{
			"developer_id": httpapi.IDForm, "key": httpapi.IDForm, "since": httpapi.DayForm, "until": httpapi.DayForm,
			"breakdown": httpapi.WordForm(report.DemandBreakdowns...), "format": httpapi.WordForm("json", "csv"),
			"bom": httpapi.SwitchForm,
		},
	})
	s.Handle(http.MethodGet, "/api/stats/suitability", httpapi.Do(a.refusals), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true,
		Params: httpapi.Params{
			"developer_id": httpapi.IDForm, "key": httpapi.IDForm, "since": httpapi.DayForm, "until": httpapi.DayForm,
			"format": httpapi.WordForm("json", "csv"), "bom": httpapi.SwitchForm,
		},
	})
	ofTypes := with(
		reads,
		httpapi.Params{
			"campaign_id": httpapi.IDForm, "since": httpapi.DayForm, "until": httpapi.DayForm,
			"format": httpapi.WordForm("json", "csv"), "bom": httpapi.SwitchForm,
		},
	)
	ofTypes.Scans = true
	s.Handle(http.MethodGet, "/api/stats/conversions", httpapi.Do(a.converted), ofTypes)
	ofNetwork := with(
		ofAdmin(reads),
		httpapi.Params{
			"since": httpapi.DayForm, "until": httpapi.DayForm, "format": httpapi.WordForm("json", "csv"),
			"bom": httpapi.SwitchForm,
		},
	)
	ofNetwork.Scans = true
	s.Handle(http.MethodGet, "/api/admin/requests", httpapi.Do(a.networkRequests), ofNetwork)
	s.Handle(http.MethodGet, "/api/admin/suitability", httpapi.Do(a.networkRefusals), ofNetwork)
	s.HandleActions(http.MethodPost, "/api/stats", httpapi.Actions{Param: "type", Of: map[string]httpapi.Action{
		"aggregate": {Do: httpapi.Do(a.aggregate)},
	}}, with(ofReviewer(changes), httpapi.Params{"date": httpapi.DayForm}))
}

// The parameters of reads, for all actions.
var (
	ofCampaigns = httpapi.Params{
		"status": httpapi.WordForm("draft", "in_review", "pending_review", "active", "paused", "rejected", "archived"),
		"id":     httpapi.IDForm, "advertiser_id": httpapi.IDForm, "shape": httpapi.WordForm("object", "array"),
		"reason": httpapi.WordForm(campaign.FieldNamed("review_reason").Values...),
		"limit":  httpapi.NumberForm(1, maxLimit), "offset": httpapi.NumberForm(0, httpapi.MaxOffset),
	}
	ofAudit = httpapi.Params{
		"owner_id": httpapi.IDForm, "actor_id": httpapi.IDForm, "target_kind": httpapi.WordForm(auditlog.Targets...),
		"target_id": httpapi.TextForm,
		"since":     httpapi.TimeForm, "until": httpapi.TimeForm, "before": httpapi.NumberForm(1, 1<<53),
		"limit": httpapi.NumberForm(1, maxAuditLimit),
	}
	ofStats = httpapi.Params{
		"type": httpapi.WordForm("overview", "campaign", "developer"), "campaign_id": httpapi.IDForm,
		"developer_id": httpapi.IDForm, "key": httpapi.IDForm,
		"since": httpapi.DayForm, "until": httpapi.DayForm, "breakdown": httpapi.WordForm(report.Breakdowns...),
		"format": httpapi.WordForm("json", "csv"), "bom": httpapi.SwitchForm,
	}
)

func with(p httpapi.Policy, params httpapi.Params) httpapi.Policy {
	p.Params = params
	return p
}
