// Package manage is the part of the API that people and their scripts use: accounts, keys,
// campaigns, review and stats. The rules live in internal/account and internal/campaign; here they
// meet HTTP.
package manage

import (
	"context"
	"net/http"
	"time"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/report"
	"adnet/internal/token"
)

// StatsReader answers stats queries (ClickHouse, or memory in in-memory mode).
type StatsReader interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
}

// Aggregator rolls a day up; doing it again gives the same rows.
type Aggregator interface {
	Aggregate(ctx context.Context, date day.Day) (rows int, err error)
}

// Deps are what the endpoints work with.
type Deps struct {
	Auth      *httpapi.Auth
	Sessions  *token.Sessions
	Accounts  *account.Service
	Campaigns *campaign.Service
	Stats     StatsReader
	Rollup    Aggregator
	Audit     AuditLog
	Now       func() time.Time
	// Unfunded says that a new campaign cannot deliver for want of a deposit; nil for never.
	Unfunded func(ctx context.Context, c campaign.Campaign) (bool, error)
}

// API is the management endpoints.
type API struct{ deps Deps }

// New makes the endpoints.
func New(deps Deps) *API { return &API{deps: deps} }

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	s.Handle(http.MethodPost, "/api/auth", httpapi.Actions("action", map[string]httpapi.Handler{
		"": a.login, "login": a.login, "register": a.register,
	}))
	s.Handle(http.MethodGet, "/api/keys", a.listKeys)
	s.Handle(http.MethodPost, "/api/keys", a.createKey)
	s.Handle(http.MethodDelete, "/api/keys", a.revokeKey)
	s.Handle(http.MethodDelete, "/api/keys/:id", a.revokeKey)
	s.Handle(http.MethodGet, "/api/campaigns", httpapi.Actions("action", map[string]httpapi.Handler{
		"": a.listCampaigns, "list": a.listCampaigns, "review_queue": a.reviewQueue,
	}))
	s.Handle(http.MethodPost, "/api/campaigns", httpapi.Actions("action", map[string]httpapi.Handler{
		"": a.createCampaign, "create": a.createCampaign, "update": a.updateCampaign,
		"pause": a.moveCampaign(a.deps.Campaigns.Pause), "resume": a.moveCampaign(a.deps.Campaigns.Resume),
		"submit": a.moveCampaign(a.deps.Campaigns.Submit), "archive": a.moveCampaign(a.deps.Campaigns.Archive),
		"review": a.reviewCampaign,
	}))
	s.Handle(http.MethodGet, "/api/campaigns/:id", a.getCampaign)
	s.Handle(http.MethodPatch, "/api/campaigns/:id", a.updateCampaign)
	s.Handle(http.MethodPatch, "/api/campaigns", a.updateCampaign)
	s.Handle(http.MethodGet, "/api/audit", a.auditLog)
	s.Handle(http.MethodGet, "/api/stats", a.stats)
	s.Handle(http.MethodPost, "/api/stats", httpapi.Actions("type", map[string]httpapi.Handler{"aggregate": a.aggregate}))
}
