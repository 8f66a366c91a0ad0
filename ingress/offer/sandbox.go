package offer

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/internal/campaign"
)

// sandboxRotation hands out the pool's creatives one after the other.
type sandboxRotation struct{ n atomic.Uint64 }

func (r *sandboxRotation) next(pool []campaign.Campaign) *campaign.Campaign {
	return &pool[(r.n.Add(1)-1)%uint64(len(pool))]
}

// draw bypasses the auction and fills ad from the pool, unless the conversation of a is one without
// ads: then a.Outcome says so, as it does of a real auction, and it is recorded as a test. The
// token says sandbox, so whatever happens to this ad is recorded as such, and neither charges nor
// mints.
func (s *Seller) draw(ctx context.Context, a *Auction, ad *Ad) error {
	if !a.Judged.made {
		return errUnjudged
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	s.meet(ctx, a)
	if reason := a.unsuited(); reason != "" {
		a.begin(id, s.deps.Catalog)
		a.Outcome = auction.Outcome{Reason: reason}
		s.record(a)
		return nil
	}
	creative := s.sandboxTurn.next(s.pool)
	s.metrics.sandbox.Inc()
	s.hand(ad, &soldAd{id: id, place: &a.Place, creative: creative, billing: string(creative.Billing()), sandbox: true})
	return nil
}
