package offer

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/internal/campaign"
)

// sandboxRotation returns the pool's creatives in turn.
type sandboxRotation struct{ n atomic.Uint64 }

func (r *sandboxRotation) next(pool []campaign.Campaign) *campaign.Campaign {
	return &pool[(r.n.Add(1)-1)%uint64(len(pool))]
}

// draw bypasses the auction and fills ad from the sandbox pool. Beside a conversation that excludes
// ads, it sets a.Outcome as a real auction would; that is recorded as a test. The token is marked
// sandbox, so all events of the ad are recorded as such and neither charge nor mint anything.
func (s *Seller) draw(ctx context.Context, a *Auction, ad *Ad) error {
	if !a.Judged.valid {
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
