// Package explain answers why: why an auction ended as it did, and why a campaign does not deliver.
//
// It reads the records of auctions, which are best effort and some seconds behind. An auction
// without a record is explained from its signed token if there is one, and counts of the last hour
// may miss some auctions. Callers do not learn who else took part: an advertiser sees its own
// candidates, and of others only how they ended; a publisher sees prices and reasons without names.
//
// # Not obvious
//
// An auction's record keeps its ten best candidates and how many tokens the request had, never
// the context. Why a campaign does not deliver is counted from those candidates by minute, so
// that the question does not read every auction. The count is a lower bound, and says so
// (sampled): an auction stops looking where one may win, and counting every loser would cost
// each request a look at all of them.
package explain

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/report"
	"adnet/internal/reserve"
	"adnet/internal/schedule"
	"adnet/internal/token"
)

// History reads the records of auctions (ClickHouse, or memory in in-memory mode).
type History interface {
	// Auction is the record of an auction that took place at about at. Errors: errs.NotFound.
	Auction(ctx context.Context, id uuid.UUID, at time.Time) (report.Auction, error)
	// AuctionEvents are the decided events of an auction that campaign won, oldest first.
	AuctionEvents(ctx context.Context, id, campaign uuid.UUID, at time.Time) ([]report.Row, error)
	// Delivery counts what became of a campaign in the auctions of some time.
	Delivery(ctx context.Context, campaign uuid.UUID, since, until time.Time) (report.Delivery, error)
	// RefusedAt counts the refused requests of some places by subject.
	RefusedAt(ctx context.Context, p report.Places) ([]report.RefusedPlaces, error)
}

// Catalog is this node's view of campaigns.
type Catalog interface {
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
	Room(id uuid.UUID) (reserve.Room, bool)
	Fresh(now time.Time) bool
	// Snapshot is what auctions are decided by now.
	Snapshot() *auction.Snapshot
}

// Campaigns reads a caller's own campaign. Errors: errs.NotFound, errs.Forbidden.
type Campaigns interface {
	Get(ctx context.Context, caller account.User, id uuid.UUID) (campaign.Campaign, error)
}

// Store reads any campaign. Errors: errs.NotFound.
type Store interface {
	Campaign(ctx context.Context, id uuid.UUID) (campaign.Campaign, error)
}

// Deps are what the endpoints work with. All are required.
type Deps struct {
	Auth      *httpapi.Auth
	Keyring   *token.Keyring
	History   History
	Catalog   Catalog
	Campaigns Campaigns
	Store     Store
	Now       func() time.Time
}

// API is the endpoints.
type API struct{ deps Deps }

// New makes the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the routes to h.
func (a *API) Mount(h *httpapi.Server) {
	h.Handle(http.MethodGet, "/api/auctions/:auction_id/explain", a.auction, httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey | httpapi.SeatKey, Scans: true,
	})
	h.Handle(
		http.MethodGet, "/api/campaigns/:id/diagnose", a.diagnose,
		httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Scans: true},
	)
}
