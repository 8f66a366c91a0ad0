package offer

import (
	"sync/atomic"

	"adnet/internal/campaign"

	"github.com/google/uuid"
)

// sandboxRotation hands out the pool's creatives one after the other.
type sandboxRotation struct{ n atomic.Uint64 }

func (r *sandboxRotation) next(pool []campaign.Campaign) *campaign.Campaign {
	return &pool[(r.n.Add(1)-1)%uint64(len(pool))]
}

// draw bypasses the auction and fills ad from the pool. The token says sandbox, so whatever happens
// to this ad is recorded as such, and neither charges nor mints.
func (s *Seller) draw(place *Place, ad *Ad) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	place.remember(s.deps.Keyring, s.deps.Now())
	creative := s.sandboxTurn.next(s.pool)
	s.metrics.sandbox.Inc()
	s.hand(ad, &soldAd{id: id, place: place, creative: creative, billing: string(creative.Billing()), sandbox: true})
	return nil
}
