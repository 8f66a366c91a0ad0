package serve

import (
	"sync/atomic"

	"adnet/internal/campaign"
	"adnet/internal/token"

	"github.com/google/uuid"
)

// rotation hands out the pool's creatives in turn.
type rotation struct{ n atomic.Uint64 }

func (r *rotation) next(pool []campaign.Campaign) *campaign.Campaign {
	return &pool[(r.n.Add(1)-1)%uint64(len(pool))]
}

// draw bypasses the auction and fills offer. The token says sandbox, so whatever happens to this ad is recorded as such,
// charges nobody and mints nothing.
func (s *Server) draw(placed *placement, offer *Offer) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	creative := s.turn.next(s.pool)
	s.metrics.sandbox.Inc()
	offer.Creative, offer.Sandbox = creative, true
	offer.Token = s.deps.Keyring.AppendSign(offer.Token, token.PurposeAuction, token.Auction{
		AuctionID: id, CampaignID: creative.ID, DeveloperID: placed.developer, BillingModel: string(creative.BillingModel),
		Format: string(creative.Format), IntegrationMethod: placed.method, Surface: placed.surface, Region: placed.region,
		Language: placed.language, HostApp: placed.host, Sandbox: true,
	})
	return nil
}
