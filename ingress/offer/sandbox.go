package offer

import (
	"sync/atomic"

	"adnet/internal/campaign"

	"github.com/google/uuid"
)

// rotation hands out the pool's creatives in turn.
type rotation struct{ n atomic.Uint64 }

func (r *rotation) next(pool []campaign.Campaign) *campaign.Campaign {
	return &pool[(r.n.Add(1)-1)%uint64(len(pool))]
}

// draw bypasses the auction and fills ad from the pool. The token says sandbox, so whatever happens to this ad is
// recorded as such, charges nobody and mints nothing.
func (s *Seller) draw(place *Place, ad *Ad) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	creative := s.turn.next(s.pool)
	s.metrics.sandbox.Inc()
	s.hand(ad, &sold{id: id, place: place, creative: creative, billing: string(creative.BillingModel), sandbox: true})
	return nil
}
