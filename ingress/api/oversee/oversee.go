// Package oversee serves the administrators' views of the whole installation: the ledger and its
// chains, the results of verify, dead letters, settings, and the health of servers and nodes. It
// only displays values and requests runs; the packages that own a number define it. Every route is
// for administrators only.
package oversee

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/stream/deadletter"
)

// Ledger reads the ledger for administrators.
type Ledger interface {
	Movements(ctx context.Context, q ledger.Search) ([]ledger.Found, error)
	Heads(ctx context.Context, q ledger.HeadQuery) ([]ledger.SideHead, error)
	Verifications(ctx context.Context, limit int) ([]ledger.Verification, error)
	AskVerification(ctx context.Context, by uuid.UUID, now time.Time) (ledger.Verification, error)
}

// History finds an auction and its events; see analytics/stats.
type History interface {
	Auction(ctx context.Context, id uuid.UUID, at time.Time) (report.Auction, error)
	AuctionEvents(ctx context.Context, id, campaign uuid.UUID, at time.Time) ([]report.Row, error)
}

// Deps holds the dependencies of the endpoints. All but Now are required.
type Deps struct {
	Ledger  Ledger
	History History
	Letters deadletter.Store
	Broker  deadletter.Producer // for the events topic
	// Look checks the servers and the log. It may take seconds, so the endpoints call it at most
	// every 30 s.
	Look func(ctx context.Context) Health
	// Ready reports whether this node may get traffic.
	Ready func() obs.Report
	// Settings are the settings of this process, in the order of its flags.
	Settings []Setting
	Now      func() time.Time
}

// API is the endpoints.
type API struct {
	deps Deps
	seen looked
}

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

const (
	defaultPage = 50
	maxRuns     = 30
)

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	reads := httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.AdminToken}
	// Searches use the ledger's indexes, except for conditions that few rows meet.
	scans := reads
	scans.Scans = true
	changes := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.AdminToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	with := func(p httpapi.Policy, params httpapi.Params) httpapi.Policy { p.Params = params; return p }
	s.Handle(http.MethodGet, "/api/admin/ledger", httpapi.Do(a.movements), with(scans, httpapi.Params{
		"subject": httpapi.IDForm, "auction": httpapi.IDForm, "transaction": httpapi.IDForm,
		"kind":  httpapi.WordForm(ledger.Kinds...),
		"since": httpapi.TimeForm, "until": httpapi.TimeForm, "limit": httpapi.NumberForm(1, ledger.MaxFound),
		"account": httpapi.TextForm, "before": httpapi.TextForm,
	}))
	s.Handle(http.MethodGet, "/api/admin/ledger/heads", httpapi.Do(a.heads), with(reads, httpapi.Params{
		"account": httpapi.TextForm, "after": httpapi.TextForm, "limit": httpapi.NumberForm(1, ledger.MaxFound),
	}))
	s.Handle(
		http.MethodGet, "/api/admin/verify", httpapi.Do(a.verifications),
		with(reads, httpapi.Params{"limit": httpapi.NumberForm(1, maxRuns)}),
	)
	s.Handle(http.MethodPost, "/api/admin/verify", httpapi.Do(a.askVerification), changes)
	s.Handle(http.MethodGet, "/api/admin/dead_letters", httpapi.Do(a.letters), with(reads, httpapi.Params{
		"state": httpapi.WordForm("open", "all"), "stream": httpapi.TextForm, "problem": httpapi.TextForm,
		"limit": httpapi.NumberForm(1, maxLetters), "offset": httpapi.NumberForm(0, 1_000_000),
	}))
	s.Handle(http.MethodGet, "/api/admin/dead_letters/:id", httpapi.Do(a.letter), reads)
	s.Handle(http.MethodPost, "/api/admin/dead_letters/:id/replay", httpapi.Do(a.replayLetter), changes)
	s.Handle(http.MethodGet, "/api/admin/health", httpapi.Do(a.health), reads)
	s.Handle(http.MethodGet, "/api/admin/settings", httpapi.Do(a.settings), reads)
}
