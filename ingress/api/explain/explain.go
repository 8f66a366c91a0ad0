// Package explain explains the outcome of auctions, and why campaigns do not deliver.
//
// It reads the records of auctions, which are best effort and some seconds behind. An auction
// without a record is explained from its signed token if there is one, and counts of the last hour
// may miss some auctions. Callers do not see the other participants: an advertiser sees its own
// candidates, and of others only the results; a publisher sees prices and reasons without names.
//
// # Not obvious
//
// An auction's record has its ten best candidates and the number of tokens in the request, never
// the context. The causes of a campaign are counted from those candidates by minute, so that a
// query does not read every auction. The count is a lower bound, marked as sampled: an auction
// stops checking at the first candidate that may win, and counting every loser would make each
// request check all of them.
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
	"adnet/internal/ledger/reserve"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/token"
)

// History reads the records of auctions (ClickHouse, or memory in in-memory mode).
type History interface {
	// Auction returns the record of an auction that took place at about at. Errors: errs.NotFound.
	Auction(ctx context.Context, id uuid.UUID, at time.Time) (report.Auction, error)
	// AuctionEvents returns the decided events of an auction that campaign won, oldest first.
	AuctionEvents(ctx context.Context, id, campaign uuid.UUID, at time.Time) ([]report.Row, error)
	// Delivery counts the results of a campaign in the auctions of a period.
	Delivery(ctx context.Context, campaign uuid.UUID, since, until time.Time) (report.Delivery, error)
	// RefusedAt counts the refused requests at some placements by subject.
	RefusedAt(ctx context.Context, p report.Places) ([]report.RefusedPlaces, error)
}

// Catalog is this node's view of campaigns.
type Catalog interface {
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
	Room(id uuid.UUID) (reserve.Room, bool)
	Fresh(now time.Time) bool
	// Snapshot returns the snapshot that auctions use now.
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

// Deps holds the dependencies of the endpoints. All are required.
type Deps struct {
	Keyring   *token.Keyring
	History   History
	Catalog   Catalog
	Campaigns Campaigns
	Store     Store
	Now       func() time.Time
}

// API serves the endpoints.
type API struct{ deps Deps }

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the routes to h.
func (a *API) Mount(h *httpapi.Server) {
	h.Handle(http.MethodGet, "/api/auctions/:auction_id/explain", httpapi.Do(a.auction), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey | httpapi.SeatKey, Scans: true,
	})
	h.Handle(
		http.MethodGet, "/api/campaigns/:id/diagnose", httpapi.Do(a.diagnose),
		httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Scans: true},
	)
}
