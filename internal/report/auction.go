package report

import (
	"time"

	"adnet/internal/money"

	"github.com/google/uuid"
)

// Auction is the outcome of one auction as the analytics store keeps it. Auctions are best effort: they
// explain fill and prices, and no money depends on them. At is UTC.
type Auction struct {
	AuctionID         uuid.UUID
	At                time.Time
	DeveloperID       uuid.UUID
	CampaignID        uuid.UUID    // zero when nothing won
	Reason            string       // why nothing won, from the closed list of no-fill reasons; empty on a fill
	Price             money.Micros // what the winner pays per billed unit of its model
	ECPM              money.Micros // the winner's effective price of 1,000 impressions
	Format            string
	IntegrationMethod string
	Surface           string
	Region            string
	Language          string
	HostApp           string
	Sandbox           bool
	Took              time.Duration // of the decision, without the HTTP exchange
}
