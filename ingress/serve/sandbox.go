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

// draw bypasses the auction. The token says sandbox, so whatever happens to this ad is recorded as such, charges
// nobody and mints nothing.
func (s *Server) draw(placed placement) (*served, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	creative := s.turn.next(s.pool)
	s.metrics.sandbox.Inc()
	signed := s.deps.Keyring.Sign(token.PurposeAuction, token.Auction{
		AuctionID: id, CampaignID: creative.ID, DeveloperID: placed.developer, BillingModel: string(creative.BillingModel),
		Format: string(creative.Format), IntegrationMethod: placed.method, Surface: placed.surface, Region: placed.region,
		Language: placed.language, HostApp: placed.host, Sandbox: true,
	})
	return &served{creative: creative, token: signed, sandbox: true}, nil
}
